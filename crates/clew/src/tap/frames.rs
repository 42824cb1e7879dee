//! From what a packet socket hands over to the frame as it was on the wire.

use super::sys::{Datagram, VIRTIO_HEADER};

/// Flag of the virtio header: the checksum is left to the card.
const NEEDS_CHECKSUM: u8 = 1;

/// Where the tag of a VLAN stands in an Ethernet frame: behind both addresses.
const TAG_AT: usize = 12;

/// Why a frame cannot be judged: it is not one packet of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotOnWire {
    /// Several packets that the kernel or the card joined, or has not cut yet (GRO, GSO, TSO).
    Joined,
    /// The kernel's header is incomplete, or says what cannot be.
    Malformed,
}

/// Writes the frame as it was on the wire to `out`: with its VLAN tag, and with the checksum that
/// the card of the sender fills in.
///
/// # Errors
/// [`NotOnWire`].
pub fn on_wire(datagram: &Datagram<'_>, out: &mut Vec<u8>) -> Result<(), NotOnWire> {
    let Some((header, frame)) = datagram.bytes.split_first_chunk::<VIRTIO_HEADER>() else {
        return Err(NotOnWire::Malformed);
    };
    let word = |at: usize| usize::from(u16::from_ne_bytes([header[at], header[at + 1]]));
    let (flags, segmentation) = (header[0], header[1]);
    if segmentation != 0 || datagram.length > datagram.bytes.len() {
        return Err(NotOnWire::Joined);
    }
    out.clear();
    out.extend_from_slice(frame);
    if flags & NEEDS_CHECKSUM != 0 {
        complete(out, word(6), word(8)).ok_or(NotOnWire::Malformed)?;
    }
    if let Some([kind, value]) = datagram.tag {
        if out.len() < TAG_AT {
            return Err(NotOnWire::Malformed);
        }
        let tag = [kind.to_be_bytes(), value.to_be_bytes()].concat();
        out.splice(TAG_AT..TAG_AT, tag);
    }
    Ok(())
}

/// Fills in the Internet checksum of all from `start` on. Its field has the sum of the pseudo header.
fn complete(frame: &mut [u8], start: usize, offset: usize) -> Option<()> {
    let covered = frame.get_mut(start..)?;
    let (pairs, last) = covered.as_chunks::<2>();
    let words = pairs
        .iter()
        .map(|pair| u64::from(u16::from_be_bytes(*pair)));
    let odd = last.first().map_or(0, |byte| u64::from(*byte) << 8);
    let mut sum = words.sum::<u64>() + odd;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    let checksum = match !(sum as u16) {
        0 => 0xffff, // 0 says that there is none in UDP, and is the same number in TCP
        other => other,
    };
    let field = covered.get_mut(offset..)?.first_chunk_mut::<2>()?;
    *field = checksum.to_be_bytes();
    Some(())
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
        let mut out = b"rest of the last one".to_vec();
        let datagram = Datagram {
            bytes,
            length: bytes.len(),
            interface: 1,
            direction: 0,
            time_ns: None,
            tag,
        };
        on_wire(&datagram, &mut out).map(|()| out)
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
