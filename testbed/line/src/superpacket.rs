//! Super-packets: many packets that the kernel hands over as one, behind a header that says how to cut them.

use std::io;
use tun_rs::{VIRTIO_NET_HDR_GSO_UDP_L4, VIRTIO_NET_HDR_LEN, VirtioNetHdr, gso_split};

/// Linux' names for these, which the library keeps to itself.
const VIRTIO_NET_HDR_GSO_NONE: u8 = 0;
const VIRTIO_NET_HDR_F_NEEDS_CSUM: u8 = 1;

/// The header before each packet of a device with offloads.
pub const HEADER: usize = VIRTIO_NET_HDR_LEN;

/// A packet as a device with offloads gave it: header and bytes.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    header: VirtioNetHdr,
    /// Bytes of the headers that each of its packets has.
    headers: usize,
    /// How many packets it is.
    pub packets: usize,
    /// Bytes of IP packets on a wire.
    pub wire: usize,
}

impl Shape {
    /// Reads the header and, of a super-packet, where its payload begins.
    pub fn read(packet: &[u8]) -> io::Result<Self> {
        let (header, ip) = packet
            .split_at_checked(HEADER)
            .ok_or_else(|| bad("too short"))?;
        let mut header = VirtioNetHdr::decode(header)?;
        if header.gso_type == VIRTIO_NET_HDR_GSO_NONE {
            return Ok(Self {
                header,
                headers: 0,
                packets: 1,
                wire: ip.len(),
            });
        }
        let start = usize::from(header.csum_start);
        // The header's own length may cover the whole packet if it was forwarded.
        let transport = match header.gso_type {
            VIRTIO_NET_HDR_GSO_UDP_L4 => 8,
            _ => usize::from(*ip.get(start + 12).ok_or_else(|| bad("cut"))? >> 4) * 4,
        };
        let headers = start + transport;
        let payload = ip.len().checked_sub(headers).ok_or_else(|| bad("cut"))?;
        let size = usize::from(header.gso_size);
        if size == 0 || payload == 0 {
            return Err(bad("a super-packet without payload"));
        }
        header.hdr_len = u16::try_from(headers).map_err(|_| bad("long headers"))?;
        let packets = payload.div_ceil(size);
        Ok(Self {
            header,
            headers,
            packets,
            wire: payload + packets * headers,
        })
    }

    /// The single packets, each behind an empty header, with complete checksums.
    pub fn cut(&self, packet: &mut [u8]) -> io::Result<Vec<Vec<u8>>> {
        let ip = packet.get_mut(HEADER..).ok_or_else(|| bad("too short"))?;
        if self.header.gso_type == VIRTIO_NET_HDR_GSO_NONE {
            if self.header.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM != 0 {
                complete(ip, &self.header)?;
            }
            return Ok(vec![[&[0; HEADER], &*ip].concat()]);
        }
        let length = HEADER + self.headers + usize::from(self.header.gso_size);
        let mut single = vec![vec![0; length]; self.packets];
        let mut lengths = vec![0; self.packets];
        let is_v6 = ip.first().is_some_and(|first| first >> 4 == 6);
        let count = gso_split(ip, self.header, &mut single, &mut lengths, HEADER, is_v6)?;
        single.truncate(count);
        for (packet, length) in single.iter_mut().zip(lengths) {
            packet.truncate(HEADER + length);
        }
        Ok(single)
    }
}

/// Computes the checksum that the kernel left to the device. Its field has the sum of the pseudo-header.
fn complete(ip: &mut [u8], header: &VirtioNetHdr) -> io::Result<()> {
    let start = usize::from(header.csum_start);
    let field = start + usize::from(header.csum_offset);
    if field + 2 > ip.len() {
        return Err(bad("a checksum beyond the packet"));
    }
    let pairs = ip[start..].chunks(2);
    let pairs = pairs.map(|pair| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0)));
    let mut sum: u64 = pairs.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    // All bits set says the same, and is not "no checksum" in UDP.
    let checksum = match !(sum as u16) {
        0 => 0xffff,
        checksum => checksum,
    };
    ip[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
    Ok(())
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 and UDP super-packet of 2500 bytes in pieces of 1000.
    fn udp() -> Vec<u8> {
        let mut packet = vec![0; HEADER];
        let header = VirtioNetHdr {
            flags: VIRTIO_NET_HDR_F_NEEDS_CSUM,
            gso_type: VIRTIO_NET_HDR_GSO_UDP_L4,
            hdr_len: 28,
            gso_size: 1000,
            csum_start: 20,
            csum_offset: 6,
        };
        header.encode(&mut packet).unwrap();
        packet.extend([0x45, 0, 9, 0xe0, 0, 1, 0, 0, 64, 17, 0, 0]);
        packet.extend([198, 18, 0, 1, 198, 18, 0, 2]);
        packet.extend([0x13, 0x2d, 0x13, 0x2d, 9, 0xcc, 0, 0]);
        packet.extend((0..2500).map(|n| n as u8));
        packet
    }

    #[test]
    fn a_super_packet_is_cut_into_its_packets() {
        let mut packet = udp();
        let shape = Shape::read(&packet).unwrap();
        assert_eq!((shape.packets, shape.wire), (3, 2500 + 3 * 28));
        let single = shape.cut(&mut packet).unwrap();
        let lengths: Vec<_> = single.iter().map(|packet| packet.len() - HEADER).collect();
        assert_eq!(lengths, [1028, 1028, 528]);
        assert!(single.iter().all(|packet| packet[..HEADER] == [0; HEADER]));
        let payload: Vec<u8> = single
            .iter()
            .flat_map(|p| p[HEADER + 28..].to_vec())
            .collect();
        assert_eq!(payload, packet[HEADER + 28..]);
        assert_eq!(single[2][HEADER + 24..HEADER + 26], 508u16.to_be_bytes());
    }

    #[test]
    fn cut_short_it_is_refused() {
        let packet = udp();
        for length in [0, 5, HEADER + 20, HEADER + 28] {
            assert!(Shape::read(&packet[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn a_checksum_is_completed() {
        let mut packet = udp();
        packet.truncate(HEADER + 28);
        packet.extend([1, 2, 3]);
        packet[1] = VIRTIO_NET_HDR_GSO_NONE;
        // Pseudo-header: addresses, protocol 17, length 11.
        packet[HEADER + 24..HEADER + 28].copy_from_slice(&[0, 11, 0x8d, 0x45]);
        let shape = Shape::read(&packet).unwrap();
        let single = shape.cut(&mut packet).unwrap();
        let mut sum: u32 = 0x8d45;
        let udp = [&single[0][HEADER + 20..], &[0]].concat();
        for pair in udp.chunks(2) {
            sum += u32::from(u16::from_be_bytes([pair[0], pair[1]]));
        }
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
    }
}
