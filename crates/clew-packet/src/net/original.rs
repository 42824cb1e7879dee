//! What is signed of a packet, wherever its parts stand.

use core::net::IpAddr;

use crate::{
    net::datagram::Datagram,
    net::flow::Flow,
    net::ip::{Version, ipv4, ipv6},
    net::upper::Upper,
};

/// The parts of the packet that a machine signed. Neither trailer nor mark is among them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Original<'a> {
    pub source: IpAddr,
    /// The final destination; of the same version as the source.
    pub destination: IpAddr,
    /// Number of the upper layer.
    pub protocol: u8,
    /// The IP header without what follows it; empty if the packet came without (`udp-transport`).
    pub header: &'a [u8],
    /// IPv4 options, or IPv6 extension headers.
    pub headers: &'a [u8],
    /// IPv6: number of the first of these headers, or of the upper layer.
    pub next_header: u8,
    pub upper: &'a [u8],
}

impl<'a> Original<'a> {
    /// Returns the version of the Internet Protocol.
    pub fn version(&self) -> Version {
        match self.source {
            IpAddr::V4(_) => Version::V4,
            IpAddr::V6(_) => Version::V6,
        }
    }

    /// Returns the kind of the upper layer.
    pub fn kind(&self) -> Upper {
        Upper::of(self.version(), self.protocol, self.upper.len())
    }

    /// Returns addresses and ports.
    pub fn flow(&self) -> Flow {
        let mut ports = match self.kind() {
            Upper::Tcp | Upper::Udp => self.upper,
            _ => &[],
        }
        .as_chunks::<2>()
        .0
        .iter()
        .map(|port| u16::from_be_bytes(*port));
        Flow {
            source: self.source,
            destination: self.destination,
            protocol: self.protocol,
            source_port: ports.next(),
            destination_port: ports.next(),
            upper_start: self.upper.first_chunk().copied(),
        }
    }
}

impl<'a> Datagram<'a> {
    /// Returns the parts of a datagram that has neither trailer nor mark.
    pub fn original(&self) -> Original<'a> {
        let Datagram { frame, place } = *self;
        let header = match place.version {
            Version::V4 => ipv4::HEADER_MIN,
            Version::V6 => ipv6::HEADER,
        };
        Original {
            source: address(place.source(frame)),
            destination: address(place.destination(frame)),
            protocol: place.protocol,
            header: &frame[place.start..place.start + header],
            headers: &frame[place.start + header..place.upper],
            next_header: frame[place.start + ipv6::NEXT_HEADER],
            upper: self.upper(),
        }
    }
}

/// Returns an address of 4 or 16 bytes.
fn address(bytes: &[u8]) -> IpAddr {
    match <[u8; 4]>::try_from(bytes) {
        Ok(bytes) => IpAddr::from(bytes),
        Err(_) => {
            let mut all = [0; 16];
            core::iter::zip(&mut all, bytes).for_each(|(to, from)| *to = *from);
            IpAddr::from(all)
        }
    }
}
