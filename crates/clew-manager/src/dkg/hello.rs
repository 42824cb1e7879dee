//! How trustees make themselves known: the keys that shares are sealed to and deals are signed with.

use super::seal::KEY_BYTES;
use super::{DkgError, Plan, domain, hash};
use clew_evidence::wire::Fields;
use clew_evidence::{TextError, armor};
use clew_group::quorum::{Set, Trustee};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};

const LABEL: &str = "clew-dkg-hello-1";
const CONTEXT: &str = "clew-dkg-1";
const SIGNATURE_BYTES: usize = 64;

/// Who takes part in a plan, under which keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Participant {
    /// The trustee of the new key that it is; `None` if it only hands its share on.
    pub trustee: Option<Trustee>,
    /// The dealer that it is; `None` for a trustee of a resharing that holds no old share.
    pub dealer: Option<Trustee>,
    /// X25519 key that shares are sealed to.
    pub seal_key: [u8; KEY_BYTES],
    /// Ed25519 key that its deal is signed with.
    pub sign_key: [u8; 32],
}

/// One participant's keys, for one plan, signed by itself. Public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    plan: [u8; 32],
    who: Participant,
    signature: [u8; SIGNATURE_BYTES],
}

impl Hello {
    pub(super) fn sign(plan: [u8; 32], who: Participant, key: &SigningKey) -> Self {
        let signature = key.sign(&message(LABEL, &[&plan, &who.to_bytes()]));
        Self {
            plan,
            who,
            signature: signature.to_bytes(),
        }
    }

    /// Who says hello.
    pub fn participant(&self) -> &Participant {
        &self.who
    }

    /// The text of the file. Not secret.
    pub fn encode(&self) -> String {
        let payload = [&self.plan[..], &self.who.to_bytes(), &self.signature];
        let comment = format!(
            "clew hello of {}, for one plan. Not secret.",
            self.who.name()
        );
        armor::encode(&comment, LABEL, &payload.concat()).to_string()
    }

    /// Reads the text of a file.
    pub fn decode(text: &str) -> Result<Self, TextError> {
        let payload = armor::decode(text, LABEL)?;
        Self::from_payload(&payload).ok_or(TextError::Damaged)
    }

    fn from_payload(payload: &[u8]) -> Option<Self> {
        let mut fields = Fields(payload);
        let read = Self {
            plan: fields.array()?,
            who: Participant::read(&mut fields)?,
            signature: fields.array()?,
        };
        fields.0.is_empty().then_some(read)
    }

    /// [`DkgError::OtherPlan`] unless it was made for that plan.
    pub fn check_plan(&self, plan: &Plan) -> Result<(), DkgError> {
        let same = self.plan == plan.id();
        same.then_some(()).ok_or(DkgError::OtherPlan)
    }

    fn check(&self, plan: &Plan) -> Result<(), DkgError> {
        self.check_plan(plan)?;
        let message = message(LABEL, &[&self.plan, &self.who.to_bytes()]);
        if self.who.signed(&message, &self.signature) {
            self.who.check(plan)
        } else {
            let trustee = self.who.anyone();
            Err(DkgError::HelloSignature { trustee })
        }
    }
}

impl Participant {
    /// Bytes of a participant: two indices, two keys.
    const BYTES: usize = 2 + KEY_BYTES + 32;

    /// In a new key all trustees deal; in a resharing the old ones do.
    fn check(&self, plan: &Plan) -> Result<(), DkgError> {
        let fits = match plan.old_key() {
            None => self.trustee == self.dealer,
            Some(_) => true,
        };
        let named = |role: Option<Trustee>, set: Set| match role {
            Some(trustee) if !fits || !set.contains(trustee) => Err(DkgError::Role {
                index: trustee.index(),
            }),
            _ => Ok(()),
        };
        named(self.trustee, plan.quorum.all())?;
        named(self.dealer, plan.dealers())
    }

    /// Its index as a trustee, or else as a dealer.
    fn anyone(&self) -> Trustee {
        let one = self.trustee.or(self.dealer);
        one.expect("a participant has at least one index")
    }

    /// What it is, for people.
    pub fn name(&self) -> String {
        match (self.trustee, self.dealer) {
            (Some(trustee), Some(dealer)) if trustee != dealer => {
                format!("{trustee} (of the old key: {})", dealer.index())
            }
            (Some(trustee), _) => trustee.to_string(),
            (None, _) => format!("{} of the old key", self.anyone()),
        }
    }

    pub(super) fn signed(&self, message: &[u8], signature: &[u8; SIGNATURE_BYTES]) -> bool {
        VerifyingKey::from_bytes(&self.sign_key).is_ok_and(|key| {
            key.verify_strict(message, &Signature::from_bytes(signature))
                .is_ok()
        })
    }

    fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut out = [0; Self::BYTES];
        out[0] = self.trustee.map_or(0, Trustee::index);
        out[1] = self.dealer.map_or(0, Trustee::index);
        out[2..2 + KEY_BYTES].copy_from_slice(&self.seal_key);
        out[2 + KEY_BYTES..].copy_from_slice(&self.sign_key);
        out
    }

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let read = Self {
            trustee: index(fields.u8()?)?,
            dealer: index(fields.u8()?)?,
            seal_key: fields.array()?,
            sign_key: fields.array()?,
        };
        (read.trustee.is_some() || read.dealer.is_some()).then_some(read)
    }
}

/// Everybody who takes part in a plan: first the trustees of the new key, then those who only deal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Participants(Vec<Participant>);

impl Participants {
    /// The participants who say hello: exactly those whom the plan needs, each once, with keys of
    /// their own.
    pub fn gather(plan: &Plan, hellos: &[Hello]) -> Result<Self, DkgError> {
        hellos.iter().try_for_each(|hello| hello.check(plan))?;
        let mut all: Vec<_> = hellos.iter().map(|hello| hello.who.clone()).collect();
        all.sort_by_key(Self::order);
        let all = Self(all);
        all.check(plan)?;
        Ok(all)
    }

    /// Names this run of the plan with exactly these keys: what proofs and seals bind, and what
    /// trustees compare by voice.
    pub fn context(&self, plan: &Plan) -> [u8; 32] {
        let mut list = Vec::new();
        self.write(&mut list);
        hash(CONTEXT, &[&plan.id(), &list])
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Participant> {
        self.0.iter()
    }

    /// The one who deals under this index.
    pub fn dealer(&self, dealer: Trustee) -> Option<&Participant> {
        self.iter().find(|who| who.dealer == Some(dealer))
    }

    /// Those who get a share, by ascending index.
    pub(super) fn trustees(&self) -> impl Iterator<Item = (Trustee, &Participant)> {
        self.iter().filter_map(|who| Some((who.trustee?, who)))
    }

    pub(super) fn check(&self, plan: &Plan) -> Result<(), DkgError> {
        self.iter().try_for_each(|who| who.check(plan))?;
        self.each_once(plan.quorum.all(), |who| who.trustee)?;
        self.each_once(plan.dealers(), |who| who.dealer)?;
        self.check_keys()
    }

    fn each_once(
        &self,
        set: Set,
        role: impl Fn(&Participant) -> Option<Trustee>,
    ) -> Result<(), DkgError> {
        for trustee in set.iter() {
            let found = self.iter().filter(|who| role(who) == Some(trustee));
            match found.count() {
                0 => return Err(DkgError::NoHello { trustee }),
                1 => (),
                _ => return Err(DkgError::TwoHellos { trustee }),
            }
        }
        Ok(())
    }

    fn check_keys(&self) -> Result<(), DkgError> {
        for (i, who) in self.iter().enumerate() {
            let same = |other: &Participant| {
                other.seal_key == who.seal_key || other.sign_key == who.sign_key
            };
            if self.iter().take(i).any(same) {
                let trustee = who.anyone();
                return Err(DkgError::SameKey { trustee });
            }
        }
        Ok(())
    }

    /// The order in which participants are listed.
    fn order(who: &Participant) -> (bool, Option<Trustee>, Option<Trustee>) {
        (who.trustee.is_none(), who.trustee, who.dealer)
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.push(self.0.len() as u8);
        out.extend(self.iter().flat_map(Participant::to_bytes));
    }

    pub(super) fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let count = fields.u8()?;
        let one = |_| Participant::read(fields);
        let all: Vec<_> = (0..count).map(one).collect::<Option<_>>()?;
        all.is_sorted_by_key(Self::order).then_some(Self(all))
    }
}

/// What a signature is over: a label, filled to 32 bytes, and what follows it.
pub(super) fn message(label: &str, parts: &[&[u8]]) -> Vec<u8> {
    [&domain(label)[..], &parts.concat()].concat()
}

/// A byte that is an index, or zero for none; `None` if it is above 32.
pub(super) fn index(byte: u8) -> Option<Option<Trustee>> {
    match byte {
        0 => Some(None),
        index => Trustee::new(index).ok().map(Some),
    }
}
