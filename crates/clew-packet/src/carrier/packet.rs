//! Datagrams with a packet: section 2.1.
//!
//! ```text
//! shim | head (26) | content | block | body
//! ```

use alloc::vec::Vec;

use super::{
    Carrier, HEAD_BYTES, OuterAddresses,
    datagram::{Echo, split, write_packet_shim},
};
use crate::{
    net::datagram::Datagram,
    net::frame::Frame,
    net::ip::{Version, ipv6, protocol},
    net::link::LinkType,
    net::original::Original,
    reason::Reason,
    wire::block::{Block, Mode},
    wire::bytes::{length_u16, u16_at},
    wire::fields::append_zeroed,
    wire::saved::Saved,
    wire::signable,
    wire::trailer::{self, Parts, Trailer, flag},
};

/// Byte offsets in the head.
mod head {
    pub(super) const FLAGS: usize = 0;
    pub(super) const MODE: usize = 1;
    pub(super) const LENGTH: usize = 2;
    /// From here on it is the head of a trailer.
    pub(super) const COMMON: usize = 4;
}

/// Flags that are not zero in trailers only.
const RESERVED: u8 = !(flag::NAT | flag::TOLERANT | flag::INCREMENTAL);

/// Reads head, content and tail.
///
/// # Errors
/// The first rule of section 2.1 that fails, but for the content's.
pub(crate) fn parse(carrier: Carrier, rest: &[u8]) -> Result<(Trailer<'_>, &[u8]), Reason> {
    let (head, rest) = split(rest, HEAD_BYTES)?;
    let (content, tail) = split(rest, usize::from(u16_at(head, head::LENGTH)))?;
    let mode = Mode::parse(head[head::MODE])?;
    let flags = head[head::FLAGS];
    if flags & RESERVED != 0 {
        return Err(Reason::ReservedBits);
    }
    let parts = Parts {
        carrier,
        flags,
        mode,
        head: &head[head::COMMON..],
    };
    match parts.parse(tail, Saved::default()) {
        Ok(trailer) => Ok((trailer, content)),
        Err(Reason::BadTrailerLength) => Err(Reason::BadCarrierLength),
        Err(reason) => Err(reason),
    }
}

/// Returns what an answer to the datagram echoes, if it is long enough: the id of its block, or the
/// first bytes of its body.
pub(super) fn echo(rest: &[u8]) -> Option<&Echo> {
    let (head, rest) = split(rest, HEAD_BYTES).ok()?;
    let (_, tail) = split(rest, usize::from(u16_at(head, head::LENGTH))).ok()?;
    let at = match Mode::parse(head[head::MODE]).ok()? {
        Mode::Each | Mode::Tree => 0,
        Mode::Window => Block::WINDOW_BYTES,
    };
    tail.get(at..)?.first_chunk()
}

/// Reads the content of type 1: a whole packet that could be signed as it is.
///
/// # Errors
/// `bad-carrier` if it is not that.
pub(crate) fn tunnelled(content: &[u8]) -> Result<Datagram<'_>, Reason> {
    let datagram = signable::locate(&Frame::whole(LinkType::RAW, content));
    let datagram = datagram.map_err(|_| Reason::BadCarrier)?;
    let fills = datagram.place.end == content.len();
    (fills && !is_routed(&datagram))
        .then_some(datagram)
        .ok_or(Reason::BadCarrier)
}

/// Tells whether a routing header leads the packet elsewhere than its final destination first,
/// which could be anywhere in the receiver's network.
pub(crate) fn is_routed(datagram: &Datagram<'_>) -> bool {
    let place = &datagram.place;
    place.version == Version::V6 && place.destination != place.start + ipv6::DESTINATION.start
}

/// Reads the content of type 2, between these addresses.
///
/// # Errors
/// `bad-carrier` if no such packet has that form.
pub(crate) fn transported<'a>(
    content: &'a [u8],
    outer: &OuterAddresses,
) -> Result<Original<'a>, Reason> {
    let OuterAddresses {
        source,
        destination,
    } = *outer;
    let (protocol, upper) = content.split_first().ok_or(Reason::BadCarrier)?;
    // An IPv6 packet without an upper layer says zero where offload does: T2 does not sign it.
    let is_empty = source.is_ipv6() && upper.is_empty();
    if source.is_ipv4() != destination.is_ipv4() || !may_be_transported(*protocol) || is_empty {
        return Err(Reason::BadCarrier);
    }
    Ok(Original {
        source,
        destination,
        protocol: *protocol,
        header: &[],
        headers: &[],
        next_header: *protocol,
        upper,
    })
}

/// Tells whether this is the number of an upper layer, whoever walks the headers.
pub(crate) fn may_be_transported(number: u8) -> bool {
    use protocol::{DESTINATION, FRAGMENT, HIP, HOP_BY_HOP, NO_NEXT_HEADER, ROUTING};
    let is_header = [HOP_BY_HOP, ROUTING, FRAGMENT, NO_NEXT_HEADER, DESTINATION].contains(&number);
    !is_header && number < HIP
}

/// Appends the datagram of a packet. The packet is one that the carrier has a form for, and the
/// datagram is not longer than [`DATAGRAM_MAX`](super::DATAGRAM_MAX).
pub(crate) fn write(out: &mut Vec<u8>, trailer: &Trailer<'_>, content: Content<'_>) {
    write_packet_shim(trailer.carrier, out);
    out.extend([trailer.flags(), trailer.block.mode() as u8]);
    out.extend(length_u16(content.length()).to_be_bytes());
    append_zeroed(out, trailer::HEAD_BYTES, |head| trailer.emit_head(head));
    out.extend(content.protocol);
    out.extend_from_slice(content.bytes);
    append_zeroed(out, trailer.block.length(), |block| {
        trailer.block.emit(block);
    });
    out.extend_from_slice(trailer.body);
}

/// The content of a datagram.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Content<'a> {
    /// Type 2: number of the upper layer.
    protocol: Option<u8>,
    bytes: &'a [u8],
}

impl<'a> Content<'a> {
    /// Returns the content that a packet is in that carrier.
    pub fn of(carrier: Carrier, packet: &Datagram<'a>) -> Self {
        let Datagram { frame, place } = *packet;
        match carrier {
            Carrier::UdpTransport => Self::transported(&packet.original()),
            Carrier::Trailer | Carrier::UdpTunnel => Self {
                protocol: None,
                bytes: &frame[place.start..place.end],
            },
        }
    }

    /// Returns the content of type 2.
    pub fn transported(packet: &Original<'a>) -> Self {
        Self {
            protocol: Some(packet.protocol),
            bytes: packet.upper,
        }
    }

    /// Returns the length in bytes.
    pub fn length(&self) -> usize {
        usize::from(self.protocol.is_some()) + self.bytes.len()
    }
}
