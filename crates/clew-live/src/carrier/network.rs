//! The network side of a daemon, in whichever carrier.

use super::udp::{Datagrams, Refusal, Udp, UdpError};
use super::{Offloads, Raw};
use crate::packet::{Burst, Outer};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Where signed packets leave and arrive.
pub enum Network {
    /// As datagrams.
    Udp(Udp),
    /// As themselves, with trailers.
    Raw(Raw),
}

/// What arrived.
#[derive(Clone, Copy, Debug)]
pub enum Arrived<'a> {
    /// The payload of a datagram.
    Datagram(&'a [u8], &'a Outer),
    /// An IP packet with a trailer.
    Trailed(&'a [u8]),
}

impl Network {
    /// Fills in what the kernel does for the carrier.
    pub fn offloads(&self, offloads: &mut Offloads) {
        if let Self::Udp(udp) = self {
            udp.offloads(offloads);
        }
    }

    /// Returns the descriptors to wait for arrivals.
    pub fn arrivals(&self) -> Vec<BorrowedFd<'_>> {
        match self {
            Self::Udp(udp) => udp.descriptors().collect(),
            Self::Raw(raw) => vec![raw.arrivals()],
        }
    }

    /// Returns the descriptors to wait for until they take more.
    pub fn senders(&self) -> Vec<BorrowedFd<'_>> {
        match self {
            Self::Udp(udp) => udp.descriptors().collect(),
            Self::Raw(raw) => raw.senders().collect(),
        }
    }

    /// Sends. Packets with trailers go to their own destinations. Returns how many went, and why the
    /// others did not.
    pub fn send(
        &self,
        to: Option<SocketAddr>,
        from: Option<IpAddr>,
        burst: &Burst,
    ) -> (usize, Option<Refusal>) {
        match (self, to) {
            (Self::Raw(raw), _) => raw.send(burst),
            (Self::Udp(udp), Some(to)) => udp.send(to, from, burst),
            (Self::Udp(_), None) => (0, Some(Refusal::NoAddress)),
        }
    }

    /// Receives once, without waiting. Returns whether there was anything.
    ///
    /// # Errors
    /// The sockets cannot receive any more.
    pub fn receive(
        &self,
        room: &mut Datagrams,
        mut take: impl FnMut(Arrived<'_>),
    ) -> io::Result<bool> {
        match self {
            Self::Udp(udp) => udp.receive(room, |payload, outer| {
                take(Arrived::Datagram(payload, outer));
            }),
            Self::Raw(raw) => {
                raw.receive(room.bytes_mut(), |packet| take(Arrived::Trailed(packet)))
            }
        }
    }

    /// Takes what routers and the host said about datagrams, without waiting.
    pub fn errors(&self, take: impl FnMut(UdpError)) {
        if let Self::Udp(udp) = self {
            udp.errors(take);
        }
    }

    /// Returns how many datagrams the kernel dropped because nobody read them in time, or for wrong
    /// checksums.
    pub fn unread(&self) -> u64 {
        match self {
            Self::Udp(udp) => udp.unread(),
            Self::Raw(_) => 0,
        }
    }

    /// Returns how many packets with trailers were dropped before they came here, by where.
    pub fn dropped(&self) -> Option<[u64; 3]> {
        match self {
            Self::Udp(_) => None,
            Self::Raw(raw) => Some(raw.dropped()),
        }
    }

    /// Returns for how long the process of the kernel's queue has been silent, if the carrier has one.
    pub fn silence(&self) -> Option<Duration> {
        match self {
            Self::Udp(_) => None,
            Self::Raw(raw) => Some(raw.silence()),
        }
    }
}
