//! Records in the order of the capture, held back until the packets among them have their verdicts.

use crate::capture::Record;
use crate::keyring::Keyring;
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
