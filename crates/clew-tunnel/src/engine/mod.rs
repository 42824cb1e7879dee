//! The engine of tunnels, without IO: it is given datagrams, time and randomness, and gives datagrams and
//! events (`spec/tunnel.md` sections 6 to 13). [`server`] accepts tunnels, [`client`] opens them; a driver may
//! have one of each on a socket, since bit 0 of a packet's nonce tells them apart ([`sender`]).

mod agenda;
mod channel;
pub mod client;
mod congestion;
mod connection;
mod connections;
mod draft;
mod endpoint;
pub mod event;
mod hash;
mod nonces;
mod outgoing;
mod packet_keys;
mod party;
mod queue;
pub mod rate;
mod receive;
mod receiving;
mod replay;
mod retransmission;
mod sending;
mod seq;
pub mod server;
pub mod shares;
mod table;
#[cfg(test)]
mod tests;
mod tids;
pub mod trace;
mod tunnel_keys;

pub use channel::Now;
pub use clew_wire::{Instant, WallTime};
pub use endpoint::{Endpoint, Usage};
pub use outgoing::{Outgoing, Run};

use core::net::SocketAddr;

use crate::wire::packet::{HEADER_BYTES, Side, Tid};

/// A datagram that came in.
#[derive(Debug)]
pub struct Datagram<'a> {
    /// Where it came from.
    pub peer: SocketAddr,
    /// Its bytes, which are decrypted where they stand.
    pub bytes: &'a mut [u8],
}

/// The TID of a packet. None if it is too short to have one.
pub fn tid(packet: &[u8]) -> Option<Tid> {
    packet.first_chunk().copied().map(Tid::from_random)
}

/// Whose packet this is. None if it is too short to say.
pub fn sender(packet: &[u8]) -> Option<Side> {
    let last = packet.get(HEADER_BYTES - 1)?;
    Some(if last & 1 == 1 {
        Side::Client
    } else {
        Side::Server
    })
}
