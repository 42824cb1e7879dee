//! UDP datagrams whose payload somebody else signs: flow signatures stand in it.

use alloc::vec::Vec;

use crate::{
    net::datagram::{Datagram, Place},
    net::flow::{Flow, flow_of},
    net::frame::Frame,
    net::upper::{Upper, udp},
    wire::bytes::{put_u16, u16_at},
    wire::signable,
};

/// A frame whose outermost IP datagram is whole, no fragment, and holds one UDP datagram.
#[derive(Clone, Copy, Debug)]
pub struct Udp<'a> {
    datagram: Datagram<'a>,
}

impl<'a> Udp<'a> {
    /// Finds it; none if the frame holds no such datagram, or its UDP length is not that of the IP
    /// payload.
    pub fn of(frame: &Frame<'a>) -> Option<Self> {
        let datagram = signable::locate(frame).ok()?;
        let place = &datagram.place;
        let stated = place.udp_length_at(datagram.kind(0))?;
        let plain = u16_at(frame.bytes, stated) == place.upper_length();
        plain.then_some(Self { datagram })
    }

    /// Addresses and ports.
    pub fn flow(&self) -> Flow {
        flow_of(&self.datagram).key()
    }

    /// Returns the payload, which the application sent.
    pub fn payload(&self) -> &'a [u8] {
        &self.datagram.upper()[udp::HEADER..]
    }

    /// Writes the frame with another payload to `out`, and true; lengths follow. False, and `out`
    /// empty, if a length field has no room.
    ///
    /// A checksum that was correct stays so, one that was not stays wrong in the same bits, and none
    /// (0) stays none: the way back is exact. So false too where a wrong one would become none.
    pub fn with_payload(&self, payload: &[u8], out: &mut Vec<u8>) -> bool {
        out.clear();
        let Datagram { frame, mut place } = self.datagram;
        let before = place;
        let begin = place.upper + udp::HEADER;
        let end = begin + payload.len();
        if end.saturating_sub(place.end) > self.datagram.room() {
            return false;
        }
        out.extend_from_slice(&frame[..begin]);
        out.extend_from_slice(payload);
        out.extend_from_slice(&frame[place.end..]);
        place.move_end(out, end);
        put_u16(out, place.upper + udp::LENGTH, place.upper_length());
        let kept = keep_checksums(frame, &before, out, &place);
        if !kept {
            out.clear();
        }
        kept
    }
}

/// Moves both checksums by the difference of the computed ones.
fn keep_checksums(old: &[u8], before: &Place, new: &mut [u8], after: &Place) -> bool {
    if let (Some(at), Some(was), Some(is)) = (
        before.ipv4_checksum_at(),
        before.ipv4_checksum(old),
        after.ipv4_checksum(new),
    ) {
        put_u16(new, at, u16_at(old, at) ^ was ^ is);
    }
    let at = before.upper + udp::CHECKSUM;
    let stated = u16_at(old, at);
    if stated == 0 {
        return true;
    }
    let computed = |place: &Place, frame| place.l4_checksum(frame, Upper::Udp).unwrap_or(0);
    let moved = stated ^ computed(before, old) ^ computed(after, new);
    put_u16(new, at, moved);
    moved != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::link::LinkType;
    use alloc::vec;

    /// An IPv4 frame without link layer around a UDP datagram.
    fn frame(payload: &[u8], udp_checksum: Option<u16>) -> Vec<u8> {
        let length = 28 + payload.len() as u16;
        let mut bytes = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0];
        bytes.extend([10, 0, 0, 1, 10, 0, 0, 2, 0x13, 0x88, 0x13, 0x89, 0, 0, 0, 0]);
        bytes.extend(payload);
        put_u16(&mut bytes, 2, length);
        put_u16(&mut bytes, 24, length - 20);
        let place = signable::locate(&Frame::whole(LinkType::RAW, &bytes))
            .map(|d| d.place)
            .unwrap();
        let header = place.ipv4_checksum(&bytes).unwrap();
        put_u16(&mut bytes, 10, header);
        let computed = place.l4_checksum(&bytes, Upper::Udp).unwrap();
        put_u16(&mut bytes, 26, udp_checksum.unwrap_or(computed));
        bytes
    }

    fn with(bytes: &[u8], payload: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let udp = Udp::of(&Frame::whole(LinkType::RAW, bytes)).unwrap();
        udp.with_payload(payload, &mut out).then_some(out)
    }

    #[test]
    fn another_payload_and_back_is_exact() {
        for checksum in [None, Some(0), Some(0x1234), Some(0xffff)] {
            let original = frame(b"odd", checksum);
            let longer = with(&original, b"odd and more").unwrap();
            let udp = Udp::of(&Frame::whole(LinkType::RAW, &longer)).unwrap();
            assert_eq!(udp.payload(), b"odd and more");
            assert_eq!(udp.flow().destination_port, Some(5001));
            if checksum.is_none() {
                assert_eq!(
                    longer,
                    frame(b"odd and more", None),
                    "correct stays correct"
                );
            }
            assert_eq!(with(&longer, b"odd").unwrap(), original);
        }
    }

    #[test]
    fn what_is_no_plain_datagram() {
        let good = frame(b"payload", None);
        for (at, value) in [(9, 6), (25, 14), (6, 0x20)] {
            let mut bad = good.clone();
            bad[at] = value;
            assert!(
                Udp::of(&Frame::whole(LinkType::RAW, &bad)).is_none(),
                "{at}"
            );
        }
        assert!(with(&good, &vec![0; 65_536 - 28]).is_none(), "no room");
    }
}
