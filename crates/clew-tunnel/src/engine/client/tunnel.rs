//! One tunnel at its client.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use clew_wire::Instant;
use core::net::SocketAddr;
use core::time::Duration;

use super::attempt::Attempt;
use super::state::State;
use super::users::UserId;
use super::{Shared, Target};
use crate::engine::channel::{Channel, Now};
use crate::engine::event::{Answer, ConnectionId, Event, TunnelId};
use crate::engine::outgoing::Outgoing;
use crate::engine::party::Party;
use crate::engine::receive::Decrypted;
use crate::engine::seq::Seq;
use crate::engine::tids::{TidList, TidUse};
use crate::engine::tunnel_keys::TunnelKeys;
use crate::limits::{KEEPALIVE_BYTES, PACKET_MIN, PAD_AFTER, REKEY, SILENT_AFTER};
use crate::puzzle::{R_BYTES, Search};
use crate::reason::Reason;
use crate::wire::packet::{Side, Tid};
use crate::wire::plaintext::Calls;
use crate::wire::rpc::Rpc;
use crate::wire::values::Call;

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

    /// The server closes the tunnel: the connections that it was not asked for yet, or whose request it has not
    /// acknowledged with its last packet.
    fn tell_unheard(&self, shared: &mut Shared) {
        let id = |number| ConnectionId {
            tunnel: self.channel.id,
            number,
        };
        let mut numbers: Vec<u32> = self.wishes.iter().map(|wish| wish.number).collect();
        for rpcs in self.channel.sending.outstanding() {
            let calls = Calls::parse(rpcs).into_iter().flatten();
            numbers.extend(calls.filter_map(|call| created(&call)));
        }
        let events = numbers.into_iter().map(|number| Event::Unheard(id(number)));
        shared.common.events.extend(events);
    }

    /// Sends one packet of the tunnel, if there is one to be sent now.
    pub(super) fn send_packet(
        &mut self,
        shared: &mut Shared,
        now: &mut Now<'_>,
        out: &mut Outgoing,
    ) -> bool {
        self.ask_wishes(shared, now);
        let room = shared.config.packet - PACKET_MIN;
        let mut rpcs = core::mem::take(&mut shared.common.scratch);
        rpcs.clear();
        if let Some(solved) = self.solved.as_mut().filter(|solved| solved.is_due) {
            let (r, nonce) = (&solved.r, solved.nonce);
            solved.is_due = Rpc::PuzzSoln { r, nonce }.write(&mut rpcs).is_err();
        }
        let has_solution = !rpcs.is_empty();
        let events = &mut shared.common.events;
        let left = room - rpcs.len();
        let seq = self.channel.next(now.instant, left, &mut rpcs, events);
        let is_ack_due = self
            .channel
            .receiving
            .due()
            .is_some_and(|due| due <= now.instant);
        let is_sent = seq != 0 || has_solution || is_ack_due;
        if is_sent {
            // After a pause a NAT may have another address for it, which has to earn what comes back.
            let is_late = self.heard + PAD_AFTER <= now.instant;
            let least = if is_late { KEEPALIVE_BYTES } else { 0 };
            self.write(seq, &rpcs, least, out);
        }
        shared.common.scratch = rpcs;
        self.note_connections(now.instant);
        is_sent
    }

    /// Writes a packet of at least so many bytes, if there is a key.
    pub(super) fn write(&mut self, seq: u32, rpcs: &[u8], least: usize, out: &mut Outgoing) {
        let to = (self.from, self.address());
        let Some(keyed) = self.state.keyed_mut() else {
            return;
        };
        let keys = &mut keyed.keys.current;
        let numbers = (seq, self.channel.receiving.ack());
        let header = keys.header();
        let sent = out.push(to, &header, numbers, rpcs, least, &keys.stream);
        debug_assert!(sent.is_some(), "no longer than the longest");
        self.channel.receiving.acknowledged();
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
        let all = self.target.addresses();
        all[self.address % all.len()]
    }

    fn tids(&self) -> TidList {
        self.state.tids()
    }

    fn keys(&self) -> Option<&TunnelKeys> {
        self.state.keyed().map(|keyed| &keyed.keys)
    }

    fn keys_mut(&mut self) -> Option<&mut TunnelKeys> {
        self.state.keyed_mut().map(|keyed| &mut keyed.keys)
    }

    fn heard(
        &mut self,
        _: &mut Shared,
        now: &mut Now<'_>,
        decrypted: &Decrypted<'_>,
        _: bool,
        _: bool,
    ) -> Result<(), Reason> {
        if self.heard + SILENT_AFTER <= now.instant {
            self.channel.sending.revive(now.instant);
        }
        self.heard = now.instant;
        self.is_silent = false;
        if decrypted.which == TidUse::Current && matches!(self.state, State::Rekey(..)) {
            self.state.rekeyed()?;
            self.rekey_at = next_rekey(now);
        }
        Ok(())
    }

    fn urgent(&mut self, shared: &mut Shared, rpc: Rpc<'_>) -> Result<(), Reason> {
        let Rpc::Puzz { q, hash, w, nonce } = rpc else {
            return Err(Reason::Order);
        };
        let search = Search::new(q, hash, w, shared.config.w);
        self.posed(shared, search, nonce)
    }

    fn control(&mut self, shared: &mut Shared, now: Now<'_>, rpc: Rpc<'_>) -> Result<(), Reason> {
        let id = |number| ConnectionId {
            tunnel: self.channel.id,
            number,
        };
        match rpc {
            Rpc::RekeyNow => self.rekey_at = self.rekey_at.min(now.instant),
            Rpc::Ack { connection } => {
                let accepted = Event::Accepted(id(connection));
                self.channel.connections.accepted(connection)?;
                shared.common.events.push_back(accepted);
            }
            Rpc::Refuse { connection: 0 } => return self.answered(shared, &now, Answer::Refused),
            Rpc::Refuse { connection } => {
                let refused = Event::Refused(id(connection));
                self.channel.connections.refused(connection)?;
                shared.common.events.push_back(refused);
            }
            Rpc::GiveCert { cert, ecert } => {
                let given = Answer::Given(cert.into(), ecert.into());
                return self.answered(shared, &now, given);
            }
            Rpc::Ok => return self.answered(shared, &now, Answer::Taken),
            Rpc::Close { .. } => {
                self.tell_unheard(shared);
                self.state.close();
            }
            // Those out of sequence are done elsewhere, those of clients do not get here.
            _ => return Err(Reason::WrongSide),
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        matches!(self.state, State::Closed(_))
    }

    fn send(
        &mut self,
        shared: &mut Shared,
        now: &mut Now<'_>,
        out: &mut Outgoing,
    ) -> Result<bool, Reason> {
        match &self.state {
            State::First(_) => self.send_first(shared, now, out),
            State::Rekey(_, rekeying) if rekeying.sends.next_due() <= now.instant => {
                self.send_rekey(shared, now, out)
            }
            State::Open(_) | State::Rekey(..) => Ok(self.send_packet(shared, now, out)),
            State::Closed(_) => Err(Reason::WrongState),
        }
    }

    fn say_last(&mut self, _: &Shared, now: Instant, out: &mut Outgoing) {
        let mut rpcs = Vec::new();
        let close = Rpc::Close { connection: 0 };
        if self.state.keyed().is_some() && close.write(&mut rpcs).is_ok() {
            let seq = self.channel.sending.send(rpcs.as_slice().into(), now);
            self.write(seq.get(), &rpcs, 0, out);
        }
    }

    fn next_due(&self) -> Option<Instant> {
        let closes = self.closes_at();
        let state = match &self.state {
            State::First(attempt) => {
                return closes.into_iter().chain(attempt.next_due()).min();
            }
            State::Rekey(_, rekeying) => rekeying.sends.next_due(),
            State::Open(_) | State::Closed(_) => self.rekey_at,
        };
        let others = [
            closes,
            self.state.keyed().and_then(|keyed| keyed.keys.drained_at()),
            self.dies_at(),
            self.speaks_at(),
            self.channel.sending.expiry(),
            self.channel.receiving.due(),
        ];
        others.into_iter().flatten().chain([state]).min()
    }
}

/// The connection that an RPC of a client asks for.
fn created(call: &Call<'_>) -> Option<u32> {
    match Rpc::of(call, Side::Client) {
        Ok(
            Rpc::Create { connection, .. }
            | Rpc::CreateAuth { connection, .. }
            | Rpc::CreateAuthBound { connection, .. },
        ) if call.connection == 0 => Some(connection),
        _ => None,
    }
}

/// When the next rekey is due: the interval less up to a tenth of it.
pub(crate) fn next_rekey(now: &mut Now<'_>) -> Instant {
    let random = u64::from_be_bytes(now.random());
    let tenth = (REKEY / 10).as_nanos() as u64;
    now.instant + REKEY - Duration::from_nanos(random % tenth)
}
