//! What a dealer hands out, and what the deals of all dealers add up to.

use super::hello::message;
use super::{DkgError, Participants, Plan};
use crate::sealed::{self, SEALING_BYTES};
use clew_evidence::SharingRecord;
use clew_evidence::wire::Reader;
use clew_group::curve::G1_BYTES;
use clew_group::quorum::{Broadcast, DEALT_SHARE_BYTES, DealtShare, Sharing, Trustee};
use clew_group::{PROOF_BYTES, domain_separator};
use clew_keys::TextFile;
use ed25519_dalek::{Signer, SigningKey};
use rand_core::CryptoRng;

const SEAL_INFO: &str = "clew-dealt-share-1";

/// Bytes of an encrypted share.
const SEALED_BYTES: usize = DEALT_SHARE_BYTES + SEALING_BYTES;

/// One dealer's broadcast, and its share for each trustee, encrypted to that trustee's key. Public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deal {
    plan: [u8; 32],
    participants: Participants,
    broadcast: Broadcast,
    sealed: Vec<[u8; SEALED_BYTES]>,
    signature: [u8; 64],
}

impl Deal {
    /// Seals what was dealt and signs the whole. The participants are known to fit the plan.
    pub(super) fn make(
        plan: &Plan,
        participants: &Participants,
        (broadcast, dealt): (Broadcast, Vec<DealtShare>),
        key: &SigningKey,
        rng: &mut impl CryptoRng,
    ) -> Result<Self, DkgError> {
        let context = participants.context(plan);
        let aad = broadcast.to_bytes();
        let sealed = participants
            .trustees()
            .zip(&dealt)
            .map(|((trustee, who), dealt)| {
                let info = info(&context, broadcast.dealer(), trustee);
                let share = dealt.to_bytes();
                let sealed = sealed::seal(&who.seal_key, &share, &info, &aad, rng);
                let sealed = sealed.and_then(|sealed| sealed.try_into().ok());
                sealed.ok_or(DkgError::HelloKey { trustee })
            });
        let mut deal = Self {
            plan: plan.id(),
            participants: participants.clone(),
            sealed: sealed.collect::<Result<_, _>>()?,
            broadcast,
            signature: [0; 64],
        };
        deal.signature = key.sign(&message(Self::LABEL, &[&deal.body()])).to_bytes();
        Ok(deal)
    }

    /// Who deals.
    pub fn dealer(&self) -> Trustee {
        self.broadcast.dealer()
    }

    /// To whom, and what all others have to deal to.
    pub fn participants(&self) -> &Participants {
        &self.participants
    }

    pub(super) fn broadcast(&self) -> &Broadcast {
        &self.broadcast
    }

    /// Bytes that the encryption of this trustee's share binds beside its key, and the encrypted share.
    pub(super) fn sealed_for(
        &self,
        trustee: Trustee,
        context: &[u8; 32],
    ) -> Option<(Vec<u8>, &[u8; SEALED_BYTES])> {
        let sealed = self.sealed.get(usize::from(trustee.index() - 1))?;
        Some((info(context, self.dealer(), trustee), sealed))
    }

    /// Checks that it was made for that plan.
    ///
    /// # Errors
    /// [`DkgError::OtherPlan`] if it was not.
    pub fn check_plan(&self, plan: &Plan) -> Result<(), DkgError> {
        let same = self.plan == plan.id();
        same.then_some(()).ok_or(DkgError::OtherPlan)
    }

    /// Checks what can be checked of one deal: its plan, its participants, its dealer's signature.
    ///
    /// # Errors
    /// [`DkgError::OtherPlan`]; [`DkgError::Role`], [`DkgError::NoHello`], [`DkgError::TwoHellos`] or
    /// [`DkgError::SameKey`] if its participants are not those of the plan;
    /// [`DkgError::DealSignature`].
    pub fn check(&self, plan: &Plan) -> Result<(), DkgError> {
        self.check_plan(plan)?;
        self.participants.check(plan)?;
        let (trustee, index) = (self.dealer(), self.dealer().index());
        let dealer = self.participants.dealer(trustee);
        let dealer = dealer.ok_or(DkgError::Role { index })?;
        if dealer.signed(&message(Self::LABEL, &[&self.body()]), &self.signature) {
            Ok(())
        } else {
            Err(DkgError::DealSignature { trustee })
        }
    }

    /// Everything but the signature.
    fn body(&self) -> Vec<u8> {
        let mut out = self.plan.to_vec();
        self.participants.write(&mut out);
        out.extend(self.broadcast.to_bytes());
        out.extend_from_slice(self.sealed.as_flattened());
        out
    }
}

impl TextFile for Deal {
    const LABEL: &'static str = "clew-dkg-deal-1";

    fn comment(&self) -> String {
        let dealer = self.dealer();
        format!("clew deal of {dealer}, for one plan. The shares in it are sealed. Not secret.")
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.body());
        out.extend_from_slice(&self.signature);
    }

    fn read(fields: &mut Reader<'_>) -> Option<Self> {
        let plan = fields.array()?;
        let participants = Participants::read(fields)?;
        let [_, n, t] = *fields.0.first_chunk()?;
        let length = 3 + G1_BYTES * usize::from(t) + PROOF_BYTES;
        let broadcast = Broadcast::from_bytes(fields.take(length)?).ok()?;
        let one = |_| fields.array();
        Some(Self {
            plan,
            participants,
            broadcast,
            sealed: (0..n).map(one).collect::<Option<_>>()?,
            signature: fields.array()?,
        })
    }
}

/// What an encrypted share is for: the run, its dealer, its trustee.
fn info(context: &[u8; 32], dealer: Trustee, trustee: Trustee) -> Vec<u8> {
    let indices = [dealer.index(), trustee.index()];
    [&domain_separator(SEAL_INFO)[..], context, &indices].concat()
}

/// The deals of all dealers of a plan, checked, and what they add up to.
#[derive(Clone, Debug)]
pub struct Dealing {
    deals: Vec<Deal>,
    participants: Participants,
    context: [u8; 32],
    sharing: Sharing,
    plan: Plan,
}

impl Dealing {
    /// Checks every deal and proof of possession, that all were made for the same hellos, and that
    /// exactly the plan's dealers dealt.
    ///
    /// # Errors
    /// As [`Deal::check`]; [`DkgError::Hellos`] names a dealer with other hellos than most;
    /// [`DkgError::Quorum`] if a deal is missing, there twice or not good, or if the sum is the
    /// identity. See [`DkgError::culprit`].
    pub fn gather(plan: &Plan, deals: Vec<Deal>) -> Result<Self, DkgError> {
        let alike = |deal: &&Deal| {
            let same = deals.iter();
            same.filter(|d| d.participants == deal.participants).count()
        };
        // The hellos of most: an error names the dealer who has others.
        let most = deals.iter().rev().max_by_key(alike);
        let participants = most.map(|deal| deal.participants.clone());
        let participants = participants.ok_or_else(|| no_deal(plan))?;
        Self::among(plan, participants, deals)
    }

    /// The same, where the participants are known.
    pub(super) fn among(
        plan: &Plan,
        participants: Participants,
        deals: Vec<Deal>,
    ) -> Result<Self, DkgError> {
        deals.iter().try_for_each(|deal| deal.check(plan))?;
        let other = deals.iter().find(|deal| deal.participants != participants);
        if let Some(other) = other {
            let trustee = other.dealer();
            return Err(DkgError::Hellos { trustee });
        }
        let context = participants.context(plan);
        let sharing = plan.round(context)?.sharing(&broadcasts(&deals))?;
        Ok(Self {
            deals,
            participants,
            context,
            sharing,
            plan: plan.clone(),
        })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The deals.
    pub fn deals(&self) -> &[Deal] {
        &self.deals
    }

    /// Who took part.
    pub fn participants(&self) -> &Participants {
        &self.participants
    }

    /// Names this run of the plan, for people to compare.
    pub fn context(&self) -> &[u8; 32] {
        &self.context
    }

    /// The new opening key's commitments, h first.
    pub fn sharing(&self) -> &Sharing {
        &self.sharing
    }

    /// The same as a record of the group file has it.
    pub fn record(&self) -> SharingRecord {
        SharingRecord::xr(self.plan.origin(), &self.sharing)
    }

    pub(super) fn broadcasts(&self) -> Vec<Broadcast> {
        broadcasts(&self.deals)
    }
}

fn broadcasts(deals: &[Deal]) -> Vec<Broadcast> {
    deals.iter().map(|deal| deal.broadcast().clone()).collect()
}

fn no_deal(plan: &Plan) -> DkgError {
    let first = plan.dealers().iter().next();
    let missing = |trustee| clew_group::quorum::QuorumError::Missing { trustee };
    first.map_or(DkgError::NoShare, |trustee| missing(trustee).into())
}
