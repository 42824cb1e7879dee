//! What the pages know of the log: read from the database once, entry by entry, and kept in memory.

use super::super::service::Shared;
use crate::database::StorageError;
use crate::pages;
use clew_log::entry::{Body, Logged};
use clew_log::{Counts, Founder, Hash, LogState};
use clew_wire::WallTime;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

/// Entries that are read in one go.
const READ_MAX: u64 = 256;
/// Hashes that a search finds: the newest. They take some 50 MB.
pub(super) const HASHES_MAX: usize = 1 << 19;
/// Wait before the database is read again after it could not be read.
const AGAIN: Duration = Duration::from_secs(5);

/// What a log's entries say, as far as they were read.
pub(super) struct Index {
    /// `None` before the first entry.
    state: Option<LogState>,
    found: Found,
    /// What was counted last.
    counted: Option<Counted>,
}

/// What was counted, and when.
struct Counted {
    /// The log's size, and the second.
    of: (u64, u64),
    counts: Arc<Counts<String>>,
}

/// Which entry has a hash: by its first 16 bytes, so that nobody finds two that collide.
#[derive(Default)]
struct Found {
    places: HashMap<[u8; 16], u64>,
    order: VecDeque<[u8; 16]>,
}

impl Found {
    fn add(&mut self, hash: &Hash, place: u64) {
        let Some(key) = hash.first_chunk() else {
            return;
        };
        if self.places.contains_key(key) {
            return;
        }
        if self.order.len() >= HASHES_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.places.remove(&oldest);
        }
        self.places.insert(*key, place);
        self.order.push_back(*key);
    }
}

impl Index {
    /// An index of a log of which nothing was read.
    pub(super) fn empty() -> Arc<RwLock<Self>> {
        Arc::new(RwLock::new(Self {
            state: None,
            found: Found::default(),
            counted: None,
        }))
    }

    /// How many entries were read.
    pub(super) fn size(&self) -> u64 {
        self.state.as_ref().map_or(0, LogState::size)
    }

    /// What the entries say.
    pub(super) fn state(&self) -> Option<&LogState> {
        self.state.as_ref()
    }

    /// The first entry that has a hash: its own as a leaf, or one in it.
    pub(super) fn find(&self, hash: &Hash) -> Option<u64> {
        self.found.places.get(hash.first_chunk()?).copied()
    }

    fn add(&mut self, bytes: &[u8]) -> Option<()> {
        let logged = Logged::decode(bytes)?;
        let place = self.size();
        if self.state.is_none() {
            self.state = Founder::of(&logged).map(LogState::new);
        }
        self.state.as_mut()?.add(&logged).ok()?;
        self.found.add(&clew_log::tree::leaf(bytes), place);
        for hash in hashes(&logged.entry.body) {
            self.found.add(hash, place);
        }
        Some(())
    }
}

/// The hashes of an entry by which people look for it. Rows are too many.
fn hashes(body: &Body) -> Vec<&Hash> {
    match body {
        Body::Group { record } => vec![record],
        Body::Author { key, .. } => vec![key],
        Body::Epoch { id, .. } => vec![id],
        Body::Request(filed) => vec![&filed.request, &filed.warrant],
        Body::Result { evidence, .. } => vec![evidence],
        Body::Anchor { segment, .. } => vec![segment],
        Body::Enrolled { .. } | Body::Decision { .. } | Body::Unsealed { .. } => Vec::new(),
    }
}

pub(super) fn reading(index: &RwLock<Index>) -> RwLockReadGuard<'_, Index> {
    index.read().unwrap_or_else(PoisonError::into_inner)
}

/// Counts what is counted in public: at most once a second, however many ask.
pub(super) fn counts(
    index: &RwLock<Index>,
    threshold: u8,
    now: WallTime,
) -> Option<Arc<Counts<String>>> {
    let second = now.as_millis() / 1_000;
    {
        let index = reading(index);
        let fresh = index.counted.as_ref();
        let fresh = fresh.filter(|counted| counted.of == (index.size(), second));
        if let Some(counted) = fresh {
            return Some(Arc::clone(&counted.counts));
        }
    }
    let mut index = index.write().unwrap_or_else(PoisonError::into_inner);
    let counts = Counts::of(index.state.as_ref()?, threshold, now, pages::month);
    let counts = Arc::new(counts);
    index.counted = Some(Counted {
        of: (index.size(), second),
        counts: Arc::clone(&counts),
    });
    Some(counts)
}

/// Follows the log for as long as it adds entries.
pub(super) async fn follow(shared: Arc<Shared>, index: Arc<RwLock<Index>>) {
    let mut newest = shared.newest.subscribe();
    loop {
        let size = newest.borrow_and_update().size;
        match read(&shared, &index, size).await {
            Ok(()) => {
                if newest.changed().await.is_err() {
                    return;
                }
            }
            Err(error) => {
                shared.tell(&format!("pages: {error}"));
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
}

async fn read(shared: &Arc<Shared>, index: &RwLock<Index>, size: u64) -> Result<(), StorageError> {
    loop {
        let first = reading(index).size();
        if first >= size {
            return Ok(());
        }
        let end = size.min(first + READ_MAX);
        let read = shared.read(move |storage| storage.entries(first, end));
        let entries = read.await?;
        let mut index = index.write().unwrap_or_else(PoisonError::into_inner);
        for bytes in &entries {
            let added = index.add(bytes);
            added.ok_or_else(|| StorageError::damaged("".as_ref(), "an entry breaks a rule"))?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_remembers_the_newest_hashes_and_no_more() {
        let mut found = Found::default();
        let hash = |number: u64| {
            let mut hash = [0; 32];
            hash[..8].copy_from_slice(&number.to_be_bytes());
            hash
        };
        let most = HASHES_MAX as u64;
        for number in 0..=most {
            found.add(&hash(number), number);
        }
        // A second entry with a hash that is known changes nothing.
        found.add(&hash(most), 0);
        assert_eq!(found.places.len(), HASHES_MAX);
        let place = |number| found.places.get(hash(number).first_chunk().unwrap());
        assert_eq!(
            (place(0), place(1), place(most)),
            (None, Some(&1), Some(&most))
        );
    }
}
