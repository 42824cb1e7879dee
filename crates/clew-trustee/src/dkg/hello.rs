//! How trustees make themselves known: the keys that shares are encrypted to and deals are signed with.

use super::seal::KEY_BYTES;
use super::{DkgError, Plan, hash};
use clew_evidence::signed::{SIGNATURE_BYTES, holds, strict_key};
use clew_evidence::wire::Reader;
use clew_group::domain_separator;
use clew_group::quorum::{Set, Trustee};
use clew_keys::TextFile;
use ed25519_dalek::{Signer, SigningKey};

const CONTEXT: &str = "clew-dkg-1";

/// Which trustee of the new key a participant is, and which dealer. In a resharing these may be two
/// indices, or one of them none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It gets a share and deals none.
    Trustee(Trustee),
    /// It only hands its share on.
    Dealer(Trustee),
    /// Both.
    Both {
        /// Its index in the new key.
        trustee: Trustee,
        /// Its index as a dealer.
        dealer: Trustee,
    },
}

impl Role {
    /// Returns `None` if it is neither.
    pub fn new(trustee: Option<Trustee>, dealer: Option<Trustee>) -> Option<Self> {
        Some(match (trustee, dealer) {
            (Some(trustee), Some(dealer)) => Self::Both { trustee, dealer },
            (Some(trustee), None) => Self::Trustee(trustee),
            (None, Some(dealer)) => Self::Dealer(dealer),
            (None, None) => return None,
        })
    }

    /// The trustee of the new key that it is.
    pub fn trustee(self) -> Option<Trustee> {
        match self {
            Self::Trustee(trustee) | Self::Both { trustee, .. } => Some(trustee),
            Self::Dealer(_) => None,
        }
    }

    /// The dealer that it is.
    pub fn dealer(self) -> Option<Trustee> {
        match self {
            Self::Dealer(dealer) | Self::Both { dealer, .. } => Some(dealer),
            Self::Trustee(_) => None,
        }
    }

    /// Its index as a trustee, or else as a dealer.
    pub fn anyone(self) -> Trustee {
        match self {
            Self::Trustee(one) | Self::Dealer(one) | Self::Both { trustee: one, .. } => one,
        }
    }

    /// Encodes both indices, 0 for none.
    pub(super) fn to_bytes(self) -> [u8; 2] {
        [self.trustee(), self.dealer()].map(|role| role.map_or(0, Trustee::index))
    }

    pub(super) fn read(fields: &mut Reader<'_>) -> Option<Self> {
        Self::new(index(fields.u8()?)?, index(fields.u8()?)?)
    }

    /// The order in which participants are listed.
    pub(super) fn order(self) -> (bool, Option<Trustee>, Option<Trustee>) {
        (self.trustee().is_none(), self.trustee(), self.dealer())
    }

    /// That the plan has such a participant: in a new key all trustees deal, in a resharing the old
    /// ones do.
    pub(super) fn check(self, plan: &Plan) -> Result<(), DkgError> {
        let fits = match plan.old_key() {
            None => self.trustee() == self.dealer(),
            Some(_) => true,
        };
        let named = |index: Option<Trustee>, set: Set| match index {
            Some(trustee) if !fits || !set.contains(trustee) => Err(DkgError::Role {
                index: trustee.index(),
            }),
            _ => Ok(()),
        };
        named(self.trustee(), plan.quorum.all())?;
        named(self.dealer(), plan.dealers())
    }

    /// What it is, for people.
    pub fn name(self) -> String {
        match self {
            Self::Both { trustee, dealer } if trustee != dealer => {
                format!("{trustee} (of the old key: {})", dealer.index())
            }
            Self::Trustee(trustee) | Self::Both { trustee, .. } => trustee.to_string(),
            Self::Dealer(dealer) => format!("{dealer} of the old key"),
        }
    }
}

/// Checks that each trustee of the set is there exactly once.
pub(super) fn each_once(
    set: Set,
    roles: impl Iterator<Item = Option<Trustee>> + Clone,
) -> Result<(), DkgError> {
    for trustee in set.iter() {
        let found = roles.clone().filter(|role| *role == Some(trustee));
        match found.count() {
            0 => return Err(DkgError::NoHello { trustee }),
            1 => (),
            _ => return Err(DkgError::TwoHellos { trustee }),
        }
    }
    Ok(())
}

/// Who takes part in a plan, under which keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Participant {
    /// What it is.
    pub role: Role,
    /// X25519 key that shares are encrypted to.
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
        let signature = key.sign(&message(Self::LABEL, &[&plan, &who.to_bytes()]));
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

    /// Checks that it was made for that plan.
    ///
    /// # Errors
    /// [`DkgError::OtherPlan`] if it was not.
    pub fn check_plan(&self, plan: &Plan) -> Result<(), DkgError> {
        let same = self.plan == plan.id();
        same.then_some(()).ok_or(DkgError::OtherPlan)
    }

    fn check(&self, plan: &Plan) -> Result<(), DkgError> {
        self.check_plan(plan)?;
        let message = message(Self::LABEL, &[&self.plan, &self.who.to_bytes()]);
        if self.who.signed(&message, &self.signature) {
            self.who.role.check(plan)
        } else {
            let trustee = self.who.role.anyone();
            Err(DkgError::HelloSignature { trustee })
        }
    }
}

impl TextFile for Hello {
    const LABEL: &'static str = "clew-dkg-hello-1";

    fn comment(&self) -> String {
        let name = self.who.name();
        format!("clew hello of {name}, for one plan. Not secret.")
    }

    fn write(&self, out: &mut Vec<u8>) {
        let payload = [&self.plan[..], &self.who.to_bytes(), &self.signature];
        out.extend_from_slice(&payload.concat());
    }

    fn read(fields: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            plan: fields.array()?,
            who: Participant::read(fields)?,
            signature: fields.array()?,
        })
    }
}

impl Participant {
    /// Bytes of a participant: two indices, two keys.
    const BYTES: usize = 2 + KEY_BYTES + 32;

    /// What it is, for people.
    pub fn name(&self) -> String {
        self.role.name()
    }

    pub(super) fn signed(&self, message: &[u8], signature: &[u8; SIGNATURE_BYTES]) -> bool {
        strict_key(&self.sign_key).is_some_and(|key| holds(&key, message, signature))
    }

    fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut out = [0; Self::BYTES];
        out[..2].copy_from_slice(&self.role.to_bytes());
        out[2..2 + KEY_BYTES].copy_from_slice(&self.seal_key);
        out[2 + KEY_BYTES..].copy_from_slice(&self.sign_key);
        out
    }

    fn read(fields: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            role: Role::read(fields)?,
            seal_key: fields.array()?,
            sign_key: fields.array()?,
        })
    }
}

/// Everybody who takes part in a plan: first the trustees of the new key, then those who only deal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Participants(Vec<Participant>);

impl Participants {
    /// Returns the participants who say hello: exactly those whom the plan needs, each once, with keys
    /// of their own.
    ///
    /// # Errors
    /// [`DkgError::OtherPlan`], [`DkgError::HelloSignature`], [`DkgError::Role`] of a hello;
    /// [`DkgError::NoHello`], [`DkgError::TwoHellos`], [`DkgError::SameKey`] of all of them.
    pub fn gather(plan: &Plan, hellos: &[Hello]) -> Result<Self, DkgError> {
        hellos.iter().try_for_each(|hello| hello.check(plan))?;
        let mut all: Vec<_> = hellos.iter().map(|hello| hello.who.clone()).collect();
        all.sort_by_key(|who| who.role.order());
        let all = Self(all);
        all.check(plan)?;
        Ok(all)
    }

    /// Names this run of the plan with exactly these keys: what proofs and encryptions bind, and what
    /// trustees compare by voice.
    pub fn context(&self, plan: &Plan) -> [u8; 32] {
        let mut list = Vec::new();
        self.write(&mut list);
        hash(CONTEXT, &[&plan.id(), &list])
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Participant> + Clone {
        self.0.iter()
    }

    /// The one who deals under this index.
    pub fn dealer(&self, dealer: Trustee) -> Option<&Participant> {
        self.iter().find(|who| who.role.dealer() == Some(dealer))
    }

    /// Those who get a share, by ascending index.
    pub(super) fn trustees(&self) -> impl Iterator<Item = (Trustee, &Participant)> {
        self.iter()
            .filter_map(|who| Some((who.role.trustee()?, who)))
    }

    pub(super) fn check(&self, plan: &Plan) -> Result<(), DkgError> {
        self.iter().try_for_each(|who| who.role.check(plan))?;
        let roles = self.iter().map(|who| who.role);
        each_once(plan.quorum.all(), roles.clone().map(Role::trustee))?;
        each_once(plan.dealers(), roles.map(Role::dealer))?;
        self.check_keys()
    }

    fn check_keys(&self) -> Result<(), DkgError> {
        for (i, who) in self.iter().enumerate() {
            let same = |other: &Participant| {
                other.seal_key == who.seal_key || other.sign_key == who.sign_key
            };
            if self.iter().take(i).any(same) {
                let trustee = who.role.anyone();
                return Err(DkgError::SameKey { trustee });
            }
        }
        Ok(())
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.push(self.0.len() as u8);
        out.extend(self.iter().flat_map(Participant::to_bytes));
    }

    pub(super) fn read(fields: &mut Reader<'_>) -> Option<Self> {
        let count = fields.u8()?;
        let one = |_| Participant::read(fields);
        let all: Vec<_> = (0..count).map(one).collect::<Option<_>>()?;
        all.is_sorted_by_key(|who| who.role.order())
            .then_some(Self(all))
    }
}

/// What a signature is over: a label, filled to 32 bytes, and what follows it.
pub(super) fn message(label: &str, parts: &[&[u8]]) -> Vec<u8> {
    [&domain_separator(label)[..], &parts.concat()].concat()
}

/// A byte that is an index, or zero for none; `None` if it is above 32.
fn index(byte: u8) -> Option<Option<Trustee>> {
    match byte {
        0 => Some(None),
        index => Trustee::new(index).ok().map(Some),
    }
}
