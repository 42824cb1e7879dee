//! Plans and group files: which group a plan is for, and where its result stands.

use super::{Dealing, DkgError, OldKey, Plan};
use clew_evidence::GroupFile;
use clew_group::Scheme;

impl OldKey {
    /// The opening key of an epoch, if the group file has it. Returns `None` for `bbs04`.
    pub(super) fn of(group: &GroupFile, epoch: u32) -> Option<Self> {
        let sharing = group.sharing(epoch)?.ok()?;
        let [of_xi] = sharing.parts.try_into().ok()?;
        Some(Self {
            since: sharing.since,
            origin: sharing.origin,
            sharing: of_xi,
        })
    }
}

impl Plan {
    /// Checks that the group file is of the plan's group, and continues its history.
    pub fn check_group(&self, group: &GroupFile) -> Result<(), DkgError> {
        let genesis = group.genesis();
        if group.scheme() != Scheme::Xr {
            return Err(DkgError::Scheme);
        }
        if genesis.nonce != self.nonce || genesis.name != self.name {
            return Err(DkgError::OtherGroup);
        }
        let Some(place) = self.place() else {
            return Ok(());
        };
        if group.id() != place.group {
            return Err(DkgError::OtherGroup);
        }
        let old = self.old_key();
        let continues = group.epoch_id(place.epoch) == Some(place.id)
            && old.is_none_or(|old| OldKey::of(group, place.epoch).as_ref() == Some(old));
        continues.then_some(()).ok_or(DkgError::OtherHistory)
    }

    /// The same, and that no other opening key came since: for whoever adds the plan's result.
    pub fn check_current(&self, group: &GroupFile) -> Result<(), DkgError> {
        self.check_group(group)?;
        let planned = self.place().map(|place| place.epoch);
        let newest = group.sharing_record(group.newest_epoch());
        match (planned, newest) {
            (Some(planned), Some((since, _))) if since <= planned => Ok(()),
            _ => Err(DkgError::Stale),
        }
    }

    /// The epoch whose record has exactly the commitments that were dealt.
    pub(super) fn recorded(&self, group: &GroupFile, dealing: &Dealing) -> Result<u32, DkgError> {
        self.check_group(group)?;
        let mut epochs = match self.place() {
            None => 0..=0,
            Some(place) => place.epoch + 1..=group.newest_epoch(),
        };
        let record = dealing.record();
        let there = |epoch: &u32| {
            let found = group.sharing_record(*epoch);
            found.is_some_and(|(since, found)| since == *epoch && *found == record)
                && OldKey::of(group, *epoch).is_some_and(|k| k.sharing == *dealing.sharing())
        };
        epochs.find(there).ok_or(DkgError::Record)
    }
}
