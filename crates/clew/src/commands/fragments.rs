//! Fragments of signed packets in a capture, put together (`spec/carriers.md` section 2.2).

use clew_capture::Record;
use clew_engine::AsFrame;
use clew_packet::fragment::{Reassembler, Taken};
use clew_packet::{read_fragment, write_whole};
use clew_wire::Instant;

/// Puts the fragments of a capture's packets together, record by record.
pub struct Fragments {
    reassembler: Reassembler<u64>,
    /// Time of the last packet that had one.
    last: Instant,
}

/// A record as it is, or one with a packet that was put together.
pub struct Whole {
    /// The record; of fragments it is the last one, with the whole packet.
    pub record: Record,
    /// The numbers of the packets that it is made of, ascending.
    pub numbers: Vec<u64>,
}

impl Fragments {
    /// Returns one that has seen no record.
    pub const fn new() -> Self {
        Self {
            reassembler: Reassembler::new(),
            last: Instant::from_nanos(0),
        }
    }

    /// Takes the next record. Returns `None` if it is a fragment that completes no packet.
    pub fn take(&mut self, record: Record) -> Option<Whole> {
        let info = record.packet()?;
        let number = info.frame;
        self.last = info.time_ns.map_or(self.last, Instant::from_nanos);
        let (frame, _) = record.as_frame()?;
        let Some(fragment) = read_fragment(&frame) else {
            let numbers = vec![number];
            return Some(Whole { record, numbers });
        };
        let taken = self.reassembler.take(&fragment, self.last, number);
        // Copies and what is missing are not asked about: nobody waits for them here.
        self.reassembler.missing();
        let Taken::Whole { datagram, tokens } = taken else {
            return None;
        };
        let (mut bytes, mut whole) = (Vec::new(), record.clone());
        write_whole(&frame, &datagram, &mut bytes).ok()?;
        whole.replace(&bytes).ok()?;
        let mut numbers = tokens;
        numbers.push(number);
        numbers.sort_unstable();
        Some(Whole {
            record: whole,
            numbers,
        })
    }
}
