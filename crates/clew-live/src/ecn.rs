//! The two bits of explicit congestion notification, at both ends of a carrier.

use crate::mss::updated;

/// The values of the two bits (RFC 3168).
const NOT_ECT: u8 = 0;
const ECT_1: u8 = 1;
const ECT_0: u8 = 2;
const CE: u8 = 3;

/// Returns the two bits of an IP packet.
pub(crate) fn of(packet: &[u8]) -> u8 {
    match packet {
        [first, second, ..] if first >> 4 == 6 => (second >> 4) & 3,
        [_, second, ..] => second & 3,
        _ => NOT_ECT,
    }
}

/// Sets the two bits of a whole IP packet; an IPv4 checksum follows.
pub(crate) fn set(packet: &mut [u8], ecn: u8) {
    match packet {
        [first, second, ..] if *first >> 4 == 6 => *second = *second & 0xcf | (ecn & 3) << 4,
        [first, second, _, _, _, _, _, _, _, _, high, low, ..] => {
            let old = u16::from_be_bytes([*first, *second]);
            *second = *second & 0xfc | ecn & 3;
            let new = u16::from_be_bytes([*first, *second]);
            let checksum = updated(u16::from_be_bytes([*high, *low]), old, new);
            [*high, *low] = checksum.to_be_bytes();
        }
        _ => {}
    }
}

/// Returns what the inner packet gets (RFC 6040 section 4.2). `None`: it is to be dropped, because a
/// router saw congestion and the sender would not learn of it.
pub(crate) const fn combined(inner: u8, outer: u8) -> Option<u8> {
    match (inner & 3, outer & 3) {
        (NOT_ECT, CE) => None,
        (NOT_ECT, _) => Some(NOT_ECT),
        (_, CE) | (CE, _) => Some(CE),
        (ECT_0, ECT_1) => Some(ECT_1),
        (inner, _) => Some(inner),
    }
}

/// Returns the bits of a datagram that was put together: a mark on any part is one of the whole.
pub(crate) const fn of_parts(one: u8, other: u8) -> u8 {
    match (one & 3, other & 3) {
        (CE, _) | (_, CE) => CE,
        (one, _) => one,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figure_4_of_rfc_6040() {
        let outer = [NOT_ECT, ECT_0, ECT_1, CE];
        let row = |inner| outer.map(|outer| combined(inner, outer));
        assert_eq!(
            row(NOT_ECT),
            [Some(NOT_ECT), Some(NOT_ECT), Some(NOT_ECT), None]
        );
        assert_eq!(
            row(ECT_0),
            [Some(ECT_0), Some(ECT_0), Some(ECT_1), Some(CE)]
        );
        assert_eq!(
            row(ECT_1),
            [Some(ECT_1), Some(ECT_1), Some(ECT_1), Some(CE)]
        );
        assert_eq!(row(CE), [Some(CE); 4]);
    }

    #[test]
    fn the_header_s_checksum_follows() {
        let mut packet = [
            0x45, 0xb8, 0, 40, 1, 2, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ];
        let sum = |packet: &[u8]| {
            let words = packet
                .chunks(2)
                .map(|w| u32::from(w[0]) << 8 | u32::from(w[1]));
            let sum: u32 = words.sum();
            !((sum & 0xffff) + (sum >> 16)) as u16
        };
        let checksum = sum(&packet).to_be_bytes();
        packet[10..12].copy_from_slice(&checksum);
        for ecn in [CE, ECT_0, NOT_ECT] {
            set(&mut packet, ecn);
            assert_eq!(
                (of(&packet), packet[1] & 0xfc, sum(&packet)),
                (ecn, 0xb8, 0)
            );
        }
        let mut packet = [0x6f, 0xff, 1, 2];
        set(&mut packet, ECT_1);
        assert_eq!(packet, [0x6f, 0xdf, 1, 2]);
    }
}
