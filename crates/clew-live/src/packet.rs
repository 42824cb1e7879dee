//! What passes between carriers and the core.

use clew_packet::Timestamp;
use clew_wire::Instant;
use std::net::{IpAddr, SocketAddr};

/// A moment, by both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// For timers and budgets: never goes back.
    pub instant: Instant,
    /// For timestamps and epochs.
    pub wall: Timestamp,
}

/// The place of a peer in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerIndex(pub u16);

/// A clear IP packet on its way to a peer: whole, one wire packet, with correct checksums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clear {
    /// The peer that gets it.
    pub peer: PeerIndex,
    /// The IP packet.
    pub bytes: Vec<u8>,
}

/// Signed datagrams to one peer, ready for one system call with segmentation offload: all have
/// `segment` bytes, the last one at most that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Burst {
    /// The peer that gets them.
    pub peer: PeerIndex,
    /// The two ECN bits of the inner packets, which the outer ones carry, too.
    pub ecn: u8,
    /// The datagrams, one after the other.
    pub bytes: Vec<u8>,
    /// The length of each but the last.
    pub segment: usize,
}

/// Where a datagram came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outer {
    /// The outer source.
    pub source: SocketAddr,
    /// The outer destination.
    pub destination: SocketAddr,
    /// The two ECN bits of the outer header.
    pub ecn: u8,
}

/// A verified packet for this host or the network behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The peer whose prefix has its source.
    pub peer: PeerIndex,
    /// The IP packet.
    pub bytes: Vec<u8>,
    /// Where its datagram came from: a peer that moved is reached there.
    pub from: SocketAddr,
}

/// A cookie that came from a peer under load: `spec/carriers.md` 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CookieMessage {
    /// That of the datagram which it answers.
    pub echo: [u8; 16],
    /// What to show from now on.
    pub cookie: [u8; 16],
}

/// A cookie for a sender: a datagram to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Where it goes.
    pub to: SocketAddr,
    /// Where it comes from: the address that the sender used.
    pub from: SocketAddr,
    /// The UDP payload.
    pub bytes: Vec<u8>,
}

/// The destination in the header of an IP packet.
pub(crate) fn destination(packet: &[u8]) -> Option<IpAddr> {
    match packet.first()? >> 4 {
        4 => {
            let octets: [u8; 4] = packet.get(16..20)?.try_into().ok()?;
            Some(octets.into())
        }
        6 => {
            let octets: [u8; 16] = packet.get(24..40)?.try_into().ok()?;
            Some(octets.into())
        }
        _ => None,
    }
}
