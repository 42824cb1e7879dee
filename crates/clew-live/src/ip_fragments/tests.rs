use super::*;
use crate::packet::{Clear, PeerIndex};
use clew_wire::Instant;
use rand_chacha::{ChaCha20Rng, rand_core::Rng, rand_core::SeedableRng};

const NOW: Instant = Instant::from_nanos(1);

fn clear(bytes: Vec<u8>) -> Clear {
    let peer = PeerIndex(0);
    Clear { peer, bytes }
}

fn payload(length: usize) -> Vec<u8> {
    (0..length).map(|at| at as u8 ^ (at >> 8) as u8).collect()
}

/// IPv4 with options.
fn packet4(length: usize) -> Vec<u8> {
    let mut packet = vec![0x46, 0, 0, 0, 0, 9, 0, 0, 64, 17, 0, 0];
    packet.extend([10, 0, 0, 1, 10, 0, 0, 2, 0x94, 4, 0, 0]);
    put_u16(&mut packet, v4::LENGTH, 24 + length);
    put_checksum(&mut packet);
    packet.extend(payload(length));
    packet
}

/// IPv6 with these extension headers, each as a kind and its length in units beyond the first.
fn packet6(extensions: &[(u8, u8)], length: usize) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0, 0, 0, 0, 64];
    packet.extend([1; 16]);
    packet.extend([2; 16]);
    let mut named_at = v6::NEXT;
    for (kind, units) in extensions {
        packet[named_at] = *kind;
        named_at = packet.len();
        packet.extend([0, *units, 0, 0, 0, 0, 0, 0]);
        packet.resize(packet.len() + usize::from(*units) * UNIT, 0);
    }
    packet[named_at] = 17;
    packet.extend(payload(length));
    let length = packet.len() - v6::HEADER;
    put_u16(&mut packet, v6::LENGTH, length);
    packet
}

fn cut(packet: &[u8], mtu: usize) -> Vec<Vec<u8>> {
    let mut fragments = Vec::new();
    assert!(Fragmenter::new(3).cut(packet, mtu, &mut fragments));
    assert!(fragments.iter().all(|fragment| fragment.len() <= mtu));
    fragments
}

fn take(into: &mut Defragmenter, fragment: &[u8]) -> Taken {
    into.take(clear(fragment.to_vec()), NOW)
}

/// Every packet that a [`Fragmenter`] cuts is the same when it is put together, in any order.
#[test]
fn what_was_cut_comes_together() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let many = [(v6::HOP_BY_HOP, 1), (v6::ROUTING, 0), (v6::DESTINATION, 2)];
    for length in [1_300, 2_000, 8_008, 65_000] {
        let packets = [
            packet4(length),
            packet6(&[], length),
            packet6(&many, length),
        ];
        for packet in packets {
            // The longest would have more fragments than are taken.
            for mtu in [if length < 60_000 { 576 } else { 1_000 }, 1_280] {
                let mut fragments = cut(&packet, mtu);
                let last = fragments.len() - 1;
                (0..last).for_each(|at| fragments.swap(at, at + rng.next_u32() as usize % 2));
                let mut into = Defragmenter::default();
                for fragment in &fragments[..last] {
                    assert_eq!(take(&mut into, fragment), Taken::Waits);
                }
                let whole = Taken::Whole(clear(packet.clone()));
                assert_eq!(take(&mut into, &fragments[last]), whole);
                assert_eq!(into.size(), (0, 0));
            }
        }
    }
}

#[test]
fn what_fits_or_must_not_be_cut_stays() {
    let (mut fragmenter, mut out) = (Fragmenter::new(3), Vec::new());
    let mut whole = packet4(2_000);
    whole[6] = 0x40;
    for (packet, mtu) in [
        (&whole, 1_500),
        (&packet4(1_476), 1_500),
        (&packet4(100), 31),
    ] {
        assert!(!fragmenter.cut(packet, mtu, &mut out));
    }
    assert!(out.is_empty());
    // A fragment may be cut again, and the last one of its parts is not the last one of all.
    let parts = cut(&packet4(3_000), 1_500);
    let again: Vec<_> = cut(&parts[0], 600)
        .into_iter()
        .chain(parts[1..].to_vec())
        .collect();
    let mut into = Defragmenter::default();
    let taken = again.iter().map(|part| take(&mut into, part)).last();
    assert_eq!(taken, Some(Taken::Whole(clear(packet4(3_000)))));
    // Two packets have different identifications.
    let ids = [1, 2].map(|_| {
        out.clear();
        fragmenter.cut(&packet6(&[], 2_000), 1_280, &mut out);
        out[0][44..48].to_vec()
    });
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn a_lone_fragment_header_is_taken_off() {
    let packet = packet6(&[], 100);
    let mut atomic = packet[..v6::HEADER].to_vec();
    atomic[v6::NEXT] = v6::FRAGMENT;
    atomic.extend([17, 0, 0, 0, 0, 0, 0, 5]);
    atomic.extend_from_slice(&packet[v6::HEADER..]);
    put_u16(&mut atomic, v6::LENGTH, 108);
    let mut into = Defragmenter::default();
    assert_eq!(take(&mut into, &atomic), Taken::Whole(clear(packet)));
    assert_eq!(into.size(), (0, 0));
}

/// A fragment of IPv4.
fn part(start: usize, is_last: bool, bytes: &[u8]) -> Vec<u8> {
    let mut packet = packet4(0);
    let more = if is_last { 0 } else { usize::from(v4::MORE) };
    put_u16(&mut packet, v4::FLAGS, start / UNIT | more);
    put_u16(&mut packet, v4::LENGTH, 24 + bytes.len());
    packet.extend_from_slice(bytes);
    packet
}

#[test]
fn whoever_overlaps_spoils_the_packet() {
    let others = [
        part(8, false, &[7; 16]),
        part(0, false, &[7; 16]),
        part(8, false, &[7; 8]),
        part(16, true, &[7; 16]),
        part(56, false, &[7; 16]),
        part(24, false, &[7; 12]),
        part(24, false, &[]),
        part(65_512, true, &[7; 16]),
    ];
    for other in others {
        let mut into = Defragmenter::default();
        for known in [part(0, false, &[1; 24]), part(40, true, &[1; 24])] {
            assert_eq!(take(&mut into, &known), Taken::Waits);
        }
        assert_eq!(take(&mut into, &other), Taken::Bad(3), "{other:?}");
        assert_eq!(into.size(), (1, 0), "nothing is kept of it");
        assert_eq!(take(&mut into, &part(24, false, &[1; 16])), Taken::Bad(1));
        // Later the identification is another packet's.
        into.expire(NOW + WAIT_MAX);
        assert_eq!((into.size(), into.missing()), ((0, 0), 0));
    }
}

#[test]
fn copies_spoil_nothing_and_other_packets_are_others() {
    let mut into = Defragmenter::default();
    let fragments = cut(&packet4(3_000), 1_500);
    assert_eq!(take(&mut into, &fragments[0]), Taken::Waits);
    assert_eq!(take(&mut into, &fragments[0]), Taken::Bad(1));
    for at in [5, 9, 15, 19] {
        let mut other = fragments[1].clone();
        other[at] ^= 1;
        assert_eq!(take(&mut into, &other), Taken::Waits, "of another packet");
    }
    let elsewhere = Clear {
        peer: PeerIndex(1),
        bytes: fragments[1].clone(),
    };
    assert_eq!(into.take(elsewhere, NOW), Taken::Waits);
    assert_eq!(take(&mut into, &fragments[1]), Taken::Waits);
    let whole = Taken::Whole(clear(packet4(3_000)));
    assert_eq!(take(&mut into, &fragments[2]), whole);
}

#[test]
fn a_packet_has_a_bounded_number_of_fragments() {
    let mut into = Defragmenter::default();
    for n in 0..PARTS_MAX {
        assert_eq!(take(&mut into, &part(16 * n, false, &[1; 8])), Taken::Waits);
    }
    let one_more = take(&mut into, &part(16 * PARTS_MAX, false, &[1; 8]));
    assert_eq!(one_more, Taken::Bad(PARTS_MAX + 1));
}

#[test]
fn no_bytes_make_them_panic() {
    let many = [(v6::HOP_BY_HOP, 0), (v6::DESTINATION, 1)];
    let mut into = Defragmenter::default();
    for packet in [packet4(600), packet6(&many, 600)] {
        let fragments = cut(&packet, 400);
        for whole in [&packet, &fragments[0], &fragments[1]] {
            for end in 0..whole.len() {
                take(&mut into, &whole[..end]);
                Fragmenter::new(0).cut(&whole[..end], 50, &mut Vec::new());
            }
            for at in 0..90 {
                for value in [0, 1, 0x0f, 0x20, 44, 60, 0x7f, 0xff] {
                    let mut changed = whole.clone();
                    changed[at] = value;
                    take(&mut into, &changed);
                    Fragmenter::new(0).cut(&changed, 300, &mut Vec::new());
                }
            }
        }
    }
    assert!(into.size().0 <= WAITING_MAX && into.size().1 <= WAITING_BYTES_MAX);
}
