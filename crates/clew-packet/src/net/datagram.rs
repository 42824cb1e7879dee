//! A signable datagram, and where its parts stand.

use crate::{
    net::checksum::Sum,
    net::ip::{Version, ipv4, ipv6},
    net::link::LengthField,
    net::upper::{Upper, udp},
    wire::bytes::{length_u16, put_u16},
};

/// Where the parts of a datagram stand in its frame. All offsets count from the frame's first byte,
/// and all are within the captured bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub version: Version,
    /// Offset of the IP header.
    pub start: usize,
    /// Offset of the upper layer.
    pub upper: usize,
    /// Offset after the datagram's last byte.
    pub end: usize,
    /// Number of the upper layer.
    pub protocol: u8,
    /// Offset of the final destination's address.
    pub destination: usize,
    /// Every length field that covers the datagram.
    pub lengths: [Option<LengthField>; 3],
}

impl Place {
    /// Returns how many bytes the datagram can still grow.
    pub fn room(&self, frame: &[u8]) -> usize {
        let room =
            |length: &LengthField| usize::from(length.max).saturating_sub(length.value(frame));
        self.lengths.iter().flatten().map(room).min().unwrap_or(0)
    }

    /// Lets the datagram end at `end`: moves every length field in `frame` by the difference.
    pub fn move_end(&mut self, frame: &mut [u8], end: usize) {
        for length in self.lengths.iter().flatten() {
            let value = length.value(frame) + end - self.end;
            put_u16(frame, length.at, length_u16(value));
        }
        self.end = end;
    }

    /// Returns the source address as it stands in `frame`: 4 or 16 bytes.
    pub fn source<'a>(&self, frame: &'a [u8]) -> &'a [u8] {
        match self.version {
            Version::V4 => &frame[self.start..][ipv4::SOURCE],
            Version::V6 => &frame[self.start..][ipv6::SOURCE],
        }
    }

    /// Returns the final destination's address as it stands in `frame`: 4 or 16 bytes.
    pub fn destination<'a>(&self, frame: &'a [u8]) -> &'a [u8] {
        let bytes = match self.version {
            Version::V4 => ipv4::DESTINATION.len(),
            Version::V6 => ipv6::DESTINATION.len(),
        };
        &frame[self.destination..][..bytes]
    }

    /// Returns the length of the upper layer in bytes.
    pub fn upper_length(&self) -> u16 {
        length_u16(self.end - self.upper)
    }

    /// Returns the upper layer as it stands in `frame`.
    pub fn upper<'a>(&self, frame: &'a [u8]) -> &'a [u8] {
        &frame[self.upper..self.end]
    }

    /// Computes the IPv4 header checksum; none for IPv6.
    pub fn ipv4_checksum(&self, frame: &[u8]) -> Option<u16> {
        let header = &frame[self.start..self.upper];
        (self.version == Version::V4).then(|| {
            Sum::default()
                .bytes_without(header, ipv4::CHECKSUM)
                .checksum()
        })
    }

    /// Returns the offset of the IPv4 header checksum; none for IPv6.
    pub fn ipv4_checksum_at(&self) -> Option<usize> {
        (self.version == Version::V4).then_some(self.start + ipv4::CHECKSUM)
    }

    /// Returns the offset of the UDP length.
    pub fn udp_length_at(&self, kind: Upper) -> Option<usize> {
        (kind == Upper::Udp).then_some(self.upper + udp::LENGTH)
    }

    /// Returns the offset of the upper layer's checksum.
    pub fn l4_checksum_at(&self, kind: Upper) -> Option<usize> {
        kind.checksum_at().map(|at| self.upper + at)
    }

    /// Computes the upper layer's checksum as section 5 has it; none where it knows none.
    pub fn l4_checksum(&self, frame: &[u8], kind: Upper) -> Option<u16> {
        let upper = self.upper(frame);
        let sum = if kind.has_pseudo_header() {
            self.pseudo_header(frame)
        } else {
            Sum::default()
        };
        let checksum = sum.bytes_without(upper, kind.checksum_at()?).checksum();
        // On the wire a UDP checksum of 0 says that there is none.
        Some(if kind == Upper::Udp && checksum == 0 {
            u16::MAX
        } else {
            checksum
        })
    }

    fn pseudo_header(&self, frame: &[u8]) -> Sum {
        Sum::default()
            .bytes(self.source(frame))
            .bytes(self.destination(frame))
            .number(self.upper_length())
            .number(u16::from(self.protocol))
    }
}

/// A signable datagram in its frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Datagram<'a> {
    /// The captured bytes of the whole frame.
    pub frame: &'a [u8],
    pub place: Place,
}

impl<'a> Datagram<'a> {
    /// Returns the upper layer, with trailer and mark where there are any.
    pub fn upper(&self) -> &'a [u8] {
        self.place.upper(self.frame)
    }

    /// Returns how many bytes it can still grow.
    pub fn room(&self) -> usize {
        self.place.room(self.frame)
    }

    /// Returns its kind, the last `trailer` bytes not counted.
    pub fn kind(&self, trailer: usize) -> Upper {
        let length = self.place.end - self.place.upper - trailer;
        Upper::of(self.place.version, self.place.protocol, length)
    }

    /// Returns the same datagram without its last `trailer` bytes. Length fields in the frame are
    /// as they were.
    pub fn without(mut self, trailer: usize) -> Self {
        self.place.end -= trailer;
        self
    }
}
