//! The keys of a tunnel, one after the other, and what a step of the adapter gives.

use std::net::SocketAddr;

use clew_tunnel::boxes::{Key, Stream};
use clew_tunnel::keys::{self, Nonce};
use clew_tunnel::wire::packet::Tid;
use clew_tunnel::x25519::Public;

use crate::keylog::system_random;

/// What a step of the adapter gives, and what it needs.
pub struct Io {
    /// Nanoseconds, by a clock that never goes back.
    pub instant: u64,
    /// Nanoseconds since 1970.
    pub wall: u64,
    pub to_peer: Vec<(SocketAddr, Vec<u8>)>,
    pub to_engine: Vec<(SocketAddr, Vec<u8>)>,
    /// Names of RPCs.
    pub heard: Vec<(Speaker, String)>,
}

/// Who said an RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Speaker {
    Engine,
    Peer,
}

/// One key of a tunnel, with what is sent under it.
pub struct Epoch {
    pub key: Key,
    /// As our engine knows it.
    pub tid: Tid,
    pub stream: Stream,
    /// As the peer knows it: the same, but for rekeys of the peer's.
    pub peer_tid: Tid,
    pub peer_stream: Stream,
    /// C' of the initiation packet.
    pub client: Public,
    /// What the initiation packet announces to our server.
    pub next_tid: Tid,
    /// The adapter's next nonce towards our engine, once it has one.
    pub nonce: Option<Nonce>,
    /// Our engine got a packet under this key.
    pub is_answered: bool,
    /// Its counter towards the peer.
    pub counter: u64,
    /// The peer knows of it.
    pub is_open: bool,
}

impl Epoch {
    pub fn new(key: Key, tid: Tid, peer_tid: Tid, client: Public) -> Result<Self, String> {
        let random: [u8; 4] = system_random()?;
        Ok(Self {
            stream: keys::stream(&key, tid),
            peer_stream: keys::stream(&key, peer_tid),
            key,
            tid,
            peer_tid,
            client,
            next_tid: Tid::from_random(system_random()?),
            nonce: None,
            is_answered: false,
            counter: u32::from_be_bytes(random).into(),
            is_open: true,
        })
    }

    /// The server's nonces follow that of the initiation packet.
    pub fn answering(mut self, initiation: Nonce) -> Self {
        self.nonce = initiation.answer();
        self
    }

    pub fn closed(mut self) -> Self {
        self.is_open = false;
        self
    }
}
