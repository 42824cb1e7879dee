//! Verifying frames: one verdict and one reason for each, in the order of their arrival.

mod fragments;
mod queue;

use crate::{AsFrame, Randomness, TimeSource};
use clew_packet::{
    Acceptance, Checked, Conclusion, Counters, Frame, GroupTag, KeySource, Looked, Pending, Reason,
    Received, Receiver, Timestamp, Verdict, Windows,
};
use fragments::Fragments;
pub use queue::{HELD_BYTES_MAX, HELD_MAX};
use queue::{Part, Queue, Stage};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// How frames are verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// What is accepted.
    pub acceptance: Acceptance,
    /// What timestamps are compared with.
    pub time: TimeSource,
    /// Whether windows are taken whole.
    pub windows: Windows,
}

impl Rules {
    /// Returns the rules for captures: [`Acceptance::capture`], by the frames' own times.
    pub const fn capture() -> Self {
        Self {
            acceptance: Acceptance::capture(),
            time: TimeSource::Frame,
            windows: Windows::Alone,
        }
    }

    /// Returns the rules for frames of a tap: as for captures, because the kernel stamps each frame
    /// when it arrives. Duplicates are flagged, because a tap may see a packet twice.
    pub const fn tap() -> Self {
        Self::capture()
    }

    /// Returns the rules for live frames, from `start` on: [`Acceptance::live`], by the clock.
    pub const fn live(start: Timestamp) -> Self {
        Self {
            acceptance: Acceptance::live(start),
            time: TimeSource::Now,
            ..Self::capture()
        }
    }
}

/// What a verifier has concluded so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Totals {
    /// All packets.
    pub packets: u64,
    /// Packets by verdict, in the order valid, unsigned, invalid, undecided.
    pub verdicts: [(Verdict, u64); 4],
    /// Packets by reason.
    pub reasons: Counters,
    /// Unsigned packets that are IP.
    pub unsigned_ip: u64,
    /// Groups and epochs of the valid packets.
    pub signed_by: BTreeSet<(GroupTag, u32)>,
    /// Accepted signatures that were forgotten for want of room: duplicates of them go unnoticed.
    pub forgotten: u64,
}

impl Totals {
    fn new() -> Self {
        use Verdict::{Invalid, Undecided, Unsigned, Valid};
        Self {
            packets: 0,
            verdicts: [Valid, Unsigned, Invalid, Undecided].map(|verdict| (verdict, 0)),
            reasons: Counters::new(),
            unsigned_ip: 0,
            signed_by: BTreeSet::new(),
            forgotten: 0,
        }
    }

    /// Returns how many packets have that verdict.
    pub fn of(&self, verdict: Verdict) -> u64 {
        let mut counts = self.verdicts.iter();
        counts.find(|(v, _)| *v == verdict).map_or(0, |(_, n)| *n)
    }

    fn count(&mut self, conclusion: &Conclusion) {
        self.packets += 1;
        for (verdict, count) in &mut self.verdicts {
            *count += u64::from(*verdict == conclusion.verdict);
        }
        let not_ip = matches!(conclusion.reason, Reason::NotIp | Reason::LinkType);
        self.unsigned_ip += u64::from(conclusion.verdict == Verdict::Unsigned && !not_ip);
        if let (Verdict::Valid, Some(summary)) = (conclusion.verdict, conclusion.summary) {
            self.signed_by.insert((summary.group, summary.epoch));
        }
    }
}

/// An item, and what was concluded if it holds a frame.
pub type Judged<T> = (T, Option<Conclusion>);

/// Verifies frames in batches, and remembers what it accepted.
pub struct Verifier<K, T> {
    receiver: Receiver<K>,
    rules: Rules,
    queue: Queue<T>,
    fragments: Fragments,
    totals: Totals,
}

impl<K: KeySource + Sync, T: AsFrame> Verifier<K, T> {
    /// Returns a verifier that has accepted nothing yet.
    pub fn new(keys: K, rules: Rules) -> Self {
        Self {
            receiver: Receiver::new(keys, rules.acceptance),
            rules,
            queue: Queue::new(),
            fragments: Fragments::new(),
            totals: Totals::new(),
        }
    }

    /// Takes a batch, and returns all items that no verdict is missing for: those of earlier batches
    /// first, in the order of their arrival. An empty batch says that time went on.
    pub fn push(
        &mut self,
        batch: Vec<T>,
        now: Timestamp,
        randomness: &impl Randomness,
    ) -> Vec<Judged<T>> {
        let time = self.rules.time;
        let timed = |item| timed::<T>(item, time, now);
        let receiver = &self.receiver;
        let look = |item| timed(item).map(|(frame, time)| receiver.look(&frame, time));
        let looked: Vec<Option<Looked>> = batch.par_iter().map(look).collect();
        let last = match time {
            TimeSource::Frame => batch.iter().rev().find_map(|item| timed(item)?.1),
            TimeSource::Now => Some(now),
        };
        let seen = self.reassemble(&batch, looked, now);
        let stages = self.conclude(seen, randomness);
        self.queue.push(batch.into_iter().zip(stages));
        if let Some(last) = last {
            self.receiver.expire(last);
            self.fragments.expire(last);
        }
        self.queue.settle(&mut self.receiver);
        self.tell_missing();
        self.pop(HELD_MAX)
    }

    /// Gives up what waits for frames to come, but for the last `may_wait` items, and returns all items
    /// that no verdict is missing for then, in order. For verifiers that must answer in time.
    pub fn give_up(&mut self, may_wait: usize) -> Vec<Judged<T>> {
        self.pop(may_wait)
    }

    /// Returns how many items are held back.
    pub fn held(&self) -> usize {
        self.queue.len()
    }

    /// Forgets accepted signatures that are stale at `now`, so that memory is there for fresh ones.
    /// For observers, which only flag duplicates; rules that refuse them do this by themselves.
    pub fn forget_stale(&mut self, now: Timestamp) {
        self.receiver.forget_stale(now);
    }

    /// Gives up what waits for frames to come, and returns all items that are left, in order.
    pub fn finish(&mut self) -> Vec<Judged<T>> {
        self.fragments.finish();
        self.tell_missing();
        self.pop(0)
    }

    /// Returns what was concluded of all items that were returned. `reasons` and `forgotten` have
    /// those too that are held back.
    pub fn totals(&self) -> Totals {
        let mut reasons = self.receiver.counters().clone();
        reasons += self.queue.reasons();
        Totals {
            reasons,
            forgotten: self.receiver.evictions(),
            ..self.totals.clone()
        }
    }

    /// Returns where the keys come from.
    pub const fn keys(&self) -> &K {
        self.receiver.keys()
    }

    /// Returns where the keys come from, to learn of new groups and epochs.
    pub const fn keys_mut(&mut self) -> &mut K {
        self.receiver.keys_mut()
    }

    fn pop(&mut self, may_wait: usize) -> Vec<Judged<T>> {
        let mut judged = Vec::new();
        while let Some((item, conclusion)) = self.queue.pop(&mut self.receiver, may_wait) {
            if let Some(conclusion) = &conclusion {
                self.totals.count(conclusion);
            }
            judged.push((item, conclusion));
        }
        judged
    }

    /// Puts fragments together, in order. A packet is looked at with the one that makes it whole.
    fn reassemble(
        &mut self,
        batch: &[T],
        looked: Vec<Option<Looked>>,
        now: Timestamp,
    ) -> Vec<Seen> {
        let first = self.queue.next();
        let items = (first..).zip(batch).zip(looked);
        let seen = items.map(|((number, item), looked)| {
            let fragment = looked.as_ref().is_some_and(Looked::is_fragment);
            match timed(item, self.rules.time, now).filter(|_| fragment) {
                None => Seen {
                    looked,
                    waits: false,
                },
                Some((frame, time)) => {
                    let receiver = &self.receiver;
                    let taken = self.fragments.take(receiver, number, &frame, time);
                    let waits = taken.is_none();
                    Seen {
                        looked: taken,
                        waits,
                    }
                }
            }
        });
        let seen = seen.collect();
        for (number, part) in self.fragments.told() {
            self.queue.tell(number, part);
            if let Part::Of(whole) = part {
                self.queue.made_whole(whole);
            }
        }
        seen
    }

    fn tell_missing(&mut self) {
        for (number, part) in self.fragments.told() {
            self.queue.tell(number, part);
        }
    }

    /// Says what is known of each item, in order.
    fn conclude(&mut self, seen: Vec<Seen>, randomness: &impl Randomness) -> Vec<Stage> {
        let (mut pending, mut stages) = (Vec::new(), Vec::with_capacity(seen.len()));
        for (place, seen) in seen.into_iter().enumerate() {
            if seen.waits {
                stages.push((place, Stage::Fragment));
                continue;
            }
            match seen.looked.map(|looked| self.receiver.take(looked)) {
                Some(Received::Done(conclusion)) => stages.push((place, Stage::Done(conclusion))),
                Some(Received::Waiting(ticket)) => stages.push((place, Stage::Waiting(ticket))),
                Some(Received::Pending(packet)) => pending.push((place, packet)),
                None => stages.push((place, Stage::NoFrame)),
            }
        }
        self.queue.settle(&mut self.receiver);
        let mut checked = check(pending, self.rules.windows, randomness);
        checked.sort_unstable_by_key(|(place, _)| *place);
        for (place, checked) in checked {
            stages.push((place, Stage::Done(self.receiver.conclude(checked))));
        }
        stages.sort_by_key(|(place, _)| *place);
        stages.into_iter().map(|(_, stage)| stage).collect()
    }
}

/// An item before its signature is checked.
struct Seen {
    /// The frame was looked at, if there is one.
    looked: Option<Looked>,
    /// The verdict comes with other fragments.
    waits: bool,
}

/// The frame of an item with the time that counts.
fn timed<T: AsFrame>(
    item: &T,
    source: TimeSource,
    now: Timestamp,
) -> Option<(Frame<'_>, Option<Timestamp>)> {
    let (frame, own) = item.as_frame()?;
    let time = match source {
        TimeSource::Frame => own,
        TimeSource::Now => Some(now),
    };
    Some((frame, time))
}

/// Checks packets on all cores. The more signatures are verified together, the less each one costs:
/// there is one part for each core.
fn check(
    pending: Vec<(usize, Pending)>,
    windows: Windows,
    randomness: &impl Randomness,
) -> Vec<(usize, Checked)> {
    let mut parts: Vec<Vec<(usize, Pending)>> = Vec::new();
    parts.resize_with(rayon::current_num_threads(), Vec::new);
    let count = parts.len();
    for (place, packet) in pending {
        let part = packet.affinity().map_or(place, |shared| hash(&shared));
        parts[part % count].push((place, packet));
    }
    let check_part = |part: Vec<(usize, Pending)>| {
        let (places, packets): (Vec<usize>, Vec<Pending>) = part.into_iter().unzip();
        let checked = Pending::check_all(packets, windows, &mut randomness.generator());
        places.into_iter().zip(checked)
    };
    parts.into_par_iter().flat_map_iter(check_part).collect()
}

fn hash(value: &impl Hash) -> usize {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish() as usize
}
