//! What packets had in them, for who looks for a fault. Nothing is kept unless it is asked for.

use alloc::collections::VecDeque;
use clew_wire::Instant;

use super::event::Status;
use crate::keys::Nonce;
use crate::wire::packet::Tid;

/// A packet with a box, as only its two ends can see it; without what its RPCs say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedPacket {
    /// TID.
    pub tid: Tid,
    /// Nonce.
    pub nonce: Nonce,
    /// Place in the sequence; 0: none.
    pub seq: u32,
    /// What it acknowledges; 0: nothing.
    pub ack: u32,
    /// Its length.
    pub bytes: usize,
    /// Of a new tunnel or a rekey.
    pub is_initiation: bool,
}

/// A packet that was decrypted, and how its tunnel was after that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// When.
    pub at: Instant,
    /// What.
    pub packet: TracedPacket,
    /// How the tunnel was.
    pub status: Status,
}

/// Packets that were decrypted, for who takes them from here.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    most: usize,
    received: VecDeque<Received>,
}

impl Trace {
    /// Keeps the last `most`; 0: none.
    pub(crate) fn keep(&mut self, most: usize) {
        self.most = most;
        self.received.truncate(most);
    }

    /// A packet was decrypted.
    pub(crate) fn note(&mut self, received: impl FnOnce() -> Received) {
        if self.most == 0 {
            return;
        }
        if self.received.len() == self.most {
            self.received.pop_front();
        }
        self.received.push_back(received());
    }

    /// The oldest one.
    pub(crate) fn take(&mut self) -> Option<Received> {
        self.received.pop_front()
    }
}
