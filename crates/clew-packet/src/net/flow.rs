//! Who talks to whom: what the program selects packets by.

use core::{iter, net::IpAddr};

use crate::{
    net::datagram::Datagram, net::frame::Frame, net::upper::Upper, reason::Reason, wire::signable,
};

/// Addresses and ports of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flow {
    /// Source address.
    pub source: IpAddr,
    /// Final destination address: that of the routing header where one has segments left.
    pub destination: IpAddr,
    /// Number of the upper layer.
    pub protocol: u8,
    /// Source port of TCP and UDP.
    pub source_port: Option<u16>,
    /// Destination port of TCP and UDP.
    pub destination_port: Option<u16>,
    /// The first four bytes of the upper layer, whatever it is, if it has so many.
    pub upper_start: Option<[u8; 4]>,
}

/// Returns the source address of the outermost IP datagram.
///
/// # Errors
/// The reason why the frame is not signable.
pub fn source(frame: &Frame<'_>) -> Result<IpAddr, Reason> {
    flow(frame).map(|flow| flow.source)
}

/// Returns addresses and ports of the outermost IP datagram.
///
/// # Errors
/// The reason why the frame is not signable.
pub fn flow(frame: &Frame<'_>) -> Result<Flow, Reason> {
    signable::locate(frame).map(|datagram| flow_of(&datagram))
}

pub(crate) fn flow_of(datagram: &Datagram<'_>) -> Flow {
    let Datagram { frame, place } = *datagram;
    let mut ports = match datagram.kind(0) {
        Upper::Tcp | Upper::Udp => datagram.upper(),
        _ => &[],
    }
    .as_chunks::<2>()
    .0
    .iter()
    .map(|port| u16::from_be_bytes(*port));
    Flow {
        source: address(place.source(frame)),
        destination: address(place.destination(frame)),
        protocol: place.protocol,
        source_port: ports.next(),
        destination_port: ports.next(),
        upper_start: datagram.upper().first_chunk().copied(),
    }
}

impl Flow {
    /// Removes what differs from packet to packet. Packets of one window or block have the same
    /// key.
    pub fn key(self) -> Self {
        Self {
            upper_start: None,
            ..self
        }
    }
}

/// Returns an address of 4 or 16 bytes.
fn address(bytes: &[u8]) -> IpAddr {
    match <[u8; 4]>::try_from(bytes) {
        Ok(bytes) => IpAddr::from(bytes),
        Err(_) => {
            let mut all = [0; 16];
            iter::zip(&mut all, bytes).for_each(|(to, from)| *to = *from);
            IpAddr::from(all)
        }
    }
}
