//! The upper layers whose fields this crate knows: specification sections 4 and 5.

use crate::net::ip::{Version, protocol};

/// What the upper layer of a datagram is, as far as the specification tells upper layers apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Upper {
    Tcp,
    Udp,
    Icmp,
    Icmpv6,
    /// Anything else, or too short.
    Opaque,
}

/// Byte offsets in the TCP header (RFC 9293).
pub(crate) mod tcp {
    use core::ops::Range;

    pub(crate) const SOURCE_PORT: Range<usize> = 0..2;
    /// Data offset in units of 4 bytes (upper nibble), AE (lowest bit).
    pub(crate) const OFFSET: usize = 12;
    pub(crate) const FLAGS: usize = 13;
    pub(crate) const CHECKSUM: usize = 16;
    pub(crate) const HEADER_MIN: usize = 20;
    pub(crate) const AE: u8 = 0x01;
    pub(crate) const CWR_ECE: u8 = 0xc0;
    pub(crate) const SYN: u8 = 0x02;
}

/// Byte offsets in the UDP header (RFC 768).
pub(crate) mod udp {
    use core::ops::Range;

    pub(crate) const SOURCE_PORT: Range<usize> = 0..2;
    pub(crate) const LENGTH: usize = 4;
    pub(crate) const CHECKSUM: usize = 6;
    pub(crate) const HEADER: usize = 8;
}

/// Byte offsets in the ICMP and ICMPv6 headers (RFC 792, RFC 4443).
pub(crate) mod icmp {
    use core::ops::Range;

    pub(crate) const TYPE: usize = 0;
    pub(crate) const CHECKSUM: usize = 2;
    /// Of queries and their answers.
    pub(crate) const IDENTIFIER: Range<usize> = 4..6;
    pub(crate) const HEADER: usize = 8;
}

impl Upper {
    /// Returns the kind of an upper layer of `length` bytes, its trailer not counted.
    pub fn of(version: Version, protocol: u8, length: usize) -> Self {
        match (protocol, version) {
            (protocol::TCP, _) if length >= tcp::HEADER_MIN => Self::Tcp,
            (protocol::UDP, _) if length >= udp::HEADER => Self::Udp,
            (protocol::ICMP, Version::V4) if length >= icmp::HEADER => Self::Icmp,
            (protocol::ICMPV6, Version::V6) if length >= icmp::HEADER => Self::Icmpv6,
            _ => Self::Opaque,
        }
    }

    /// Returns the offset of the checksum in the upper layer.
    pub fn checksum_at(self) -> Option<usize> {
        match self {
            Self::Tcp => Some(tcp::CHECKSUM),
            Self::Udp => Some(udp::CHECKSUM),
            Self::Icmp | Self::Icmpv6 => Some(icmp::CHECKSUM),
            Self::Opaque => None,
        }
    }

    /// Says whether the checksum covers a pseudo-header.
    pub fn has_pseudo_header(self) -> bool {
        matches!(self, Self::Tcp | Self::Udp | Self::Icmpv6)
    }
}
