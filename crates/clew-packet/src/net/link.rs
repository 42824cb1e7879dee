//! The way from the link header down to the outermost IP datagram: specification section 2.1.

use crate::{net::frame::Frame, net::ip::Version, reason::Reason, wire::bytes::u16_at};

/// A link type by its number in the registry of capture formats (`LINKTYPE_...`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkType(pub u32);

impl LinkType {
    /// BSD loopback: an address family in the capturing machine's byte order.
    pub const NULL: Self = Self(0);
    /// Ethernet, without frame check sequence.
    pub const ETHERNET: Self = Self(1);
    /// PPP, with or without HDLC-like framing.
    pub const PPP: Self = Self(9);
    /// Raw IP, as some BSDs number it.
    pub const RAW_BSD: Self = Self(12);
    /// Raw IP, as OpenBSD numbers it.
    pub const RAW_OPENBSD: Self = Self(14);
    /// Raw IP.
    pub const RAW: Self = Self(101);
    /// OpenBSD loopback: an address family in network byte order.
    pub const LOOP: Self = Self(108);
    /// Linux cooked, version 1.
    pub const SLL: Self = Self(113);
    /// Raw IPv4.
    pub const IPV4: Self = Self(228);
    /// Raw IPv6.
    pub const IPV6: Self = Self(229);
    /// Linux cooked, version 2.
    pub const SLL2: Self = Self(276);
}

/// The most VLAN tags in a row that are descended; Linux reads as many (`VLAN_MAX_DEPTH`).
pub const VLAN_TAGS_MAX: usize = 8;

/// The largest value of an 802.3 length field, in bytes.
const LENGTH_802_3_MAX: u16 = 1500;

/// A two-byte length field that covers the datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LengthField {
    /// Offset of the field.
    pub at: usize,
    /// Offset of the first byte that it counts.
    pub from: usize,
    /// The largest value that it may have.
    pub max: u16,
}

impl LengthField {
    /// Returns the number of bytes that the field states.
    pub fn value(&self, bytes: &[u8]) -> usize {
        usize::from(u16_at(bytes, self.at))
    }

    /// Returns the offset after the last byte that the field counts.
    pub fn end(&self, bytes: &[u8]) -> usize {
        self.from + self.value(bytes)
    }
}

/// Where the datagram starts, and what the layers above say about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Descent {
    /// Offset of the IP header.
    pub start: usize,
    /// The version that the link layer promised.
    pub version: Version,
    /// The length fields of 802.3 and PPPoE, where there are any.
    pub lengths: [Option<LengthField>; 2],
}

/// Descends from the link header to the IP header.
///
/// # Errors
/// `link-type`, `not-ip`, and `truncated` where the capture ends on the way.
pub(crate) fn descend(frame: &Frame<'_>) -> Result<Descent, Reason> {
    let walk = Walk {
        frame,
        lengths: [None; 2],
    };
    match frame.link {
        // A NULL file has the byte order of the machine that captured, which nothing states.
        LinkType::NULL => walk.loopback(&[u32::from_be_bytes, u32::from_le_bytes]),
        LinkType::LOOP => walk.loopback(&[u32::from_be_bytes]),
        LinkType::ETHERNET => walk.ethertype(ethernet::TYPE, ethernet::HEADER, true),
        LinkType::PPP => walk.framed_ppp(),
        LinkType::RAW | LinkType::RAW_BSD | LinkType::RAW_OPENBSD => walk.raw(),
        LinkType::IPV4 => walk.ip(0, Version::V4),
        LinkType::IPV6 => walk.ip(0, Version::V6),
        LinkType::SLL => walk.ethertype(sll::PROTOCOL, sll::HEADER, false),
        LinkType::SLL2 => walk.ethertype(sll2::PROTOCOL, sll2::HEADER, false),
        _ => Err(Reason::LinkType),
    }
}

mod ethernet {
    pub(super) const TYPE: usize = 12;
    pub(super) const HEADER: usize = 14;
}

mod ethertype {
    pub(super) const IPV4: u16 = 0x0800;
    pub(super) const IPV6: u16 = 0x86dd;
    pub(super) const VLAN: u16 = 0x8100;
    pub(super) const VLAN_SERVICE: u16 = 0x88a8;
    pub(super) const VLAN_OLD_SERVICE: u16 = 0x9100;
    pub(super) const PPPOE_SESSION: u16 = 0x8864;
}

mod vlan {
    /// After the tag control information.
    pub(super) const TYPE: usize = 2;
    pub(super) const HEADER: usize = 4;
}

mod snap {
    /// Both access points SNAP, unnumbered information, organization of the ethertypes.
    pub(super) const LLC: [u8; 6] = [0xaa, 0xaa, 0x03, 0, 0, 0];
}

mod pppoe {
    /// Version 1, type 1, code of session data.
    pub(super) const SESSION: [u8; 2] = [0x11, 0];
    pub(super) const LENGTH: usize = 4;
    pub(super) const HEADER: usize = 6;
}

mod ppp {
    pub(super) const HDLC: [u8; 2] = [0xff, 0x03];
    pub(super) const IPV4: u8 = 0x21;
    pub(super) const IPV6: u8 = 0x57;
}

mod sll {
    pub(super) const PROTOCOL: usize = 14;
    pub(super) const HEADER: usize = 16;
}

mod sll2 {
    pub(super) const PROTOCOL: usize = 0;
    pub(super) const HEADER: usize = 20;
}

mod loopback {
    pub(super) const HEADER: usize = 4;
    pub(super) const INET: u32 = 2;
    /// NetBSD and OpenBSD, FreeBSD, macOS.
    pub(super) const INET6: [u32; 5] = [10, 23, 24, 28, 30];
}

/// A descent under way.
struct Walk<'f, 'a> {
    frame: &'f Frame<'a>,
    lengths: [Option<LengthField>; 2],
}

impl Walk<'_, '_> {
    fn read<const N: usize>(&self, at: usize) -> Result<[u8; N], Reason> {
        self.frame.read(at, Reason::NotIp)
    }

    fn ip(self, start: usize, version: Version) -> Result<Descent, Reason> {
        Ok(Descent {
            start,
            version,
            lengths: self.lengths,
        })
    }

    fn raw(self) -> Result<Descent, Reason> {
        let [first] = self.read(0)?;
        self.ip(0, Version::from_first_byte(first).ok_or(Reason::NotIp)?)
    }

    fn loopback(self, byte_orders: &[fn([u8; 4]) -> u32]) -> Result<Descent, Reason> {
        let family = self.read(0)?;
        for number in byte_orders.iter().map(|order| order(family)) {
            if number == loopback::INET {
                return self.ip(loopback::HEADER, Version::V4);
            }
            if loopback::INET6.contains(&number) {
                return self.ip(loopback::HEADER, Version::V6);
            }
        }
        Err(Reason::NotIp)
    }

    /// Reads the type at `at`, of what begins at `start`. A small one is an 802.3 length, where
    /// there may be one.
    fn ethertype(
        self,
        mut at: usize,
        mut start: usize,
        may_be_length: bool,
    ) -> Result<Descent, Reason> {
        for _ in 0..=VLAN_TAGS_MAX {
            match u16::from_be_bytes(self.read(at)?) {
                ethertype::IPV4 => return self.ip(start, Version::V4),
                ethertype::IPV6 => return self.ip(start, Version::V6),
                ethertype::PPPOE_SESSION => return self.pppoe(start),
                ethertype::VLAN | ethertype::VLAN_SERVICE | ethertype::VLAN_OLD_SERVICE => {
                    at = start + vlan::TYPE;
                    start += vlan::HEADER;
                }
                ..=LENGTH_802_3_MAX if may_be_length => return self.snap(at, start),
                _ => return Err(Reason::NotIp),
            }
        }
        Err(Reason::NotIp)
    }

    fn snap(mut self, length_at: usize, from: usize) -> Result<Descent, Reason> {
        if self.read(from)? != snap::LLC {
            return Err(Reason::NotIp);
        }
        self.lengths[0] = Some(LengthField {
            at: length_at,
            from,
            max: LENGTH_802_3_MAX,
        });
        let at = from + snap::LLC.len();
        self.ethertype(at, at + 2, false)
    }

    fn pppoe(mut self, at: usize) -> Result<Descent, Reason> {
        if self.read(at)? != pppoe::SESSION {
            return Err(Reason::NotIp);
        }
        let from = at + pppoe::HEADER;
        self.lengths[1] = Some(LengthField {
            at: at + pppoe::LENGTH,
            from,
            max: u16::MAX,
        });
        self.ppp(from)
    }

    fn framed_ppp(self) -> Result<Descent, Reason> {
        let framed = self.read(0)? == ppp::HDLC;
        self.ppp(if framed { ppp::HDLC.len() } else { 0 })
    }

    /// Reads the protocol at `at`: two bytes, or one odd byte where it was compressed.
    fn ppp(self, at: usize) -> Result<Descent, Reason> {
        let (protocol, start) = match self.read(at)? {
            [odd] if odd & 1 == 1 => (u16::from(odd), at + 1),
            [_] => (u16::from_be_bytes(self.read(at)?), at + 2),
        };
        match u8::try_from(protocol) {
            Ok(ppp::IPV4) => self.ip(start, Version::V4),
            Ok(ppp::IPV6) => self.ip(start, Version::V6),
            _ => Err(Reason::NotIp),
        }
    }
}
