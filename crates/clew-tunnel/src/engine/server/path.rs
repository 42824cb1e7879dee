//! Where the client is: `spec/tunnel.md` section 9.

use alloc::boxed::Box;
use clew_wire::Instant;
use core::net::SocketAddr;

use crate::engine::congestion::Congestion;
use crate::engine::retransmission::Timeout;
use crate::limits::{AMPLIFICATION, PATH_TIMEOUT};

/// What was learnt of an address.
pub(super) type Learnt = (Congestion, Timeout);

/// The address that packets are sent to.
#[derive(Debug)]
pub(super) struct Path {
    address: SocketAddr,
    is_proven: bool,
    has_moved: bool,
    /// Bytes of packets opened from there, and sent there, while it is not proven.
    received: u64,
    sent: u64,
    /// The proven one before, until then.
    before: Option<Box<Before>>,
}

#[derive(Debug)]
struct Before {
    address: SocketAddr,
    learnt: Learnt,
    until: Instant,
}

impl Path {
    /// The source of the first packet.
    pub(super) const fn new(address: SocketAddr, is_proven: bool) -> Self {
        Self {
            address,
            is_proven,
            has_moved: false,
            received: 0,
            sent: 0,
            before: None,
        }
    }

    /// Where packets are sent.
    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether the client has shown that it receives there.
    pub(super) const fn is_proven(&self) -> bool {
        self.is_proven
    }

    /// Whether acks prove nothing there, since the client moved.
    pub(crate) const fn needs_puzzle(&self) -> bool {
        self.has_moved && !self.is_proven
    }

    /// A packet from there was opened.
    pub(super) fn received(&mut self, source: SocketAddr, bytes: usize) {
        if source == self.address {
            self.received = self.received.saturating_add(bytes as u64);
        }
    }

    /// A packet was sent there.
    pub(super) fn sent(&mut self, bytes: usize) {
        self.sent = self.sent.saturating_add(bytes as u64);
    }

    /// How many bytes may be sent there now.
    pub(super) fn room(&self) -> usize {
        if self.is_proven {
            return usize::MAX;
        }
        let most = AMPLIFICATION.saturating_mul(self.received);
        most.saturating_sub(self.sent) as usize
    }

    /// Something that was sent there was acknowledged. After a move this shows nothing: the client knows
    /// what it acknowledged at its old address.
    pub(super) fn acknowledged(&mut self) {
        self.is_proven |= !self.has_moved;
    }

    /// A puzzle that was sent to this address alone was answered.
    pub(super) fn answered(&mut self, address: SocketAddr) {
        if address == self.address {
            self.is_proven = true;
            self.before = None;
        }
    }

    /// The client is elsewhere. `learnt` is what was learnt of the address so far, to which the path may
    /// have to go back: but not from that of an initiation packet.
    pub(super) fn move_to(
        &mut self,
        source: SocketAddr,
        learnt: Learnt,
        is_initiation: bool,
        now: Instant,
    ) {
        if is_initiation {
            self.before = None;
        } else if self.is_proven {
            self.before = Some(Box::new(Before {
                address: self.address,
                learnt,
                until: now + PATH_TIMEOUT,
            }));
        }
        self.address = source;
        self.has_moved = true;
        self.is_proven = false;
        (self.received, self.sent) = (0, 0);
    }

    /// When the path goes back.
    pub(super) fn due(&self) -> Option<Instant> {
        self.before.as_ref().map(|before| before.until)
    }

    /// Goes back, if it is time: what was learnt of that address.
    pub(crate) fn go_back(&mut self, now: Instant) -> Option<Learnt> {
        let before = self.before.take_if(|before| before.until <= now)?;
        self.address = before.address;
        self.is_proven = true;
        Some(before.learnt)
    }
}
