//! Which requests need a turn, and in which order: no requester waits behind the requests of another.

use crate::commands::request::answer::{Place, Record, Topic, topics};
use crate::failure::Failure;
use clew_evidence::DeviceFingerprint;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

/// Most requests of one requester that are looked at and not decided (`spec/opening.md` 3.1, rule `queue`).
const UNDECIDED_MAX: usize = 64;
/// Most requests that get a turn before the board is asked for news again.
const TURNS_MAX: usize = 64;
/// Topics of which what was read is kept in memory.
const READ_MAX: usize = 64;
/// First and longest pause until a turn that failed is tried again.
const PAUSE: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];

/// Topics that need a turn. At the start of a process all open ones do: it may have ended anywhere.
#[derive(Default)]
pub struct Pending {
    /// With the keys that showed a case, as far as they are known.
    topics: BTreeMap<[u8; 32], BTreeSet<[u8; 32]>>,
    /// What was read of topics, the last ones used: their numbers say when.
    read: BTreeMap<[u8; 32], (u64, Topic)>,
    turns: u64,
    failed: BTreeMap<[u8; 32], (Instant, Duration)>,
    is_begun: bool,
    /// Why requests wait, as it was said last.
    pub said: Option<String>,
}

impl Pending {
    /// Why requests wait, if they do.
    pub fn trouble(&self) -> Option<&str> {
        self.said.as_deref()
    }

    /// Whether nothing needs a turn.
    pub fn is_empty(&self) -> bool {
        self.topics.is_empty()
    }

    /// Whether requests wait for their turn.
    pub fn has_more(&self) -> bool {
        self.said.is_none() && !self.topics.is_empty()
    }

    /// A topic needs a turn; these keys showed a case.
    pub fn add(&mut self, topic: [u8; 32], from: BTreeSet<[u8; 32]>) {
        self.topics.entry(topic).or_default().extend(from);
    }

    /// Adds what needs a turn though the board has nothing new.
    ///
    /// # Errors
    /// The disk.
    pub fn look(&mut self, dir: &Path, now: u64) -> Result<(), Failure> {
        for topic in topics(dir, Place::Open)? {
            let record = Record::at(dir, &topic);
            let retries = self.may_retry(&topic);
            if !self.is_begun || record.is_pending(now, retries)? {
                self.add(topic, record.from()?);
            }
        }
        self.is_begun = true;
        Ok(())
    }

    fn may_retry(&self, topic: &[u8; 32]) -> bool {
        let failed = self.failed.get(topic);
        failed.is_none_or(|(at, _)| Instant::now() >= *at)
    }

    /// Takes the topics whose turn it is: one of each requester, then the next one of each.
    pub fn next(&mut self) -> Vec<[u8; 32]> {
        let mut lines: BTreeMap<Option<[u8; 32]>, Vec<[u8; 32]>> = BTreeMap::new();
        for (topic, from) in self.topics.iter().rev() {
            if from.is_empty() {
                lines.entry(None).or_default().push(*topic);
            }
            for key in from {
                lines.entry(Some(*key)).or_default().push(*topic);
            }
        }
        let (mut turns, mut seen) = (Vec::new(), BTreeSet::new());
        while turns.len() < TURNS_MAX && !lines.is_empty() {
            lines.retain(|_, line| {
                let next = line.pop();
                turns.extend(next.filter(|topic| seen.insert(*topic)));
                !line.is_empty()
            });
        }
        turns.truncate(TURNS_MAX);
        for topic in &turns {
            self.topics.remove(topic);
        }
        turns
    }

    /// Takes what was read of a topic.
    pub fn take_read(&mut self, topic: &[u8; 32]) -> Topic {
        self.read
            .remove(topic)
            .map(|(_, read)| read)
            .unwrap_or_default()
    }

    /// A turn did what there was to do, or has to be tried again after a pause.
    pub fn took(&mut self, topic: [u8; 32], is_done: bool, read: Topic) {
        let [first, longest] = PAUSE;
        let paused = self.failed.remove(&topic);
        if !is_done {
            let pause = paused.map_or(first, |(_, pause)| (pause * 2).min(longest));
            self.failed.insert(topic, (Instant::now() + pause, pause));
        }
        self.turns += 1;
        self.read.insert(topic, (self.turns, read));
        if self.read.len() > READ_MAX {
            let oldest = self.read.iter().min_by_key(|(_, (turn, _))| *turn);
            if let Some(oldest) = oldest.map(|(topic, _)| *topic) {
                self.read.remove(&oldest);
            }
        }
    }
}

/// How many requests of each requester were looked at and are not decided.
#[derive(Default)]
pub struct Undecided(BTreeMap<String, BTreeSet<[u8; 32]>>);

impl Undecided {
    /// Reads them from a trustee's directory.
    ///
    /// # Errors
    /// The disk.
    pub fn read(dir: &Path, now: u64) -> Result<Self, Failure> {
        let mut all = Self::default();
        for topic in topics(dir, Place::Open)? {
            all.note(dir, &topic, now)?;
        }
        Ok(all)
    }

    /// Takes note of what became of one request.
    ///
    /// # Errors
    /// The disk.
    pub fn note(&mut self, dir: &Path, topic: &[u8; 32], now: u64) -> Result<(), Failure> {
        let record = Record::at(dir, topic);
        let is_open = record.over()?.is_none() && record.is_undecided(now)?;
        let Some(review) = record.review()? else {
            return Ok(());
        };
        let own = self.0.entry(review.requester).or_default();
        match is_open {
            true => own.insert(*topic),
            false => own.remove(topic),
        };
        Ok(())
    }

    /// Whether a requester may have this one, too.
    pub fn has_room(&self, requester: &[u8; 32], topic: &[u8; 32]) -> bool {
        let own = self.0.get(&DeviceFingerprint::of(requester).to_string());
        own.is_none_or(|own| own.contains(topic) || own.len() < UNDECIDED_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(number: u32) -> [u8; 32] {
        let mut topic = [0; 32];
        topic[..4].copy_from_slice(&number.to_be_bytes());
        topic
    }

    /// One requester with thousands of requests, and one with one: that one is among the first.
    #[test]
    fn nobody_waits_behind_another_requester() {
        let mut pending = Pending::default();
        let (evil, honest, own) = ([1; 32], [2; 32], topic(u32::MAX));
        for number in 0..5_000 {
            pending.add(topic(number), BTreeSet::from([evil]));
        }
        // The other showed a case in the honest one's topic as well.
        pending.add(own, BTreeSet::from([evil, honest]));
        let first = pending.next();
        assert_eq!(first.len(), TURNS_MAX);
        assert!(first[..2].contains(&own));
        let mut left = 5_001 - TURNS_MAX;
        while pending.has_more() {
            let next = pending.next();
            assert!(!next.is_empty() && !next.contains(&own));
            left -= next.len();
        }
        assert_eq!(left, 0);
    }

    #[test]
    fn what_was_read_is_kept_for_the_last_topics() {
        let mut pending = Pending::default();
        for number in 0..READ_MAX as u32 + 9 {
            pending.took(topic(number), true, Topic::default());
        }
        assert_eq!(pending.read.len(), READ_MAX);
        assert!(!pending.read.contains_key(&topic(8)));
        assert!(pending.read.contains_key(&topic(9)));
        pending.took(topic(20), false, Topic::default());
        assert!(!pending.may_retry(&topic(20)) && pending.may_retry(&topic(21)));
    }
}
