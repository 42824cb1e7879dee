//! Cuts a super-packet into the packets that a wire has.
//!
//! The kernel carries many TCP segments, or many UDP datagrams, as one frame: it cuts late when it
//! sends (GSO, TSO), and joins early when it receives (GRO). Every packet but the last has `gso_size`
//! bytes of payload. Headers are those of the first, and change as the kernel changes them: lengths,
//! IPv4 identification, sequence number, flags, checksums.

use super::ETHERNET;
use super::frames::{NotOnWire, Virtio, checksum};
use clew_packet::protocol::{TCP, UDP};
use std::ops::Range;

/// Most packets of one frame: a TCP super-packet of the smallest segments that Linux sends.
pub const PIECES_MAX: usize = 2_048;

/// Kinds of super-packets in a virtio header.
mod kind {
    pub const TCP_V4: u8 = 1;
    pub const TCP_V6: u8 = 4;
    pub const UDP: u8 = 5;
    /// Flag: the segments carry ECN.
    pub const ECN: u8 = 0x80;
}

const ETHERTYPE_AT: usize = 12;
const ETHERTYPE_V4: u16 = 0x0800;
const ETHERTYPE_V6: u16 = 0x86dd;
const ETHERTYPES_VLAN: [u16; 2] = [0x8100, 0x88a8];
const TAGS_MAX: usize = 8;

/// Extension headers of IPv6 that leave the checksum alone: hop-by-hop and destination options.
const OPTIONS: [u8; 2] = [0, 60];
const OPTIONS_MAX: usize = 8;

const TCP_FIN_PSH: u8 = 0x09;
const TCP_CWR: u8 = 0x80;

/// Where the headers of a super-packet stand.
struct Layout {
    ip: usize,
    is_v6: bool,
    protocol: u8,
    upper: usize,
    payload: usize,
}

/// Calls `each` with the packets of a super-packet, in order.
///
/// # Errors
/// [`NotOnWire::Joined`] if it is of a kind that cannot be cut here: in a tunnel, with a routing header,
/// or of more than [`PIECES_MAX`] packets. Nothing was handed over then.
pub fn split(
    frame: &[u8],
    virtio: &Virtio,
    link: u16,
    mut each: impl FnMut(&mut Vec<u8>),
) -> Result<(), NotOnWire> {
    let layout = locate(frame, virtio, link).ok_or(NotOnWire::Joined)?;
    let (headers, payload) = frame.split_at(layout.payload);
    let pieces = payload.len().div_ceil(virtio.size.max(1));
    if virtio.size == 0 || pieces == 0 || pieces > PIECES_MAX {
        return Err(NotOnWire::Joined);
    }
    let mut out = Vec::with_capacity(headers.len() + virtio.size.min(payload.len()));
    for (number, piece) in payload.chunks(virtio.size).enumerate() {
        out.clear();
        out.extend_from_slice(headers);
        out.extend_from_slice(piece);
        let place = Place {
            number,
            offset: number * virtio.size,
            is_last: number + 1 == pieces,
        };
        layout.adjust(&mut out, &place);
        each(&mut out);
    }
    Ok(())
}

/// Which of the packets one is.
struct Place {
    number: usize,
    /// Bytes of payload before it.
    offset: usize,
    is_last: bool,
}

impl Layout {
    fn adjust(&self, packet: &mut [u8], place: &Place) {
        let length = packet.len();
        match self.is_v6 {
            true => put(packet, self.ip + 4, length - self.ip - 40),
            false => {
                put(packet, self.ip + 2, length - self.ip);
                let id = word(packet, self.ip + 4).unwrap_or_default();
                put(packet, self.ip + 4, usize::from(id) + place.number);
                let header = self.ip..self.ip + header_bytes(packet[self.ip]);
                put(packet, self.ip + 10, 0);
                let sum = checksum(&[&packet[header]]);
                put(packet, self.ip + 10, sum.into());
            }
        }
        if self.protocol == UDP {
            put(packet, self.upper + 4, length - self.upper);
        } else {
            self.adjust_tcp(packet, place);
        }
        self.sum(packet);
    }

    fn adjust_tcp(&self, packet: &mut [u8], place: &Place) {
        let sequence = [word(packet, self.upper + 4), word(packet, self.upper + 6)];
        let [high, low] = sequence.map(|word| u32::from(word.unwrap_or_default()));
        let sequence = (high << 16 | low).wrapping_add(place.offset as u32);
        put(packet, self.upper + 4, (sequence >> 16) as usize);
        put(packet, self.upper + 6, (sequence & 0xffff) as usize);
        let flags = &mut packet[self.upper + 13];
        if !place.is_last {
            *flags &= !TCP_FIN_PSH;
        }
        if place.number > 0 {
            *flags &= !TCP_CWR;
        }
    }

    /// Fills in the checksum of TCP or UDP.
    fn sum(&self, packet: &mut [u8]) {
        let at = self.upper + if self.protocol == UDP { 6 } else { 16 };
        put(packet, at, 0);
        let upper = &packet[self.upper..];
        let length = (upper.len() as u32).to_be_bytes();
        let pseudo = [0, self.protocol];
        let sum = checksum(&[&packet[self.addresses()], &length, &pseudo, upper]);
        let sum = match (sum, self.protocol) {
            (0, UDP) => 0xffff, // 0 says that there is none
            (sum, _) => sum,
        };
        put(packet, at, sum.into());
    }

    const fn addresses(&self) -> Range<usize> {
        match self.is_v6 {
            true => self.ip + 8..self.ip + 40,
            false => self.ip + 12..self.ip + 20,
        }
    }
}

/// Finds the headers, if they are what the virtio header says.
fn locate(frame: &[u8], virtio: &Virtio, link: u16) -> Option<Layout> {
    let (ip, is_v6) = ip_header(frame, link)?;
    let (protocol, upper) = match is_v6 {
        true => upper_of_v6(frame, ip)?,
        false => upper_of_v4(frame, ip)?,
    };
    let is_meant = match virtio.segmentation & !kind::ECN {
        kind::TCP_V4 => protocol == TCP && !is_v6,
        kind::TCP_V6 => protocol == TCP && is_v6,
        kind::UDP => protocol == UDP,
        _ => false,
    };
    // In a tunnel the checksum is that of an inner header.
    let is_outermost = virtio.checksum_at().is_none_or(|(start, _)| start == upper);
    let header = match protocol {
        UDP => 8,
        _ => usize::from(*frame.get(upper + 12)? >> 4) * 4,
    };
    let payload = upper + header;
    let is_long_enough = header >= if protocol == UDP { 8 } else { 20 };
    let is_sound = is_meant && is_outermost && is_long_enough && payload <= frame.len();
    is_sound.then_some(Layout {
        ip,
        is_v6,
        protocol,
        upper,
        payload,
    })
}

/// Where the IP header begins, and whether it is one of IPv6.
fn ip_header(frame: &[u8], link: u16) -> Option<(usize, bool)> {
    let (ip, is_v6) = match link {
        ETHERNET => behind_tags(frame)?,
        _ => (0, frame.first()? >> 4 == 6),
    };
    let version = if is_v6 { 6 } else { 4 };
    (frame.get(ip)? >> 4 == version).then_some((ip, is_v6))
}

fn behind_tags(frame: &[u8]) -> Option<(usize, bool)> {
    let mut places = (0..=TAGS_MAX).map(|tag| ETHERTYPE_AT + 4 * tag);
    let is_tag = |at: &usize| word(frame, *at).is_some_and(|t| ETHERTYPES_VLAN.contains(&t));
    let at = places.find(|at| !is_tag(at))?;
    match word(frame, at)? {
        ETHERTYPE_V4 => Some((at + 2, false)),
        ETHERTYPE_V6 => Some((at + 2, true)),
        _ => None,
    }
}

/// The upper layer, and where it begins. None if the stated length is not that of the frame.
fn upper_of_v4(frame: &[u8], ip: usize) -> Option<(u8, usize)> {
    let header = header_bytes(*frame.get(ip)?);
    let is_whole = usize::from(word(frame, ip + 2)?) == frame.len() - ip;
    let is_fragment = word(frame, ip + 6)? & 0x3fff != 0;
    let protocol = *frame.get(ip + 9)?;
    let is_sound = header >= 20 && ip + header <= frame.len() && is_whole && !is_fragment;
    is_sound.then_some((protocol, ip + header))
}

fn upper_of_v6(frame: &[u8], ip: usize) -> Option<(u8, usize)> {
    let stated = usize::from(word(frame, ip + 4)?);
    let (mut next, mut at) = (*frame.get(ip + 6)?, ip + 40);
    if stated + at != frame.len() {
        return None;
    }
    for _ in 0..OPTIONS_MAX {
        if !OPTIONS.contains(&next) {
            break;
        }
        next = *frame.get(at)?;
        at += (usize::from(*frame.get(at + 1)?) + 1) * 8;
    }
    Some((next, at))
}

const fn header_bytes(first: u8) -> usize {
    (first & 0x0f) as usize * 4
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    let word = bytes.get(at..)?.first_chunk::<2>()?;
    Some(u16::from_be_bytes(*word))
}

/// Writes the lower 16 bits of a number.
fn put(bytes: &mut [u8], at: usize, number: usize) {
    if let Some(field) = bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<2>) {
        *field = (number as u16).to_be_bytes();
    }
}

#[cfg(test)]
#[path = "split_tests.rs"]
mod tests;
