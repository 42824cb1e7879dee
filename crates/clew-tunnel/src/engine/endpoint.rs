//! What clients and servers have alike: a table of tunnels, and what a program and its driver do with them.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use clew_wire::Instant;
use core::net::SocketAddr;

use super::agenda::Agenda;
use super::channel::{Channel, Now};
use super::event::{ConnectionId, Event, Status, Traffic, TunnelId};
use super::outgoing::Outgoing;
use super::party::Party;
use super::table::Table;
use super::tids::Tids;
use super::trace::Received;
use crate::reason::{Counters, Reason};
use crate::wire::values::{Call, CallWriter};

/// A client or a server, by its tunnels: [`Client`](super::client::Client), [`Server`](super::server::Server).
///
/// A driver gives it datagrams in batches (`receive`), takes work from it and gives it back computed (`jobs`,
/// `complete`), hears what happened ([`Self::event`]), sends what there is to be sent ([`Self::transmit`]) and
/// comes back when something is `due` (`tick`).
#[derive(Debug)]
pub struct Endpoint<T: Party> {
    /// What all tunnels share.
    pub(super) shared: T::Shared,
    pub(super) tunnels: Table<T>,
    pub(super) tids: Tids,
    /// Tunnels that have something to do, in their turn.
    pub(super) ready: VecDeque<u32>,
    pub(super) agenda: Agenda,
    /// Datagrams that are of no tunnel (any more).
    pub(super) plain: VecDeque<Plain>,
}

/// From a socket, to an address, a datagram.
pub(super) type Plain = ((u32, SocketAddr), Box<[u8]>);

/// Datagrams of no tunnel that wait to be sent at most; more are dropped, as any network may, and counted
/// (`busy`).
const PLAIN_MAX: usize = 4_096;

/// Packets of one tunnel before the next one has its turn.
const TURN: usize = 32;

impl<T: Party> Endpoint<T> {
    /// An endpoint without tunnels.
    pub(super) fn with(shared: T::Shared, tids: Tids) -> Self {
        Self {
            shared,
            tunnels: Table::default(),
            tids,
            ready: VecDeque::new(),
            agenda: Agenda::default(),
            plain: VecDeque::new(),
        }
    }

    /// A new tunnel.
    pub(super) fn insert(&mut self, make: impl FnOnce(TunnelId) -> T) -> TunnelId {
        let id = self.tunnels.insert(make);
        if let Some(tunnel) = self.tunnels.get(id) {
            self.tids.change(id.index, [None; 3], tunnel.tids());
        }
        id
    }

    /// What happened next. To be asked until there is nothing more.
    pub fn event(&mut self) -> Option<Event> {
        self.shared.as_mut().events.pop_front()
    }

    /// Keeps the last packets that are decrypted, `most` of them, for [`Self::traced`].
    pub fn trace(&mut self, most: usize) {
        self.shared.as_mut().trace.keep(most);
    }

    /// The next packet that was decrypted, if these are kept.
    pub fn traced(&mut self) -> Option<Received> {
        self.shared.as_mut().trace.take()
    }

    /// How often each reason was met.
    pub fn counters(&self) -> &Counters {
        &self.shared.as_ref().counters
    }

    /// What was sent in sequence, in all tunnels so far.
    pub fn traffic(&self) -> Traffic {
        self.shared.as_ref().traffic
    }

    /// Counts a packet that was discarded, here or by the program.
    pub fn count(&mut self, reason: Reason) {
        self.shared.as_mut().counters.count(reason);
    }

    /// How many tunnels there are.
    pub fn tunnels(&self) -> usize {
        self.tunnels.len()
    }

    /// How a tunnel is. None if it is gone.
    pub fn status(&mut self, tunnel: TunnelId) -> Option<Status> {
        let tunnel = self.tunnels.get(tunnel)?;
        Some(tunnel.channel().status(tunnel.address()))
    }

    /// Gives the next RPC of a connection to `read`. False if there is none now.
    pub fn read(&mut self, connection: ConnectionId, mut read: impl FnMut(Call<'_>)) -> bool {
        let Some(channel) = self.channel(connection.tunnel) else {
            return false;
        };
        let was_read = channel.connections.read(connection.number, &mut read);
        if was_read && channel.connections.has_due_window() {
            self.touch(connection.tunnel.index);
        }
        was_read
    }

    /// Sends an RPC on a connection, which need not be accepted yet. False if it has to wait for
    /// [`Event::Writable`].
    ///
    /// # Errors
    /// `closed-connection` if it is gone; `too-long` if no packet has room for it; what a reader would
    /// refuse it for.
    pub fn write(
        &mut self,
        connection: ConnectionId,
        name: &str,
        arguments: impl FnOnce(CallWriter<'_>) -> CallWriter<'_>,
    ) -> Result<bool, Reason> {
        let number = connection.number;
        self.put(connection, |channel| channel.write(number, name, arguments))
    }

    /// Sends a whole RPC value on a connection, as [`Self::write`] does.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn forward(&mut self, connection: ConnectionId, value: &[u8]) -> Result<bool, Reason> {
        let number = connection.number;
        self.put(connection, |channel| channel.forward(number, value))
    }

    fn put(
        &mut self,
        connection: ConnectionId,
        write: impl FnOnce(&mut Channel) -> Result<bool, Reason>,
    ) -> Result<bool, Reason> {
        let channel = self.channel(connection.tunnel);
        let written = write(channel.ok_or(Reason::ClosedConnection)?)?;
        self.touch(connection.tunnel.index);
        Ok(written)
    }

    /// Ends a connection, when what was written is sent.
    pub fn close(&mut self, connection: ConnectionId) {
        if let Some(channel) = self.channel(connection.tunnel) {
            channel.connections.close(connection.number);
            self.touch(connection.tunnel.index);
        }
    }

    fn channel(&mut self, tunnel: TunnelId) -> Option<&mut Channel> {
        self.tunnels.get(tunnel).map(T::channel_mut)
    }

    /// Ends a tunnel at once.
    pub fn close_tunnel(&mut self, now: Now<'_>, tunnel: TunnelId) {
        if self.tunnels.get(tunnel).is_some() {
            self.end(now.instant, tunnel.index, None);
        }
    }

    /// Ends `most` tunnels at once, or as many as there are. Whether there are more.
    pub fn close_some(&mut self, now: Now<'_>, most: usize) -> bool {
        let some: Vec<u32> = self.tunnels.indices().take(most).collect();
        for index in some {
            self.end(now.instant, index, None);
        }
        self.tunnels.len() > 0
    }

    /// A tunnel is gone: nothing of it remains but what is said to the other side, once.
    pub(super) fn end(&mut self, now: Instant, index: u32, reason: Option<Reason>) {
        let Some(mut tunnel) = self.tunnels.remove(index) else {
            return;
        };
        if let Some(reason) = reason {
            self.count(reason);
        }
        let mut last = Outgoing::new(1);
        tunnel.say_last(&self.shared, now, &mut last);
        last.seal();
        for run in last.runs() {
            self.say((run.from, run.to), run.bytes.into());
        }
        self.tids.change(index, tunnel.tids(), [None; 3]);
        tunnel.leave(&mut self.shared);
        let common = self.shared.as_mut();
        let channel = tunnel.channel_mut();
        common.traffic += channel.sending.counted();
        self.agenda.move_to(index, &mut channel.due, None);
        channel.receiving.release(&mut common.held);
        common.events.push_back(Event::Gone(channel.id, reason));
    }

    /// Sends a datagram that is of no tunnel (any more).
    pub(super) fn say(&mut self, way: (u32, SocketAddr), datagram: Box<[u8]>) {
        match self.plain.len() < PLAIN_MAX {
            true => self.plain.push_back((way, datagram)),
            false => self.shared.as_mut().counters.count(Reason::Busy),
        }
    }

    /// Does what may give a tunnel other TIDs, if it is there, and brings the table up to date. What fails ends
    /// the tunnel.
    pub(super) fn change(
        &mut self,
        now: Instant,
        index: u32,
        change: impl FnOnce(&mut T, &mut T::Shared) -> Result<(), Reason>,
    ) {
        let Some(tunnel) = self.tunnels.at(index) else {
            return;
        };
        let before = tunnel.tids();
        let changed = change(tunnel, &mut self.shared);
        self.tids.change(index, before, tunnel.tids());
        if let Err(reason) = changed {
            self.end(now, index, Some(reason));
        }
    }

    /// Something of a tunnel changed: it may have something to send, and other instants to wait for.
    pub(super) fn touch(&mut self, index: u32) {
        let Some(tunnel) = self.tunnels.at(index) else {
            return;
        };
        let channel = tunnel.channel_mut();
        if !channel.is_ready {
            channel.is_ready = true;
            self.ready.push_back(index);
        }
    }

    /// Writes what is to be sent, as far as there is room in the batch, and seals it. Whether there may be
    /// more.
    pub fn transmit(&mut self, mut now: Now<'_>, out: &mut Outgoing) -> bool {
        while out.has_room()
            && let Some((way, datagram)) = self.plain.pop_front()
        {
            out.push_plain(way, &datagram);
        }
        while out.has_room()
            && let Some(index) = self.ready.pop_front()
        {
            self.send_turn(&mut now, index, out);
        }
        out.seal();
        !(self.ready.is_empty() && self.plain.is_empty())
    }

    /// Sends what a tunnel has to be sent now, or as much as its turn allows.
    fn send_turn(&mut self, now: &mut Now<'_>, index: u32, out: &mut Outgoing) {
        let Some(tunnel) = self.tunnels.at(index) else {
            return;
        };
        tunnel.channel_mut().is_ready = false;
        for _ in 0..TURN {
            if !out.has_room() {
                break;
            }
            match tunnel.send(&mut self.shared, now, out) {
                Ok(true) => {}
                Ok(false) => {
                    let due = tunnel.next_due();
                    let channel = tunnel.channel_mut();
                    self.shared.as_mut().traffic += channel.sending.counted();
                    return self.agenda.move_to(index, &mut channel.due, due);
                }
                Err(reason) => return self.end(now.instant, index, Some(reason)),
            }
        }
        self.touch(index);
    }

    /// A tunnel that is due, taken from the agenda, and when it was due. It comes back there when
    /// [`Self::transmit`] has looked at it.
    pub(super) fn next_due(&mut self, now: Instant) -> Option<(u32, Instant)> {
        let (due, index) = self.agenda.due(now)?;
        let channel = self.tunnels.at(index)?.channel_mut();
        self.agenda.move_to(index, &mut channel.due, None);
        Some((index, due))
    }
}

/// How much of everything there is that others can make a program keep, for its operator and for tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tunnels.
    pub tunnels: usize,
    /// TIDs in the table, and those that the tunnels have: they are the same, or it is a defect.
    pub tids: [usize; 2],
    /// Server: initiation packets that are remembered.
    pub remembered: usize,
    /// Server: first packets and authenticators that wait for public-key work, and authenticators for a puzzle.
    /// Client: puzzles that are to be solved.
    pub work: usize,
    /// Bytes that are held ahead of their turn, and what holding them takes.
    pub held: usize,
    /// Tunnels that wait for their turn to send.
    pub ready: usize,
    /// Server: entries of the queue of silent tunnels.
    pub silent: usize,
    /// Server: places of tunnels from addresses that are not proven.
    pub unproven: usize,
    /// Datagrams without a tunnel that wait to be sent.
    pub plain: usize,
    /// Events that the program has not taken.
    pub events: usize,
    /// Most connections that one tunnel has, with those that are closed and unread.
    pub connections: usize,
    /// Most bytes that one tunnel has granted, and are not read.
    pub granted: usize,
    /// Most bytes of connection 0 that wait in one tunnel.
    pub control: usize,
}

impl<T: Party> Endpoint<T> {
    /// How much there is of what both sides have. Looks at each tunnel.
    pub(super) fn common_load(&self) -> Usage {
        let common = self.shared.as_ref();
        let mut load = Usage {
            tunnels: self.tunnels.len(),
            tids: [self.tids.len(), 0],
            held: common.held.bytes(),
            ready: self.ready.len(),
            plain: self.plain.len(),
            events: common.events.len(),
            ..Usage::default()
        };
        for tunnel in self.tunnels.iter() {
            let channel = tunnel.channel();
            let (connections, granted) = channel.connections.load();
            load.tids[1] += tunnel.tids().iter().flatten().count();
            load.connections = load.connections.max(connections);
            load.granted = load.granted.max(granted);
            load.control = load.control.max(channel.control_bytes());
        }
        load
    }
}
