//! Puzzles in the tunnel: `spec/tunnel.md` section 10.3.

use alloc::boxed::Box;
use core::net::SocketAddr;

use super::Shared;
use super::tunnel::Tunnel;
use crate::engine::channel::Now;
use crate::engine::time::Instant;
use crate::limits::{PACKET_MIN, PUZZLE_LIFE, RTO_FIRST};
use crate::puzzle::{self, HASH_BYTES, R_BYTES};
use crate::reason::Reason;
use crate::wire::rpc::Rpc;

/// Bytes of a packet with nothing but a puzzle.
pub const POSED_BYTES: usize = PACKET_MIN + 179;

/// Bytes that an unproven address has left for puzzles alone: four of them.
pub const KEPT_BACK: usize = 4 * POSED_BYTES;

/// A puzzle that is not answered.
pub struct Posed {
    r: [u8; R_BYTES],
    nonce: [u8; 8],
    w: u8,
    /// The one address it is sent to.
    to: SocketAddr,
    until: Instant,
    /// When it is sent next, and how long after that again.
    next: Instant,
    pause: Instant,
}

impl core::fmt::Debug for Posed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Posed({} bits to {})", self.w, self.to)
    }
}

impl Posed {
    fn new(w: u8, to: SocketAddr, now: &mut Now<'_>) -> Self {
        Self {
            r: now.random(),
            nonce: now.random(),
            w,
            to,
            until: now.instant + PUZZLE_LIFE,
            next: now.instant,
            pause: RTO_FIRST,
        }
    }

    /// When it is sent again, if anything can be sent, or given up.
    pub fn due(&self, can_send: bool) -> Instant {
        if can_send {
            self.next.min(self.until)
        } else {
            self.until
        }
    }

    /// Whether it was not answered in time.
    pub const fn is_over(&self, now: Instant) -> bool {
        self.until <= now
    }

    /// Whether it is to be sent now.
    pub const fn is_due(&self, now: Instant) -> bool {
        self.next <= now
    }

    /// It is sent: the puzzle.
    pub fn send(&mut self, now: Instant) -> ([u8; R_BYTES], [u8; HASH_BYTES]) {
        self.next = now + self.pause;
        self.pause *= 2;
        puzzle::pose(&self.r, self.w)
    }

    /// Its RPC.
    pub fn rpc<'a>(&self, q: &'a [u8; R_BYTES], hash: &'a [u8; HASH_BYTES]) -> Rpc<'a> {
        Rpc::Puzz {
            q,
            hash,
            w: self.w.into(),
            nonce: self.nonce,
        }
    }
}

impl Tunnel {
    /// Poses a puzzle of w bits; it takes the place of another, and is no easier.
    pub fn pose(&mut self, w: u8, now: &mut Now<'_>) {
        let before = self.puzzle.as_ref().map_or(0, |posed| posed.w);
        let posed = Posed::new(w.max(before), self.path.address(), now);
        self.puzzle = Some(Box::new(posed));
    }

    /// The same, unless there is one as hard already, sent here: who works at it works for all that waits, and
    /// its time does not begin anew.
    pub fn pose_here(&mut self, w: u8, now: &mut Now<'_>) {
        let here = self.path.address();
        let is_posed = |posed: &Posed| posed.w >= w && posed.to == here;
        if !self.puzzle.as_deref().is_some_and(is_posed) {
            self.pose(w, now);
        }
    }

    /// A puzzle was answered.
    ///
    /// # Errors
    /// `bad-solution`.
    pub fn solved(
        &mut self,
        shared: &mut Shared,
        r: &[u8; R_BYTES],
        nonce: [u8; 8],
    ) -> Result<(), Reason> {
        let is_right =
            |posed: &mut Box<Posed>| posed.nonce == nonce && puzzle::is_answer(&posed.r, r);
        let posed = self.puzzle.take_if(is_right).ok_or(Reason::BadSolution)?;
        self.path.answered(posed.to);
        shared.verify.append(&mut self.waiting);
        Ok(())
    }
}
