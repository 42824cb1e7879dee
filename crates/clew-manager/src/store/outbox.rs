//! What has to be in the group's log: written in the transaction of each change, sent afterwards.

use super::Store;
use crate::error::StoreError;
use clew_evidence::EpochRecord;
use clew_keys::Author;
use clew_log::entry::Role;

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

    /// Says that the log has the entries, each with its place, and syncs that. An entry that is marked
    /// already keeps its place.
    ///
    /// # Errors
    /// The database's; then none is marked.
    pub fn set_sent(&mut self, sent: &[(u64, u64)]) -> Result<(), StoreError> {
        let transaction = self.db.begin()?;
        for (seq, place) in sent {
            transaction.set_sent(*seq, *place)?;
        }
        transaction.commit()
    }
}

/// The body of an entry with the leaf hashes of consecutive rows, at most 1,000.
pub(crate) fn enrolled_body(first: u32, leaves: &[[u8; 32]]) -> Vec<u8> {
    let count = leaves.len() as u16;
    let head = [&first.to_be_bytes()[..], &count.to_be_bytes()].concat();
    [head, leaves.concat()].concat()
}

/// The body of an entry that says in which role a key writes from now on.
pub(crate) fn author_body(role: Role, author: &Author) -> Vec<u8> {
    let mut body = role.code().to_vec();
    body.extend(author.signs.as_bytes());
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
