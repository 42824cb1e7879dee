//! One tunnel at its server.

use alloc::boxed::Box;
use alloc::vec::Vec;
use clew_wire::Instant;
use core::net::SocketAddr;

use super::Shared;
use super::jobs::Verify;
use super::path::Path;
use super::puzzles::{KEPT_BACK, POSED_BYTES, Posed};
use super::requests::Requests;
use crate::engine::channel::{Channel, Now, Party};
use crate::engine::event::TunnelId;
use crate::engine::packet_keys::PacketKeys;
use crate::engine::rate::Bucket;
use crate::engine::seq::Seq;
use crate::keys::{self, Binder, Nonce};
use crate::limits::{
    ANSWER, AUTH_WAIT, DEAD_AFTER, IDLE_MAX, PACKET_MIN, REKEY, REKEY_ANSWER, T1_LIFE,
};
use crate::reason::Reason;
use crate::wire::packet::{Side, Tid};
use crate::wire::rpc::Rpc;
use crate::wire::values::Call;

/// Which key of a tunnel a TID is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// The one it sends under.
    Current,
    /// The one before, which only receives.
    Draining,
    /// The one of the next rekey.
    Announced,
}

/// A tunnel.
#[derive(Debug)]
pub(super) struct Tunnel {
    pub channel: Channel,
    pub keys: PacketKeys,
    /// The key before, until then.
    pub old: Option<Box<(PacketKeys, Instant)>>,
    pub announced: Tid,
    pub binder: Binder,
    pub path: Path,
    pub puzzle: Option<Box<Posed>>,
    /// When the next puzzle may be sent.
    pub may_pose: Instant,
    /// Authenticators that wait for the puzzle.
    pub waiting: Vec<Verify>,
    pub requests: Requests,
    /// K is that of the next rekey already, and nothing is sent.
    pub is_dormant: bool,
    /// Opened with the boxing key (12.1).
    pub is_t1: bool,
    /// The next packet is the first under its TID.
    pub is_first: bool,
    /// close(0) was received.
    pub is_closed: bool,
    /// The last packet was opened.
    pub heard: Instant,
    /// The tunnel was made, or its last rekey.
    pub keyed: Instant,
    /// rekeyNow was sent.
    pub asked: Option<Instant>,
    pub rekeys: Bucket,
    pub moves: Bucket,
    pub creates: Bucket,
    /// Where it stands in the agenda.
    pub due: Option<Instant>,
}

/// What a new tunnel is made of.
#[derive(Debug)]
pub(super) struct Start {
    pub tid: Tid,
    pub announced: Tid,
    pub nonce: Nonce,
    pub key: crate::boxes::Key,
    pub binder: Binder,
    pub source: SocketAddr,
    pub is_solved: bool,
    pub is_t1: bool,
}

impl Tunnel {
    /// A tunnel by its initiation packet.
    pub(super) fn new(id: TunnelId, start: Start, packet: usize, now: &mut Now<'_>) -> Self {
        let random = u32::from_be_bytes(now.random());
        let nonce = start.nonce.answer().unwrap_or(start.nonce);
        let mut keys = PacketKeys::new(start.tid, start.key, nonce);
        keys.seen.note(start.nonce);
        Self {
            channel: Channel::new(
                id,
                Side::Server,
                Seq::start(random),
                packet,
                packet - PACKET_MIN,
            ),
            keys,
            old: None,
            announced: start.announced,
            binder: start.binder,
            path: Path::new(start.source, start.is_solved),
            puzzle: None,
            may_pose: Instant::default(),
            waiting: Vec::new(),
            requests: Requests::default(),
            is_dormant: false,
            is_t1: start.is_t1,
            is_first: true,
            is_closed: false,
            heard: now.instant,
            keyed: now.instant,
            asked: None,
            rekeys: Bucket::default(),
            moves: Bucket::default(),
            creates: Bucket::default(),
            due: None,
        }
    }

    /// The key of the next rekey's initiation packet.
    pub(crate) fn next_key(&self) -> crate::boxes::Key {
        if self.is_dormant {
            self.keys.key.clone()
        } else {
            keys::next(&self.keys.key)
        }
    }

    /// The tunnel's next key is in use. What it had before, but for the announced TID.
    pub(super) fn rekey(&mut self, keys: PacketKeys, announced: Tid, now: Instant) -> Rekeyed {
        let before = core::mem::replace(&mut self.keys, keys);
        let erased = self.old.take().map(|old| old.0.tid);
        let draining = if self.is_dormant {
            None
        } else {
            let tid = before.tid;
            self.old = Some(Box::new((before, now + crate::limits::DRAIN)));
            Some(tid)
        };
        self.announced = announced;
        self.is_dormant = false;
        self.is_first = true;
        // A tunnel under the boxing key does not live longer by it.
        if !self.is_t1 {
            self.keyed = now;
        }
        self.asked = None;
        Rekeyed { draining, erased }
    }

    /// The tunnel computes its next key, erases what it has, and waits: its TIDs, which are no more.
    pub(super) fn rest(&mut self) -> Rekeyed {
        let key = self.next_key();
        let tid = self.keys.tid;
        // A stream that opens nothing: the TID under it is not in the table any more.
        self.keys = PacketKeys::new(self.announced, key, Nonce::new(0, Side::Server));
        self.is_dormant = true;
        self.asked = None;
        self.channel.sending.pause();
        Rekeyed {
            draining: Some(tid),
            erased: self.old.take().map(|old| old.0.tid),
        }
    }

    /// Bytes of the longest packet that the address has room for, if there is no puzzle in it. What is kept
    /// back is for puzzles: were it used up by others, and the client had nothing to send, no word could reach
    /// it any more.
    pub(super) fn room(&self) -> usize {
        let room = self.path.room();
        if self.path.is_proven() || self.is_first {
            room
        } else {
            room.saturating_sub(KEPT_BACK)
        }
    }

    /// Whether the other side is done with the tunnel: it closed it; or it was opened under the boxing key, and
    /// has its answer.
    pub(super) fn is_over(&self) -> bool {
        let is_answered = self.channel.sending.is_done() && self.channel.control_bytes() == 0;
        self.is_closed || (self.is_t1 && is_answered && self.requests.is_empty())
    }

    /// Whether anything may be sent now but puzzles.
    pub(crate) fn can_send(&self) -> bool {
        !self.is_dormant && self.room() >= self.least()
    }

    /// Whether a puzzle may be sent now.
    pub(crate) fn can_pose(&self) -> bool {
        !self.is_dormant && self.path.room() >= POSED_BYTES.max(self.least())
    }

    /// Bytes of the shortest packet now.
    const fn least(&self) -> usize {
        if self.is_first { ANSWER } else { PACKET_MIN }
    }

    /// The earliest instant at which something happens by itself.
    pub(crate) fn next_due(&self) -> Instant {
        let sending = &self.channel.sending;
        let mut due = self.heard + IDLE_MAX;
        let mut at = |instant: Option<Instant>| {
            due = instant.map_or(due, |instant| due.min(instant));
        };
        at(self.old.as_ref().map(|old| old.1));
        at(self.path.due());
        at(self.puzzle.as_ref().map(|posed| posed.due(self.can_pose())));
        at(self
            .channel
            .connections
            .undecided()
            .map(|asked| asked + AUTH_WAIT));
        at(self.is_t1.then_some(self.keyed + T1_LIFE));
        if !self.is_dormant {
            at(Some(match self.asked {
                None => self.keyed + REKEY,
                Some(asked) => asked + REKEY_ANSWER,
            }));
            at(sending
                .waiting_since()
                .map(|since| since.max(self.heard) + DEAD_AFTER));
            at(sending.expiry());
        }
        if self.can_send() {
            at(self.channel.receiving.due());
        }
        due
    }
}

/// TIDs that changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rekeyed {
    /// The one that was current.
    pub draining: Option<Tid>,
    /// The one that was draining.
    pub erased: Option<Tid>,
}

impl Party for Tunnel {
    type Shared = Shared;

    fn channel(&mut self) -> &mut Channel {
        &mut self.channel
    }

    /// Under the boxing key: one request, and the end of the tunnel.
    fn admits(&self, call: &Call<'_>) -> Result<(), Reason> {
        let is_for_t1 = call.connection == 0 && matches!(call.name, "requestCert" | "close");
        if self.is_t1 && !is_for_t1 {
            return Err(Reason::NotAllowed);
        }
        Ok(())
    }

    fn control(
        &mut self,
        shared: &mut Shared,
        mut now: Now<'_>,
        rpc: Rpc<'_>,
    ) -> Result<(), Reason> {
        match rpc {
            Rpc::Create { .. }
            | Rpc::CreateAuth { .. }
            | Rpc::CreateAuthBound { .. }
            | Rpc::CreateAuthGroup { .. } => self.create(shared, &mut now, rpc),
            Rpc::RequestCert { identity } => self.request(shared, identity),
            Rpc::GiveCert { cert, ecert } => {
                self.register(shared, cert, ecert);
                Ok(())
            }
            // Nothing more of this tunnel is done.
            Rpc::Close { .. } => {
                self.is_closed = true;
                Ok(())
            }
            // Those out of sequence are done elsewhere, those of servers do not get here.
            _ => Err(Reason::WrongSide),
        }
    }
}
