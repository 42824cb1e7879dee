//! Plans and group files: which group a plan is for, and where its result stands.

use super::{Dealing, DkgError, OldKey, Plan, base};
use clew_evidence::{Change, GroupFile};
use clew_group::curve::G1;
use clew_group::quorum::Sharing;
use clew_group::{PublicKey, Scheme};

impl OldKey {
    /// The opening key of an epoch, if the group file has it; `None` for `bbs04` as well.
    pub(super) fn of(group: &GroupFile, epoch: u32) -> Option<Self> {
        let (since, record) = group.sharing_record(epoch)?;
        let h = opening_key(group, since)?;
        let base = base(&group.genesis().nonce);
        let sharing = Sharing::from_parts(&base, &h, &record.commitments, record.quorum).ok()?;
        Some(Self { since, sharing })
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
                && opening_key(group, *epoch).as_ref() == Some(dealing.sharing().public())
        };
        epochs.find(there).ok_or(DkgError::Record)
    }
}

/// h, of the record of an epoch that has one.
fn opening_key(group: &GroupFile, epoch: u32) -> Option<G1> {
    match epoch.checked_sub(1) {
        None => match group.first_public_key() {
            PublicKey::Xr(key) => Some(*key.h()),
            PublicKey::Bbs04(_) => None,
        },
        Some(before) => match &group.epochs().get(before as usize)?.change {
            Change::Sharing(new) => G1::from_bytes(&new.h).ok(),
            _ => None,
        },
    }
}
