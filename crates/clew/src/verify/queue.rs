//! Records in the order of the capture, held back until the packets among them have their verdicts.

use crate::keyring::Keyring;
use clew_capture::Record;
use clew_packet::{Conclusion, Receiver, Ticket};
use std::collections::{BTreeMap, VecDeque};

/// Most records that are held back, between batches, for the first of them to be decided; in bytes,
/// too. Beyond, it is given up: too little of its block came.
const HELD_RECORDS_MAX: usize = 1 << 16;
const HELD_BYTES_MAX: usize = 64 << 20;

/// What is known of a record.
pub enum Stage {
    /// It is no packet.
    NoPacket,
    /// The verdict stands.
    Done(Conclusion),
    /// More of its block may come.
    Waiting(Ticket),
}

/// Records on their way out.
#[derive(Default)]
pub struct Queue {
    records: VecDeque<(Record, Stage)>,
    bytes: usize,
    /// Verdicts of packets that waited. All of them are in the queue.
    settled: BTreeMap<Ticket, Conclusion>,
}

impl Queue {
    /// Takes records, in order.
    pub fn push(&mut self, records: impl Iterator<Item = (Record, Stage)>) {
        for (record, stage) in records {
            self.bytes += record.bytes().len();
            self.records.push_back((record, stage));
        }
    }

    /// Learns what became of packets that waited.
    pub fn settle(&mut self, receiver: &mut Receiver<&Keyring>) {
        self.settled.extend(receiver.settled());
    }

    /// The next record, with what was concluded if it is a packet; none if that has to wait, which at
    /// the end nothing does.
    pub fn pop(
        &mut self,
        receiver: &mut Receiver<&Keyring>,
        is_end: bool,
    ) -> Option<(Record, Option<Conclusion>)> {
        let conclusion = match self.records.front()?.1 {
            Stage::NoPacket => None,
            Stage::Done(conclusion) => Some(conclusion),
            Stage::Waiting(ticket) => match self.settled.remove(&ticket) {
                None if is_end || self.is_full() => Some(receiver.give_up(ticket)),
                settled => Some(settled?),
            },
        };
        let (record, _) = self.records.pop_front()?;
        self.bytes -= record.bytes().len();
        Some((record, conclusion))
    }

    fn is_full(&self) -> bool {
        self.records.len() > HELD_RECORDS_MAX || self.bytes > HELD_BYTES_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clew_capture::Reader;
    use clew_packet::{Acceptance, Reason, Verdict};

    /// The header of a pcap file without packets.
    fn record() -> Record {
        let words = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1];
        let file: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        let mut reader = Reader::new(&file[..]).unwrap();
        reader.next().unwrap().unwrap()
    }

    #[test]
    fn who_waits_holds_up_the_others_up_to_a_bound() {
        let keyring = Keyring::new(Vec::new());
        let mut receiver = Receiver::new(&keyring, Acceptance::capture());
        let mut queue = Queue::default();
        let header = record();
        let push = |queue: &mut Queue, stage| queue.push([(header.clone(), stage)].into_iter());
        push(&mut queue, Stage::NoPacket);
        push(&mut queue, Stage::Waiting(Ticket::default()));
        assert!(matches!(queue.pop(&mut receiver, false), Some((_, None))));
        for _ in 1..HELD_RECORDS_MAX {
            push(&mut queue, Stage::NoPacket);
        }
        assert!(queue.pop(&mut receiver, false).is_none());
        push(&mut queue, Stage::NoPacket);
        let (_, given_up) = queue.pop(&mut receiver, false).unwrap();
        let given_up = given_up.unwrap();
        let expected = (Verdict::Undecided, Reason::TooFewShares);
        assert_eq!((given_up.verdict, given_up.reason), expected);
        let mut left = 0;
        while queue.pop(&mut receiver, false).is_some() {
            left += 1;
        }
        assert_eq!((left, queue.bytes), (HELD_RECORDS_MAX, 0));
    }

    #[test]
    fn at_the_end_nobody_waits() {
        let keyring = Keyring::new(Vec::new());
        let mut receiver = Receiver::new(&keyring, Acceptance::capture());
        let mut queue = Queue::default();
        queue.push([(record(), Stage::Waiting(Ticket::default()))].into_iter());
        assert!(queue.pop(&mut receiver, false).is_none());
        assert!(queue.pop(&mut receiver, true).is_some());
    }
}
