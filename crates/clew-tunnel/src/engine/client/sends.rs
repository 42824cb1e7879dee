//! Initiation packets: when they are sent, and what they carry (`spec/tunnel.md` section 6.1).

use alloc::vec::Vec;
use clew_wire::{Instant, WallTime};
use core::time::Duration;

use crate::engine::channel::Now;
use crate::limits::{NOISE, SEND_PAUSE};
use crate::reason::Reason;
use crate::wire::packet::Tid;
use crate::wire::rpc::Rpc;
use crate::x25519::Public;

/// When an initiation packet is sent: section 6.1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sends {
    /// Added to the time in its nonces, less [`NOISE`].
    offset: Duration,
    began: Instant,
    /// How often it was sent.
    pub count: u32,
    /// How often from here.
    pub from_here: u32,
    next: Instant,
}

impl Sends {
    /// At once.
    pub(super) fn new(now: &mut Now<'_>) -> Self {
        let random = u64::from_be_bytes(now.random());
        Self {
            offset: Duration::from_nanos(random % (2 * NOISE.as_nanos() as u64 + 1)),
            began: now.instant,
            count: 0,
            from_here: 0,
            next: now.instant,
        }
    }

    /// When it is sent again.
    pub(crate) const fn next_due(&self) -> Instant {
        self.next
    }

    /// Since when it is sent, or could have been.
    pub(super) const fn began(&self) -> Instant {
        self.began
    }

    /// It is to be sent at once, whatever its time was: with a solution, to another key.
    pub(super) const fn hurry(&mut self, now: Instant) {
        self.next = now;
    }

    /// It is to be sent at once, and after 1, 2, 4 s: what was sent before shows nothing any more.
    pub(super) const fn anew(&mut self, now: Instant) {
        self.next = now;
        self.from_here = 0;
    }

    /// It is sent: t of its nonce.
    pub(super) fn send(&mut self, now: Instant, wall: WallTime) -> u64 {
        if self.count == 0 {
            self.began = now;
        }
        let pause = Duration::from_secs(1 << self.from_here.min(6));
        self.next = now + pause.min(SEND_PAUSE);
        self.from_here += 1;
        self.count += 1;
        (wall + self.offset - NOISE).as_nanos()
    }
}

/// Bytes of RPCs that an initiation packet of `m` bytes has room for, besides nextTid: it can be sent again
/// with a solution.
pub(crate) fn initiation_room(m: u16, next_tid: usize) -> usize {
    usize::from(m).saturating_sub(220 + next_tid)
}

/// What an initiation packet carries in sequence.
#[derive(Debug, Default)]
pub(super) struct FirstRpcs {
    /// Its place; 0: it carries nothing.
    pub seq: u32,
    /// Its RPCs.
    pub rpcs: Vec<u8>,
}

impl FirstRpcs {
    /// All RPCs of the packet.
    ///
    /// # Errors
    /// None that an RPC of ours has.
    pub(super) fn behind_next_tid(&self, tid: Tid, key: Public) -> Result<Vec<u8>, Reason> {
        let (tid, mut rpcs) = (*tid.as_bytes(), Vec::new());
        Rpc::NextTid { tid, key }.write(&mut rpcs)?;
        rpcs.extend_from_slice(&self.rpcs);
        Ok(rpcs)
    }
}
