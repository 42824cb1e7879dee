//! What both sides of a tunnel do alike with what is in its boxes: `spec/tunnel.md` sections 7 and 11.1.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use clew_wire::{Instant, WallTime};
use core::net::SocketAddr;

use super::connections::Connections;
use super::draft::Draft;
use super::event::{ConnectionId, Event, Status, Traffic, TunnelId};
use super::party::Party;
use super::queue::Queue;
use super::receiving::{Held, Place, Receiving};
use super::sending::Sending;
use super::seq::Seq;
use super::trace::Trace;
use crate::limits::{CONTROL_MAX, NAME_MAX, RPCS_MAX};
use crate::reason::{Counters, Reason};
use crate::wire::packet::Side;
use crate::wire::plaintext::Calls;
use crate::wire::rpc::Rpc;
use crate::wire::values::{Call, CallWriter};

/// What all tunnels of an engine share.
#[derive(Debug, Default)]
pub struct Common {
    /// For the program.
    pub(super) events: VecDeque<Event>,
    /// By reason.
    pub(super) counters: Counters,
    /// What was sent.
    pub(super) traffic: Traffic,
    /// What is held ahead of its turn.
    pub(super) held: Held,
    /// RPCs of the packet that is being written.
    pub(super) scratch: Vec<u8>,
    /// What was decrypted.
    pub(super) trace: Trace,
}

/// The sequences and connections of a tunnel.
#[derive(Debug)]
pub struct Channel {
    /// Whose tunnel it is.
    pub(super) id: TunnelId,
    /// It waits for its turn to send.
    pub(super) is_ready: bool,
    /// Where it stands in the agenda.
    pub(super) due: Option<Instant>,
    /// What this side sends.
    pub(super) sending: Sending,
    /// What it receives.
    pub(super) receiving: Receiving,
    /// Its connections.
    pub(super) connections: Connections,
    side: Side,
    /// The longest RPC that every packet has room for.
    longest: usize,
    /// RPCs of connection 0 that wait.
    control: Queue,
}

/// The times at which something happens, and randomness for it.
pub struct Now<'a> {
    /// By a clock that never goes back.
    pub instant: Instant,
    /// By the clock on the wall.
    pub wall: WallTime,
    /// Randomness.
    pub rng: &'a mut dyn rand_core::CryptoRng,
}

impl Now<'_> {
    /// The same for somebody else.
    pub fn again(&mut self) -> Now<'_> {
        Now {
            instant: self.instant,
            wall: self.wall,
            rng: self.rng,
        }
    }

    /// Random bytes.
    pub fn random<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.rng.fill_bytes(&mut bytes);
        bytes
    }
}

impl core::fmt::Debug for Now<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Now({:?}, {:?})", self.instant, self.wall)
    }
}

/// Takes the RPCs in sequence of a packet that was decrypted, and those that it is the key to.
///
/// # Errors
/// A reason that closes the tunnel.
pub(super) fn receive<P: Party>(
    party: &mut P,
    shared: &mut P::Shared,
    now: &mut Now<'_>,
    seq: u32,
    counted: Calls<'_>,
) -> Result<(), Reason> {
    let is_full = party.is_full();
    let channel = party.channel_mut();
    let Some(seq) = Seq::new(seq) else {
        return Ok(());
    };
    channel.receiving.owe(now.instant);
    let common = shared.as_mut();
    let taken = if is_full || channel.control.bytes() > CONTROL_MAX {
        // Who asks and never listens has to wait until it does.
        Err(Reason::Ahead)
    } else {
        channel
            .receiving
            .take(seq, counted.as_bytes(), &mut common.held)
    };
    match taken {
        Err(reason) => common.counters.count(reason),
        Ok(Place::Later) => {}
        Ok(Place::Next) => {
            all(party, shared, now, counted)?;
            // Those behind it wait like any other, and are sent again, as long as answers pile up.
            while party.channel_mut().control.bytes() <= CONTROL_MAX
                && let Some(rpcs) = party.channel_mut().receiving.pop(&mut shared.as_mut().held)
            {
                all(party, shared, now, Calls::parse(&rpcs)?)?;
            }
        }
    }
    Ok(())
}

/// Does the RPCs of one packet.
fn all<P: Party>(
    party: &mut P,
    shared: &mut P::Shared,
    now: &mut Now<'_>,
    mut calls: Calls<'_>,
) -> Result<(), Reason> {
    loop {
        let before = calls.as_bytes();
        let Some(call) = calls.next() else {
            return Ok(());
        };
        let raw = &before[..before.len() - calls.as_bytes().len()];
        let done = one(party, shared, now, &call, raw);
        if let Err(reason) = done {
            if !is_passed_over(reason) {
                return Err(reason);
            }
            shared.as_mut().counters.count(reason);
        }
    }
}

fn one<P: Party>(
    party: &mut P,
    shared: &mut P::Shared,
    now: &mut Now<'_>,
    call: &Call<'_>,
    raw: &[u8],
) -> Result<(), Reason> {
    party.admits(call)?;
    let channel = party.channel_mut();
    if call.connection != 0 {
        let events = &mut shared.as_mut().events;
        return channel.connections.deliver(channel.id, call, raw, events);
    }
    match Rpc::of(call, channel.other())? {
        Rpc::WindowSize { connection, bytes } => channel.connections.raise(connection, bytes),
        Rpc::Close { connection } if connection != 0 => {
            channel.connections.ended(connection)?;
            let closed = Event::Closed(ConnectionId {
                tunnel: channel.id,
                number: connection,
            });
            shared.as_mut().events.push_back(closed);
            Ok(())
        }
        rpc => party.control(shared, now.again(), rpc),
    }
}

/// Whether a service may have such a name.
///
/// # Errors
/// `bad-service`.
pub(super) fn check_service(name: &str) -> Result<(), Reason> {
    let is_name = (1..=NAME_MAX).contains(&name.len()) && !name.chars().any(char::is_control);
    is_name.then_some(()).ok_or(Reason::BadService)
}

/// Whether an RPC with this reason is passed over; others close the tunnel.
pub(crate) const fn is_passed_over(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::UnknownRpc
            | Reason::ClosedConnection
            | Reason::Unasked
            | Reason::OldWindow
            | Reason::BadSolution
    )
}

impl Channel {
    /// A channel of one side, whose sequence starts here, for packets of at most `packet` bytes, and RPCs of
    /// at most `longest`.
    pub(super) const fn new(
        id: TunnelId,
        side: Side,
        start: Seq,
        packet: usize,
        longest: usize,
    ) -> Self {
        Self {
            id,
            is_ready: false,
            due: None,
            sending: Sending::new(start, packet),
            receiving: Receiving::new(),
            connections: Connections::new(side),
            side,
            longest,
            control: Queue::new(),
        }
    }

    /// The other side.
    pub(super) const fn other(&self) -> Side {
        match self.side {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }

    /// Puts an RPC of connection 0 behind those that wait.
    pub(super) fn control(&mut self, rpc: &Rpc<'_>) {
        // An RPC of ours is written, or it is a defect; nothing half-written remains.
        let written = self.control.push_with(|out| rpc.write(out));
        debug_assert!(written.is_ok(), "{rpc:?}: {written:?}");
    }

    /// Puts bytes of an RPC of connection 0 behind those that wait.
    pub(super) fn push(&mut self, rpc: &[u8]) {
        self.control.push(rpc);
    }

    /// Puts a whole RPC value on a connection.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub(super) fn forward(&mut self, number: u32, value: &[u8]) -> Result<bool, Reason> {
        let longest = self.longest;
        let write = |out: &mut Vec<u8>| {
            let begin = out.len();
            out.extend_from_slice(&number.to_be_bytes());
            out.extend_from_slice(value);
            Call::parse(&out[begin..]).map(|_| ())
        };
        let written = self.connections.write(number, write, longest);
        written.unwrap_or(Err(Reason::ClosedConnection))
    }

    /// How the tunnel is, at this address of the other side.
    pub(super) fn status(&self, address: SocketAddr) -> Status {
        let (round_trip, window, outstanding) = self.sending.state();
        Status {
            address,
            connections: self.connections.len(),
            round_trip,
            window,
            outstanding,
        }
    }

    /// Bytes of RPCs of connection 0 that wait.
    pub(crate) fn control_bytes(&self) -> usize {
        self.control.bytes()
    }

    /// Puts an RPC on a connection. False if that has too much that waits.
    ///
    /// # Errors
    /// `closed-connection`; `too-long`, or what a reader would refuse it for.
    pub(super) fn write(
        &mut self,
        number: u32,
        name: &str,
        arguments: impl FnOnce(CallWriter<'_>) -> CallWriter<'_>,
    ) -> Result<bool, Reason> {
        let longest = self.longest;
        let write = |out: &mut Vec<u8>| arguments(CallWriter::new(out, number, name)).end();
        let written = self.connections.write(number, write, longest);
        written.unwrap_or(Err(Reason::ClosedConnection))
    }

    /// Whether there is anything to be sent in sequence, were there room in the window.
    pub(crate) fn has_work(&self) -> bool {
        !self.control.is_empty() || self.connections.has_work()
    }

    /// Collects RPCs for a new packet.
    pub(super) fn fill(&mut self, draft: &mut Draft<'_>, events: &mut VecDeque<Event>) {
        while let Some(rpc) = self.control.front() {
            if !draft.push(rpc) {
                // What is on a connection never overtakes what made it.
                return;
            }
            self.control.pop();
        }
        self.connections.fill(self.id, draft, events);
    }

    /// Writes the RPCs of the next packet in sequence behind what `out` has, in `room` bytes at most: one that
    /// is sent again, or a new one. Its place; 0 if there is none to be sent now.
    pub(super) fn next(
        &mut self,
        now: Instant,
        room: usize,
        out: &mut Vec<u8>,
        events: &mut VecDeque<Event>,
    ) -> u32 {
        if let Some((seq, rpcs)) = self.sending.again(now, room) {
            out.extend_from_slice(rpcs);
            return seq.get();
        }
        if !self.has_work() || !self.sending.may_send(now) {
            return 0;
        }
        let begin = out.len();
        // One fewer than a packet may have: it may be sent again behind one that is out of sequence.
        self.fill(&mut Draft::new(out, room, RPCS_MAX - 1), events);
        if out.len() == begin {
            return 0;
        }
        self.sending.send(out[begin..].into(), now).get()
    }
}
