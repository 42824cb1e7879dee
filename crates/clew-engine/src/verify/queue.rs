//! Items in the order of their arrival, held back until the frames among them have their verdicts.

use super::Judged;
use crate::AsFrame;
use clew_packet::fragment::FRAGMENT_IDS_MAX;
use clew_packet::{Conclusion, Counters, KeySource, Reason, Receiver, Replay, Ticket};
use std::collections::{BTreeMap, VecDeque};

/// Most items that are held back, between batches, for the first of them to be decided. Beyond, it
/// is given up: too little of its block came.
pub const HELD_MAX: usize = 1 << 16;

/// Most bytes that are held back between batches.
pub const HELD_BYTES_MAX: usize = 64 << 20;

/// What is known of an item.
pub enum Stage {
    /// It holds no frame.
    NoFrame,
    /// The verdict stands.
    Done(Conclusion),
    /// More of its block may come.
    Waiting(Ticket),
    /// It is a fragment: [`Queue::tell`] says what becomes of it.
    Fragment,
}

/// What became of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The verdict stands.
    Done(Reason),
    /// The verdict is that of the packet that the item with this number made whole.
    Of(u64),
}

/// Items on their way out, numbered from 0.
pub struct Queue<T> {
    items: VecDeque<(T, Stage)>,
    /// The number of the first.
    first: u64,
    bytes: usize,
    /// Verdicts of packets that waited. All of them are in the queue.
    settled: BTreeMap<Ticket, Conclusion>,
    /// What became of fragments in the queue, by number.
    parts: BTreeMap<u64, Part>,
    /// Items that made a packet whole, by number, with its verdict once they left: copies of fragments
    /// may come later.
    whole: BTreeMap<u64, Option<Conclusion>>,
    /// Reasons of fragments that left, but for those that made a packet whole.
    reasons: Counters,
}

impl<T: AsFrame> Queue<T> {
    pub fn new() -> Self {
        Self {
            items: VecDeque::new(),
            first: 0,
            bytes: 0,
            settled: BTreeMap::new(),
            parts: BTreeMap::new(),
            whole: BTreeMap::new(),
            reasons: Counters::new(),
        }
    }

    /// Returns the number of the item that comes next.
    pub fn next(&self) -> u64 {
        self.first + self.items.len() as u64
    }

    /// Learns what became of a fragment. The first word counts.
    pub fn tell(&mut self, number: u64, part: Part) {
        if number >= self.first {
            self.parts.entry(number).or_insert(part);
        }
    }

    /// Learns that an item makes a packet whole.
    pub fn made_whole(&mut self, number: u64) {
        self.whole.entry(number).or_insert(None);
        // Of more packets than that nobody keeps fragments.
        if self.whole.len() > FRAGMENT_IDS_MAX
            && let Some(entry) = self.whole.first_entry()
            && *entry.key() < self.first
        {
            entry.remove();
        }
    }

    /// Returns how many fragments met each reason, but for those that made a packet whole.
    pub const fn reasons(&self) -> &Counters {
        &self.reasons
    }

    /// Takes items, in order.
    pub fn push(&mut self, items: impl Iterator<Item = (T, Stage)>) {
        for (item, stage) in items {
            self.bytes += item.size();
            self.items.push_back((item, stage));
        }
    }

    /// Learns what became of packets that waited.
    pub fn settle(&mut self, receiver: &mut Receiver<impl KeySource>) {
        self.settled.extend(receiver.settled());
    }

    /// The next item, with what was concluded if it holds a frame; none if that has to wait, which
    /// only the last `may_wait` items may do.
    pub fn pop(
        &mut self,
        receiver: &mut Receiver<impl KeySource>,
        may_wait: usize,
    ) -> Option<Judged<T>> {
        let give_up = self.is_longer(may_wait);
        let number = self.first;
        let conclusion = match self.items.front()?.1 {
            Stage::NoFrame => None,
            Stage::Fragment => {
                let part = self.parts.get(&number).copied();
                let part = part.or(give_up.then_some(Part::Done(Reason::MissingFragment)));
                let conclusion = self.of_part(part?, receiver, give_up)?;
                self.parts.remove(&number);
                self.reasons.count(conclusion.reason);
                Some(conclusion)
            }
            Stage::Done(conclusion) => Some(conclusion),
            Stage::Waiting(ticket) => {
                let conclusion = self.waited(ticket, receiver, give_up)?;
                self.settled.remove(&ticket);
                Some(conclusion)
            }
        };
        let (item, _) = self.items.pop_front()?;
        if let Some(whole) = self.whole.get_mut(&number) {
            *whole = conclusion;
        }
        self.first += 1;
        self.bytes -= item.size();
        Some((item, conclusion))
    }

    fn of_part(
        &mut self,
        part: Part,
        receiver: &mut Receiver<impl KeySource>,
        give_up: bool,
    ) -> Option<Conclusion> {
        let missing = Conclusion::of(Reason::MissingFragment, Replay::Flag);
        let number = match part {
            Part::Done(reason) => return Some(Conclusion::of(reason, receiver.replay())),
            Part::Of(number) => number,
        };
        let Some(place) = number.checked_sub(self.first) else {
            let known = self.whole.get(&number).copied().flatten();
            return Some(known.unwrap_or(missing));
        };
        match self.items.get(place as usize).map(|(_, stage)| stage) {
            Some(Stage::Done(conclusion)) => Some(*conclusion),
            Some(Stage::Waiting(ticket)) => self.waited(*ticket, receiver, give_up),
            Some(Stage::NoFrame | Stage::Fragment) | None => Some(missing),
        }
    }

    /// The verdict of a packet that waited, which stays known.
    fn waited(
        &mut self,
        ticket: Ticket,
        receiver: &mut Receiver<impl KeySource>,
        give_up: bool,
    ) -> Option<Conclusion> {
        if !self.settled.contains_key(&ticket) && give_up {
            self.settled.insert(ticket, receiver.give_up(ticket));
        }
        self.settled.get(&ticket).copied()
    }

    /// How many items are held back.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    fn is_longer(&self, may_wait: usize) -> bool {
        self.items.len() > may_wait.min(HELD_MAX) || self.bytes > HELD_BYTES_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arrival, Keyring};
    use clew_packet::{Acceptance, LinkType, Reason, Timestamp, Verdict};

    fn arrival() -> Arrival {
        Arrival {
            link: LinkType::RAW,
            bytes: vec![0; 24],
            time: Timestamp::NONE,
        }
    }

    #[test]
    fn who_waits_holds_up_the_others_up_to_a_bound() {
        let keyring = Keyring::default();
        let mut receiver = Receiver::new(&keyring, Acceptance::capture());
        let mut queue = Queue::new();
        let push = |queue: &mut Queue<_>, stage| queue.push([(arrival(), stage)].into_iter());
        push(&mut queue, Stage::NoFrame);
        push(&mut queue, Stage::Waiting(Ticket::default()));
        assert!(matches!(
            queue.pop(&mut receiver, HELD_MAX),
            Some((_, None))
        ));
        for _ in 1..HELD_MAX {
            push(&mut queue, Stage::NoFrame);
        }
        assert!(queue.pop(&mut receiver, HELD_MAX).is_none());
        push(&mut queue, Stage::NoFrame);
        let (_, given_up) = queue.pop(&mut receiver, HELD_MAX).unwrap();
        let given_up = given_up.unwrap();
        let expected = (Verdict::Undecided, Reason::TooFewShares);
        assert_eq!((given_up.verdict, given_up.reason), expected);
        let mut left = 0;
        while queue.pop(&mut receiver, HELD_MAX).is_some() {
            left += 1;
        }
        assert_eq!((left, queue.bytes), (HELD_MAX, 0));
    }

    #[test]
    fn at_the_end_nobody_waits() {
        let keyring = Keyring::default();
        let mut receiver = Receiver::new(&keyring, Acceptance::capture());
        let mut queue = Queue::new();
        queue.push([(arrival(), Stage::Waiting(Ticket::default()))].into_iter());
        assert!(queue.pop(&mut receiver, HELD_MAX).is_none());
        assert!(queue.pop(&mut receiver, 0).is_some());
    }

    #[test]
    fn the_last_items_may_wait_on() {
        let keyring = Keyring::default();
        let mut receiver = Receiver::new(&keyring, Acceptance::capture());
        let mut queue = Queue::new();
        for _ in 0..5 {
            queue.push([(arrival(), Stage::Waiting(Ticket::default()))].into_iter());
        }
        let mut given_up = 0;
        while queue.pop(&mut receiver, 2).is_some() {
            given_up += 1;
        }
        assert_eq!(given_up, 3);
    }
}
