//! Puzzles in the tunnel: `spec/tunnel.md` section 10.3.

use alloc::boxed::Box;
use alloc::vec::Vec;
use clew_wire::Instant;
use core::net::SocketAddr;
use core::time::Duration;

use super::Shared;
use super::tunnel::Tunnel;
use crate::engine::channel::Now;
use crate::limits::{PACKET_MIN, PUZZ_PAUSE, PUZZLE_LIFE, RTO_FIRST};
use crate::puzzle::{self, HASH_BYTES, R_BYTES};
use crate::reason::Reason;
use crate::wire::rpc::Rpc;

/// Bytes of a packet with nothing but a puzzle.
pub(super) const POSED_BYTES: usize = PACKET_MIN + 179;

/// Bytes that an unproven address has left for puzzles alone: four of them.
pub(super) const KEPT_BACK: usize = 4 * POSED_BYTES;

/// A puzzle that is not answered.
pub(super) struct Posed {
    r: [u8; R_BYTES],
    nonce: [u8; 8],
    w: u8,
    /// The one address it is sent to.
    to: SocketAddr,
    /// It asks whether the client is there: since then.
    probe: Option<Instant>,
    until: Instant,
    /// When it is sent next, and how long after that again.
    next: Instant,
    pause: Duration,
}

impl core::fmt::Debug for Posed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Posed({} bits to {})", self.w, self.to)
    }
}

impl Posed {
    /// One that is sent at `next` at the earliest.
    fn new(w: u8, to: SocketAddr, next: Instant, now: &mut Now<'_>) -> Self {
        Self {
            r: now.random(),
            nonce: now.random(),
            w,
            to,
            probe: None,
            until: now.instant + PUZZLE_LIFE,
            next: next.max(now.instant),
            pause: RTO_FIRST,
        }
    }

    /// When it is sent again, if anything can be sent, or given up.
    pub(super) fn due(&self, can_send: bool) -> Instant {
        if can_send {
            self.next.min(self.until)
        } else {
            self.until
        }
    }

    /// It is sent: the puzzle.
    fn send(&mut self, now: Instant) -> ([u8; R_BYTES], [u8; HASH_BYTES]) {
        self.next = now + self.pause;
        self.pause *= 2;
        puzzle::pose(&self.r, self.w)
    }

    /// Its RPC.
    fn rpc<'a>(&self, q: &'a [u8; R_BYTES], hash: &'a [u8; HASH_BYTES]) -> Rpc<'a> {
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
    pub(super) fn pose(&mut self, w: u8, now: &mut Now<'_>) {
        let before = self.puzzle.as_ref().map_or(0, |posed| posed.w);
        let posed = Posed::new(w.max(before), self.path.address(), self.may_pose, now);
        self.puzzle = Some(Box::new(posed));
    }

    /// The same, unless there is one as hard already, sent here: who works at it works for all that waits, and
    /// its time does not begin anew.
    pub(crate) fn pose_here(&mut self, w: u8, now: &mut Now<'_>) {
        let here = self.path.address();
        let is_posed = |posed: &Posed| posed.w >= w && posed.to == here;
        if !self.puzzle.as_deref().is_some_and(is_posed) {
            self.pose(w, now);
        }
    }

    /// Asks whether the client is there.
    pub(crate) fn probe(&mut self, now: &mut Now<'_>) {
        self.pose_here(0, now);
        if let Some(posed) = &mut self.puzzle {
            posed.probe = Some(now.instant);
            posed.until = now.instant + PUZZLE_LIFE;
        }
    }

    /// An address that is to be proven by a puzzle has one.
    pub(crate) fn pose_for_path(&mut self, now: &mut Now<'_>) {
        if self.puzzle.is_none() && self.path.needs_puzzle() {
            self.pose(0, now);
        }
    }

    /// Gives up a puzzle that was not answered in time. What it was for can ask for another.
    ///
    /// # Errors
    /// `no-answer`: it asked whether the client is there, and nothing was heard since.
    pub(crate) fn give_up_puzzle(&mut self, now: Instant) -> Result<(), Reason> {
        let Some(posed) = self.puzzle.take_if(|posed| posed.until <= now) else {
            return Ok(());
        };
        // Connections that waited for it were refused meanwhile.
        self.waiting = Vec::new();
        let is_gone = posed.probe.is_some_and(|since| self.heard <= since);
        if is_gone {
            return Err(Reason::NoAnswer);
        }
        Ok(())
    }

    /// Writes the puzzle, if it is due.
    pub(crate) fn write_puzzle(&mut self, now: Instant, rpcs: &mut Vec<u8>) {
        let Some(posed) = self.puzzle.as_mut().filter(|posed| posed.next <= now) else {
            return;
        };
        let (q, hash) = posed.send(now);
        self.may_pose = now + PUZZ_PAUSE;
        // A puzzle of ours is written, or it is a defect.
        let written = posed.rpc(&q, &hash).write(rpcs);
        debug_assert!(written.is_ok(), "{written:?}");
    }

    /// A puzzle was answered.
    ///
    /// # Errors
    /// `bad-solution`.
    pub(super) fn solved(
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
