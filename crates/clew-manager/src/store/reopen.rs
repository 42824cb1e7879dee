//! New epochs with what trustees dealt: a new opening key, or other trustees.

use super::revoke::EpochStart;
use super::{Store, key_of};
use crate::error::StoreError;
use clew_evidence::{Change, GroupFile};
use clew_group::PublicKey;
use clew_keys::{IssuerKey, IssuerKeyFile};
use clew_trustee::dkg::{Dealing, DkgError};

impl Store {
    /// Adds an epoch with the opening key that trustees dealt, and returns it. If the group has that
    /// epoch already, nothing changes.
    ///
    /// # Errors
    /// [`StoreError::Dkg`] if the plan is not for this group as it is now; nothing was changed.
    pub fn reopen(
        &mut self,
        issuer: &IssuerKeyFile,
        dealing: &Dealing,
        when: EpochStart,
    ) -> Result<u32, StoreError> {
        dealing.plan().check_group(&self.group)?;
        match dealing.recorded(&self.group) {
            Ok(0) => Err(DkgError::Purpose.into()),
            Ok(epoch) => Ok(epoch),
            Err(_) => {
                self.check_not_halted()?;
                self.new_epoch(issuer, when, |_, group| {
                    Ok((change(issuer, dealing, group)?, Vec::new()))
                })
            }
        }
    }
}

fn change(
    issuer: &IssuerKeyFile,
    dealing: &Dealing,
    group: &GroupFile,
) -> Result<Change, StoreError> {
    dealing.plan().check_current(group)?;
    let newest = key_of(group, group.newest_epoch())?;
    let (IssuerKey::Xr(gamma), PublicKey::Xr(newest)) = (&issuer.issuer, newest) else {
        return Err(StoreError::OneOpeningKey);
    };
    let next = gamma.reopened(&newest, dealing.sharing().public());
    Ok(Change::sharing(&next, dealing.record()))
}
