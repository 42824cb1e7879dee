//! The largest TCP segment that two hosts announce to each other in SYN packets: lowered, so that a
//! segment with its signature needs no fragment.

use clew_packet::protocol;
use std::ops::Range;

/// Offsets and values of IP headers.
mod ip {
    use std::ops::Range;

    pub(super) const V4_HEADER_MIN: usize = 20;
    pub(super) const V4_FRAGMENT: Range<usize> = 6..8;
    pub(super) const V4_PROTOCOL: usize = 9;
    pub(super) const V6_HEADER: usize = 40;
    pub(super) const V6_NEXT: usize = 6;
    /// Hop-by-hop, routing, destination options.
    pub(super) const EXTENSIONS: [u8; 3] = [0, 43, 60];
    pub(super) const EXTENSIONS_MAX: usize = 8;
}

/// Offsets and values of TCP headers.
mod tcp {
    use std::ops::Range;

    pub(super) const HEADER_MIN: usize = 20;
    pub(super) const OFFSET: usize = 12;
    pub(super) const FLAGS: usize = 13;
    pub(super) const SYN: u8 = 0x02;
    pub(super) const CHECKSUM: Range<usize> = 16..18;
    pub(super) const END_OF_LIST: u8 = 0;
    pub(super) const NO_OPERATION: u8 = 1;
    pub(super) const MSS: u8 = 2;
    pub(super) const MSS_BYTES: u8 = 4;
}

/// Lowers the MSS option of a TCP SYN to `mss`, and brings the checksum along. Returns whether it
/// did; a packet that is not a SYN, or announces less, stays as it is.
pub(crate) fn clamp(packet: &mut [u8], mss: u16) -> bool {
    let Some(at) = tcp_at(packet) else {
        return false;
    };
    let tcp = &mut packet[at..];
    let Some(value) = mss_at(tcp) else {
        return false;
    };
    let announced = u16_at(tcp, value.start);
    if announced <= mss {
        return false;
    }
    tcp[value.clone()].copy_from_slice(&mss.to_be_bytes());
    // A value at an odd offset counts with its bytes swapped.
    let (old, new) = match value.start % 2 {
        0 => (announced, mss),
        _ => (announced.swap_bytes(), mss.swap_bytes()),
    };
    let checksum = updated(u16_at(tcp, tcp::CHECKSUM.start), old, new);
    tcp[tcp::CHECKSUM].copy_from_slice(&checksum.to_be_bytes());
    true
}

/// Returns the largest segment for a packet's version, of one over IPv4.
pub(crate) fn of_version(v4: u16, packet: &[u8]) -> u16 {
    let is_ipv6 = packet.first().is_some_and(|first| first >> 4 == 6);
    v4 - if is_ipv6 {
        (ip::V6_HEADER - ip::V4_HEADER_MIN) as u16
    } else {
        0
    }
}

/// Returns the offset of a whole TCP header.
pub(crate) fn tcp_at(packet: &[u8]) -> Option<usize> {
    let at = match packet.first()? >> 4 {
        4 => v4_tcp_at(packet)?,
        6 => v6_tcp_at(packet)?,
        _ => return None,
    };
    (packet.len() >= at + tcp::HEADER_MIN).then_some(at)
}

fn v4_tcp_at(packet: &[u8]) -> Option<usize> {
    let header = usize::from(packet[0] & 0x0f) * 4;
    let is_whole = packet.len() >= header && header >= ip::V4_HEADER_MIN;
    let is_fragment = |packet: &[u8]| u16_at(packet, ip::V4_FRAGMENT.start) & 0x3fff != 0;
    let is_tcp = is_whole && !is_fragment(packet) && packet[ip::V4_PROTOCOL] == protocol::TCP;
    is_tcp.then_some(header)
}

fn v6_tcp_at(packet: &[u8]) -> Option<usize> {
    let mut next = *packet.get(ip::V6_NEXT)?;
    let mut at = ip::V6_HEADER;
    for _ in 0..=ip::EXTENSIONS_MAX {
        if !ip::EXTENSIONS.contains(&next) {
            return (next == protocol::TCP).then_some(at);
        }
        next = *packet.get(at)?;
        at += (usize::from(*packet.get(at + 1)?) + 1) * 8;
    }
    None
}

/// Returns the place of the MSS option's value in a SYN's header.
fn mss_at(tcp: &[u8]) -> Option<Range<usize>> {
    let header = usize::from(tcp[tcp::OFFSET] >> 4) * 4;
    if tcp[tcp::FLAGS] & tcp::SYN == 0 || header > tcp.len() {
        return None;
    }
    let mut at = tcp::HEADER_MIN;
    while at < header {
        at += match tcp[at] {
            tcp::END_OF_LIST => return None,
            tcp::NO_OPERATION => 1,
            kind => {
                let length = *tcp.get(at + 1)?;
                let end = at + usize::from(length);
                if length < 2 || end > header {
                    return None;
                }
                if kind == tcp::MSS && length == tcp::MSS_BYTES {
                    return Some(at + 2..end);
                }
                usize::from(length)
            }
        };
    }
    None
}

/// RFC 1624, equation 3.
pub(crate) fn updated(checksum: u16, old: u16, new: u16) -> u16 {
    let sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    let sum = (sum & 0xffff) + (sum >> 16);
    !(((sum & 0xffff) + (sum >> 16)) as u16)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1071, over a pseudo-header of zeros: only differences count here.
    fn sum(bytes: &[u8]) -> u16 {
        let words = bytes
            .chunks(2)
            .map(|w| u32::from(w[0]) << 8 | u32::from(*w.get(1).unwrap_or(&0)));
        let mut sum: u32 = words.sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    /// A TCP header with these options behind an IP header, with a correct checksum.
    fn packet(ip: &[u8], flags: u8, options: &[u8]) -> Vec<u8> {
        let mut tcp = vec![0; tcp::HEADER_MIN];
        tcp[tcp::OFFSET] = ((tcp::HEADER_MIN + options.len()) as u8 / 4) << 4;
        tcp[tcp::FLAGS] = flags;
        tcp.extend_from_slice(options);
        let checksum = sum(&tcp);
        tcp[tcp::CHECKSUM].copy_from_slice(&checksum.to_be_bytes());
        [ip, &tcp[..], b"data"].concat()
    }

    fn v4() -> Vec<u8> {
        let mut header = vec![0; 20];
        (header[0], header[9]) = (0x45, protocol::TCP);
        header
    }

    /// With a hop-by-hop header.
    fn v6() -> Vec<u8> {
        let mut header = vec![0; 48];
        (header[0], header[40]) = (0x60, protocol::TCP);
        header
    }

    #[test]
    fn a_syn_is_lowered_and_its_checksum_holds() {
        let even = [2, 4, 0x05, 0xb4];
        let odd = [1, 2, 4, 0x05, 0xb4, 1, 1, 0];
        for ip in [v4(), v6()] {
            for options in [&even[..], &odd[..]] {
                let mut clamped = packet(&ip, tcp::SYN, options);
                assert!(clamp(&mut clamped, 1_200));
                let header = &clamped[ip.len()..clamped.len() - 4];
                assert_eq!(sum(header), 0, "the checksum holds");
                let value = mss_at(header).unwrap();
                assert_eq!(u16_at(header, value.start), 1_200);
                assert!(!clamp(&mut clamped, 1_200), "once is enough");
                assert!(!clamp(&mut clamped, 1_300), "never raised");
            }
        }
    }

    #[test]
    fn all_else_stays() {
        let mss = [2, 4, 0x05, 0xb4];
        let mut fragment = v4();
        fragment[7] = 1;
        let mut udp = v6();
        udp[40] = 17;
        let packets = [
            packet(&v4(), 0x10, &mss),
            packet(&v4(), tcp::SYN, &[0, 0, 0, 0, 2, 4, 0x05, 0xb4]),
            packet(&v4(), tcp::SYN, &[2, 9, 0x05, 0xb4]),
            packet(&v4(), tcp::SYN, &[3, 0, 2, 4, 5, 0xb4, 0, 0]),
            packet(&fragment, tcp::SYN, &mss),
            packet(&udp, tcp::SYN, &mss),
        ];
        for packet in packets {
            let mut after = packet.clone();
            assert!(!clamp(&mut after, 500));
            assert_eq!(after, packet);
        }
    }

    #[test]
    fn no_bytes_make_it_panic() {
        for whole in [
            packet(&v4(), tcp::SYN, &[2, 4, 5, 0xb4]),
            packet(&v6(), tcp::SYN, &[2, 4, 5, 0xb4]),
        ] {
            for length in 0..whole.len() {
                clamp(&mut whole[..length].to_vec(), 500);
            }
            for at in 0..whole.len() {
                for value in [0, 1, 2, 0x0f, 0x7f, 0xf0, 0xff] {
                    let mut changed = whole.clone();
                    changed[at] = value;
                    clamp(&mut changed, 500);
                }
            }
        }
    }
}
