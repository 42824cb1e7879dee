//! How signed packets travel: with a trailer, or in UDP datagrams. `spec/carriers.md` is the format of
//! the latter, and section numbers in this folder are those of that page.

pub mod datagram;
pub mod fragment;
pub(crate) mod packet;
mod reassembler;

use core::net::IpAddr;

use crate::net::{
    datagram::Datagram,
    upper::{Upper, udp},
};

/// The first four bytes of every datagram.
pub(crate) const MAGIC: [u8; 4] = [0xc1, 0x6c, 0x65, 0x77];

/// The version of the format.
pub(crate) const VERSION: u8 = 1;

/// Length of the shim without a cookie in bytes.
pub(crate) const SHIM_BYTES: usize = MAGIC.len() + 2;

/// Length of the head in bytes.
pub(crate) const HEAD_BYTES: usize = 4 + crate::wire::trailer::HEAD_BYTES;

/// Length of a cookie in bytes.
pub const COOKIE_BYTES: usize = 16;

/// The longest payload of a UDP datagram over IPv4 in bytes. No datagram of a carrier is longer,
/// fragments put together.
pub const DATAGRAM_MAX: usize = 65_507;

/// How a signed packet travels, by its code in the signed message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Carrier {
    /// The packet, with a trailer at its end.
    Trailer = 1,
    /// A UDP datagram with the whole packet in it.
    UdpTunnel = 2,
    /// A UDP datagram with the packet's upper layer in it, between the same addresses.
    UdpTransport = 3,
}

impl Carrier {
    /// Returns the code in the signed message.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Returns the word for it in files and on terminals.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trailer => "trailer",
            Self::UdpTunnel => "udp-tunnel",
            Self::UdpTransport => "udp-transport",
        }
    }
}

/// The addresses of the IP datagram around a UDP datagram. Both have one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OuterAddresses {
    /// The source.
    pub source: IpAddr,
    /// The destination.
    pub destination: IpAddr,
}

/// Returns the payload of a UDP datagram that starts with the magic. `None` if the datagram is not one.
pub(crate) fn payload<'a>(datagram: &Datagram<'a>) -> Option<&'a [u8]> {
    let is_udp = datagram.kind(0) == Upper::Udp;
    let payload = is_udp.then(|| &datagram.upper()[udp::HEADER..])?;
    payload.starts_with(&MAGIC).then_some(payload)
}
