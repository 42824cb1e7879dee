//! IP fragments within: no rule signs a fragment, so they are put together before a packet is signed,
//! and made again for an interface that is too narrow for the whole packet.

mod cut;
mod reassembly;

pub use cut::Fragmenter;
pub use reassembly::{Defragmenter, PARTS_MAX, Taken, WAIT_MAX, WAITING_BYTES_MAX, WAITING_MAX};

use std::ops::Range;

/// The longest IP datagram.
const DATAGRAM_MAX: usize = 65_535;

/// Offsets are counted in so many bytes.
const UNIT: usize = 8;

/// IPv4 headers.
mod v4 {
    use std::ops::Range;

    pub(super) const HEADER_MIN: usize = 20;
    pub(super) const LENGTH: Range<usize> = 2..4;
    pub(super) const ID: Range<usize> = 4..6;
    pub(super) const FLAGS: Range<usize> = 6..8;
    pub(super) const PROTOCOL: usize = 9;
    pub(super) const CHECKSUM: Range<usize> = 10..12;
    pub(super) const ADDRESSES: Range<usize> = 12..20;
    pub(super) const DONT_FRAGMENT: u16 = 0x4000;
    pub(super) const MORE: u16 = 0x2000;
    pub(super) const OFFSET: u16 = 0x1fff;
}

/// IPv6 headers.
mod v6 {
    use std::ops::Range;

    pub(super) const HEADER: usize = 40;
    pub(super) const LENGTH: Range<usize> = 4..6;
    pub(super) const NEXT: usize = 6;
    pub(super) const ADDRESSES: Range<usize> = 8..40;
    pub(super) const HOP_BY_HOP: u8 = 0;
    pub(super) const ROUTING: u8 = 43;
    pub(super) const FRAGMENT: u8 = 44;
    pub(super) const DESTINATION: u8 = 60;
    /// A fragment header: next header, a byte, offset and flag, identification.
    pub(super) const FRAGMENT_BYTES: usize = 8;
    pub(super) const MORE: u16 = 1;
    /// Most extension headers before that of the fragment.
    pub(super) const EXTENSIONS_MAX: usize = 8;
}

/// A place in the chain of IPv6 headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Link {
    /// Where the byte stands that names the header.
    named_at: usize,
    /// Where the header begins.
    at: usize,
    /// Which one it is.
    kind: u8,
}

/// Returns the headers of an IPv6 packet, up to the first that is no option or routing header.
fn links(packet: &[u8]) -> impl Iterator<Item = Link> + '_ {
    let first = packet.get(v6::NEXT).map(|kind| Link {
        named_at: v6::NEXT,
        at: v6::HEADER,
        kind: *kind,
    });
    let next = |link: &Link| {
        let is_passed = [v6::HOP_BY_HOP, v6::ROUTING, v6::DESTINATION].contains(&link.kind);
        let [kind, length] = *packet.get(link.at..)?.first_chunk()?;
        is_passed.then_some(Link {
            named_at: link.at,
            at: link.at + (usize::from(length) + 1) * UNIT,
            kind,
        })
    };
    std::iter::successors(first, next).take(v6::EXTENSIONS_MAX + 1)
}

fn u16_at(bytes: &[u8], at: Range<usize>) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at)?.try_into().ok()?))
}

fn put_u16(bytes: &mut [u8], at: Range<usize>, value: usize) {
    let value = u16::try_from(value).unwrap_or(u16::MAX);
    bytes[at].copy_from_slice(&value.to_be_bytes());
}

/// Computes the checksum of an IPv4 header (RFC 1071).
pub(crate) fn put_checksum(header: &mut [u8]) {
    put_u16(header, v4::CHECKSUM, 0);
    let words = header.chunks_exact(2);
    let sum: u32 = words
        .map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])))
        .sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    put_u16(header, v4::CHECKSUM, usize::from(!(sum as u16)));
}

#[cfg(test)]
mod tests;
