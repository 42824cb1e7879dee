//! A trustee's share, from what all dealers encrypted for it.

use super::{Deal, Dealing, DkgError, Plan, State};
use clew_evidence::GroupFile;
use clew_group::quorum::{DealtShare, SecretShare, Trustee};
use clew_keys::{OpeningShare, TrusteeKeyFile};

/// What a trustee received: its share, and the sum of which it is one. Secret.
#[derive(Debug)]
pub struct Received {
    dealing: Dealing,
    share: SecretShare,
}

impl State {
    /// Opens and checks what was dealt to this trustee. Nothing is kept: it can be repeated.
    ///
    /// # Errors
    /// The rule that was broken, and the dealer that broke it: see [`DkgError::culprit`].
    pub fn receive(&self, plan: &Plan, deals: Vec<Deal>) -> Result<Received, DkgError> {
        self.check_plan(plan)?;
        let dealing = self.gather(plan, deals)?;
        let trustee = self.trustee().ok_or(DkgError::NoShare)?;
        let open = |deal| self.open(trustee, &dealing, deal);
        let dealt: Vec<DealtShare> = dealing.deals().iter().map(open).collect::<Result<_, _>>()?;
        let round = plan.round(*dealing.context())?;
        let share = round.receive(trustee, &dealing.broadcasts(), &dealt)?;
        Ok(Received { dealing, share })
    }

    /// All deals, checked against the hellos that this trustee knows: its own, and if it dealt, those
    /// to which it dealt.
    fn gather(&self, plan: &Plan, deals: Vec<Deal>) -> Result<Dealing, DkgError> {
        let dealing = match self.dealt() {
            Some(own) => Dealing::among(plan, own.participants().clone(), deals)?,
            None => Dealing::gather(plan, deals)?,
        };
        self.check_own(dealing.participants())?;
        let own = |deal: &&Deal| Some(deal.dealer()) == self.dealer();
        match (dealing.deals().iter().find(own), self.dealt()) {
            (found, dealt) if found == dealt => Ok(dealing),
            _ => Err(DkgError::OwnDeal),
        }
    }

    fn open(
        &self,
        trustee: Trustee,
        dealing: &Dealing,
        deal: &Deal,
    ) -> Result<DealtShare, DkgError> {
        let cheated = DkgError::SealedShare {
            trustee: deal.dealer(),
        };
        let (info, sealed) = deal.sealed_for(trustee, dealing.context()).ok_or(cheated)?;
        let aad = deal.broadcast().to_bytes();
        let plain = self.seal_key.open(sealed, &info, &aad).ok_or(cheated)?;
        let dealt = DealtShare::from_bytes(plain.as_slice()).map_err(|_| cheated)?;
        if dealt.dealer() == deal.dealer() && dealt.trustee() == trustee {
            Ok(dealt)
        } else {
            Err(cheated)
        }
    }
}

impl Received {
    /// What all deals add up to.
    pub fn dealing(&self) -> &Dealing {
        &self.dealing
    }

    /// The trustee's key, if the group file has a record with exactly the commitments that were
    /// dealt. That comparison replaces a broadcast channel (`spec/group-signature.md` 5.2).
    ///
    /// # Errors
    /// As [`Dealing::recorded`].
    pub fn key(self, group: &GroupFile) -> Result<TrusteeKeyFile, DkgError> {
        let since = self.dealing.recorded(group)?;
        Ok(TrusteeKeyFile {
            group: group.id(),
            since,
            share: OpeningShare::Xr(self.share),
        })
    }
}
