//! Fragments, until their datagram is whole: section 2.2.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::{mem, time::Duration};

use clew_wire::Instant;

use super::{
    DATAGRAM_MAX,
    datagram::may_be_in_fragments,
    fragment::{Fragment, FragmentId, id},
};

/// Most datagrams whose fragments are kept.
pub const FRAGMENT_IDS_MAX: usize = 4096;

/// Most bytes of fragments that are kept; each counts 64 more than it has.
pub const FRAGMENT_BYTES_MAX: usize = 8 << 20;

/// What a fragment costs besides its bytes, so that short ones do not cost more than they count.
const FRAGMENT_OVERHEAD: usize = 64;

/// Most last-coming parts of a datagram that do not fit its id: each costs a hash over all parts.
pub const FRAGMENT_WRONG_MAX: u8 = 16;

/// How long fragments are kept.
pub const FRAGMENT_TIME_MAX: Duration = Duration::from_secs(1);

/// Puts fragments together. Whoever alters a copy of a fragment spends no packet by it, unless the
/// copy comes before the fragment.
///
/// `T` names a fragment for the caller: what becomes of it may only be known later.
#[derive(Clone, Debug)]
pub struct Reassembler<T> {
    entries: BTreeMap<Key, Entry<T>>,
    /// By age.
    order: BTreeMap<u64, Key>,
    next: u64,
    bytes: usize,
    missing: Vec<T>,
}

/// id and count.
type Key = (FragmentId, u8);

/// The fragments of one datagram. They stay when it is whole, to tell copies of them.
#[derive(Clone, Debug)]
struct Entry<T> {
    number: u64,
    since: Instant,
    parts: BTreeMap<u8, Vec<u8>>,
    /// Of fragments that wait.
    tokens: Vec<T>,
    /// What they count.
    bytes: usize,
    /// The one that made it whole.
    last: Option<T>,
    /// The last part came twice.
    has_second: bool,
    /// Parts that came last and did not fit the id.
    wrong: u8,
}

/// What became of a fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken<T> {
    /// Others are missing.
    Waits,
    /// It was the last one.
    Whole {
        /// The datagram, as its sender wrote it.
        datagram: Vec<u8>,
        /// The fragments that waited for it, in the order of arrival.
        tokens: Vec<T>,
    },
    /// The same fragment came before: live it is a `duplicate`, but for `is_second`.
    Again {
        /// The one that made the datagram whole. `None` if it is not: then this one waits, too.
        of: Option<T>,
        /// It is the first copy of a last part, which a sender may send twice: no `duplicate`.
        is_second: bool,
    },
    /// It is `bad-fragment`.
    Bad {
        /// So are these, which waited for it: together they are no datagram with a packet.
        tokens: Vec<T>,
    },
}

impl<T: Copy> Reassembler<T> {
    /// Returns one that has no fragments.
    pub const fn new() -> Self {
        Self {
            entries: BTreeMap::new(),
            order: BTreeMap::new(),
            next: 0,
            bytes: 0,
            missing: Vec::new(),
        }
    }

    /// Takes a fragment in.
    pub fn take(&mut self, fragment: &Fragment<'_>, now: Instant, token: T) -> Taken<T> {
        self.expire(now);
        let cost = fragment.part.len() + FRAGMENT_OVERHEAD;
        while self.bytes + cost > FRAGMENT_BYTES_MAX {
            self.forget_first();
        }
        let key = (*fragment.id, fragment.count);
        if !self.entries.contains_key(&key) {
            self.begin(key, now);
        }
        let Some(entry) = self.entries.get_mut(&key) else {
            return Taken::Bad { tokens: Vec::new() };
        };
        let (before, taken) = (entry.bytes, entry.take(fragment, cost, token));
        self.bytes = self.bytes + entry.bytes - before;
        if entry.parts.is_empty() {
            self.forget(&key);
        }
        taken
    }

    /// Gives up what is older than [`FRAGMENT_TIME_MAX`].
    pub fn expire(&mut self, now: Instant) {
        while let Some((_, key)) = self.order.first_key_value()
            && let Some(entry) = self.entries.get(key)
            && now - entry.since > FRAGMENT_TIME_MAX
        {
            self.forget_first();
        }
    }

    /// Gives up everything: no more fragments come.
    pub fn finish(&mut self) {
        while !self.order.is_empty() {
            self.forget_first();
        }
    }

    /// Returns the fragments that were given up since the last call: `missing-fragment`.
    pub fn missing(&mut self) -> Vec<T> {
        mem::take(&mut self.missing)
    }

    /// Returns whether fragments wait for others.
    pub fn is_waiting(&self) -> bool {
        self.entries.values().any(|entry| !entry.tokens.is_empty())
    }

    /// Returns how many datagrams have fragments here.
    pub fn datagrams(&self) -> usize {
        self.entries.len()
    }

    fn begin(&mut self, key: Key, now: Instant) {
        while self.entries.len() >= FRAGMENT_IDS_MAX {
            self.forget_first();
        }
        let entry = Entry {
            number: self.next,
            since: now,
            parts: BTreeMap::new(),
            tokens: Vec::new(),
            bytes: 0,
            last: None,
            has_second: false,
            wrong: 0,
        };
        self.entries.insert(key, entry);
        self.order.insert(self.next, key);
        self.next += 1;
    }

    fn forget_first(&mut self) {
        if let Some((_, key)) = self.order.first_key_value() {
            let key = *key;
            self.forget(&key);
        }
    }

    fn forget(&mut self, key: &Key) {
        if let Some(entry) = self.entries.remove(key) {
            self.order.remove(&entry.number);
            self.bytes -= entry.bytes;
            self.missing.extend(entry.tokens);
        }
    }
}

impl<T: Copy> Default for Reassembler<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Copy> Entry<T> {
    fn take(&mut self, fragment: &Fragment<'_>, cost: usize, token: T) -> Taken<T> {
        let bad = Taken::Bad { tokens: Vec::new() };
        let Fragment {
            id: stated,
            index,
            count,
            part,
        } = *fragment;
        if let Some(known) = self.parts.get(&index) {
            return match known == part {
                true => self.again(index + 1 == count, token),
                false => bad,
            };
        }
        if !self.fits(index, count, part.len()) {
            return bad;
        }
        if self.parts.len() + 1 < usize::from(count) {
            self.parts.insert(index, part.to_vec());
            self.tokens.push(token);
            self.bytes += cost;
            return Taken::Waits;
        }
        let datagram = self.with(index, part);
        if id(&datagram) != *stated {
            self.wrong += 1;
            return match self.wrong < FRAGMENT_WRONG_MAX {
                true => bad,
                false => self.give_up(),
            };
        }
        if !may_be_in_fragments(&datagram) {
            return self.give_up();
        }
        let tokens = mem::take(&mut self.tokens);
        self.parts.insert(index, part.to_vec());
        self.bytes += cost;
        self.last = Some(token);
        Taken::Whole { datagram, tokens }
    }

    fn give_up(&mut self) -> Taken<T> {
        self.parts.clear();
        Taken::Bad {
            tokens: mem::take(&mut self.tokens),
        }
    }

    fn again(&mut self, is_last: bool, token: T) -> Taken<T> {
        if self.last.is_none() {
            self.tokens.push(token);
            self.bytes += FRAGMENT_OVERHEAD;
        }
        let is_second = is_last && !self.has_second;
        self.has_second |= is_last;
        Taken::Again {
            of: self.last,
            is_second,
        }
    }

    /// Tells whether a part has the length that the others ask for.
    fn fits(&self, index: u8, count: u8, length: usize) -> bool {
        let last = count - 1;
        let before = self.parts.range(..last).next();
        let before = before.map_or(length, |(_, part)| part.len());
        let end = self.parts.get(&last).map_or(1, Vec::len);
        let (each, end) = match index == last {
            true => (before, length),
            false => (length, end),
        };
        let total = usize::from(last) * each + end;
        each == before && end <= each && total <= DATAGRAM_MAX
    }

    fn with(&self, index: u8, part: &[u8]) -> Vec<u8> {
        let kept = self.parts.values().map(Vec::len).sum::<usize>();
        let mut datagram = Vec::with_capacity(kept + part.len());
        let (before, after) = (self.parts.range(..index), self.parts.range(index..));
        before.for_each(|(_, part)| datagram.extend_from_slice(part));
        datagram.extend_from_slice(part);
        after.for_each(|(_, part)| datagram.extend_from_slice(part));
        datagram
    }
}
