//! What an engine tells its program.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

use crate::reason::Reason;
use crate::record::{Authenticators, Record};
use crate::x25519::Public;

/// A tunnel of one engine. Never used for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TunnelId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

/// A connection of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId {
    /// Its tunnel.
    pub tunnel: TunnelId,
    /// 1 to 2^31 - 1.
    pub number: u32,
}

/// Whose a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum User {
    /// Nobody's.
    Anonymous,
    /// Of who has the secret of this key.
    Key {
        /// U.
        key: Public,
        /// By which authenticator: `box` is weaker (section 16).
        by: Authenticators,
    },
}

/// A connection that a client asks for: section 11.2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Create {
    /// Which one.
    pub connection: ConnectionId,
    /// The service: 1 to 64 bytes without control characters.
    pub service: String,
    /// Whose.
    pub user: User,
    /// Where the client is.
    pub address: SocketAddr,
    /// Whether it has shown that it receives there.
    pub is_proven: bool,
}

/// A request to a directory or name server: section 12.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// For a host's record.
    Lookup {
        /// The host's signing key, if the client knows it.
        signing: Option<[u8; 32]>,
        /// Its name.
        hostname: String,
    },
    /// To take a record, of which nothing is verified.
    Register(Box<Record>),
}

/// The answer to a [`Request`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The record that was asked for.
    Record(Box<Record>),
    /// The record was taken.
    Taken,
    /// No, and why; the other side learns the first alone.
    Refused(Reason),
}

/// How a tunnel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Where the other side is.
    pub address: SocketAddr,
    /// How many connections it has.
    pub connections: usize,
    /// The smoothed round trip, once it was measured.
    pub round_trip: Option<Duration>,
    /// The congestion window in packets.
    pub window: u32,
    /// Packets that are not acknowledged.
    pub outstanding: usize,
}

/// What was sent in sequence, in all tunnels so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Packets that were sent for the first time.
    pub sent: u64,
    /// Those that were sent again.
    pub again: u64,
    /// Timers that ran out.
    pub timeouts: u64,
    /// Round trips that were measured.
    pub trips: u64,
    /// Their sum.
    pub trip: Duration,
}

impl Traffic {
    /// Nothing.
    pub(crate) const NONE: Self = Self {
        sent: 0,
        again: 0,
        timeouts: 0,
        trips: 0,
        trip: Duration::ZERO,
    };
}

impl core::ops::AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        self.sent += other.sent;
        self.again += other.again;
        self.timeouts += other.timeouts;
        self.trips += other.trips;
        self.trip += other.trip;
    }
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Server: to be answered by `decide`.
    Create(Create),
    /// Server: to be answered by `reply`, in any order.
    Request {
        /// In this tunnel.
        tunnel: TunnelId,
        /// Which of its requests.
        number: u64,
        /// What it is.
        request: Request,
    },
    /// Server: there is a new ephemeral certificate, to be published.
    Record(Box<Record>),
    /// Client: the server's first packet was decrypted.
    Opened(TunnelId),
    /// Client: the server took the connection.
    Accepted(ConnectionId),
    /// Client: it did not.
    Refused(ConnectionId),
    /// Client: the server closed the tunnel, and has not received the request for this connection. So it can be
    /// asked for elsewhere, and is not there twice.
    Unheard(ConnectionId),
    /// Client: the answer to the first request of this tunnel that has none.
    Reply {
        /// In this tunnel.
        tunnel: TunnelId,
        /// The certificates as they came, unverified, or what was said.
        reply: Answer,
    },
    /// Client: the record that a stale-key answer or this tunnel's own request gave is newer.
    Newer {
        /// In this tunnel.
        tunnel: TunnelId,
        /// Verified by section 3.3.
        record: Box<Record>,
    },
    /// Client: nothing comes back.
    Silent(TunnelId),
    /// There are RPCs to be read. Said once until all are.
    Readable(ConnectionId),
    /// There is room again for what was to be written.
    Writable(ConnectionId),
    /// The other side closed the connection. What it sent before can still be read.
    Closed(ConnectionId),
    /// The tunnel is gone, with all its connections. None: it was closed by one of the two programs.
    Gone(TunnelId, Option<Reason>),
}

/// What a server answered to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Bytes of cert and ecert.
    Given(Vec<u8>, Vec<u8>),
    /// It took the record.
    Taken,
    /// It did not.
    Refused,
}
