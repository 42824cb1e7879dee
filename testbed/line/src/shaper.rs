//! When each packet arrives, if it does. Time, lengths and seeds are arguments.

use crate::condition::Condition;
use crate::random::SplitMix;

/// Nanoseconds of any clock that only goes forward.
pub type Nanos = u64;

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    /// It arrives then.
    Arrives(Nanos),
    /// It arrives then, and later packets overtake it.
    Overtaken(Nanos),
    /// It does not fit into the queue.
    QueueFull,
    /// It is lost on the way.
    Lost,
}

/// One direction of a line: a queue, a rate, a delay, and chance.
#[derive(Debug)]
pub struct Shaper {
    condition: Condition,
    queue_bytes: u64,
    /// When the last packet of the queue will have been sent.
    free_at: Nanos,
    /// The latest arrival so far: nothing but reordered packets arrives after its successor.
    latest: Nanos,
    in_burst: bool,
    losses: SplitMix,
    jitters: SplitMix,
    reorders: SplitMix,
    duplicates: SplitMix,
}

impl Shaper {
    /// A direction that is idle. `number` tells the directions of one line apart.
    pub fn new(condition: Condition, number: u64) -> Self {
        let seed = condition.seed.wrapping_mul(2).wrapping_add(number);
        // Each purpose has its own numbers: loss stays the same if jitter is added.
        let random = |purpose: u64| SplitMix(seed ^ purpose.wrapping_mul(0x5851_f42d_4c95_7f2d));
        Self {
            condition,
            queue_bytes: condition.queue_bytes().unwrap_or(u64::MAX),
            free_at: 0,
            latest: 0,
            in_burst: false,
            losses: random(0),
            jitters: random(1),
            reorders: random(2),
            duplicates: random(3),
        }
    }

    /// The condition that it follows.
    pub fn condition(&self) -> &Condition {
        &self.condition
    }

    /// Whether the queue has room for so many bytes.
    pub fn has_room(&self, now: Nanos, bytes: usize) -> bool {
        let Some(rate) = self.condition.rate else {
            return true;
        };
        let waiting = self.free_at.saturating_sub(now) as f64 * rate as f64 / 8e9;
        waiting as u64 + bytes as u64 <= self.queue_bytes
    }

    /// Decides over a packet that comes now. Losses are decided before the queue, as they are numbered by arrival.
    pub fn fate(&mut self, now: Nanos, bytes: usize) -> Fate {
        if self.is_lost() {
            return Fate::Lost;
        }
        if !self.has_room(now, bytes) {
            return Fate::QueueFull;
        }
        let sent = match self.condition.rate {
            Some(rate) => {
                let sending = (bytes as f64 * 8e9 / rate as f64) as u64;
                self.free_at = self.free_at.max(now) + sending;
                self.free_at
            }
            None => now,
        };
        let jitter = nanos(self.condition.jitter);
        let added = match jitter {
            0 => 0,
            jitter => (self.jitters.share() * jitter as f64) as u64,
        };
        let in_order = (sent + nanos(self.condition.delay) + added).max(self.latest);
        if chosen(&mut self.reorders, self.condition.reorder) {
            return Fate::Overtaken(in_order + nanos(self.condition.reorder_by));
        }
        self.latest = in_order;
        Fate::Arrives(in_order)
    }

    /// Whether the packet that comes now is to arrive twice.
    pub fn is_doubled(&mut self) -> bool {
        chosen(&mut self.duplicates, self.condition.duplicate)
    }

    fn is_lost(&mut self) -> bool {
        let loss = self.condition.loss;
        if loss.share <= 0.0 {
            return false;
        }
        if loss.burst <= 1.0 {
            return chosen(&mut self.losses, loss.share);
        }
        // Gilbert: in the bad state the share of time that makes the share of losses.
        let into = loss.share / (loss.burst * (1.0 - loss.share).max(f64::MIN_POSITIVE));
        let out_of = 1.0 / loss.burst;
        let switches = if self.in_burst { out_of } else { into };
        self.in_burst ^= chosen(&mut self.losses, switches);
        self.in_burst
    }
}

fn chosen(random: &mut SplitMix, share: f64) -> bool {
    share > 0.0 && random.share() < share
}

fn nanos(time: std::time::Duration) -> Nanos {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::condition::{Loss, Queue};
    use std::time::Duration;

    const MS: Nanos = 1_000_000;

    fn arrivals(condition: Condition, times: impl Iterator<Item = Nanos>) -> Vec<Fate> {
        let mut shaper = Shaper::new(condition, 0);
        times.map(|now| shaper.fate(now, 1500)).collect()
    }

    #[test]
    fn a_delay_is_added_to_each_packet() {
        let condition = Condition {
            delay: Duration::from_millis(20),
            ..Condition::default()
        };
        let fates = arrivals(condition, [0, 5, 5, 9 * MS].into_iter());
        let expected = [20 * MS, 20 * MS + 5, 20 * MS + 5, 29 * MS];
        assert_eq!(fates, expected.map(Fate::Arrives));
    }

    #[test]
    fn a_rate_spaces_packets_and_an_idle_line_saves_nothing_up() {
        let condition = Condition {
            rate: Some(12_000_000),
            ..Condition::default()
        };
        // 1500 bytes take a millisecond.
        let fates = arrivals(condition, [0, 0, 0, 10 * MS, 10 * MS].into_iter());
        let expected = [MS, 2 * MS, 3 * MS, 11 * MS, 12 * MS];
        assert_eq!(fates, expected.map(Fate::Arrives));
    }

    #[test]
    fn a_queue_drops_what_does_not_fit_and_takes_more_later() {
        let condition = Condition {
            rate: Some(12_000_000),
            queue: Queue::Bytes(3000),
            ..Condition::default()
        };
        let fates = arrivals(condition, [0, 0, 0, 0, MS, MS].into_iter());
        let full = Fate::QueueFull;
        let expected = [Fate::Arrives(MS), Fate::Arrives(2 * MS), full, full];
        assert_eq!(fates[..4], expected);
        assert_eq!(fates[4..], [Fate::Arrives(3 * MS), full]);
    }

    #[test]
    fn losses_are_as_asked_for_and_repeat() {
        let lost = |seed, burst| {
            let loss = Loss { share: 0.03, burst };
            let condition = Condition {
                loss,
                seed,
                ..Condition::default()
            };
            let fates = arrivals(condition, 0..100_000).into_iter();
            fates.map(|fate| fate == Fate::Lost).collect::<Vec<bool>>()
        };
        let count = |lost: &[bool]| lost.iter().filter(|lost| **lost).count();
        let runs = |lost: &[bool]| lost.windows(2).filter(|two| !two[0] && two[1]).count();
        let single = lost(1, 1.0);
        assert!((2_700..3_300).contains(&count(&single)));
        assert_eq!(single, lost(1, 1.0));
        assert_ne!(single, lost(2, 1.0));
        let bursts = lost(1, 5.0);
        assert!((2_400..3_600).contains(&count(&bursts)));
        let mean = count(&bursts) as f64 / runs(&bursts) as f64;
        assert!((4.0..6.0).contains(&mean), "bursts of {mean}");
    }

    #[test]
    fn jitter_keeps_the_order_and_reordering_does_not() {
        let jitter = Condition {
            delay: Duration::from_millis(5),
            jitter: Duration::from_millis(2),
            ..Condition::default()
        };
        let times = |condition| -> Vec<Nanos> {
            let fates = arrivals(condition, (0..1000).map(|n| n * MS));
            let time = |fate| match fate {
                Fate::Arrives(time) | Fate::Overtaken(time) => time,
                other => panic!("{other:?}"),
            };
            fates.into_iter().map(time).collect()
        };
        let jittered = times(jitter);
        assert!(jittered.is_sorted());
        let late = (0..).zip(&jittered).map(|(n, time)| time - n * MS);
        let late: Vec<Nanos> = late.collect();
        assert!(late.iter().all(|late| (5 * MS..=7 * MS).contains(late)));
        assert!(late.iter().any(|late| *late > 6 * MS));
        let reordered = times(Condition {
            jitter: Duration::ZERO,
            reorder: 0.1,
            reorder_by: Duration::from_micros(1500),
            ..jitter
        });
        let overtaken = reordered.windows(2).filter(|two| two[0] > two[1]).count();
        assert!((60..140).contains(&overtaken), "{overtaken} overtaken");
    }

    #[test]
    fn what_is_doubled_is_as_asked_for() {
        let condition = Condition {
            duplicate: 0.2,
            ..Condition::default()
        };
        let mut shaper = Shaper::new(condition, 0);
        let doubled = (0..10_000).filter(|_| shaper.is_doubled()).count();
        assert!((1_800..2_200).contains(&doubled));
    }
}
