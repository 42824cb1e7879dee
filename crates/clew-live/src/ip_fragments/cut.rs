//! From a packet to IP fragments that fit an interface.

use super::{UNIT, links, put_checksum, put_u16, u16_at, v4, v6};

/// Cuts packets that are longer than an interface takes.
///
/// They were put together by the peer, or the peer's interface takes longer ones. An IPv4 packet that
/// must not be cut stays whole: whoever forwards it tells its sender so.
#[derive(Clone, Debug)]
pub struct Fragmenter {
    /// Of the next IPv6 packet. That of an IPv4 packet stays.
    id: u32,
}

impl Fragmenter {
    /// Returns one whose first IPv6 packet gets this identification: a random number.
    pub const fn new(id: u32) -> Self {
        Self { id }
    }

    /// Appends the fragments of a packet, each of at most `mtu` bytes, in order. Returns whether it did:
    /// not if the packet is short enough, must not be cut, or is no IP packet.
    pub fn cut(&mut self, packet: &[u8], mtu: usize, out: &mut Vec<Vec<u8>>) -> bool {
        if packet.len() <= mtu {
            return false;
        }
        let cut = match packet.first().map(|first| first >> 4) {
            Some(4) => cut_v4(packet, mtu, out),
            Some(6) => cut_v6(packet, mtu, self.id, out),
            _ => None,
        };
        if cut.is_some() {
            self.id = self.id.wrapping_add(1);
        }
        cut.is_some()
    }
}

fn cut_v4(packet: &[u8], mtu: usize, out: &mut Vec<Vec<u8>>) -> Option<()> {
    let length = usize::from(packet.first()? & 0x0f) * 4;
    let (header, payload) = packet.split_at_checked(length)?;
    let flags = u16_at(header, v4::FLAGS)?;
    // A header that is too short has no addresses.
    let may_cut = header.len() >= v4::HEADER_MIN && flags & v4::DONT_FRAGMENT == 0;
    let each = each(mtu, length).filter(|_| may_cut)?;
    for (place, part) in payload.chunks(each).enumerate() {
        let is_last = (place + 1) * each >= payload.len();
        let offset = usize::from(flags & v4::OFFSET) + place * each / UNIT;
        let more = if is_last { flags & v4::MORE } else { v4::MORE };
        let mut fragment = [header, part].concat();
        put_u16(&mut fragment, v4::LENGTH, length + part.len());
        put_u16(&mut fragment, v4::FLAGS, offset | usize::from(more));
        put_checksum(&mut fragment[..length]);
        out.push(fragment);
    }
    Some(())
}

/// The fragment header goes behind the headers that routers on the way read.
fn cut_v6(packet: &[u8], mtu: usize, id: u32, out: &mut Vec<Vec<u8>>) -> Option<()> {
    let chain: Vec<_> = links(packet).collect();
    let is_read = |kind| [v6::HOP_BY_HOP, v6::ROUTING].contains(&kind);
    let behind = chain.iter().rposition(|link| is_read(link.kind));
    let link = chain.get(behind.map_or(0, |place| place + 1))?;
    let (headers, payload) = packet.split_at_checked(link.at)?;
    let each = each(mtu, headers.len() + v6::FRAGMENT_BYTES)?;
    for (place, part) in payload.chunks(each).enumerate() {
        let more = u16::from((place + 1) * each < payload.len()) * v6::MORE;
        let offset = place * each | usize::from(more);
        let mut fragment = headers.to_vec();
        fragment[link.named_at] = v6::FRAGMENT;
        fragment.extend([link.kind, 0, 0, 0]);
        put_u16(&mut fragment, link.at + 2..link.at + 4, offset);
        fragment.extend(id.to_be_bytes());
        fragment.extend_from_slice(part);
        let length = fragment.len() - v6::HEADER;
        put_u16(&mut fragment, v6::LENGTH, length);
        out.push(fragment);
    }
    Some(())
}

/// Returns how many bytes of payload each fragment but the last has.
fn each(mtu: usize, headers: usize) -> Option<usize> {
    let each = mtu.checked_sub(headers)? / UNIT * UNIT;
    (each > 0).then_some(each)
}
