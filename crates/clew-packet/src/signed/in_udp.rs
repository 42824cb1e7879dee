//! A packet in a UDP datagram.

use alloc::vec::Vec;
use core::net::IpAddr;

use crate::{
    carrier::{
        Carrier, OuterAddresses,
        datagram::{Rest, parse},
        packet::{self, Content},
        payload,
    },
    net::datagram::{Datagram, Place},
    net::frame::Frame,
    net::ip::{Version, ipv4, ipv6},
    net::original::Original,
    net::upper::{Upper, udp},
    reason::Reason,
    wire::bytes::{length_u16, put_u16, u16_at},
    wire::saved::Saved,
    wire::signable,
    wire::trailer::Trailer,
};

/// A packet in a UDP datagram, well-formed.
#[derive(Clone, Copy, Debug)]
pub(super) struct InUdp<'a> {
    content: Inner<'a>,
    /// The frame that the datagram came in, or the last of its fragments.
    frame: Option<Frame<'a>>,
}

#[derive(Clone, Copy, Debug)]
enum Inner<'a> {
    Whole(Datagram<'a>),
    Upper(Original<'a>),
}

/// Returns the frame's UDP payload, and what stands around it, if it starts with the carriers' magic.
///
/// # Errors
/// `bad-carrier-length` if the UDP length is not that of the IP payload; `bad-carrier` if there are
/// options or extension headers.
pub(super) fn found<'a>(
    datagram: &Datagram<'a>,
) -> Option<Result<(&'a [u8], OuterAddresses), Reason>> {
    let payload = payload(datagram)?;
    let stated = usize::from(u16_at(datagram.upper(), udp::LENGTH));
    if stated != udp::HEADER + payload.len() {
        return Some(Err(Reason::BadCarrierLength));
    }
    let outer = datagram.original();
    if !outer.headers.is_empty() {
        return Some(Err(Reason::BadCarrier));
    }
    let addresses = OuterAddresses {
        source: outer.source,
        destination: outer.destination,
    };
    Some(Ok((payload, addresses)))
}

impl<'a> InUdp<'a> {
    /// Reads a datagram that holds a packet.
    ///
    /// # Errors
    /// The first rule of `spec/carriers.md` that fails. `missing-fragment` for a fragment, and `cookie`
    /// for a cookie.
    pub fn read(
        payload: &'a [u8],
        outer: &OuterAddresses,
        frame: Option<Frame<'a>>,
    ) -> Result<(Self, Trailer<'a>), Reason> {
        // No UDP datagram is longer, so that the inner packet's lengths have room in its header.
        if payload.len() > usize::from(u16::MAX) {
            return Err(Reason::BadCarrierLength);
        }
        let (carrier, rest) = match parse(payload)?.rest {
            Rest::Packet { carrier, bytes } => (carrier, bytes),
            Rest::Fragment(_) => return Err(Reason::MissingFragment),
            Rest::Cookie { .. } => return Err(Reason::Cookie),
        };
        let (trailer, content) = packet::parse(carrier, rest)?;
        let content = match carrier {
            Carrier::UdpTransport => Inner::Upper(packet::transported(content, outer)?),
            Carrier::Trailer | Carrier::UdpTunnel => Inner::Whole(packet::tunnelled(content)?),
        };
        Ok((Self { content, frame }, trailer))
    }

    /// Returns the inner packet's parts.
    pub fn original(&self) -> Original<'a> {
        match self.content {
            Inner::Whole(datagram) => datagram.original(),
            Inner::Upper(original) => original,
        }
    }

    /// Appends the inner packet. Its lengths and checksums are computed: they are not signed.
    pub fn write_original(&self, out: &mut Vec<u8>) {
        let at = out.len();
        let (place, kind) = match self.content {
            Inner::Whole(datagram) => {
                out.extend_from_slice(datagram.frame);
                (datagram.place, datagram.kind(0))
            }
            Inner::Upper(original) => {
                write_header(&original, out);
                out.extend_from_slice(original.upper);
                (place(&original), original.kind())
            }
        };
        Saved::default().restore(&mut out[at..], &place, kind);
    }

    /// Writes the frame with another trailer's parts in the datagram.
    ///
    /// # Errors
    /// `too-big` if there is no room for it, or no frame is known.
    pub fn with(&self, trailer: &Trailer<'_>, out: &mut Vec<u8>) -> Result<(), Reason> {
        let mut payload = Vec::new();
        let content = match self.content {
            Inner::Whole(datagram) => Content::of(Carrier::UdpTunnel, &datagram),
            Inner::Upper(original) => Content::transported(&original),
        };
        packet::write(&mut payload, trailer, content);
        write_whole(&self.frame.ok_or(Reason::TooBig)?, &payload, out)
    }
}

/// Writes a frame of UDP with another payload; lengths and checksums follow. That of the last fragment
/// becomes the frame that the whole datagram would have come in.
///
/// # Errors
/// `too-big` if a length field has no room, `not-ip` and others if the frame does not hold UDP.
pub fn write_whole(frame: &Frame<'_>, payload: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
    let datagram = signable::locate(frame)?;
    if datagram.kind(0) != Upper::Udp {
        return Err(Reason::NotIp);
    }
    let Datagram { frame, mut place } = datagram;
    let begin = place.upper + udp::HEADER;
    let end = begin + payload.len();
    if end.saturating_sub(place.end) > place.room(frame) {
        return Err(Reason::TooBig);
    }
    out.clear();
    out.extend_from_slice(&frame[..begin]);
    out.extend_from_slice(payload);
    out.extend_from_slice(&frame[place.end..]);
    place.move_end(out, end);
    Saved::default().restore(out, &place, Upper::Udp);
    Ok(())
}

/// Lifetime of packets whose header was left out.
const HOPS: u8 = 64;

/// The flag that forbids routers to cut a packet.
const DO_NOT_FRAGMENT: u16 = 0x4000;

/// Appends the header of a packet that came without; its checksum is zero.
fn write_header(original: &Original<'_>, out: &mut Vec<u8>) {
    let upper = length_u16(original.upper.len());
    match (original.source, original.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let mut header = [0; ipv4::HEADER_MIN];
            header[ipv4::VERSION_LENGTH] = 0x45;
            put_u16(
                &mut header,
                ipv4::TOTAL_LENGTH,
                upper + ipv4::HEADER_MIN as u16,
            );
            put_u16(&mut header, ipv4::FRAGMENT, DO_NOT_FRAGMENT);
            header[ipv4::TTL] = HOPS;
            header[ipv4::PROTOCOL] = original.protocol;
            header[ipv4::SOURCE].copy_from_slice(&source.octets());
            header[ipv4::DESTINATION].copy_from_slice(&destination.octets());
            out.extend(header);
        }
        (source, destination) => {
            let mut header = [0; ipv6::HEADER];
            header[0] = 0x60;
            put_u16(&mut header, ipv6::PAYLOAD_LENGTH, upper);
            header[ipv6::NEXT_HEADER] = original.protocol;
            header[ipv6::HOP_LIMIT] = HOPS;
            header[ipv6::SOURCE].copy_from_slice(&octets(source));
            header[ipv6::DESTINATION].copy_from_slice(&octets(destination));
            out.extend(header);
        }
    }
}

fn octets(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

/// Where the parts of such a packet stand.
fn place(original: &Original<'_>) -> Place {
    let version = original.version();
    let (upper, destination) = match version {
        Version::V4 => (ipv4::HEADER_MIN, ipv4::DESTINATION.start),
        Version::V6 => (ipv6::HEADER, ipv6::DESTINATION.start),
    };
    Place {
        version,
        start: 0,
        upper,
        end: upper + original.upper.len(),
        protocol: original.protocol,
        destination,
        lengths: [None; 3],
    }
}
