//! Arbitrary bytes, and real files with mistakes in them.

use std::io::{Read, repeat};

use clew_capture::{OPAQUE_LEN_MAX, RECORD_LEN_MAX, Reader};
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
    let packet_len = clew_capture::PACKET_LEN_MAX;
    let data = vec![7; packet_len];
    let bytes = pcap(Order::Little, MICROSECONDS, 0, 1, &[packet(&data)]);
    container(&bytes);
    assert_eq!(packets(&bytes)[0].data().len(), packet_len);
    let blocks = Blocks::new(Order::Little).section(UNSTATED);
    let bytes = blocks.block(0x4242, &vec![7; RECORD_LEN_MAX - 12]).bytes;
    container(&bytes);
    assert_eq!(read(&bytes).0[1].bytes().len(), RECORD_LEN_MAX);
}
