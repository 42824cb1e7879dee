//! New epochs.

use super::clock::ClockJudge;
use super::register::{write_checkpoint, write_head};
use super::{LOG_EPOCH, Locked, Machine, Store, epoch_body, key_of, read_group};
use crate::error::StoreError;
use crate::index::Progress;
use crate::storage::{Tables, Transaction};
use clew_evidence::{
    Change, EpochRecord, GroupFile, GroupLog, MAX_EPOCHS, MAX_STEPS, MAX_STEPS_PER_RECORD, Name,
    WallTime, sign_part,
};
use clew_group::{PublicKey, xr};
use clew_keys::{IssuerKey, IssuerKeyFile};
use std::collections::BTreeSet;

/// An epoch that starts later than this after it was made has to be confirmed: 30 days.
pub const FAR_NS: u64 = 30 * 24 * 3600 * 1_000_000_000;

/// When an epoch is made and when it starts, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub struct EpochStart {
    /// Now.
    pub now: u64,
    /// The start; not before `now`.
    pub start: u64,
    /// Whether a start more than [`FAR_NS`] ahead is meant.
    pub far: bool,
}

impl EpochStart {
    /// An epoch that starts at once.
    pub fn now(now: u64) -> Self {
        Self {
            now,
            start: now,
            far: false,
        }
    }

    /// The same, not before the newest record, by a clock that can be believed.
    pub(super) fn checked(self, group: &GroupFile, clock: &ClockJudge) -> Result<Self, StoreError> {
        if self.start < self.now {
            return Err(StoreError::StartInThePast);
        }
        if self.start - self.now > FAR_NS && !self.far {
            return Err(StoreError::StartFarAhead);
        }
        let now = clock.time(group, self.now)?;
        Ok(Self {
            now,
            start: self.start.max(now),
            ..self
        })
    }
}

/// How far the newest record may be ahead of the clock: 10 s. Another process may have made it while
/// this one waited, and clocks are set back by a little.
pub const AHEAD_NS: u64 = 10 * 1_000_000_000;

impl Store {
    /// Revokes machines together, and returns the new epoch. Each name stands for its last row.
    ///
    /// An `xr` group publishes x* and V of each, at most 48. With `rebase`, and always with `bbs04`,
    /// V starts anew instead, at most 900 machines are locked out, and the witnesses of all others
    /// are published; `progress` is told of their rows. If a planned epoch starts later than this
    /// one, it is brought forward.
    ///
    /// # Errors
    /// [`StoreError`]; nothing was changed, except for [`StoreError::NotPublished`].
    pub fn revoke(
        &mut self,
        issuer: &IssuerKeyFile,
        machines: &[Name],
        rebase: bool,
        when: EpochStart,
        progress: Progress<'_>,
    ) -> Result<u32, StoreError> {
        let steps = !rebase && matches!(issuer.issuer, IssuerKey::Xr(_));
        if machines.is_empty() && steps {
            return Err(StoreError::NobodyToRevoke);
        }
        let gamma = match &issuer.issuer {
            IssuerKey::Xr(gamma) if steps => gamma,
            _ => return self.new_rebase(issuer, machines, when, progress),
        };
        self.check_not_halted()?;
        self.new_epoch(issuer, when, |db, group| {
            let rows = rows_of(db, machines)?;
            check_salts(group, issuer, &rows)?;
            Ok((self::steps(group, gamma, issuer, &rows)?, rows))
        })
    }

    /// Starts V anew without revoking anybody, and returns the new epoch. See [`Store::revoke`].
    ///
    /// # Errors
    /// As [`Store::revoke`].
    pub fn rebase(
        &mut self,
        issuer: &IssuerKeyFile,
        when: EpochStart,
        progress: Progress<'_>,
    ) -> Result<u32, StoreError> {
        self.revoke(issuer, &[], true, when, progress)
    }

    /// Adds an epoch from which the group writes into another log, or into none, and returns it. See
    /// [`Store::revoke`].
    ///
    /// # Errors
    /// As [`Store::revoke`]; [`StoreError::SameLog`] if the newest epoch has that log, or none, already.
    pub fn set_log(
        &mut self,
        issuer: &IssuerKeyFile,
        log: Option<GroupLog>,
        when: EpochStart,
    ) -> Result<u32, StoreError> {
        self.new_epoch(issuer, when, |_, group| {
            match group.log_at(group.newest_epoch()) == log.as_ref() {
                true => Err(StoreError::SameLog),
                false => Ok((Change::Log(log.map(Box::new)), Vec::new())),
            }
        })
    }

    /// Adds an epoch that is not a rebase: the change and the rows that it revokes come from `change`.
    pub(super) fn new_epoch(
        &mut self,
        issuer: &IssuerKeyFile,
        when: EpochStart,
        change: impl FnOnce(&dyn Tables, &GroupFile) -> Result<(Change, Vec<Machine>), StoreError>,
    ) -> Result<u32, StoreError> {
        self.check_key(issuer)?;
        let Locked {
            transaction,
            group,
            clock,
            ..
        } = self.lock()?;
        let when = when.checked(group, clock)?;
        let (change, revoked) = change(&*transaction, group)?;
        let record = record(group, when, change)?;
        write(&*transaction, group, issuer, &record, &revoked)?;
        let after = read_group(&*transaction)?; // with every rule: what readers refuse is not kept
        let version = transaction.version()?;
        transaction.commit()?;
        (self.group, self.version) = (after, version);
        self.publish().map_err(StoreError::not_published)?;
        Ok(record.epoch)
    }
}

/// Refuses to revoke a row whose salt is damaged: its x would be another one, and the machine would go on.
pub(super) fn check_salts(
    group: &GroupFile,
    issuer: &IssuerKeyFile,
    rows: &[Machine],
) -> Result<(), StoreError> {
    match rows.iter().find(|row| !row.fits(group, issuer)) {
        Some(row) => Err(StoreError::DamagedRow(row.entry.name.to_string())),
        None => Ok(()),
    }
}

pub(super) fn record(
    group: &GroupFile,
    when: EpochStart,
    change: Change,
) -> Result<EpochRecord, StoreError> {
    let newest = group.newest_epoch();
    if newest as usize >= MAX_EPOCHS {
        return Err(StoreError::Full("epochs"));
    }
    Ok(EpochRecord {
        epoch: newest + 1,
        previous: group.last_id(),
        made: WallTime::from_nanos(when.now),
        start: WallTime::from_nanos(when.start),
        machines: group.register().machines,
        root: group.register().root,
        change,
    })
}

/// Writes an epoch, and the register's head behind it.
pub(super) fn write(
    transaction: &dyn Transaction,
    group: &GroupFile,
    issuer: &IssuerKeyFile,
    record: &EpochRecord,
    revoked: &[Machine],
) -> Result<(), StoreError> {
    let part = sign_part(&record.encode(), &issuer.manager);
    transaction.add_record(record.epoch, &part)?;
    for machine in revoked {
        transaction.revoke(machine.entry.index, record.epoch)?;
        transaction.unqueue(machine.entry.index)?;
    }
    transaction.send(LOG_EPOCH, &epoch_body(record))?;
    if matches!(record.change, Change::Log(_)) {
        // The new log gets all of it, from the first entry on.
        transaction.set_unsent()?;
    }
    // Readers demand it: the record binds the register, and a checkpoint leads from there on.
    write_checkpoint(transaction, group, record.machines, issuer)?;
    // While a rebase was made, machines may have joined.
    let present = group.register();
    let time = record.made.max(present.time).as_nanos();
    let last = record.epoch_id();
    write_head(transaction, present.machines, last, time, issuer).map(drop)
}

/// The rows to revoke: registered, and never revoked before.
pub(super) fn rows_of(db: &dyn Tables, names: &[Name]) -> Result<Vec<Machine>, StoreError> {
    let distinct: BTreeSet<&Name> = names.iter().collect();
    let rows = distinct.into_iter().map(|name| {
        let row = db.last_machine(name.as_str())?;
        let row = row.ok_or_else(|| StoreError::NoSuchMachine(name.to_string()))?;
        match row.revoked_in {
            None => Ok(row),
            Some(epoch) => Err(StoreError::AlreadyRevoked {
                machine: name.to_string(),
                epoch,
            }),
        }
    });
    rows.collect()
}

/// The record that revokes these rows by steps of the chain.
fn steps(
    group: &GroupFile,
    gamma: &xr::IssuerKey,
    issuer: &IssuerKeyFile,
    rows: &[Machine],
) -> Result<Change, StoreError> {
    if rows.len() > MAX_STEPS_PER_RECORD {
        return Err(StoreError::TooManyAtOnce(MAX_STEPS_PER_RECORD));
    }
    if steps_since_rebase(group) + rows.len() > MAX_STEPS {
        return Err(StoreError::RebaseIsDue);
    }
    let PublicKey::Xr(mut public) = key_of(group, group.newest_epoch())? else {
        return Err(StoreError::OtherGroupsKey);
    };
    let unfit = || StoreError::Damaged("the issuer key does not fit the group".to_owned());
    let mut steps = Vec::new();
    for row in rows {
        let step = gamma.revoke(&public, &row.x(issuer)).ok_or_else(unfit)?;
        public = public.after(&step).map_err(|_| unfit())?;
        steps.push(step);
    }
    Ok(Change::steps(&steps))
}

/// How many steps there are since epoch 0 or the last rebase.
fn steps_since_rebase(group: &GroupFile) -> usize {
    let base = group.hashed_since(group.newest_epoch()) as usize;
    let steps = group.epochs()[base..]
        .iter()
        .map(|record| match &record.change {
            Change::Steps(steps) => steps.len(),
            _ => 0,
        });
    steps.sum()
}
