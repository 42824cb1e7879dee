//! Who talks to whom: what the program selects packets by.

use core::net::IpAddr;

use crate::{net::datagram::Datagram, net::frame::Frame, reason::Reason, wire::signable};

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

/// Returns addresses and ports of the outermost IP datagram, and its upper layer, with a trailer if
/// there is one.
///
/// # Errors
/// The reason why the frame is not signable.
pub fn flow_and_upper<'a>(frame: &Frame<'a>) -> Result<(Flow, &'a [u8]), Reason> {
    let datagram = signable::locate(frame)?;
    Ok((flow_of(&datagram), datagram.upper()))
}

pub(crate) fn flow_of(datagram: &Datagram<'_>) -> Flow {
    datagram.original().flow()
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
