//! From what a packet socket hands over to the frame as it was on the wire.

use super::split::split;
use super::sys::{Datagram, VIRTIO_HEADER};

/// Flag of the virtio header: the checksum is left to the card.
const NEEDS_CHECKSUM: u8 = 1;

/// Where the tag of a VLAN stands in an Ethernet frame: behind both addresses.
const TAG_AT: usize = 12;

/// Why a frame cannot be judged: it is not one packet of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotOnWire {
    /// Several packets that the kernel or the card joined, or has not cut yet (GRO, GSO, TSO), of a kind
    /// that cannot be cut here.
    Joined,
    /// The kernel's header is incomplete, or says what cannot be.
    Malformed,
}

/// The kernel's description of a frame.
#[derive(Clone, Copy, Debug, Default)]
pub struct Virtio {
    flags: u8,
    /// Whether the frame is a super-packet, and of which kind.
    pub segmentation: u8,
    /// Bytes of payload of each of its packets.
    pub size: usize,
    start: usize,
    offset: usize,
}

impl Virtio {
    fn read(header: &[u8; VIRTIO_HEADER]) -> Self {
        let word = |at: usize| usize::from(u16::from_ne_bytes([header[at], header[at + 1]]));
        Self {
            flags: header[0],
            segmentation: header[1],
            size: word(4),
            start: word(6),
            offset: word(8),
        }
    }

    /// Where the checksum starts to count, and where its field is from there, if it is missing.
    pub fn checksum_at(&self) -> Option<(usize, usize)> {
        (self.flags & NEEDS_CHECKSUM != 0).then_some((self.start, self.offset))
    }
}

/// Calls `each` with the frames as they were on the wire: with their VLAN tag, with the checksum that
/// the card of the sender fills in, and a super-packet cut into its packets. `link` is the
/// `LINKTYPE_` number, `room` is used again and again. Returns whether it was a super-packet.
///
/// # Errors
/// [`NotOnWire`]. Nothing was handed over then.
pub fn on_wire(
    datagram: &Datagram<'_>,
    link: u16,
    room: &mut Vec<u8>,
    mut each: impl FnMut(&[u8]),
) -> Result<bool, NotOnWire> {
    let Some((header, frame)) = datagram.bytes.split_first_chunk::<VIRTIO_HEADER>() else {
        return Err(NotOnWire::Malformed);
    };
    let virtio = Virtio::read(header);
    if datagram.length > datagram.bytes.len() {
        return Err(NotOnWire::Joined);
    }
    if datagram.tag.is_some() && frame.len() < TAG_AT {
        return Err(NotOnWire::Malformed);
    }
    let tag = datagram
        .tag
        .map(|[kind, value]| [kind.to_be_bytes(), value.to_be_bytes()].concat());
    let mut tagged = |frame: &mut Vec<u8>| {
        if let Some(tag) = &tag {
            frame.splice(TAG_AT..TAG_AT, tag.iter().copied());
        }
        each(frame);
    };
    if virtio.segmentation != 0 {
        return split(frame, &virtio, link, tagged).map(|()| true);
    }
    room.clear();
    room.extend_from_slice(frame);
    if let Some((start, offset)) = virtio.checksum_at() {
        complete(room, start, offset).ok_or(NotOnWire::Malformed)?;
    }
    tagged(room);
    Ok(false)
}

/// Fills in the Internet checksum of all from `start` on. Its field has the sum of the pseudo header.
fn complete(frame: &mut [u8], start: usize, offset: usize) -> Option<()> {
    let covered = frame.get_mut(start..)?;
    let checksum = match checksum(&[covered]) {
        0 => 0xffff, // 0 says that there is none in UDP, and is the same number in TCP
        other => other,
    };
    let field = covered.get_mut(offset..)?.first_chunk_mut::<2>()?;
    *field = checksum.to_be_bytes();
    Some(())
}

/// The Internet checksum of all parts (RFC 1071). Only the last part may be of odd length.
pub fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = parts.iter().copied().map(words).sum::<u64>();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn words(bytes: &[u8]) -> u64 {
    let (pairs, last) = bytes.as_chunks::<2>();
    let words = pairs
        .iter()
        .map(|pair| u64::from(u16::from_be_bytes(*pair)));
    words.sum::<u64>() + last.first().map_or(0, |byte| u64::from(*byte) << 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn virtio(flags: u8, segmentation: u8, start: u16, offset: u16) -> Vec<u8> {
        let mut header = vec![flags, segmentation, 0, 0, 0, 0];
        header.extend(start.to_ne_bytes());
        header.extend(offset.to_ne_bytes());
        header
    }

    fn converted(bytes: &[u8], tag: Option<[u16; 2]>) -> Result<Vec<u8>, NotOnWire> {
        let mut out = Vec::new();
        let datagram = Datagram {
            bytes,
            length: bytes.len(),
            interface: 1,
            direction: 0,
            time_ns: None,
            tag,
        };
        let (mut room, mut count) = (b"rest of the last one".to_vec(), 0);
        let each = |frame: &[u8]| {
            out = frame.to_vec();
            count += 1;
        };
        on_wire(&datagram, 1, &mut room, each)?;
        assert_eq!(count, 1);
        Ok(out)
    }

    #[test]
    fn a_plain_frame_stays_as_it_is() {
        let bytes = [virtio(0, 0, 0, 0), b"frame".to_vec()].concat();
        assert_eq!(converted(&bytes, None).unwrap(), b"frame");
    }

    #[test]
    fn a_tag_that_the_card_took_is_put_back() {
        let frame = (0..20).collect::<Vec<u8>>();
        let bytes = [virtio(0, 0, 0, 0), frame.clone()].concat();
        let tagged = converted(&bytes, Some([0x88a8, 0x0fff])).unwrap();
        let expected = [&frame[..12], &[0x88, 0xa8, 0x0f, 0xff], &frame[12..]].concat();
        assert_eq!(tagged, expected);
        let short = [virtio(0, 0, 0, 0), vec![0; 11]].concat();
        assert_eq!(converted(&short, Some([1, 2])), Err(NotOnWire::Malformed));
    }

    /// UDP from 127.0.0.1 to 127.0.0.1, ports 1 and 2, of 1 byte: the sum was computed by hand.
    #[test]
    fn the_checksum_is_filled_in() {
        let udp = |checksum: u16| {
            let [high, low] = checksum.to_be_bytes();
            vec![0, 1, 0, 2, 0, 9, high, low, 7]
        };
        // 7f00 + 0001 twice, protocol 17, length 9.
        let pseudo = 0x7f00_u16 + 1 + 0x7f00 + 1 + 17 + 9;
        let bytes = [virtio(1, 0, 3, 6), vec![9; 3], udp(pseudo)].concat();
        let sum = u32::from(pseudo) + 1 + 2 + 9 + 0x0700;
        let folded = (sum & 0xffff) + (sum >> 16);
        let expected = [vec![9; 3], udp(!(folded as u16))].concat();
        assert_eq!(converted(&bytes, None).unwrap(), expected);
    }

    #[test]
    fn what_was_never_on_the_wire_is_refused() {
        let joined = [virtio(0, 1, 0, 0), vec![0; 60]].concat();
        assert_eq!(converted(&joined, None), Err(NotOnWire::Joined));
        let outside = [virtio(1, 0, 60, 6), vec![0; 60]].concat();
        assert_eq!(converted(&outside, None), Err(NotOnWire::Malformed));
        let beyond = [virtio(1, 0, 61, 0), vec![0; 60]].concat();
        assert_eq!(converted(&beyond, None), Err(NotOnWire::Malformed));
        assert_eq!(converted(&[0; 9], None), Err(NotOnWire::Malformed));
    }
}
