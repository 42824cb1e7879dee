//! What one trustee keeps between the steps.

use super::{Deal, DkgError, Hello, Participant, Participants, Plan, Role};
use crate::sealed::SealKey;
use clew_evidence::wire::Reader;
use clew_group::quorum::{SecretShare, Trustee};
use clew_keys::{OpeningShare, TextFile, TrusteeKeyFile};
use ed25519_dalek::SigningKey;
use rand_core::CryptoRng;
use std::fmt;
use zeroize::Zeroizing;

/// A trustee's secret keys for one plan, and its deal once it has dealt.
pub struct State {
    plan: [u8; 32],
    role: Role,
    pub(super) seal_key: SealKey,
    sign_key: SigningKey,
    deal: Option<Deal>,
}

impl State {
    /// Begins, with new keys, as the trustee of that index. With the key of an old trustee, it also
    /// hands that share on, or only that without an index.
    ///
    /// # Errors
    /// [`DkgError::Role`] if the plan has no such trustee or dealer, [`DkgError::OldKey`] if the old
    /// key is not one of the sharing that the plan hands on.
    pub fn begin(
        plan: &Plan,
        trustee: Option<Trustee>,
        old: Option<&TrusteeKeyFile>,
        rng: &mut impl CryptoRng,
    ) -> Result<Self, DkgError> {
        let dealer = match (plan.old_key(), old) {
            (None, None) => trustee,
            (None, Some(_)) => return Err(DkgError::OldKey),
            (Some(_), None) => None,
            (Some(_), Some(old)) => Some(old_share(plan, old)?.trustee()),
        };
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(seed.as_mut_slice());
        let begun = Self {
            plan: plan.id(),
            role: Role::new(trustee, dealer).ok_or(DkgError::Role { index: 0 })?,
            seal_key: SealKey::generate(rng),
            sign_key: SigningKey::from_bytes(&seed),
            deal: None,
        };
        begun.check_role(plan)?;
        Ok(begun)
    }

    /// Its hello, always the same.
    pub fn hello(&self) -> Hello {
        Hello::sign(self.plan, self.participant(), &self.sign_key)
    }

    /// The trustee of the new key that it is.
    pub fn trustee(&self) -> Option<Trustee> {
        self.role.trustee()
    }

    /// The dealer that it is.
    pub fn dealer(&self) -> Option<Trustee> {
        self.role.dealer()
    }

    /// Its deal, once it has dealt.
    pub fn dealt(&self) -> Option<&Deal> {
        self.deal.as_ref()
    }

    /// Deals to everybody who said hello; a resharing needs the old key. The state has the deal
    /// afterwards, and has to be on disk before the deal leaves: later calls give the same deal.
    ///
    /// # Errors
    /// [`DkgError::OtherPlan`]; as [`Participants::gather`]; [`DkgError::OwnHello`] if the own hello is
    /// missing or another; [`DkgError::DealtBefore`] if it dealt to other hellos; [`DkgError::Role`] if
    /// it is no dealer; [`DkgError::OldKey`]; [`DkgError::HelloKey`] if no share can be encrypted to one of
    /// the hellos. A deal that the state had before stays.
    pub fn deal(
        &mut self,
        plan: &Plan,
        old: Option<&TrusteeKeyFile>,
        hellos: &[Hello],
        rng: &mut impl CryptoRng,
    ) -> Result<&Deal, DkgError> {
        self.check_plan(plan)?;
        let participants = Participants::gather(plan, hellos)?;
        self.check_own(&participants)?;
        let deal = match self.deal.take() {
            Some(deal) => deal,
            None => self.draw(plan, old, &participants, rng)?,
        };
        let same = *deal.participants() == participants;
        let deal = self.deal.insert(deal);
        same.then_some(&*deal).ok_or(DkgError::DealtBefore)
    }

    fn draw(
        &self,
        plan: &Plan,
        old: Option<&TrusteeKeyFile>,
        participants: &Participants,
        rng: &mut impl CryptoRng,
    ) -> Result<Deal, DkgError> {
        let index = self.trustee().map_or(0, Trustee::index);
        let dealer = self.dealer().ok_or(DkgError::Role { index })?;
        let old = old.map(|old| old_share(plan, old)).transpose()?;
        if old.is_some_and(|old| old.trustee() != dealer) {
            return Err(DkgError::OldKey);
        }
        let round = plan.round(participants.context(plan))?;
        let dealt = round.deal(dealer, old, rng)?;
        Deal::make(plan, participants, dealt, &self.sign_key, rng)
    }

    /// Checks that this state belongs to that plan.
    ///
    /// # Errors
    /// [`DkgError::OtherPlan`] if it does not.
    pub fn check_plan(&self, plan: &Plan) -> Result<(), DkgError> {
        let same = self.plan == plan.id();
        same.then_some(()).ok_or(DkgError::OtherPlan)
    }

    /// That its own hello is among them, unchanged.
    pub(super) fn check_own(&self, participants: &Participants) -> Result<(), DkgError> {
        let own = self.participant();
        let there = participants.iter().any(|who| *who == own);
        there.then_some(()).ok_or(DkgError::OwnHello)
    }

    fn check_role(&self, plan: &Plan) -> Result<(), DkgError> {
        let trustee = self.trustee().filter(|t| !plan.quorum.all().contains(*t));
        let dealer = self.dealer().filter(|t| !plan.dealers().contains(*t));
        match trustee.or(dealer).map(Trustee::index) {
            Some(index) => Err(DkgError::Role { index }),
            None => Ok(()),
        }
    }

    fn participant(&self) -> Participant {
        Participant {
            role: self.role,
            seal_key: self.seal_key.public(),
            sign_key: self.sign_key.verifying_key().to_bytes(),
        }
    }
}

impl TextFile for State {
    const LABEL: &'static str = "clew-dkg-state-1";

    fn comment(&self) -> String {
        "clew state of an opening key in the making. SECRET: keep it until your trustee key is written."
            .to_owned()
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.plan);
        out.extend_from_slice(&self.role.to_bytes());
        out.extend_from_slice(self.seal_key.as_bytes());
        out.extend_from_slice(Zeroizing::new(self.sign_key.to_bytes()).as_slice());
        if let Some(deal) = &self.deal {
            deal.write(out);
        }
    }

    fn read(fields: &mut Reader<'_>) -> Option<Self> {
        let plan = fields.array()?;
        let role = Role::read(fields)?;
        let seal_key = SealKey::from_bytes(Zeroizing::new(fields.array()?));
        let seed = Zeroizing::new(fields.array()?);
        let deal = match fields.0 {
            [] => None,
            _ => Some(Deal::read(fields)?),
        };
        Some(Self {
            plan,
            role,
            seal_key,
            sign_key: SigningKey::from_bytes(&seed),
            deal,
        })
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("State(..)")
    }
}

/// The share that a resharing hands on, if this key holds one.
fn old_share<'k>(plan: &Plan, key: &'k TrusteeKeyFile) -> Result<&'k SecretShare, DkgError> {
    let (Some(old), Some(place)) = (plan.old_key(), plan.place()) else {
        return Err(DkgError::OldKey);
    };
    match &key.share {
        OpeningShare::Xr(share) if key.group == place.group && key.since == old.since => {
            share.check(&old.sharing).map_err(|_| DkgError::OldKey)?;
            Ok(share)
        }
        _ => Err(DkgError::OldKey),
    }
}
