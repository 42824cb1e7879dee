//! One connection, and its flow control: `spec/tunnel.md` section 7.5.

use alloc::collections::VecDeque;
use clew_wire::Instant;

use super::draft::Draft;
use super::event::{ConnectionId, Event, TunnelId};
use super::queue::Queue;
use crate::limits::{CREDIT, SEND_BUFFER};
use crate::reason::Reason;
use crate::wire::rpc::Rpc;
use crate::wire::values::Call;

/// Bytes of a connection's id before a value.
const ID_BYTES: usize = 4;

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// A client's, which is not asked for yet: nothing is sent on it.
    Wanted,
    /// It was asked for, and nobody has decided.
    Asked,
    /// The server took it.
    Accepted,
}

/// One connection, at one side.
#[derive(Debug)]
pub(super) struct Connection {
    /// 1 to 2^31 - 1.
    pub number: u32,
    /// How far it is.
    pub stage: Stage,
    /// Its program has no more to send; close(c) follows what waits.
    pub is_closing: bool,
    /// Whole RPCs that came, and are not read.
    pub inbox: Queue,
    /// Whole RPCs that are not sent.
    pub outbox: Queue,
    /// When it was asked for.
    pub asked: Instant,
    /// The program waits for room.
    pub wants_room: bool,
    is_told: bool,
    /// Bytes of values received, and how far the other side may go, modulo 2^32.
    received: u32,
    granted: u32,
    /// What windowSize grants beyond what was read.
    window: u32,
    /// Bytes of values sent, and how far this side may go.
    sent: u32,
    limit: u32,
}

impl Connection {
    /// A connection that nothing was sent on.
    pub(super) const fn new(number: u32, stage: Stage, asked: Instant) -> Self {
        Self {
            number,
            stage,
            is_closing: false,
            inbox: Queue::new(),
            outbox: Queue::new(),
            asked,
            wants_room: false,
            is_told: false,
            received: 0,
            granted: CREDIT,
            window: CREDIT,
            sent: 0,
            limit: CREDIT,
        }
    }

    /// Whether the server took it.
    pub(super) fn is_accepted(&self) -> bool {
        self.stage == Stage::Accepted
    }

    /// Whether it was asked for.
    pub(super) fn is_asked(&self) -> bool {
        self.stage != Stage::Wanted
    }

    /// How many bytes may still come, and how many came and wait.
    fn room(&self) -> (u32, u32) {
        let left = self.granted.wrapping_sub(self.received);
        (left, self.inbox.bytes() as u32)
    }

    /// Bytes that were granted and are not read: those that wait, and those that may come.
    pub(crate) fn granted_bytes(&self) -> u32 {
        let (left, unread) = self.room();
        left + unread
    }

    /// The same, but CREDIT at least, which it can always have again.
    pub(super) fn claim(&self) -> u32 {
        self.granted_bytes().max(CREDIT)
    }

    /// An RPC came: `raw` is all of it.
    ///
    /// # Errors
    /// `over-window`.
    pub(super) fn deliver(&mut self, call: &Call<'_>, raw: &[u8]) -> Result<(), Reason> {
        if call.length > self.room().0 as usize {
            return Err(Reason::OverWindow);
        }
        self.received = self.received.wrapping_add(call.length as u32);
        self.inbox.push(raw);
        Ok(())
    }

    /// The program is told that there is something to be read, once until it has read all.
    pub(super) fn tell(&mut self, tunnel: TunnelId, events: &mut VecDeque<Event>) {
        if self.is_accepted() && !self.is_told && !self.inbox.is_empty() {
            self.is_told = true;
            events.push_back(Event::Readable(self.id(tunnel)));
        }
    }

    /// The program has read all.
    pub(crate) const fn is_read(&mut self) {
        self.is_told = false;
    }

    /// The program is told that there is room, if it waits for that.
    pub(crate) fn tell_room(&mut self, tunnel: TunnelId, events: &mut VecDeque<Event>) {
        if self.wants_room && self.outbox.bytes() < SEND_BUFFER / 2 {
            self.wants_room = false;
            events.push_back(Event::Writable(self.id(tunnel)));
        }
    }

    const fn id(&self, tunnel: TunnelId) -> ConnectionId {
        ConnectionId {
            tunnel,
            number: self.number,
        }
    }

    /// How far the other side may go.
    pub(super) const fn granted(&self) -> u32 {
        self.granted
    }

    /// The other side raised its receive window; or says it again, to be heard.
    ///
    /// # Errors
    /// `old-window`.
    pub(super) const fn raise(&mut self, bytes: u32) -> Result<(), Reason> {
        if bytes.wrapping_sub(self.limit) >= 1 << 31 {
            return Err(Reason::OldWindow);
        }
        self.limit = bytes;
        Ok(())
    }

    /// Nothing more may come.
    pub(super) const fn stop(&mut self) {
        self.granted = self.received;
    }

    /// The receive window that is due, if half of the one it has is used up: twice as many bytes, but no
    /// more than `most`.
    pub(crate) fn due_window(&self, most: u32) -> Option<u32> {
        let (left, unread) = self.room();
        let half = self.window / 2;
        if !self.is_accepted() || left > half || unread > half {
            return None;
        }
        let window = (2 * self.window).min(most).max(CREDIT);
        (window > left + unread).then_some(window)
    }

    /// The n of windowSize for a window of so many bytes.
    pub(crate) fn limit_for(&self, window: u32) -> u32 {
        let (left, unread) = self.room();
        self.granted.wrapping_add(window - left - unread)
    }

    /// A window of so many bytes was granted.
    pub(crate) fn grant(&mut self, window: u32) {
        self.granted = self.limit_for(window);
        self.window = window;
    }

    /// Whether close(c) is due.
    pub(crate) fn may_close(&self) -> bool {
        self.is_closing && self.is_asked() && self.outbox.is_empty()
    }

    /// The first RPC, if it may be sent now: the receive window has room for it.
    pub(crate) fn sendable(&self) -> Option<&[u8]> {
        let rpc = self.outbox.front().filter(|_| self.is_asked())?;
        let room = self.limit.wrapping_sub(self.sent) as usize;
        (rpc.len() - ID_BYTES <= room).then_some(rpc)
    }

    /// Writes the first RPC, if it may be sent and fits.
    pub(super) fn send(&mut self, draft: &mut Draft<'_>) -> bool {
        let Some(rpc) = self.sendable() else {
            return false;
        };
        let value = (rpc.len() - ID_BYTES) as u32;
        if !draft.push(rpc) {
            return false;
        }
        self.outbox.pop();
        self.sent = self.sent.wrapping_add(value);
        true
    }

    /// Writes close(c), if it is due and fits.
    pub(crate) fn send_close(&self, draft: &mut Draft<'_>) -> bool {
        let close = Rpc::Close {
            connection: self.number,
        };
        self.may_close() && draft.control(&close)
    }
}
