//! Arbitrary bytes, and real files with mistakes in them.

use std::io::{Read, repeat};

use clew::capture::{OPAQUE_LEN_MAX, RECORD_LEN_MAX, Reader};
use proptest::prelude::*;

use crate::fuzz::container;
use crate::support::*;

/// Beginnings that make arbitrary bytes go further than the first four.
const STARTS: [&[u8]; 5] = [
    b"",
    &[0xd4, 0xc3, 0xb2, 0xa1],
    &[0xa1, 0xb2, 0x3c, 0x4d],
    &[
        0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0,
    ],
    &[
        0x0a, 0x0d, 0x0d, 0x0a, 0, 0, 0, 28, 0x1a, 0x2b, 0x3c, 0x4d, 0, 1, 0, 0,
    ],
];

proptest! {
    #[test]
    fn arbitrary_bytes(start in 0..STARTS.len(), rest in prop::collection::vec(any::<u8>(), 0..400)) {
        container(&[STARTS[start], &rest].concat());
    }

    #[test]
    fn arbitrary_words(start in 0..STARTS.len(), rest in prop::collection::vec(word(), 0..80)) {
        container(&[STARTS[start], &rest.concat()].concat());
    }
}

/// What lengths, types and counts of a capture look like.
fn word() -> impl Strategy<Value = [u8; 4]> {
    prop_oneof![
        (0_u32..64).prop_map(u32::to_le_bytes),
        (0_u32..64).prop_map(u32::to_be_bytes),
        any::<[u8; 4]>(),
        Just([0x0a, 0x0d, 0x0d, 0x0a]),
        Just([0xff; 4]),
    ]
}

#[test]
fn mutated_captures() {
    let seed = std::env::var("CLEW_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(rand_seed);
    println!("CLEW_SEED={seed} repeats this run");
    let mut random = SplitMix(seed);
    let bases = bases();
    for _ in 0..4000 {
        let base = &bases[random.below(bases.len())];
        container(&mutated(base, &mut random));
    }
}

/// Length of the first section below, so that mistakes are made in a true length too.
const TRUE_LENGTH: u64 = 204;

fn bases() -> Vec<Vec<u8>> {
    let ldap = include_bytes!("../captures/zeek--ldap-gap-data-missing.pcapng");
    let cut = include_bytes!("../captures/zeek--tcp-truncated-header.pcap");
    let mut bases = vec![ldap.to_vec(), cut.to_vec()];
    for order in ORDERS {
        let blocks = Blocks::new(order);
        let resolution = blocks.options(&[(9, &[0x8a]), (14, &[0xff; 8])]);
        let comment = blocks.options(&[(1, b"comment")]);
        let blocks = blocks
            .section_with(TRUE_LENGTH, &comment)
            .interface(1, 96, &resolution);
        let blocks = blocks
            .interface(113, 0, &[])
            .enhanced(0, 77, b"first packet", &comment);
        let blocks = blocks
            .simple(6, b"simple")
            .obsolete(1, 5, b"obsolete", &comment);
        let front_len = 28 + comment.len() as u64;
        assert_eq!(blocks.bytes.len() as u64, front_len + TRUE_LENGTH);
        let blocks = blocks
            .section(UNSTATED)
            .interface(1, 4, &[])
            .simple(9, b"cut!");
        bases.push(blocks.enhanced(0, 1, b"last", &[]).bytes);
        bases.push(pcap(
            order,
            NANOSECONDS,
            16,
            1,
            &[packet(b"one"), packet(b"two")],
        ));
    }
    bases
}

fn mutated(base: &[u8], random: &mut SplitMix) -> Vec<u8> {
    let mut bytes = base.to_vec();
    for _ in 0..=random.below(4) {
        if bytes.is_empty() {
            break;
        }
        let at = random.below(bytes.len());
        let end = (at + random.below(64)).min(bytes.len());
        match random.below(6) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.below(256) as u8,
            2 => drop(bytes.drain(at..end)),
            3 => bytes.truncate(at),
            4 => bytes.extend_from_within(at..end),
            _ => bytes[at..end].fill(0xff),
        }
    }
    bytes
}

/// Enough randomness to find mistakes, from a seed that can be printed.
struct SplitMix(u64);

impl SplitMix {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

fn rand_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0)
}

#[test]
fn an_endless_input_is_held_in_pieces() {
    let header = &pcap(Order::Little, MICROSECONDS, 0, 1, &[])[..];
    // Zeros are empty records without end; ones are damage, and opaque.
    for (byte, len_max) in [(0_u8, 16), (0xff, OPAQUE_LEN_MAX)] {
        let endless = header.chain(repeat(byte).take(64 << 20));
        let reader = Reader::new(endless).unwrap();
        assert!(
            reader
                .map(Result::unwrap)
                .skip(1)
                .all(|record| record.bytes().len() <= len_max)
        );
    }
}

#[test]
fn the_largest_record_is_kept_and_no_larger_one() {
    let packet_len = clew::capture::PACKET_LEN_MAX;
    let data = vec![7; packet_len];
    let bytes = pcap(Order::Little, MICROSECONDS, 0, 1, &[packet(&data)]);
    container(&bytes);
    assert_eq!(packets(&bytes)[0].data().len(), packet_len);
    let blocks = Blocks::new(Order::Little).section(UNSTATED);
    let bytes = blocks.block(0x4242, &vec![7; RECORD_LEN_MAX - 12]).bytes;
    container(&bytes);
    assert_eq!(read(&bytes).0[1].bytes().len(), RECORD_LEN_MAX);
}
