//! A store that was restored from an older backup takes over what was published since (`spec/backup.md`
//! section 4).
//!
//! Records and checkpoints are signed by the manager's key and chained, and the log has the leaf hashes of
//! all rows. So only what is personal or secret is lost: names, entries and salts of rows since the backup.

use super::end::parts_of;
use super::epochs::RevokedRows;
use super::register::{append_leaf, for_each, root_of, write_head};
use super::witnesses::Making;
use super::{GROUP_FILE, LOG_EPOCH, Locked, Store, check, epoch_body, group_of};
use crate::error::StoreError;
use crate::storage::Transaction;
use clew_evidence::{Change, GroupFile};
use clew_keys::IssuerKeyFile;
use clew_log::entry::Body;
use std::collections::{HashMap, VecDeque};
use std::path::Path;

/// An entry of the manager in the group's log: its place, kind and body.
pub type LoggedBody = (u64, u8, Vec<u8>);

/// What a store took over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaughtUp {
    /// How many epochs.
    pub epochs: u32,
    /// The machines that these revoked, as far as the store knows them.
    pub revoked: Vec<String>,
    /// Rows that the log has, and of which nobody has more than the hash: nobody can name them.
    pub lost: u32,
    /// Rows that were published, but are neither bound by a record or checkpoint nor in a log: their places
    /// are given to others.
    pub dropped: u32,
}

/// What is taken over, and into what.
struct Takeover<'a> {
    db: &'a dyn Transaction,
    ours: &'a GroupFile,
    theirs: &'a GroupFile,
    issuer: &'a IssuerKeyFile,
}

impl Store {
    /// Takes over what `published` has and the store in `dir` lacks, and opens the store. `logged` are all
    /// entries of the manager in the log that the file names last, in order; `None` if it names none.
    ///
    /// # Errors
    /// [`StoreError::OtherHistory`] if file, log and store are not of one history;
    /// [`StoreError::RowsMissing`] if rows are bound of which not even the hash is known;
    /// [`StoreError::LogNeeded`], [`StoreError::Served`], [`StoreError::OtherGroupsKey`]. Then nothing was
    /// changed.
    pub fn catch_up(
        dir: &Path,
        issuer: &IssuerKeyFile,
        published: &[u8],
        logged: Option<&[LoggedBody]>,
    ) -> Result<(Self, CaughtUp), StoreError> {
        let _alone = Self::lock_service(dir)?;
        let mut store = Self::opened(dir)?;
        store.check_key(issuer)?;
        let theirs = group_of(published)?;
        if theirs.newest_log().is_some() && logged.is_none() {
            return Err(StoreError::LogNeeded);
        }
        let making = Making::begin(dir)?;
        let Locked {
            transaction, group, ..
        } = store.lock()?;
        let takeover = Takeover {
            db: &*transaction,
            ours: group,
            theirs: &theirs,
            issuer,
        };
        takeover.check_history()?;
        let caught_up = takeover.write(published, logged)?;
        let after = check::check_tables(&*transaction)?;
        takeover.make_witnesses(&after, &making)?;
        let version = transaction.version()?;
        transaction.commit()?;
        (store.group, store.version) = (after, version);
        // Rows that were dropped are in the published file, and in no later one.
        store.published = std::fs::read(dir.join(GROUP_FILE)).ok();
        store.published = store.published.filter(|file| file == published);
        store.publish().map_err(StoreError::not_published)?;
        Ok((store, caught_up))
    }
}

impl Takeover<'_> {
    /// All that the store has is in the published file.
    fn check_history(&self) -> Result<(), StoreError> {
        let (ours, theirs) = (self.ours, self.theirs);
        let mut own = ours.checkpoints().iter();
        let same = theirs.id() == ours.id()
            && theirs.epoch_id(ours.newest_epoch()) == Some(ours.last_id())
            && own.all(|own| theirs.register_root(own.machines) == Some(&own.root));
        match same {
            true => Ok(()),
            false => Err(StoreError::OtherHistory("the published group file")),
        }
    }

    fn write(
        &self,
        published: &[u8],
        logged: Option<&[LoggedBody]>,
    ) -> Result<CaughtUp, StoreError> {
        let (db, ours, theirs) = (self.db, self.ours, self.theirs);
        let first = ours.register().machines;
        let machines = self.add_rows(logged.unwrap_or_default())?;
        let head = theirs.register();
        self.check_rows(machines)?;
        let parts = parts_of(published);
        let records = ours.newest_epoch() + 1..=theirs.newest_epoch();
        for epoch in records.clone() {
            db.add_record(epoch, parts[epoch as usize])?;
        }
        let behind = parts[1 + theirs.epochs().len()..].iter();
        for (checkpoint, part) in theirs.checkpoints().iter().zip(behind) {
            if ours.register_root(checkpoint.machines).is_none()
                || !ours.checkpoints().contains(checkpoint)
            {
                db.add_checkpoint(checkpoint.machines, &checkpoint.root, part)?;
            }
        }
        for lost in first..machines {
            db.add_stub(lost, theirs.newest_epoch())?;
        }
        let revoked = self.revoke()?;
        self.write_outbox(logged.unwrap_or_default())?;
        let time = head.time.max(ours.register().time).as_nanos();
        write_head(db, machines, theirs.last_id(), time, self.issuer)?;
        Ok(CaughtUp {
            epochs: records.count() as u32,
            revoked,
            lost: machines - first,
            dropped: head.machines.saturating_sub(machines),
        })
    }

    /// Adds the leaf hashes of the log's rows that the store lacks, and returns how many rows there are then.
    fn add_rows(&self, logged: &[LoggedBody]) -> Result<u32, StoreError> {
        let mut machines = self.ours.register().machines;
        let mut next = 0;
        for (_, kind, body) in logged {
            let Some(Body::Enrolled { first, leaves }) = Body::decode(*kind, body) else {
                continue;
            };
            let other = || StoreError::OtherHistory("the group's log");
            if first != next {
                return Err(other());
            }
            for leaf in leaves {
                match next < machines {
                    true if self.db.node(0, next)? != Some(leaf) => return Err(other()),
                    true => {}
                    false => {
                        append_leaf(self.db, machines, &leaf)?;
                        machines += 1;
                    }
                }
                next += 1;
            }
        }
        Ok(machines)
    }

    /// The rows lead to all roots that were published, as far as these count.
    fn check_rows(&self, machines: u32) -> Result<(), StoreError> {
        let head = self.theirs.register();
        let sizes = self.theirs.checkpoints().iter();
        let bound = sizes.clone().map(|known| known.machines).max();
        let bound = match self.theirs.end() {
            Some(_) => Some(head.machines),
            None => bound,
        };
        if bound.is_some_and(|bound| bound > machines) {
            return Err(StoreError::RowsMissing {
                need: bound.unwrap_or_default(),
                have: machines,
            });
        }
        let mut sizes: Vec<_> = sizes.map(|known| (known.machines, known.root)).collect();
        sizes.extend((head.machines <= machines).then_some((head.machines, head.root)));
        for (size, root) in sizes {
            if size > 0 && root_of(self.db, size)? != root {
                return Err(StoreError::OtherHistory("the register of that group file"));
            }
        }
        Ok(())
    }

    /// Marks the rows that the new epochs revoke, and returns the names of those that the store knows.
    fn revoke(&self) -> Result<Vec<String>, StoreError> {
        let (mut by_x, mut by_row) = (HashMap::new(), HashMap::new());
        for record in &self.theirs.epochs()[self.ours.epochs().len()..] {
            match &record.change {
                Change::Steps(steps) => {
                    let xs = steps.iter().filter_map(|step| step.first_chunk::<32>());
                    by_x.extend(xs.map(|x| (*x, record.epoch)));
                }
                Change::Rebase { revoked } => {
                    by_row.extend(revoked.iter().map(|row| (*row, record.epoch)));
                }
                _ => {}
            }
        }
        let mut rows = Vec::new();
        for_each(self.db, |machine| -> Result<(), StoreError> {
            let epoch = by_row.get(&machine.entry.index).copied();
            let by_step = || by_x.get(&machine.x(self.issuer).to_bytes()).copied();
            if machine.revoked_in.is_none()
                && let Some(epoch) = epoch.or_else(by_step)
            {
                rows.push((machine.entry.index, epoch, machine.entry.name.to_string()));
            }
            Ok(())
        })?;
        for (row, epoch, _) in &rows {
            self.db.revoke(*row, *epoch)?;
            self.db.unqueue(*row)?;
        }
        Ok(rows.into_iter().map(|(_, _, name)| name).collect())
    }

    /// Brings the outbox to what the log has: what it has is sent, and epochs that it lacks wait.
    fn write_outbox(&self, logged: &[LoggedBody]) -> Result<(), StoreError> {
        let other = || StoreError::OtherHistory("the group's log");
        let new = &self.theirs.epochs()[self.ours.epochs().len()..];
        if new
            .iter()
            .any(|record| matches!(record.change, Change::Log(_)))
        {
            self.db.set_unsent()?;
        }
        let mut waiting: VecDeque<_> = self.db.outbox(u32::MAX >> 1)?.into();
        let sent = self.db.last_place()?;
        let mut epochs = 0;
        for (place, kind, body) in logged {
            if let Some(Body::Epoch { epoch, id, .. }) = Body::decode(*kind, body) {
                if self.theirs.epoch_id(epoch).map(|id| id.0) != Some(id) {
                    return Err(other());
                }
                epochs = epochs.max(epoch);
            }
            if sent.is_some_and(|sent| *place <= sent) {
                continue;
            }
            match waiting.front() {
                Some(own) if (own.kind, &own.body) == (*kind, body) => {
                    self.db.set_sent(own.seq, *place)?;
                    waiting.pop_front();
                }
                Some(_) => return Err(other()),
                None => self.db.add_sent(*kind, body, *place)?,
            }
        }
        for record in new.iter().filter(|record| record.epoch > epochs) {
            self.db.send(LOG_EPOCH, &epoch_body(record))?;
        }
        Ok(())
    }

    /// Makes the witnesses of the rebases that are in force or planned, for the rows that are known.
    fn make_witnesses(&self, after: &GroupFile, making: &Making<'_>) -> Result<(), StoreError> {
        let in_force = after.hashed_since(after.epoch_at(after.register().time));
        for record in &self.theirs.epochs()[self.ours.epochs().len()..] {
            let is_rebase = matches!(record.change, Change::Rebase { .. });
            if !is_rebase || record.epoch < in_force {
                continue;
            }
            let rows = RevokedRows::read(self.db, self.issuer)?;
            let in_epoch = rows.issuer_in(after, self.issuer, record.epoch)?;
            let mut progress = |_, _| true;
            let mut buckets =
                making.buckets(after, self.issuer, &in_epoch, record.epoch, &mut progress)?;
            for_each(self.db, |machine| buckets.add(machine))?;
            buckets.fill(after.register().machines)?;
            buckets.finish()?;
            making.keep(record.epoch)?;
        }
        Ok(())
    }
}
