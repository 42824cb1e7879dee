//! One tunnel at its client.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use clew_wire::{Instant, WallTime};
use core::time::Duration;

use super::Target;
use super::attempt::Attempt;
use super::state::State;
use super::users::UserId;
use crate::engine::channel::{Channel, Now};
use crate::engine::event::TunnelId;
use crate::engine::seq::Seq;
use crate::limits::{NOISE, PACKET_MIN, REKEY};
use crate::puzzle::R_BYTES;
use crate::wire::packet::{Side, Tid};

/// A connection that is asked for, as soon as there is room.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    /// Its number.
    pub number: u32,
    /// The service.
    pub service: String,
    /// Whose; none: anonymous.
    pub user: Option<UserId>,
}

/// Who asked for a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// The program, for a record.
    Record,
    /// The program, that a record be taken.
    Register,
    /// This tunnel, for its server's newest one.
    Own,
}

/// An answered puzzle, which may be asked for again.
#[derive(Debug)]
pub(super) struct Solved {
    pub nonce: [u8; 8],
    pub r: [u8; R_BYTES],
    /// It is still to be sent.
    pub is_due: bool,
}

/// Whether anybody uses a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// Nobody has wanted anything of it since it was made.
    Unwanted(Instant),
    /// It has a connection, or a request without answer.
    Used,
    /// It had, until then.
    Idle(Instant),
}

/// A tunnel at its client.
#[derive(Debug)]
pub struct Tunnel {
    pub(super) channel: Channel,
    pub(super) target: Target,
    pub(super) state: State,
    /// The next initiation packet's TID.
    pub(super) announced: Tid,
    /// The program's name of the socket.
    pub(super) from: u32,
    /// Which of the server's addresses.
    pub(super) address: usize,
    /// Connections that are not asked for yet.
    pub(super) wishes: VecDeque<Wish>,
    pub(super) asked: VecDeque<Asked>,
    /// The puzzle that is being solved, and the last one that was.
    pub(super) solving: Option<[u8; 8]>,
    pub(super) solved: Option<Box<Solved>>,
    /// The program was told that nothing comes back.
    pub(super) is_silent: bool,
    /// The last packet was decrypted; or the client moved or woke up, before which it could hear nothing.
    pub(super) heard: Instant,
    /// When the next rekey begins by itself.
    pub(super) rekey_at: Instant,
    pub(super) usage: Use,
}

impl Tunnel {
    /// A tunnel that is to be opened.
    pub(super) fn new(
        id: TunnelId,
        target: Target,
        from: u32,
        attempt: Attempt,
        packet: usize,
        now: &mut Now<'_>,
    ) -> Self {
        let start = Seq::start(u32::from_be_bytes(now.random()));
        Self {
            channel: Channel::new(id, Side::Client, start, packet, packet - PACKET_MIN),
            target,
            state: State::First(Box::new(attempt)),
            announced: Tid::from_random(now.random()),
            from,
            address: 0,
            wishes: VecDeque::new(),
            asked: VecDeque::new(),
            solving: None,
            solved: None,
            is_silent: false,
            heard: now.instant,
            rekey_at: next_rekey(now),
            usage: Use::Unwanted(now.instant),
        }
    }

    /// Somebody wants something of it.
    pub(super) fn want(&mut self) {
        self.usage = Use::Used;
        if let State::First(attempt) = &mut self.state {
            attempt.release();
        }
    }

    /// Connections came or went.
    pub(crate) fn note_connections(&mut self, now: Instant) {
        if self.channel.connections.len() > 0 || !self.asked.is_empty() {
            self.usage = Use::Used;
        } else if self.usage == Use::Used {
            self.usage = Use::Idle(now);
        }
    }
}

/// When the next rekey is due: the interval less up to a tenth of it.
pub(crate) fn next_rekey(now: &mut Now<'_>) -> Instant {
    let random = u64::from_be_bytes(now.random());
    let tenth = (REKEY / 10).as_nanos() as u64;
    now.instant + REKEY - Duration::from_nanos(random % tenth)
}

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
        self.next = now + pause;
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
