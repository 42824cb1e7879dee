//! Items in the order of their arrival, held back until the frames among them have their verdicts.

use super::Judged;
use crate::AsFrame;
use clew_packet::{Conclusion, KeySource, Receiver, Ticket};
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
}

/// Items on their way out.
pub struct Queue<T> {
    items: VecDeque<(T, Stage)>,
    bytes: usize,
    /// Verdicts of packets that waited. All of them are in the queue.
    settled: BTreeMap<Ticket, Conclusion>,
}

impl<T: AsFrame> Queue<T> {
    pub fn new() -> Self {
        Self {
            items: VecDeque::new(),
            bytes: 0,
            settled: BTreeMap::new(),
        }
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
        let conclusion = match self.items.front()?.1 {
            Stage::NoFrame => None,
            Stage::Done(conclusion) => Some(conclusion),
            Stage::Waiting(ticket) => match self.settled.remove(&ticket) {
                None if self.is_longer(may_wait) => Some(receiver.give_up(ticket)),
                settled => Some(settled?),
            },
        };
        let (item, _) = self.items.pop_front()?;
        self.bytes -= item.size();
        Some((item, conclusion))
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
