//! The connections of a tunnel: `spec/tunnel.md` section 11.1.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use clew_wire::Instant;

use super::connection::{Connection, Stage};
use super::draft::Draft;
use super::event::{Event, TunnelId};
use crate::limits::{CONNECTIONS_MAX, CREDIT, GRANT, RECEIVE_WINDOW_MAX, SEND_BUFFER};
use crate::reason::Reason;
use crate::wire::packet::Side;
use crate::wire::plaintext::Calls;
use crate::wire::rpc::Rpc;
use crate::wire::values::Call;

/// The connections of a tunnel, in the order of their numbers.
#[derive(Debug)]
pub(super) struct Connections {
    side: Side,
    all: Vec<Connection>,
    /// Closed by the other side, with what was not read.
    ended: Vec<Connection>,
    last_created: u32,
    /// Which one sends next.
    turn: usize,
}

impl Connections {
    /// None.
    pub(super) const fn new(side: Side) -> Self {
        Self {
            side,
            all: Vec::new(),
            ended: Vec::new(),
            last_created: 0,
            turn: 0,
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    fn place(&self, number: u32) -> Option<usize> {
        self.all.binary_search_by_key(&number, |c| c.number).ok()
    }

    fn get(&mut self, number: u32) -> Option<&mut Connection> {
        let place = self.place(number)?;
        self.all.get_mut(place)
    }

    /// The connection of this number.
    ///
    /// # Errors
    /// `closed-connection` if there was one, `unknown-connection` if not.
    fn find(&mut self, number: u32) -> Result<&mut Connection, Reason> {
        let was_there = (1..=self.last_created).contains(&number);
        match self.place(number) {
            Some(place) => Ok(&mut self.all[place]),
            None if was_there => Err(Reason::ClosedConnection),
            None => Err(Reason::UnknownConnection),
        }
    }

    /// Client: the number of the next connection. None at the end of the numbers.
    pub(super) fn draw(&mut self, now: Instant) -> Option<u32> {
        let number = self.last_created + 1;
        (number < 1 << 31).then(|| {
            self.last_created = number;
            self.all.push(Connection::new(number, Stage::Wanted, now));
            number
        })
    }

    /// Server: a client asks for one.
    ///
    /// # Errors
    /// `bad-connection`, which closes the tunnel.
    pub(crate) fn check_number(&mut self, number: u32) -> Result<(), Reason> {
        if number <= self.last_created || number >= 1 << 31 {
            return Err(Reason::BadConnection);
        }
        self.last_created = number;
        Ok(())
    }

    /// Server: a place for it, until it is decided.
    ///
    /// # Errors
    /// `too-many-connections`, `no-room`.
    pub(super) fn add(&mut self, number: u32, now: Instant) -> Result<(), Reason> {
        if self.is_full() {
            return Err(Reason::TooManyConnections);
        }
        if self.promised() + CREDIT > GRANT {
            return Err(Reason::NoRoom);
        }
        self.all.push(Connection::new(number, Stage::Asked, now));
        Ok(())
    }

    /// Whether there are as many as there may be. One that ended has its place until it is read.
    pub(super) fn is_full(&self) -> bool {
        self.all.len() + self.ended.len() >= CONNECTIONS_MAX
    }

    /// How many there are, with those that ended unread, and how many bytes are granted and not read.
    pub(super) fn load(&self) -> (usize, usize) {
        let all = self.all.iter().chain(&self.ended);
        let granted = all.map(|c| c.granted_bytes() as usize).sum();
        (self.all.len() + self.ended.len(), granted)
    }

    /// Bytes that are granted and not read, each connection having a claim to CREDIT.
    fn promised(&self) -> u32 {
        let all = self.all.iter().chain(&self.ended);
        all.map(Connection::claim).sum()
    }

    /// Whether nobody has decided about it.
    pub(crate) fn is_undecided(&self, number: u32) -> bool {
        self.place(number)
            .is_some_and(|place| !self.all[place].is_accepted())
    }

    /// When the oldest one that nobody has decided about was asked for.
    pub(super) fn undecided(&self) -> Option<Instant> {
        let undecided = self.all.iter().find(|c| !c.is_accepted());
        undecided.map(|c| c.asked)
    }

    /// One that was asked for at `before` or earlier, and that nobody has decided about.
    pub(super) fn late(&self, before: Instant) -> Option<u32> {
        let undecided = self.all.iter().find(|c| !c.is_accepted());
        undecided.filter(|c| c.asked <= before).map(|c| c.number)
    }

    /// It was taken. What came before can be read.
    pub(super) fn accept(&mut self, tunnel: TunnelId, number: u32, events: &mut VecDeque<Event>) {
        if let Some(connection) = self.get(number) {
            connection.stage = Stage::Accepted;
            connection.tell(tunnel, events);
        }
    }

    /// Client: it is asked for in what is sent next. False if it is gone.
    pub(super) fn ask(&mut self, number: u32) -> bool {
        self.get(number).map(|c| c.stage = Stage::Asked).is_some()
    }

    /// Client: the server answers, and has not answered before.
    ///
    /// # Errors
    /// `unasked` if it took it already; `unknown-connection` if it was not asked for; as [`Self::find`].
    fn answered(&mut self, number: u32) -> Result<&mut Connection, Reason> {
        let connection = self.find(number)?;
        match connection.stage {
            Stage::Asked => Ok(connection),
            Stage::Accepted => Err(Reason::Unasked),
            Stage::Wanted => Err(Reason::UnknownConnection),
        }
    }

    /// Client: the server took it.
    ///
    /// # Errors
    /// As [`Self::answered`].
    pub(super) fn accepted(&mut self, number: u32) -> Result<(), Reason> {
        self.answered(number)?.stage = Stage::Accepted;
        Ok(())
    }

    /// Client: the server did not.
    ///
    /// # Errors
    /// As [`Self::answered`].
    pub(super) fn refused(&mut self, number: u32) -> Result<(), Reason> {
        self.answered(number)?;
        self.remove(number);
        Ok(())
    }

    /// It ends at once. Whether it was there.
    pub(super) fn remove(&mut self, number: u32) -> bool {
        let place = self.place(number);
        place.map(|place| self.all.remove(place)).is_some()
    }

    /// The other side closed it: what came can still be read.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub(super) fn ended(&mut self, number: u32) -> Result<(), Reason> {
        self.find(number)?;
        if let Some(place) = self.place(number) {
            let mut connection = self.all.remove(place);
            // Nothing more is granted to it.
            connection.stop();
            // What came before it was taken, nobody reads.
            if connection.is_accepted() && !connection.inbox.is_empty() {
                self.ended.push(connection);
            }
        }
        Ok(())
    }

    /// An RPC came: `raw` is all of it.
    ///
    /// # Errors
    /// `over-window`; as [`Self::find`]; `unknown-connection` from a server that has not taken it.
    pub(super) fn deliver(
        &mut self,
        tunnel: TunnelId,
        call: &Call<'_>,
        raw: &[u8],
        events: &mut VecDeque<Event>,
    ) -> Result<(), Reason> {
        let side = self.side;
        let connection = self.find(call.connection)?;
        if side == Side::Client && !connection.is_accepted() {
            return Err(Reason::UnknownConnection);
        }
        connection.deliver(call, raw)?;
        connection.tell(tunnel, events);
        Ok(())
    }

    /// The other side raised its receive window.
    ///
    /// # Errors
    /// `old-window`; as [`Self::find`].
    pub(super) fn raise(&mut self, number: u32, bytes: u32) -> Result<(), Reason> {
        self.find(number)?.raise(bytes)
    }

    /// windowSize of the first connection that was asked for, as the other side knows it already.
    pub(super) fn window(&self) -> Option<Rpc<'static>> {
        let asked = self.all.iter().find(|c| c.is_asked())?;
        Some(Rpc::WindowSize {
            connection: asked.number,
            bytes: asked.granted(),
        })
    }

    /// Gives the first RPC that was not read to `read`. False if there is none.
    pub(super) fn read(&mut self, number: u32, read: &mut dyn FnMut(Call<'_>)) -> bool {
        let ended = self.ended.iter().position(|c| c.number == number);
        let connection = match (ended, self.place(number)) {
            (Some(place), _) => &mut self.ended[place],
            (None, Some(place)) if self.all[place].is_accepted() => &mut self.all[place],
            _ => return false,
        };
        let Some(raw) = connection.inbox.front() else {
            connection.is_read();
            return false;
        };
        if let Ok(mut calls) = Calls::parse(raw)
            && let Some(call) = calls.next()
        {
            read(call);
        }
        connection.inbox.pop();
        if let Some(place) = ended
            && self.ended[place].inbox.is_empty()
        {
            self.ended.remove(place);
        }
        true
    }

    /// Puts an RPC behind what waits to be sent.
    ///
    /// # Errors
    /// None if there is no such connection (any more). Else whether there was room, or what a reader
    /// would refuse it for.
    pub(super) fn write(
        &mut self,
        number: u32,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), Reason>,
        longest: usize,
    ) -> Option<Result<bool, Reason>> {
        let connection = self.get(number)?;
        if connection.is_closing {
            return None;
        }
        if connection.outbox.bytes() >= SEND_BUFFER {
            connection.wants_room = true;
            return Some(Ok(false));
        }
        let written = connection.outbox.push_with(|out| {
            let begin = out.len();
            write(out)?;
            let fits = out.len() - begin <= longest;
            fits.then_some(()).ok_or(Reason::TooLong)
        });
        Some(written.map(|_| true))
    }

    /// It ends when what waits was sent. False if there is none.
    pub(super) fn close(&mut self, number: u32) -> bool {
        self.get(number).map(|c| c.is_closing = true).is_some()
    }

    /// Whether anything could be sent now.
    pub(crate) fn has_work(&self) -> bool {
        let can_send = |c: &Connection| c.sendable().is_some() || c.may_close();
        self.all.iter().any(can_send) || self.has_due_window()
    }

    /// Whether a windowSize is due.
    pub(crate) fn has_due_window(&self) -> bool {
        self.all.iter().any(|c| self.due_window(c).is_some())
    }

    /// The window that is due for a connection: as much as it had twice, while each of the connections that
    /// may come finds its own.
    fn due_window(&self, connection: &Connection) -> Option<u32> {
        connection.due_window(RECEIVE_WINDOW_MAX)?;
        let others = self.promised() - connection.claim();
        let there_are = self.all.len() + self.ended.len();
        let may_come = CONNECTIONS_MAX.saturating_sub(there_are) as u32;
        let left = GRANT.saturating_sub(others + CREDIT * may_come);
        connection.due_window(RECEIVE_WINDOW_MAX.min(left / 2))
    }

    /// Writes RPCs that may be sent, as far as there is room.
    pub(super) fn fill(
        &mut self,
        tunnel: TunnelId,
        draft: &mut Draft<'_>,
        events: &mut VecDeque<Event>,
    ) {
        self.fill_windows(draft);
        // Each packet begins with another connection, so that a long RPC is not always behind short ones.
        let mut turn = self.turn;
        self.turn = (turn + 1) % self.all.len().max(1);
        let mut idle = 0;
        while idle < self.all.len() {
            turn %= self.all.len();
            let connection = &mut self.all[turn];
            let is_sent = connection.send(draft);
            connection.tell_room(tunnel, events);
            if connection.send_close(draft) {
                self.all.remove(turn);
                idle = 0;
                continue;
            }
            idle = if is_sent { 0 } else { idle + 1 };
            turn += 1;
        }
    }

    fn fill_windows(&mut self, draft: &mut Draft<'_>) {
        for place in 0..self.all.len() {
            let connection = &self.all[place];
            let Some(window) = self.due_window(connection) else {
                continue;
            };
            let rpc = Rpc::WindowSize {
                connection: connection.number,
                bytes: connection.limit_for(window),
            };
            if !draft.control(&rpc) {
                return;
            }
            self.all[place].grant(window);
        }
    }
}
