//! In which seconds packets of a group were accepted: what a receiver behind a crash has to know.

use crate::time::{SECOND_NS, Timestamp};
use crate::wire::trailer::GroupTag;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Most intervals of a group: more than the acceptance window can have, half of its seconds.
const INTERVALS_MAX: usize = 128;

/// Most groups that have their own intervals. Those of more groups count for every group.
const GROUPS_MAX: usize = 1_024;

/// No fresh timestamp is further from the clock, in seconds: 30 s, the sender's resolution, and a second
/// that has begun.
const WINDOW: u64 = 32;

/// Seconds since 1970, the first and the last of an interval.
pub type Interval = (u64, u64);

/// Of each group, the seconds whose timestamps were accepted, in bounded memory: if there are too many
/// intervals, what lies between two of them counts as accepted, too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AcceptedSeconds {
    groups: BTreeMap<GroupTag, Intervals>,
    /// Of every group.
    all: Intervals,
}

/// Sorted. Between two of them is at least a second.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Intervals(Vec<Interval>);

impl AcceptedSeconds {
    /// Takes note of a second, at a time. Returns whether that is new.
    pub fn insert(&mut self, group: GroupTag, at: Timestamp, now: Timestamp) -> bool {
        let second = second(at);
        let is_new = !self.has_second(group, second);
        if is_new {
            self.insert_interval(Some(group), (second, second), now);
        }
        is_new
    }

    /// Takes note of all seconds of an interval; without a group, for every group.
    pub fn insert_interval(&mut self, group: Option<GroupTag>, interval: Interval, now: Timestamp) {
        let (first, last) = interval;
        if first > last {
            return;
        }
        let is_full = self.groups.len() >= GROUPS_MAX;
        let own = group.filter(|group| !is_full || self.groups.contains_key(group));
        let intervals = own.map_or(&mut self.all, |group| self.groups.entry(group).or_default());
        intervals.insert(interval);
        intervals.shrink(second(now));
    }

    /// Takes note of everything that another one has.
    pub fn insert_all(&mut self, other: &Self, now: Timestamp) {
        for (group, intervals) in other.iter() {
            for interval in intervals {
                self.insert_interval(group, *interval, now);
            }
        }
    }

    /// Returns whether timestamps of that second may have been accepted.
    pub fn has(&self, group: GroupTag, at: Timestamp) -> bool {
        self.has_second(group, second(at))
    }

    /// Returns whether all seconds of another one are among these.
    pub fn covers(&self, other: &Self) -> bool {
        let is_covered = |group: Option<GroupTag>, interval: &Interval| {
            let own = group.and_then(|group| self.groups.get(&group));
            self.all.covers(*interval) || own.is_some_and(|own| own.covers(*interval))
        };
        let mut entries = other.iter();
        entries.all(|(group, intervals)| intervals.iter().all(|i| is_covered(group, i)))
    }

    /// Returns the intervals of each group, and those of every group as those of none.
    pub fn iter(&self) -> impl Iterator<Item = (Option<GroupTag>, &[Interval])> {
        let groups = self.groups.iter();
        let groups = groups.map(|(group, intervals)| (Some(*group), intervals.0.as_slice()));
        groups.chain([(None, self.all.0.as_slice())])
    }

    fn has_second(&self, group: GroupTag, second: u64) -> bool {
        let own = self.groups.get(&group);
        let all = (second, second);
        self.all.covers(all) || own.is_some_and(|own| own.covers(all))
    }
}

const fn second(at: Timestamp) -> u64 {
    at.0 / SECOND_NS
}

impl Intervals {
    fn covers(&self, (first, last): Interval) -> bool {
        let behind = self.0.partition_point(|(start, _)| *start <= first);
        let before = behind.checked_sub(1).and_then(|at| self.0.get(at));
        before.is_some_and(|(_, end)| last <= *end)
    }

    fn insert(&mut self, (first, last): Interval) {
        // All that it touches becomes one with it.
        let from = { &self.0 }.partition_point(|(_, end)| end.saturating_add(1) < first);
        let to = { &self.0 }.partition_point(|(start, _)| *start <= last.saturating_add(1));
        let touched = self.0.get(from..to).unwrap_or_default();
        let first = touched
            .first()
            .map_or(first, |(start, _)| first.min(*start));
        let last = touched.last().map_or(last, |(_, end)| last.max(*end));
        self.0.splice(from..to.max(from), [(first, last)]);
    }

    /// Makes room. What lies between two intervals is lost, where it is shortest, and outside of the window
    /// if that can be: no sender of the right clock needs that. A clock that was wrong leaves a long gap.
    fn shrink(&mut self, now: u64) {
        while self.0.len() > INTERVALS_MAX {
            let gap = |at: &usize| self.0[at + 1].0 - self.0[*at].1;
            let (oldest, latest) = (now.saturating_sub(WINDOW), now.saturating_add(WINDOW));
            let is_outside = |at: &usize| self.0[at + 1].0 < oldest || self.0[*at].1 > latest;
            let gaps = || 0..self.0.len() - 1;
            let outside = gaps().filter(is_outside).min_by_key(gap);
            let Some(at) = outside.or_else(|| gaps().min_by_key(gap)) else {
                return;
            };
            let (_, last) = self.0.remove(at + 1);
            self.0[at].1 = last;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::vec;

    const ONE: GroupTag = GroupTag([1; 8]);
    const TWO: GroupTag = GroupTag([2; 8]);

    fn at(seconds: u64) -> Timestamp {
        Timestamp(seconds * SECOND_NS + SECOND_NS / 2)
    }

    fn of(seconds: &AcceptedSeconds, group: GroupTag) -> Vec<Interval> {
        seconds.groups.get(&group).map_or(vec![], |is| is.0.clone())
    }

    #[test]
    fn a_group_has_its_own_seconds() {
        let mut seconds = AcceptedSeconds::default();
        assert!(seconds.insert(ONE, at(100), at(100)));
        assert!(!seconds.insert(ONE, Timestamp(100 * SECOND_NS), at(100)));
        assert!(seconds.insert(ONE, at(102), at(100)));
        assert!(seconds.has(ONE, at(102)) && !seconds.has(ONE, at(101)));
        assert!(!seconds.has(TWO, at(100)));
        assert_eq!(of(&seconds, ONE), [(100, 100), (102, 102)]);
        assert!(seconds.insert(ONE, at(101), at(100)));
        assert_eq!(of(&seconds, ONE), [(100, 102)]);
        seconds.insert_interval(None, (0, 50), at(100));
        assert!(seconds.has(TWO, at(50)) && !seconds.has(TWO, at(51)));
        assert!(!seconds.insert(TWO, at(7), at(100)), "every group has it");
        let mut other = AcceptedSeconds::default();
        assert!(!other.covers(&seconds) && seconds.covers(&other));
        other.insert_all(&seconds, at(100));
        assert_eq!(other, seconds);
        other.insert(TWO, at(51), at(100));
        assert!(other.covers(&seconds) && !seconds.covers(&other));
        assert_eq!(of(&other, TWO), [(51, 51)]);
    }

    /// As a set of seconds does, whatever comes in which order.
    #[test]
    fn intervals_are_a_set() {
        let (mut set, mut seconds) = (BTreeSet::new(), AcceptedSeconds::default());
        let mut random = 1_u64;
        for _ in 0..400 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let (first, length) = (random >> 56, (random >> 40) % 3);
            seconds.insert_interval(Some(ONE), (first, first + length), at(0));
            set.extend(first..=first + length);
            for second in 0..260 {
                assert_eq!(seconds.has(ONE, at(second)), set.contains(&second));
            }
        }
        seconds.insert_interval(Some(ONE), (3, 2), at(0));
        seconds.insert_interval(Some(ONE), (u64::MAX, u64::MAX), at(0));
        assert!(seconds.groups[&ONE].covers((u64::MAX, u64::MAX)));
    }

    /// Packets now and then, for days; the clock is a day ahead for a while. What is refused behind a
    /// crash is the past, and the seconds that were accepted.
    #[test]
    fn too_many_intervals_cost_the_past() {
        let mut seconds = AcceptedSeconds::default();
        let day = 86_400;
        let mut now = 1_000;
        let mut run = |seconds: &mut AcceptedSeconds, from: u64| {
            now = from;
            for _ in 0..1_000 {
                now += 25;
                seconds.insert(ONE, at(now), at(now));
                assert!(of(seconds, ONE).len() <= INTERVALS_MAX);
                assert!(!seconds.has(ONE, at(now + 1)));
                assert!(!seconds.has(ONE, at(now - 24)), "of the window");
            }
            now
        };
        let ahead = run(&mut seconds, day);
        run(&mut seconds, 2_000);
        assert!(seconds.has(ONE, at(ahead)));
        // A hostile member, who signs every other second of the window.
        for other in (ahead..ahead + 60).step_by(2) {
            seconds.insert(ONE, at(other), at(ahead + 30));
            assert!(!seconds.has(ONE, at(other + 1)));
        }
        assert!(seconds.has(ONE, at(2_025)), "nothing is forgotten");
    }

    #[test]
    fn many_groups_count_as_one() {
        let mut seconds = AcceptedSeconds::default();
        for number in 0..GROUPS_MAX as u64 + 1 {
            let group = GroupTag(number.to_be_bytes());
            seconds.insert(group, at(number), at(0));
            assert!(seconds.has(group, at(number)));
        }
        assert_eq!(seconds.groups.len(), GROUPS_MAX);
        assert!(seconds.has(TWO, at(GROUPS_MAX as u64)));
        assert!(!seconds.has(TWO, at(3)));
    }
}
