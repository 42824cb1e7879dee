//! A rebase: its witnesses are computed while others go on changing the store, and machines join.

use super::clock::ClockJudge;
use super::epochs::RevokedRows;
use super::revoke::{self, EpochStart, rows_of};
use super::witnesses::Making;
use super::{Locked, Machine, Store, read_group, register};
use crate::error::StoreError;
use crate::index::Progress;
use crate::storage::Transaction;
use clew_evidence::{Change, EpochRecord, GroupFile, MAX_REBASE_ROWS, Name};
use clew_group::EpochIssuer;
use clew_keys::IssuerKeyFile;

/// How often all witnesses are computed beside other changes. If an epoch was made meanwhile each time,
/// other changes have to wait for the next attempt.
const TRIES: u32 = 3;

/// A rebase as it would be now.
struct Draft {
    record: EpochRecord,
    revoked: Vec<Machine>,
    /// The group with it.
    after: GroupFile,
    in_epoch: EpochIssuer,
}

impl Draft {
    /// Writes it into a transaction.
    fn write(
        db: &dyn Transaction,
        (group, clock): (&GroupFile, &ClockJudge),
        issuer: &IssuerKeyFile,
        machines: &[Name],
        when: EpochStart,
    ) -> Result<Self, StoreError> {
        let when = when.checked(group, clock)?;
        let revoked = rows_of(db, machines)?;
        revoke::check_salts(group, issuer, &revoked)?;
        let record = revoke::record(group, when, change(&revoked)?)?;
        revoke::write(db, group, issuer, &record, &revoked)?;
        let after = read_group(db)?; // with every rule: what readers refuse is not kept
        let rows = RevokedRows::read(db, issuer)?;
        Ok(Self {
            in_epoch: rows.issuer_in(&after, issuer, record.epoch)?,
            record,
            revoked,
            after,
        })
    }
}

/// The record that revokes these rows by a rebase.
fn change(rows: &[Machine]) -> Result<Change, StoreError> {
    if rows.len() > MAX_REBASE_ROWS {
        return Err(StoreError::TooManyAtOnce(MAX_REBASE_ROWS));
    }
    let mut revoked: Vec<u32> = rows.iter().map(|row| row.entry.index).collect();
    revoked.sort_unstable();
    Ok(Change::Rebase { revoked })
}

impl Store {
    /// Adds an epoch with a new V, in which these machines are locked out, and returns it. Witnesses are
    /// on disk before the epoch is committed, and it is committed before they are public.
    pub(super) fn new_rebase(
        &mut self,
        issuer: &IssuerKeyFile,
        machines: &[Name],
        when: EpochStart,
        progress: Progress<'_>,
    ) -> Result<u32, StoreError> {
        self.check_key(issuer)?;
        self.check_not_halted()?;
        let dir = self.dir.clone();
        let making = Making::begin(&dir)?;
        for _ in 0..TRIES {
            if let Some(epoch) = self.try_rebase(&making, issuer, machines, when, progress)? {
                return Ok(epoch);
            }
        }
        let Locked {
            transaction,
            group,
            clock,
            ..
        } = self.lock()?;
        let draft = Draft::write(&*transaction, (group, clock), issuer, machines, when)?;
        let epoch = draft.record.epoch;
        let mut buckets = making.buckets(&draft.after, issuer, &draft.in_epoch, epoch, progress)?;
        register::for_each(&*transaction, |machine| buckets.add(machine))?;
        buckets.fill(draft.after.register().machines)?;
        buckets.finish()?;
        making.keep(epoch)?;
        let version = transaction.version()?;
        transaction.commit()?;
        (self.group, self.version) = (draft.after, version);
        self.publish().map_err(StoreError::not_published)?;
        Ok(epoch)
    }

    /// The same without keeping others from changing the store while witnesses are computed. Returns
    /// `None` if an epoch or a checkpoint was made meanwhile: then nothing was changed.
    fn try_rebase(
        &mut self,
        making: &Making<'_>,
        issuer: &IssuerKeyFile,
        machines: &[Name],
        when: EpochStart,
        progress: Progress<'_>,
    ) -> Result<Option<u32>, StoreError> {
        let Locked {
            transaction,
            group,
            clock,
            ..
        } = self.lock()?;
        let draft = Draft::write(&*transaction, (group, clock), issuer, machines, when)?;
        drop(transaction); // it was tried only
        let epoch = draft.record.epoch;
        let mut buckets = making.buckets(&draft.after, issuer, &draft.in_epoch, epoch, progress)?;
        register::for_each(&*self.db, |machine| buckets.add(machine))?;
        buckets.finish()?;
        // Once more without the lock, so that few rows are left for the time with it.
        self.follow()?;
        buckets.extend(&*self.db, self.group.register().machines)?;
        let Locked {
            transaction, group, ..
        } = self.lock()?;
        if group.last_id() != draft.record.previous {
            return Ok(None);
        }
        buckets.extend(&*transaction, group.register().machines)?;
        let db = &*transaction;
        match revoke::write(db, group, issuer, &draft.record, &draft.revoked) {
            Err(StoreError::RegisterMoved) => return Ok(None),
            written => written?,
        }
        let after = read_group(db)?;
        making.keep(epoch)?;
        let version = transaction.version()?;
        transaction.commit()?;
        (self.group, self.version) = (after, version);
        self.publish().map_err(StoreError::not_published)?;
        Ok(Some(epoch))
    }
}
