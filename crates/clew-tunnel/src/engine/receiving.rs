//! The sequence as it is received: `spec/tunnel.md` sections 7.1 and 7.2.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use clew_wire::Instant;

use super::seq::Seq;
use crate::limits::{ACK_DELAY, AHEAD, AHEAD_BYTES, AHEAD_TOTAL};
use crate::reason::Reason;

/// Bytes that all tunnels of a program hold ahead of their turn.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Held(usize);

impl Held {
    /// How many there are.
    pub(crate) const fn bytes(self) -> usize {
        self.0
    }
}

/// What holding a packet takes, besides its bytes: many small ones are no way around the limits.
const PLACE: usize = 64;

/// What a packet that is held counts for.
const fn cost(rpcs: &[u8]) -> usize {
    PLACE + rpcs.len()
}

/// What became of a counted packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It is the next one: its RPCs are to be done, then those of [`Receiving::pop`].
    Next,
    /// It is held until those before it come.
    Later,
}

/// One direction of a tunnel, at its receiver.
#[derive(Debug, Default)]
pub(super) struct Receiving {
    /// The next one in order; none before the first.
    next: Option<Seq>,
    /// Whether anything was done: before, there is nothing to acknowledge.
    has_begun: bool,
    /// The RPCs of those behind `next`, by seq: no memory for gaps, which cost the other side nothing.
    held: BTreeMap<u32, Box<[u8]>>,
    held_bytes: usize,
    /// Counted packets since the last ack.
    unacknowledged: u8,
    /// An ack must leave at once.
    now: bool,
    /// Or at this instant.
    at: Option<Instant>,
}

impl Receiving {
    /// Nothing was received.
    pub(super) const fn new() -> Self {
        Self {
            next: None,
            has_begun: false,
            held: BTreeMap::new(),
            held_bytes: 0,
            unacknowledged: 0,
            now: false,
            at: None,
        }
    }

    /// What every packet has as its ack.
    pub(super) fn ack(&self) -> u32 {
        match self.next {
            Some(next) if self.has_begun => next.before().get(),
            _ => 0,
        }
    }

    /// A counted packet was decrypted. What is later is copied.
    ///
    /// # Errors
    /// `duplicate-seq`, `ahead`.
    pub(super) fn take(&mut self, seq: Seq, rpcs: &[u8], all: &mut Held) -> Result<Place, Reason> {
        let next = *self.next.get_or_insert(seq.start_of_first());
        let distance = next.until(seq) as usize;
        if seq.is_before(next) {
            self.now = true;
            return Err(Reason::DuplicateSeq);
        }
        if distance == 0 {
            // A gap is filled, or there is none.
            self.now |= !self.held.is_empty();
            if self.pop(all).is_none() {
                self.advance();
            }
            return Ok(Place::Next);
        }
        self.now = true;
        if self.held.contains_key(&seq.get()) {
            return Err(Reason::DuplicateSeq);
        }
        let more = cost(rpcs);
        let bytes = self.held_bytes + more;
        if distance > AHEAD || bytes > AHEAD_BYTES || all.0 + more > AHEAD_TOTAL {
            return Err(Reason::Ahead);
        }
        self.held.insert(seq.get(), rpcs.into());
        self.held_bytes = bytes;
        all.0 += more;
        Ok(Place::Later)
    }

    /// The RPCs of the next packet, if it was held.
    pub(super) fn pop(&mut self, all: &mut Held) -> Option<Box<[u8]>> {
        let rpcs = self.held.remove(&self.next?.get())?;
        self.held_bytes -= cost(&rpcs);
        all.0 -= cost(&rpcs);
        self.advance();
        Some(rpcs)
    }

    /// `next` was taken.
    fn advance(&mut self) {
        self.next = self.next.map(|next| next.plus(1));
        self.has_begun = true;
    }

    /// The tunnel ends, or sleeps: what it holds is free.
    pub(crate) fn release(&mut self, all: &mut Held) {
        all.0 -= self.held_bytes;
        self.held_bytes = 0;
        self.held = BTreeMap::new();
    }

    /// A counted packet has to be acknowledged: the second one at once.
    pub(crate) fn owe(&mut self, now: Instant) {
        self.unacknowledged = self.unacknowledged.saturating_add(1);
        self.now |= self.unacknowledged >= 2;
        self.at.get_or_insert(now + ACK_DELAY);
    }

    /// An ack must leave at once.
    pub(crate) fn owe_at_once(&mut self) {
        self.now = true;
    }

    /// When an ack is due.
    pub(super) fn due(&self) -> Option<Instant> {
        if self.now {
            Some(Instant::default())
        } else {
            self.at
        }
    }

    /// A packet leaves, and takes the ack along.
    pub(super) fn acknowledged(&mut self) {
        self.unacknowledged = 0;
        self.now = false;
        self.at = None;
    }
}
