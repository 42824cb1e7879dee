//! One tunnel at its server.

use alloc::boxed::Box;
use alloc::vec::Vec;
use clew_wire::Instant;
use core::net::SocketAddr;
use core::time::Duration;

use super::jobs::Verify;
use super::path::Path;
use super::puzzles::{KEPT_BACK, POSED_BYTES, Posed};
use super::requests::Requests;
use super::state::{Rekey, State};
use super::trial::Trial;
use super::{Limits, Shared};
use crate::engine::channel::{Channel, Now};
use crate::engine::event::TunnelId;
use crate::engine::outgoing::Outgoing;
use crate::engine::packet_keys::PacketKeys;
use crate::engine::party::Party;
use crate::engine::rate::{Bucket, Prefix};
use crate::engine::receive::Decrypted;
use crate::engine::seq::Seq;
use crate::engine::tids::{TidList, TidUse};
use crate::engine::tunnel_keys::TunnelKeys;
use crate::keys::{Binder, Nonce};
use crate::limits::{ANSWER, AUTH_WAIT, PACKET_MIN, SILENT_AFTER, T1_LIFE};
use crate::reason::Reason;
use crate::wire::packet::{Side, Tid};
use crate::wire::rpc::Rpc;
use crate::wire::values::Call;

/// A tunnel at its server.
#[derive(Debug)]
pub struct Tunnel {
    pub(super) channel: Channel,
    pub(super) state: State,
    pub(super) binder: Binder,
    pub(super) path: Path,
    pub(super) puzzle: Option<Box<Posed>>,
    /// When the next puzzle may be sent.
    pub(super) may_pose: Instant,
    /// Authenticators that wait for the puzzle.
    pub(super) waiting: Vec<Verify>,
    pub(super) requests: Requests,
    pub(super) purpose: Purpose,
    /// How long it may be silent.
    pub(super) idle: Duration,
    /// Who has the tunnel's place: where its first packet came from.
    pub(super) home: Prefix,
    /// The last packet was decrypted.
    pub(super) heard: Instant,
    pub(super) rekeys: Bucket,
    pub(super) moves: Bucket,
    pub(super) creates: Bucket,
}

/// What a tunnel is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Connections, and requests.
    Connections,
    /// The server's own record, under the boxing key (12.1): until then at the latest.
    Record(Instant),
}

impl Purpose {
    /// When the tunnel ends, whatever happens.
    pub(super) const fn until(self) -> Option<Instant> {
        match self {
            Self::Connections => None,
            Self::Record(until) => Some(until),
        }
    }
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
    pub(super) fn new(
        id: TunnelId,
        start: Start,
        packet: usize,
        limits: &Limits,
        now: &mut Now<'_>,
    ) -> Self {
        let random = u32::from_be_bytes(now.random());
        let nonce = start.nonce.answer().unwrap_or(start.nonce);
        let mut keys = PacketKeys::new(start.tid, start.key, nonce);
        keys.seen.note(start.nonce);
        let (announced, life) = (start.announced, limits.unproven_life);
        let state = match start.is_solved {
            true => State::new(keys, announced, now.instant),
            false => State::unproven(keys, announced, now.instant, life),
        };
        let purpose = match start.is_t1 {
            true => Purpose::Record(now.instant + T1_LIFE),
            false => Purpose::Connections,
        };
        Self {
            channel: Channel::new(
                id,
                Side::Server,
                Seq::start(random),
                packet,
                packet - PACKET_MIN,
            ),
            state,
            binder: start.binder,
            path: Path::new(start.source, start.is_solved),
            puzzle: None,
            may_pose: Instant::default(),
            waiting: Vec::new(),
            requests: Requests::default(),
            purpose,
            idle: limits.idle,
            home: Prefix::of(start.source),
            heard: now.instant,
            rekeys: Bucket::default(),
            moves: Bucket::default(),
            creates: Bucket::default(),
        }
    }

    /// Bytes of the longest packet that the address has room for, if there is no puzzle in it. What is kept
    /// back is for puzzles: were it used up by others, and the client had nothing to send, no word could reach
    /// it any more.
    pub(super) fn room(&self) -> usize {
        let room = self.path.room();
        if self.path.is_proven() || self.is_first() {
            room
        } else {
            room.saturating_sub(KEPT_BACK)
        }
    }

    /// Whether the next packet is the first under its TID.
    pub(super) fn is_first(&self) -> bool {
        self.state.open().is_some_and(|open| open.is_first)
    }

    /// Whether anything may be sent now but puzzles.
    pub(crate) fn can_send(&self) -> bool {
        self.state.open().is_some() && self.room() >= self.least()
    }

    /// Whether a puzzle may be sent now.
    pub(crate) fn can_pose(&self) -> bool {
        self.state.open().is_some() && self.path.room() >= POSED_BYTES.max(self.least())
    }

    /// The longest packet now without a puzzle, if any may be sent.
    fn longest(&self, shared: &Shared) -> usize {
        let room = self.room();
        let m = usize::from(shared.config.m);
        match self.is_first() {
            false => shared.config.packet.min(room),
            true if room < m => ANSWER,
            true => m,
        }
    }

    /// Writes a packet, if the tunnel is open.
    fn write(&mut self, shared: &Shared, seq: u32, rpcs: &[u8], out: &mut Outgoing) {
        let Some(open) = self.state.open_mut() else {
            return;
        };
        let is_first = core::mem::replace(&mut open.is_first, false);
        let length = match (is_first, PACKET_MIN + rpcs.len() > ANSWER) {
            (false, _) => 0,
            (true, false) => ANSWER,
            (true, true) => usize::from(shared.config.m),
        };
        let header = open.keys.current.header();
        let numbers = (seq, self.channel.receiving.ack());
        let to = (0, self.path.address());
        let stream = &open.keys.current.stream;
        let sent = out.push(to, &header, numbers, rpcs, length, stream);
        debug_assert!(sent.is_some(), "no longer than the longest");
        self.path.sent(sent.unwrap_or(0));
        self.channel.receiving.acknowledged();
    }

    /// The client is at another address.
    fn moved(
        &mut self,
        shared: &mut Shared,
        now: &mut Now<'_>,
        source: SocketAddr,
        is_initiation: bool,
    ) {
        if !self.moves.take(shared.config.limits.moves, now.instant) {
            return shared.common.counters.count(Reason::TooManyMoves);
        }
        let learnt = self
            .channel
            .sending
            .restart(shared.config.packet, now.instant);
        self.path
            .move_to(source, learnt, is_initiation, now.instant);
        self.pose(0, now);
    }

    /// Bytes of the shortest packet now.
    fn least(&self) -> usize {
        if self.is_first() { ANSWER } else { PACKET_MIN }
    }
}

impl Party for Tunnel {
    type Shared = Shared;

    fn channel(&self) -> &Channel {
        &self.channel
    }

    fn channel_mut(&mut self) -> &mut Channel {
        &mut self.channel
    }

    fn address(&self) -> SocketAddr {
        self.path.address()
    }

    fn tids(&self) -> TidList {
        self.state.tids()
    }

    fn keys(&self) -> Option<&TunnelKeys> {
        self.state.open().map(|open| &open.keys)
    }

    fn keys_mut(&mut self) -> Option<&mut TunnelKeys> {
        self.state.open_mut().map(|open| &mut open.keys)
    }

    fn heard(
        &mut self,
        shared: &mut Shared,
        now: &mut Now<'_>,
        decrypted: &Decrypted<'_>,
        is_newest: bool,
        is_ack: bool,
    ) -> Result<(), Reason> {
        let Decrypted {
            packet,
            which,
            source,
            ..
        } = *decrypted;
        if self.heard + SILENT_AFTER <= now.instant {
            self.channel.sending.revive(now.instant);
        }
        self.heard = now.instant;
        if which == TidUse::Current && is_newest && source != self.path.address() {
            self.moved(shared, now, source, packet.is_initiation);
        }
        self.path.received(source, packet.bytes);
        if let Some(trial) = self.state.trial_mut() {
            trial.received(packet.bytes);
        }
        if source == self.path.address() {
            self.pose_for_path(now);
        }
        if is_ack {
            self.path.acknowledged();
        }
        self.note_proof(shared);
        Ok(())
    }

    fn urgent(&mut self, shared: &mut Shared, rpc: Rpc<'_>) -> Result<(), Reason> {
        let Rpc::PuzzSoln { r, nonce } = rpc else {
            return Err(Reason::Order);
        };
        if let Err(reason) = self.solved(shared, r, nonce) {
            shared.common.counters.count(reason);
        }
        self.note_proof(shared);
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.state.trial().is_some_and(Trial::is_full)
    }

    fn leave(&mut self, shared: &mut Shared) {
        self.end_trial(shared);
        shared.places.give(&self.home);
    }

    /// Under the boxing key: one request, and the end of the tunnel.
    fn admits(&self, call: &Call<'_>) -> Result<(), Reason> {
        let is_for_t1 = call.connection == 0 && matches!(call.name, "requestCert" | "close");
        if self.purpose.until().is_some() && !is_for_t1 {
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
                self.end_trial(shared);
                self.state.close();
                Ok(())
            }
            // Those out of sequence are done elsewhere, those of servers do not get here.
            _ => Err(Reason::WrongSide),
        }
    }
    fn is_over(&self) -> bool {
        let is_answered = self.channel.sending.is_done()
            && self.channel.control_bytes() == 0
            && self.requests.is_empty();
        matches!(self.state, State::Closed(_)) || (self.purpose.until().is_some() && is_answered)
    }

    fn send(
        &mut self,
        shared: &mut Shared,
        now: &mut Now<'_>,
        out: &mut Outgoing,
    ) -> Result<bool, Reason> {
        if self.state.open().is_none() {
            return Ok(false);
        }
        self.requests.flush(&mut self.channel);
        if !self.can_send() && !self.can_pose() {
            return Ok(false);
        }
        let room = self.longest(shared).saturating_sub(PACKET_MIN);
        let mut rpcs = core::mem::take(&mut shared.common.scratch);
        rpcs.clear();
        if self.can_pose() {
            self.write_puzzle(now.instant, &mut rpcs);
        }
        let has_puzzle = !rpcs.is_empty();
        let events = &mut shared.common.events;
        let left = room.saturating_sub(rpcs.len());
        let seq = self.channel.next(now.instant, left, &mut rpcs, events);
        let is_ack_due = self
            .channel
            .receiving
            .due()
            .is_some_and(|due| due <= now.instant);
        let is_sent = seq != 0 || has_puzzle || (is_ack_due && self.can_send());
        if is_sent {
            self.write(shared, seq, &rpcs, out);
        }
        shared.common.scratch = rpcs;
        Ok(is_sent)
    }

    fn say_last(&mut self, shared: &Shared, now: Instant, out: &mut Outgoing) {
        let mut rpcs = Vec::new();
        let close = Rpc::Close { connection: 0 };
        if self.state.open().is_none() || close.write(&mut rpcs).is_err() {
            return;
        }
        // What is kept back for puzzles is of no use any more.
        let least = self.least().max(PACKET_MIN + rpcs.len());
        if self.path.room() >= least {
            let seq = self.channel.sending.send(rpcs.as_slice().into(), now);
            self.write(shared, seq.get(), &rpcs, out);
        }
    }

    fn next_due(&self) -> Option<Instant> {
        let sending = &self.channel.sending;
        let undecided = self.channel.connections.undecided();
        let trial = self
            .state
            .trial()
            .map(|trial| trial.ask_at.unwrap_or(trial.until));
        let always = [
            Some(self.heard + self.idle),
            trial,
            self.path.due(),
            self.puzzle.as_ref().map(|posed| posed.due(self.can_pose())),
            undecided.map(|asked| asked + AUTH_WAIT),
            self.purpose.until(),
        ];
        let open = self.state.open().map(|open| {
            let (Rekey::Due(rekey) | Rekey::Asked(rekey)) = open.rekey;
            [
                Some(rekey),
                open.keys.drained_at(),
                self.dies_at(),
                sending.expiry(),
                self.channel.receiving.due().filter(|_| self.can_send()),
            ]
        });
        let all = always.into_iter().chain(open.into_iter().flatten());
        all.flatten().min()
    }
}
