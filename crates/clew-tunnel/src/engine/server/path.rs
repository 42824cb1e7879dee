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
    proof: Proof,
}

/// Whether the client has shown that it receives there.
#[derive(Debug)]
enum Proof {
    /// It has.
    Proven,
    /// Not yet. An ack will show it: the tunnel has never moved.
    Unproven(Budget),
    /// Not yet, since the client moved: acks show nothing. The proven address before.
    Moved(Budget, Option<Box<Before>>),
}

/// Bytes of packets decrypted from an unproven address, and sent there.
#[derive(Debug, Default)]
struct Budget {
    received: u64,
    sent: u64,
}

#[derive(Debug)]
struct Before {
    address: SocketAddr,
    learnt: Learnt,
    until: Instant,
}

impl Path {
    /// The source of the first packet.
    pub(super) fn new(address: SocketAddr, is_proven: bool) -> Self {
        let proof = match is_proven {
            true => Proof::Proven,
            false => Proof::Unproven(Budget::default()),
        };
        Self { address, proof }
    }

    /// Where packets are sent.
    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether the client has shown that it receives there.
    pub(super) const fn is_proven(&self) -> bool {
        matches!(self.proof, Proof::Proven)
    }

    /// Whether acks prove nothing there, since the client moved.
    pub(crate) const fn needs_puzzle(&self) -> bool {
        matches!(self.proof, Proof::Moved(..))
    }

    const fn budget(&mut self) -> Option<&mut Budget> {
        match &mut self.proof {
            Proof::Proven => None,
            Proof::Unproven(budget) | Proof::Moved(budget, _) => Some(budget),
        }
    }

    /// A packet from there was decrypted.
    pub(super) fn received(&mut self, source: SocketAddr, bytes: usize) {
        let is_here = source == self.address;
        if let Some(budget) = self.budget().filter(|_| is_here) {
            budget.received = budget.received.saturating_add(bytes as u64);
        }
    }

    /// A packet was sent there.
    pub(super) fn sent(&mut self, bytes: usize) {
        if let Some(budget) = self.budget() {
            budget.sent = budget.sent.saturating_add(bytes as u64);
        }
    }

    /// How many bytes may be sent there now.
    pub(super) const fn room(&self) -> usize {
        let (Proof::Unproven(budget) | Proof::Moved(budget, _)) = &self.proof else {
            return usize::MAX;
        };
        let most = AMPLIFICATION.saturating_mul(budget.received);
        most.saturating_sub(budget.sent) as usize
    }

    /// Something that was sent there was acknowledged. After a move this shows nothing: the client knows
    /// what it acknowledged at its old address.
    pub(super) fn acknowledged(&mut self) {
        if matches!(self.proof, Proof::Unproven(_)) {
            self.proof = Proof::Proven;
        }
    }

    /// A puzzle that was sent to this address alone was answered.
    pub(super) fn answered(&mut self, address: SocketAddr) {
        if address == self.address {
            self.proof = Proof::Proven;
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
        let proof = core::mem::replace(&mut self.proof, Proof::Proven);
        let before = match proof {
            _ if is_initiation => None,
            Proof::Proven => Some(Box::new(Before {
                address: self.address,
                learnt,
                until: now + PATH_TIMEOUT,
            })),
            Proof::Unproven(_) => None,
            Proof::Moved(_, before) => before,
        };
        self.address = source;
        self.proof = Proof::Moved(Budget::default(), before);
    }

    /// When the path goes back.
    pub(super) fn due(&self) -> Option<Instant> {
        match &self.proof {
            Proof::Moved(_, before) => before.as_ref().map(|before| before.until),
            Proof::Proven | Proof::Unproven(_) => None,
        }
    }

    /// Goes back, if it is time: what was learnt of that address.
    pub(crate) fn go_back(&mut self, now: Instant) -> Option<Learnt> {
        let Proof::Moved(_, before) = &mut self.proof else {
            return None;
        };
        let before = before.take_if(|before| before.until <= now)?;
        self.address = before.address;
        self.proof = Proof::Proven;
        Some(before.learnt)
    }
}
