//! Fragments of packets among the frames (`spec/carriers.md` section 2.2).

use super::queue::Part;
use clew_packet::fragment::{Reassembler, Taken};
use clew_packet::{
    Frame, KeySource, Looked, Reason, Receiver, Replay, Timestamp, read_fragment, read_whole,
};
use clew_wire::Instant;

/// Fragments that wait for others, by the numbers of their items.
pub struct Fragments {
    reassembler: Reassembler<u64>,
    /// The time of the last frame that had one.
    last: Timestamp,
    told: Vec<(u64, Part)>,
}

impl Fragments {
    pub const fn new() -> Self {
        Self {
            reassembler: Reassembler::new(),
            last: Timestamp::NONE,
            told: Vec::new(),
        }
    }

    /// Takes the fragment of an item. Returns the whole packet, looked at, if the fragment completes it;
    /// what becomes of all others is [`told`](Self::told).
    pub fn take(
        &mut self,
        receiver: &Receiver<impl KeySource>,
        number: u64,
        frame: &Frame<'_>,
        time: Option<Timestamp>,
    ) -> Option<Looked> {
        self.last = time.unwrap_or(self.last);
        let Some(fragment) = read_fragment(frame) else {
            self.told.push((number, Part::Done(Reason::BadFragment)));
            return None;
        };
        let now = Instant::from_nanos(self.last.0);
        match self.reassembler.take(&fragment, now, number) {
            Taken::Waits => None,
            Taken::Whole { datagram, tokens } => {
                let parts = tokens.into_iter().map(|token| (token, Part::Of(number)));
                self.told.extend(parts);
                Some(receiver.look_packet(read_whole(frame, &datagram), time))
            }
            Taken::Again { of, is_second } => {
                let part = match receiver.replay() {
                    Replay::Refuse if !is_second => Some(Part::Done(Reason::Duplicate)),
                    Replay::Flag | Replay::Refuse => of.map(Part::Of),
                };
                self.told.extend(part.map(|part| (number, part)));
                None
            }
            Taken::Bad { tokens } => {
                let bad = tokens.into_iter().chain([number]);
                let parts = bad.map(|token| (token, Part::Done(Reason::BadFragment)));
                self.told.extend(parts);
                None
            }
        }
    }

    /// Gives up what is too old.
    pub fn expire(&mut self, now: Timestamp) {
        self.reassembler.expire(Instant::from_nanos(now.0));
    }

    /// Gives up everything.
    pub fn finish(&mut self) {
        self.reassembler.finish();
    }

    /// Returns what became of fragments since the last call.
    pub fn told(&mut self) -> Vec<(u64, Part)> {
        let missing = self.reassembler.missing().into_iter();
        let missing = missing.map(|token| (token, Part::Done(Reason::MissingFragment)));
        self.told.extend(missing);
        std::mem::take(&mut self.told)
    }
}
