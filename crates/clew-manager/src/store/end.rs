//! The end of a group: nothing is enrolled, revoked or signed any more; what there is still verifies.

use super::Store;
use super::revoke::{EpochStart, record};
use crate::error::StoreError;
use clew_evidence::{
    Change, Checkpoint, End, EpochRecord, GroupFile, HEADER, RegisterHead, sign_part,
};
use clew_keys::IssuerKeyFile;

impl Store {
    /// Ends the group with an epoch that starts at once, and returns that epoch. Nothing can be added to
    /// the group afterwards; packets of earlier epochs still verify and can be opened. `now` is in
    /// nanoseconds since 1970.
    ///
    /// # Errors
    /// [`StoreError::Ended`] if it ended before, [`StoreError::Successor`] if it would succeed itself, and
    /// those of [`Store::revoke`].
    pub fn end(&mut self, issuer: &IssuerKeyFile, end: End, now: u64) -> Result<u32, StoreError> {
        self.check_not_halted()?;
        check_successor(&self.group, &end)?;
        let when = EpochStart::now(now);
        self.new_epoch(issuer, when, |_, _| Ok((Change::End(end), Vec::new())))
    }

    /// Ends the group with which somebody else went on: `theirs` is the newest group file, which has
    /// epochs or machines that this store lacks. Returns that file with the group's end. The
    /// store is not changed. `now` is in nanoseconds since 1970.
    ///
    /// # Errors
    /// [`StoreError::OtherGroupsKey`] if the file is another group's, [`StoreError::Damaged`] if it does
    /// not read, [`StoreError::Ended`], [`StoreError::Successor`], [`StoreError::ClockBehind`].
    pub fn end_file(
        &self,
        issuer: &IssuerKeyFile,
        theirs: &[u8],
        end: End,
        now: u64,
    ) -> Result<Vec<u8>, StoreError> {
        self.check_key(issuer)?;
        let group = super::group_of(theirs)?;
        if group.id() != self.group.id() {
            return Err(StoreError::OtherGroupsKey);
        }
        check_successor(&group, &end)?;
        let now = self.clock.time(&group, now)?;
        let record = record(&group, EpochStart::now(now), Change::End(end))?;
        let bytes = ended(&group, theirs, &record, issuer);
        super::group_of(&bytes)?; // with every rule: what readers refuse is not given out
        Ok(bytes)
    }
}

/// Refuses a successor that is the group itself, under whatever epoch.
fn check_successor(group: &GroupFile, end: &End) -> Result<(), StoreError> {
    let is_own = end
        .successor
        .is_some_and(|id| group.epoch_of(&id).is_some());
    match is_own {
        true => Err(StoreError::Successor),
        false => Ok(()),
    }
}

/// The parts of a group file that was checked, as they stand in it.
pub(super) fn parts_of(bytes: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut rest = &bytes[HEADER.len().min(bytes.len())..];
    while let Some(length) = rest.first_chunk().map(|length| u32::from_be_bytes(*length)) {
        let whole = (4 + length as usize + 64).min(rest.len());
        let (part, after) = rest.split_at(whole);
        parts.push(part);
        rest = after;
    }
    parts
}

/// The file with one more record, a checkpoint of its register, and a head that names the record.
fn ended(group: &GroupFile, bytes: &[u8], record: &EpochRecord, issuer: &IssuerKeyFile) -> Vec<u8> {
    let parts = parts_of(bytes);
    let register = group.register();
    let (records, others) = parts.split_at(parts.len().min(1 + group.epochs().len()));
    let checkpoints = &others[..group.checkpoints().len().min(others.len())];
    let covered = group.checkpoints().last().map_or(0, |last| last.machines);
    let checkpoint = (covered < register.machines).then(|| {
        let checkpoint = Checkpoint {
            machines: register.machines,
            root: register.root,
            hashes: register.hashes.clone(), // it leads from the last checkpoint to this size
        };
        sign_part(&checkpoint.encode(), &issuer.manager)
    });
    let head = RegisterHead {
        last: record.epoch_id(),
        time: record.made,
        machines: register.machines,
        root: register.root,
        hashes: Vec::new(),
    };
    let mut file = [&HEADER[..], &records.concat()].concat();
    file.extend(sign_part(&record.encode(), &issuer.manager));
    file.extend(checkpoints.concat());
    file.extend(checkpoint.unwrap_or_default());
    file.extend(sign_part(&head.encode(), &issuer.manager));
    file
}
