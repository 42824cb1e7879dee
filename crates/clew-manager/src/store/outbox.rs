//! What has to be in the group's log: written in the transaction of each change, sent afterwards.

use super::{Locked, Store};
use crate::error::StoreError;
use crate::storage::Transaction;
use clew_evidence::{EpochRecord, GroupLog};
use clew_keys::{Author, IssuerKeyFile};
use clew_log::VerifierKey;
use clew_log::entry::{Body, Entry, Role};
use clew_wire::WallTime;
use std::collections::BTreeMap;

/// Kind of the entry that founds a log.
pub(crate) const LOG_GROUP: u8 = 1;
/// Kind of the entry that gives a key a role, or takes it.
pub(crate) const LOG_AUTHOR: u8 = 2;
/// Kind of the entry with the leaf hashes of new rows.
pub(crate) const LOG_ENROLLED: u8 = 3;
/// Kind of the entry of an epoch.
pub(crate) const LOG_EPOCH: u8 = 4;

/// What the group's log has to have: the body of an entry (`spec/log.md` section 3), unsigned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxEntry {
    /// Its place in the outbox, from 1.
    pub seq: u64,
    /// Its kind.
    pub kind: u8,
    /// Its body.
    pub body: Vec<u8>,
}

impl Store {
    /// The entries that wait for the log, oldest first, at most `most`. They are to be sent in this
    /// order.
    ///
    /// # Errors
    /// The database's.
    pub fn outbox(&self, most: u32) -> Result<Vec<OutboxEntry>, StoreError> {
        self.db.outbox(most)
    }

    /// Signs entries of the outbox with the manager's key. `now` is the manager's clock.
    ///
    /// What the database says is compared with what the manager signed before, as far as it did: whoever
    /// writes into the database does not speak with its key about epochs and machines.
    ///
    /// # Errors
    /// [`StoreError::OtherGroupsKey`]; [`StoreError::Damaged`] if a body is not that of an entry, or says
    /// anything else than the group file and the register.
    pub fn signed_for_log(
        &self,
        issuer: &IssuerKeyFile,
        entries: &[OutboxEntry],
        now: WallTime,
    ) -> Result<Vec<(u64, Entry)>, StoreError> {
        self.check_key(issuer)?;
        let group = self.group.id().0;
        let signed = |entry: &OutboxEntry| {
            let body = Body::decode(entry.kind, &entry.body)?;
            if !self.says(&body).ok()? {
                return None;
            }
            let signed = Entry::sign(group, now, body, &issuer.manager)?;
            Some((entry.seq, signed))
        };
        let signed = entries.iter().map(|entry| {
            let seq = entry.seq;
            signed(entry).ok_or_else(|| StoreError::Damaged(format!("entry {seq} of the outbox")))
        });
        signed.collect()
    }

    /// Whether group file and register say the same. Nothing signed says who is an author.
    fn says(&self, body: &Body) -> Result<bool, StoreError> {
        match body {
            Body::Group { record } => {
                let own = self.group.epoch_id(0);
                Ok(own.is_some_and(|own| own.0 == *record))
            }
            Body::Epoch { epoch, id, .. } => {
                let own = self.group.epoch_id(*epoch);
                Ok(own.is_some_and(|own| own.0 == *id))
            }
            Body::Enrolled { first, leaves } => {
                // The tree has the hashes of rows that were deleted, too.
                let rows = (*first..).zip(leaves);
                let places: Vec<(u32, u32)> = rows.clone().map(|(row, _)| (0, row)).collect();
                let nodes = self.db.nodes(&places)?;
                for ((index, leaf), node) in rows.zip(nodes) {
                    let row = self.db.machine(index)?;
                    let is_other = row.is_some_and(|row| row.entry.leaf_hash() != *leaf);
                    if is_other || node != Some(*leaf) {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => Ok(true),
        }
    }

    /// Says that this log has the entries, each with its place, and syncs that. An entry that is marked
    /// already keeps its place. Returns `false`, and marks none, if the group writes into another log by
    /// now.
    ///
    /// # Errors
    /// The database's; then none is marked.
    pub fn set_sent(&mut self, log: &VerifierKey, sent: &[(u64, u64)]) -> Result<bool, StoreError> {
        let Locked {
            transaction, group, ..
        } = self.lock()?;
        if group.newest_log().map(GroupLog::key) != Some(log) {
            return Ok(false);
        }
        for (seq, place) in sent {
            transaction.set_sent(*seq, *place)?;
        }
        transaction.commit()?;
        Ok(true)
    }

    /// The last place in the log that an entry of this store has; `None` if the log has none of them.
    ///
    /// # Errors
    /// The database's.
    pub fn last_place(&self) -> Result<Option<u64>, StoreError> {
        self.db.last_place()
    }

    /// The places in the log of all epochs that are there, by epoch.
    ///
    /// # Errors
    /// The database's.
    pub fn logged_epochs(&self) -> Result<BTreeMap<u32, u64>, StoreError> {
        let sent = self.db.sent(LOG_EPOCH)?;
        let epoch = |(body, place): (Vec<u8>, u64)| {
            let epoch = body.first_chunk().map(|epoch| u32::from_be_bytes(*epoch));
            epoch.map(|epoch| (epoch, place))
        };
        Ok(sent.into_iter().filter_map(epoch).collect())
    }
}

/// The body of an entry with the leaf hashes of consecutive rows, at most 1,000.
pub(crate) fn enrolled_body(first: u32, leaves: &[[u8; 32]]) -> Vec<u8> {
    let count = leaves.len() as u16;
    let head = [&first.to_be_bytes()[..], &count.to_be_bytes()].concat();
    [head, leaves.concat()].concat()
}

/// Puts the entry into the outbox that says in which role a key writes from now on.
pub(crate) fn send_author(
    db: &dyn Transaction,
    role: Role,
    author: &Author,
) -> Result<(), StoreError> {
    let change = db.changes_of(LOG_AUTHOR, author.signs.as_bytes())?;
    db.send(LOG_AUTHOR, &author_body(role, author, change))
}

fn author_body(role: Role, author: &Author, change: u32) -> Vec<u8> {
    let mut body = role.code().to_vec();
    body.extend(author.signs.as_bytes());
    body.extend(change.to_be_bytes());
    author.name.write(&mut body);
    body
}

/// The body of the entry of an epoch.
pub(crate) fn epoch_body(record: &EpochRecord) -> Vec<u8> {
    let start = record.start.as_nanos().to_be_bytes();
    [
        &record.epoch.to_be_bytes()[..],
        &record.epoch_id().0,
        &start,
    ]
    .concat()
}
