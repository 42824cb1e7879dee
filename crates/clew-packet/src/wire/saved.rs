//! What the original had in the fields that signing rewrites: specification sections 3 and 5.

use crate::{
    net::datagram::{Datagram, Place},
    net::upper::Upper,
    wire::bytes::{put_u16, u16_at},
};

/// Bits of the flags that say which values are saved.
pub(crate) mod flag {
    pub(crate) const IPV4_CHECKSUM: u8 = 1 << 2;
    pub(crate) const UDP_LENGTH: u8 = 1 << 3;
    pub(crate) const L4_CHECKSUM: u8 = 1 << 4;
    pub(crate) const ALL: u8 = IPV4_CHECKSUM | UDP_LENGTH | L4_CHECKSUM;
}

/// The values that were not the computed ones; 0 to 6 bytes on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    /// IPv4 header checksum.
    pub ipv4_checksum: Option<u16>,
    /// UDP length.
    pub udp_length: Option<u16>,
    /// Checksum of TCP, UDP, ICMP or ICMPv6.
    pub l4_checksum: Option<u16>,
}

impl Saved {
    /// Returns what has to be saved of a datagram, which strip could not compute.
    pub(crate) fn of(datagram: &Datagram<'_>, kind: Upper) -> Self {
        let Datagram { frame, place } = datagram;
        let differing = |at: Option<usize>, computed: Option<u16>| {
            at.map(|at| u16_at(frame, at))
                .filter(|value| Some(*value) != computed)
        };
        Self {
            ipv4_checksum: differing(place.ipv4_checksum_at(), place.ipv4_checksum(frame)),
            udp_length: differing(place.udp_length_at(kind), Some(place.upper_length())),
            l4_checksum: differing(place.l4_checksum_at(kind), place.l4_checksum(frame, kind)),
        }
    }

    /// Gives length and checksums of the datagram in `frame` the values they had, or else the
    /// computed ones.
    pub(crate) fn restore(&self, frame: &mut [u8], place: &Place, kind: Upper) {
        if let Some(at) = place.ipv4_checksum_at() {
            let computed = place.ipv4_checksum(frame);
            put_u16(frame, at, self.ipv4_checksum.or(computed).unwrap_or(0));
        }
        if let Some(at) = place.udp_length_at(kind) {
            put_u16(frame, at, self.udp_length.unwrap_or(place.upper_length()));
        }
        // Last, because it covers the UDP length.
        if let Some(at) = place.l4_checksum_at(kind) {
            let computed = place.l4_checksum(frame, kind);
            put_u16(frame, at, self.l4_checksum.or(computed).unwrap_or(0));
        }
    }

    /// Says whether each saved value is one that such a packet has.
    pub(crate) fn makes_sense(&self, place: &Place, kind: Upper) -> bool {
        (self.ipv4_checksum.is_none() || place.ipv4_checksum_at().is_some())
            && (self.udp_length.is_none() || place.udp_length_at(kind).is_some())
            && (self.l4_checksum.is_none() || place.l4_checksum_at(kind).is_some())
    }

    /// Returns the length in bytes that `flags` announce.
    pub(crate) const fn bytes(flags: u8) -> usize {
        (flags & flag::ALL).count_ones() as usize * 2
    }

    /// Parses what `flags` announce, from exactly as many bytes.
    pub(crate) fn parse(flags: u8, bytes: &[u8]) -> Self {
        let mut values = bytes
            .as_chunks::<2>()
            .0
            .iter()
            .map(|value| u16::from_be_bytes(*value));
        let mut take = |bit: u8| {
            if flags & bit != 0 {
                values.next()
            } else {
                None
            }
        };
        Self {
            ipv4_checksum: take(flag::IPV4_CHECKSUM),
            udp_length: take(flag::UDP_LENGTH),
            l4_checksum: take(flag::L4_CHECKSUM),
        }
    }

    /// Returns the length in bytes.
    pub fn length(&self) -> usize {
        Self::bytes(self.flags())
    }

    /// Returns the flags that announce the values.
    pub(crate) fn flags(&self) -> u8 {
        let bit = |value: Option<u16>, bit: u8| value.map_or(0, |_| bit);
        bit(self.ipv4_checksum, flag::IPV4_CHECKSUM)
            | bit(self.udp_length, flag::UDP_LENGTH)
            | bit(self.l4_checksum, flag::L4_CHECKSUM)
    }

    /// Writes the values to a buffer of their length.
    pub(crate) fn emit(&self, buffer: &mut [u8]) {
        for (at, value) in self.values().enumerate() {
            put_u16(buffer, 2 * at, value);
        }
    }

    fn values(&self) -> impl Iterator<Item = u16> {
        [self.ipv4_checksum, self.udp_length, self.l4_checksum]
            .into_iter()
            .flatten()
    }
}
