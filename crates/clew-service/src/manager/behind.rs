//! Whether store and log of a group are of the same time: either may have been restored from a backup.

use crate::database::StorageError;
use crate::log::{Log, LogClient, LogClientError};
use clew_evidence::GroupLog;
use clew_log::Checkpoint;
use clew_log::entry::{Body, Logged};
use clew_manager::{Store, StoreError};
use std::collections::VecDeque;
use thiserror::Error;

/// Entries that are looked at, at once: the store's that wait, and the log's.
const AT_ONCE: u32 = 1_024;

/// Why a store must not be served with its group's log.
#[derive(Debug, Error)]
pub enum BehindError {
    /// The log has entries of the manager that the store does not know: it is an older copy.
    #[error("the group's log has entries that this store lacks: the store is an older copy")]
    Store,
    /// The log lacks entries that it had: it is an older copy.
    #[error("this log lacks entries that the store sent to it: the log is an older copy")]
    Log,
    /// The store failed.
    #[error(transparent)]
    Failed(#[from] StoreError),
    /// The log's database failed.
    #[error(transparent)]
    LogFailed(#[from] StorageError),
    /// The log does not answer.
    #[error(transparent)]
    Unanswered(#[from] LogClientError),
}

/// Compares a store with the log in its own directory, before either serves. If the store is the older
/// one, it is halted.
///
/// # Errors
/// [`BehindError`].
pub fn compare_with_own(store: &Store, log: &Log) -> Result<(), BehindError> {
    let (first, size) = (next_place(store)?, log.newest().size);
    if first > size {
        return Err(BehindError::Log);
    }
    let mut known = Known::of(store)?;
    let mut place = first;
    while place < size {
        let end = size.min(place + u64::from(AT_ONCE));
        log.entries(place, end)?
            .iter()
            .try_for_each(|bytes| known.check(store, bytes))?;
        place = end;
    }
    Ok(())
}

/// The same with a log elsewhere, by what it has published.
///
/// # Errors
/// [`BehindError`]; [`BehindError::Unanswered`] if the log is away: nothing is known then.
pub async fn compare_with(store: &Store, log: &LogClient) -> Result<(), BehindError> {
    let note = log.checkpoint().await?;
    let named = store.group().newest_log().map(GroupLog::key);
    if named.is_none_or(|key| note.signature(key).is_err()) {
        return Err(LogClientError::Answer("a checkpoint of the group's log").into());
    }
    let stated = Checkpoint::parse(note.text());
    let size = stated
        .map_err(|_| LogClientError::Answer("a checkpoint"))?
        .size;
    let mut known = Known::of(store)?;
    let mut place = next_place(store)?;
    // A published checkpoint may lag behind what the log has acknowledged.
    while place < size {
        let entries = log.entries(place, size).await?;
        place += entries.len().max(1) as u64;
        entries
            .iter()
            .try_for_each(|bytes| known.check(store, bytes))?;
    }
    Ok(())
}

/// The place behind the last entry that the log took from this store.
fn next_place(store: &Store) -> Result<u64, StoreError> {
    Ok(store.last_place()?.map_or(0, |place| place + 1))
}

/// Whether an entry tells of the group's own history: machines and epochs.
pub(super) fn is_of_group(body: &Body) -> bool {
    matches!(
        body,
        Body::Group { .. } | Body::Enrolled { .. } | Body::Epoch { .. }
    )
}

/// The entries that the log may have from this store, which was killed before it marked them.
struct Known {
    waiting: VecDeque<Body>,
    /// There are more of them.
    is_cut: bool,
    manager: [u8; 32],
}

impl Known {
    fn of(store: &Store) -> Result<Self, StoreError> {
        let waiting = store.outbox(AT_ONCE)?;
        let is_cut = waiting.len() == AT_ONCE as usize;
        let bodies = waiting.iter();
        Ok(Self {
            waiting: bodies
                .filter_map(|e| Body::decode(e.kind, &e.body))
                .filter(is_of_group)
                .collect(),
            is_cut,
            manager: store.group().genesis().manager,
        })
    }

    /// Compares the log's next entry, and halts the store if it is not one of its own.
    fn check(&mut self, store: &Store, bytes: &[u8]) -> Result<(), BehindError> {
        let logged = Logged::decode(bytes);
        let entry = logged.ok_or(LogClientError::Answer("an entry"))?.entry;
        if entry.author != self.manager || !is_of_group(&entry.body) {
            return Ok(());
        }
        // A log elsewhere could invent it, and halt the store.
        if entry.group != store.group().id().0 || !entry.is_signed() {
            return Err(LogClientError::Answer("an entry that the manager signed").into());
        }
        match self.waiting.pop_front() {
            Some(own) if own == entry.body => Ok(()),
            None if self.is_cut => Ok(()),
            _ => {
                store.halt()?;
                Err(BehindError::Store)
            }
        }
    }
}
