//! Views of IPv4 and IPv6 headers. Each view is made over bytes that were checked to hold it; after
//! that nothing panics.

use crate::{reason::Reason, wire::bytes::u16_at};

/// The version of the Internet Protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    V4,
    V6,
}

impl Version {
    /// Reads the version nibble of an IP header's first byte.
    pub fn from_first_byte(byte: u8) -> Option<Self> {
        match byte >> 4 {
            4 => Some(Self::V4),
            6 => Some(Self::V6),
            _ => None,
        }
    }
}

/// Numbers of upper layers and of extension headers (IANA, protocol numbers).
pub mod protocol {
    /// Hop-by-hop options of IPv6.
    pub const HOP_BY_HOP: u8 = 0;
    /// ICMP for IPv4.
    pub const ICMP: u8 = 1;
    /// TCP.
    pub const TCP: u8 = 6;
    /// UDP.
    pub const UDP: u8 = 17;
    /// Routing header of IPv6.
    pub const ROUTING: u8 = 43;
    /// Fragment header of IPv6.
    pub const FRAGMENT: u8 = 44;
    /// Encrypted payloads of IPsec.
    pub const ESP: u8 = 50;
    /// ICMP for IPv6.
    pub const ICMPV6: u8 = 58;
    /// "No next header" (RFC 8200 section 4.7): nothing follows, in either version.
    pub const NO_NEXT_HEADER: u8 = 59;
    /// Destination options of IPv6.
    pub const DESTINATION: u8 = 60;
    /// SCTP.
    pub const SCTP: u8 = 132;
    /// From here on there are extension headers that are not walked (HIP, Shim6, experiments).
    pub(crate) const HIP: u8 = 139;
}

/// Byte ranges of the IPv4 header (RFC 791).
pub(crate) mod ipv4 {
    use core::ops::Range;

    pub(crate) const VERSION_LENGTH: usize = 0;
    pub(crate) const TOTAL_LENGTH: usize = 2;
    pub(crate) const FRAGMENT: usize = 6;
    pub(crate) const TTL: usize = 8;
    pub(crate) const PROTOCOL: usize = 9;
    pub(crate) const CHECKSUM: usize = 10;
    pub(crate) const SOURCE: Range<usize> = 12..16;
    pub(crate) const DESTINATION: Range<usize> = 16..20;
    pub(crate) const HEADER_MIN: usize = 20;
    /// More fragments, and the offset.
    pub(super) const FRAGMENT_MASK: u16 = 0x3fff;
}

/// Byte ranges of the IPv6 header (RFC 8200).
pub(crate) mod ipv6 {
    use core::ops::Range;

    pub(crate) const PAYLOAD_LENGTH: usize = 4;
    pub(crate) const NEXT_HEADER: usize = 6;
    pub(crate) const HOP_LIMIT: usize = 7;
    pub(crate) const SOURCE: Range<usize> = 8..24;
    pub(crate) const DESTINATION: Range<usize> = 24..40;
    pub(crate) const HEADER: usize = 40;
}

/// An IPv4 header without its options: at least 20 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ipv4<'a>(pub &'a [u8]);

impl Ipv4<'_> {
    /// Returns the header length in bytes, as stated.
    pub fn header_length(&self) -> usize {
        usize::from(self.0[ipv4::VERSION_LENGTH] & 0x0f) * 4
    }

    /// Returns the length of header and payload in bytes, as stated.
    pub fn total_length(&self) -> usize {
        usize::from(u16_at(self.0, ipv4::TOTAL_LENGTH))
    }

    /// Says whether more fragments follow or the offset is not zero.
    pub fn is_fragment(&self) -> bool {
        u16_at(self.0, ipv4::FRAGMENT) & ipv4::FRAGMENT_MASK != 0
    }

    /// Returns the number of the upper layer.
    pub fn protocol(&self) -> u8 {
        self.0[ipv4::PROTOCOL]
    }
}

/// An IPv6 header: 40 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ipv6<'a>(pub &'a [u8]);

impl Ipv6<'_> {
    /// Returns the length of everything after the header in bytes, as stated.
    pub fn payload_length(&self) -> usize {
        usize::from(u16_at(self.0, ipv6::PAYLOAD_LENGTH))
    }

    /// Returns the number of the header that follows.
    pub fn next_header(&self) -> u8 {
        self.0[ipv6::NEXT_HEADER]
    }
}

/// The most IPv6 extension headers that are walked.
pub const EXTENSION_HEADERS_MAX: usize = 8;

/// Byte ranges of an extension header.
mod extension {
    pub(super) const NEXT_HEADER: usize = 0;
    pub(super) const LENGTH: usize = 1;
    pub(super) const OPTIONS: usize = 2;
    /// The length counts units of this many bytes, the first not counted.
    pub(super) const UNIT: usize = 8;
}

/// Byte ranges of a routing header.
mod routing {
    use core::ops::Range;

    pub(super) const TYPE: usize = 2;
    pub(super) const SEGMENTS_LEFT: usize = 3;
    pub(super) const FIRST_ADDRESS: Range<usize> = 8..24;
    pub(super) const ADDRESS_BYTES: usize = 16;
    /// RFC 2460: source route.
    pub(super) const SOURCE_ROUTE: u8 = 0;
    /// RFC 6275: home address.
    pub(super) const HOME_ADDRESS: u8 = 2;
    /// RFC 8754: segment routing, the list in reverse order.
    pub(super) const SEGMENT_ROUTING: u8 = 4;
}

/// One hop-by-hop, routing or destination options header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extension<'a> {
    /// Its number, as the header before it said.
    pub protocol: u8,
    /// Offset of its first byte in the IPv6 payload.
    pub at: usize,
    /// All of its bytes, a multiple of 8.
    pub bytes: &'a [u8],
}

impl<'a> Extension<'a> {
    /// Iterates over the options of a hop-by-hop or destination options header.
    pub fn options(&self) -> Options<'a> {
        Options(&self.bytes[extension::OPTIONS..])
    }

    /// Returns the offset of the final destination in the IPv6 payload, if this is a routing header
    /// with segments left.
    ///
    /// # Errors
    /// `routing-header` if the type is unknown or the list has no such address.
    pub fn final_destination(&self) -> Result<Option<usize>, Reason> {
        if self.protocol != protocol::ROUTING || self.bytes[routing::SEGMENTS_LEFT] == 0 {
            return Ok(None);
        }
        let length = self.bytes.len();
        let list = length - routing::FIRST_ADDRESS.start;
        let whole_list = list.is_multiple_of(routing::ADDRESS_BYTES);
        let address_at = match self.bytes[routing::TYPE] {
            _ if length < routing::FIRST_ADDRESS.end => return Err(Reason::RoutingHeader),
            routing::SOURCE_ROUTE if whole_list => length - routing::ADDRESS_BYTES,
            routing::HOME_ADDRESS | routing::SEGMENT_ROUTING => routing::FIRST_ADDRESS.start,
            _ => return Err(Reason::RoutingHeader),
        };
        Ok(Some(self.at + address_at))
    }
}

/// Walks the extension headers of an IPv6 payload up to the upper layer.
#[derive(Clone, Debug)]
pub(crate) struct Extensions<'a> {
    payload: &'a [u8],
    walked: usize,
    /// Number of the next header; after the walk, of the upper layer.
    pub protocol: u8,
    /// Offset of the next header in the payload; after the walk, of the upper layer.
    pub at: usize,
}

impl<'a> Extensions<'a> {
    /// Starts at the beginning of `payload`, which is of kind `next_header`.
    pub fn new(payload: &'a [u8], next_header: u8) -> Self {
        Self {
            payload,
            walked: 0,
            protocol: next_header,
            at: 0,
        }
    }

    /// Returns the next extension header, or none at the upper layer.
    ///
    /// # Errors
    /// `fragment`; `extension-headers` if there are too many or one does not fit the payload.
    pub fn advance(&mut self) -> Result<Option<Extension<'a>>, Reason> {
        match self.protocol {
            protocol::FRAGMENT => Err(Reason::Fragment),
            protocol::HOP_BY_HOP | protocol::ROUTING | protocol::DESTINATION => {
                self.take().map(Some).ok_or(Reason::ExtensionHeaders)
            }
            _ => Ok(None),
        }
    }

    fn take(&mut self) -> Option<Extension<'a>> {
        if self.walked == EXTENSION_HEADERS_MAX {
            return None;
        }
        let rest = &self.payload[self.at..];
        let bytes = rest.get(..extension_length(rest)?)?;
        let taken = Extension {
            protocol: self.protocol,
            at: self.at,
            bytes,
        };
        self.walked += 1;
        self.protocol = bytes[extension::NEXT_HEADER];
        self.at += bytes.len();
        Some(taken)
    }
}

/// Returns the length in bytes that the extension header at the start of `bytes` states.
pub(crate) fn extension_length(bytes: &[u8]) -> Option<usize> {
    bytes
        .get(extension::LENGTH)
        .map(|units| (usize::from(*units) + 1) * extension::UNIT)
}

/// Options of a hop-by-hop or destination options header, each with type and length; ends before
/// one that does not fit.
#[derive(Clone, Debug)]
pub(crate) struct Options<'a>(&'a [u8]);

/// Types and bits of IPv6 options.
pub(crate) mod option {
    pub(crate) const PAD_1: u8 = 0;
    pub(crate) const PAD_N: u8 = 1;
    pub(crate) const JUMBO: u8 = 0xc2;
    /// Set in the type of an option that may change on the way.
    pub(crate) const CHANGES: u8 = 0x20;
}

impl<'a> Iterator for Options<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let length = match self.0 {
            [option::PAD_1, ..] => 1,
            [_, length, ..] => usize::from(*length) + 2,
            _ => return None,
        };
        let (option, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(option)
    }
}
