//! The connections of a driver's program, as their holders elsewhere have them.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use clew_tunnel::engine::event::{ConnectionId, TunnelId};
use clew_tunnel::limits::{PACKET_MIN, SEND_BUFFER};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

use crate::engine::Engine;
use crate::message::Message;

/// RPCs of a connection that wait for its holder; more remain in the engine, whose receive window they fill.
const WAITING: usize = 64;

/// A connection's number in this program. Never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key(u64);

impl Key {
    /// Draws a key that was never used in this process.
    pub(crate) fn draw() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// What a holder asks of the driver.
#[derive(Debug)]
pub(crate) enum Ask {
    /// To send this. The permit is the room that it takes.
    Send(Key, Message, OwnedSemaphorePermit),
    /// To bring more of what came: there is room again.
    More(Key),
    /// To end the connection, once everything was sent.
    Close(Key),
}

/// What a server said of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Waiting,
    Taken,
    Refused,
    /// It was never asked, or closed the tunnel before it received the question.
    Unheard,
}

/// A connection, at its holder.
#[derive(Debug)]
pub(crate) struct TaskEnd {
    pub key: Key,
    /// The longest RPC that a packet of this side has room for, in bytes of its value.
    pub longest: usize,
    pub incoming: mpsc::Receiver<Message>,
    pub room: Arc<Semaphore>,
    pub is_starved: Arc<AtomicBool>,
    pub decision: watch::Receiver<Decision>,
}

/// The same connection, at its driver.
#[derive(Debug)]
pub(crate) struct DriverEnd {
    key: Key,
    to: mpsc::Sender<Message>,
    room: Arc<Semaphore>,
    is_starved: Arc<AtomicBool>,
    decision: watch::Sender<Decision>,
    /// What the engine has no room for yet; as much as the holder has permits for.
    waiting: VecDeque<(Message, OwnedSemaphorePermit)>,
    /// The holder has no more to send.
    is_dropped: bool,
    /// The other side has no more to send.
    is_ended: bool,
}

impl DriverEnd {
    /// The connection cannot be asked for in this tunnel.
    pub(crate) fn unheard(self) {
        self.decision.send_replace(Decision::Unheard);
    }

    /// Brings what came to the holder. Whether that was the last of it.
    fn bring(&mut self, engine: &mut impl Engine, id: ConnectionId) -> bool {
        loop {
            let Ok(place) = self.to.try_reserve() else {
                // The holder says when there is room again. If it is gone, its last word was Close.
                self.is_starved.store(true, Ordering::Release);
                if self.to.capacity() == 0 || self.to.is_closed() {
                    return false;
                }
                continue;
            };
            let mut message = None;
            if !engine.read(id, |call| message = Some(Message::of(&call))) {
                self.is_starved.store(false, Ordering::Release);
                return self.is_ended;
            }
            if let Some(message) = message {
                place.send(message);
            }
        }
    }
}

impl Drop for DriverEnd {
    /// Who waits for room learns that there will be none.
    fn drop(&mut self) {
        self.room.close();
    }
}

/// Returns the bytes of the longest value: what a packet has, but for what stands around RPCs and a
/// connection's id.
pub(crate) const fn longest(packet: usize) -> usize {
    packet.saturating_sub(PACKET_MIN + 4)
}

/// Creates both ends of a connection, for packets of at most so many bytes.
pub(crate) fn pair(packet: usize) -> (TaskEnd, DriverEnd) {
    let key = Key::draw();
    let (to, incoming) = mpsc::channel(WAITING);
    let is_starved = Arc::new(AtomicBool::new(false));
    let room = Arc::new(Semaphore::new(SEND_BUFFER));
    let (tell, decision) = watch::channel(Decision::Waiting);
    let held = TaskEnd {
        key,
        longest: longest(packet),
        incoming,
        room: Arc::clone(&room),
        is_starved: Arc::clone(&is_starved),
        decision,
    };
    let hand = DriverEnd {
        key,
        to,
        room,
        is_starved,
        decision: tell,
        waiting: VecDeque::new(),
        is_dropped: false,
        is_ended: false,
    };
    (held, hand)
}

/// All connections of a driver.
#[derive(Debug, Default)]
pub(crate) struct DriverEnds {
    ends: HashMap<ConnectionId, DriverEnd>,
    ids: HashMap<Key, ConnectionId>,
}

impl DriverEnds {
    /// Adds one, as the engine calls it.
    pub(crate) fn add(&mut self, id: ConnectionId, hand: DriverEnd) {
        self.ids.insert(hand.key, id);
        self.ends.insert(id, hand);
    }

    /// Records what became of the request for a connection. One that was not taken is removed.
    pub(crate) fn decided(&mut self, id: ConnectionId, decision: Decision) {
        if let Some(hand) = self.ends.get(&id) {
            hand.decision.send_replace(decision);
        }
        if decision != Decision::Taken {
            self.remove(id);
        }
    }

    /// Removes a connection: its holder reads what came, and then the end.
    pub(crate) fn remove(&mut self, id: ConnectionId) {
        if let Some(hand) = self.ends.remove(&id) {
            self.ids.remove(&hand.key);
        }
    }

    /// Removes a tunnel with all its connections.
    pub(crate) fn remove_tunnel(&mut self, tunnel: TunnelId) {
        let ids = &mut self.ids;
        self.ends.retain(|id, hand| {
            let stays = id.tunnel != tunnel;
            if !stays {
                ids.remove(&hand.key);
            }
            stays
        });
    }

    /// Records that the other side closed a connection: brings the rest of what came, as far as the
    /// holder has room, and the end.
    pub(crate) fn closed(&mut self, engine: &mut impl Engine, id: ConnectionId) {
        if let Some(hand) = self.ends.get_mut(&id) {
            hand.is_ended = true;
        }
        self.bring(engine, id);
    }

    /// Brings what came to the holder.
    pub(crate) fn bring(&mut self, engine: &mut impl Engine, id: ConnectionId) {
        let hand = self.ends.get_mut(&id);
        if hand.is_some_and(|hand| hand.bring(engine, id)) {
            self.remove(id);
        }
    }

    /// Sends what waits, because there is room now.
    pub(crate) fn writable(&mut self, engine: &mut impl Engine, id: ConnectionId) {
        let Some(hand) = self.ends.get_mut(&id) else {
            return;
        };
        while let Some((message, _)) = hand.waiting.front() {
            if engine.forward(id, message.value()) == Ok(false) {
                return;
            }
            hand.waiting.pop_front();
        }
        if hand.is_dropped {
            engine.close(id);
            self.remove(id);
        }
    }

    /// Sends an RPC of a connection's first packet.
    pub(crate) fn say(&self, engine: &mut impl Engine, key: Key, message: &Message) {
        if let Some(id) = self.ids.get(&key) {
            // A first packet has less than a connection may have waiting; if the tunnel is gone already, its
            // holder learns that.
            let _ = engine.forward(*id, message.value());
        }
    }

    /// Does what a holder asks.
    pub(crate) fn ask(&mut self, engine: &mut impl Engine, ask: Ask) {
        let key = match &ask {
            Ask::Send(key, ..) | Ask::More(key) | Ask::Close(key) => key,
        };
        let Some(&id) = self.ids.get(key) else {
            return;
        };
        match ask {
            Ask::Send(_, message, room) => {
                if let Some(hand) = self.ends.get_mut(&id) {
                    hand.waiting.push_back((message, room));
                }
                self.writable(engine, id);
            }
            Ask::More(_) => self.bring(engine, id),
            Ask::Close(_) => {
                if let Some(hand) = self.ends.get_mut(&id) {
                    hand.is_dropped = true;
                }
                self.writable(engine, id);
            }
        }
    }
}
