//! One test per rule whose breach is damage: named, and nothing lost on either side of it.

use clew_capture::{Fault, INTERFACES_MAX, OPAQUE_LEN_MAX, PACKET_LEN_MAX, RECORD_LEN_MAX};

use crate::fuzz::container;
use crate::support::*;

/// A pcapng with one good packet, and what follows it.
fn after_good_packet(damaged: impl FnOnce(Blocks) -> Vec<u8>) -> (Vec<u8>, u64) {
    let blocks = Blocks::new(Order::Big)
        .section(UNSTATED)
        .interface(1, 6, &[]);
    let blocks = blocks.enhanced(0, 1, b"good", &[]);
    let offset = blocks.bytes.len() as u64;
    (damaged(blocks), offset)
}

fn check((bytes, offset): (Vec<u8>, u64), fault: Fault) {
    container(&bytes);
    let (records, damage) = read(&bytes);
    let damage = damage.expect("damage");
    assert_eq!((damage.offset, &damage.fault), (offset, &fault));
    assert!(damage.to_string().contains(&format!("byte {offset}: ")));
    let opaque_at = records
        .iter()
        .position(|record| record.packet().is_some())
        .expect("good")
        + 1;
    assert!(
        records[opaque_at..]
            .iter()
            .all(|record| record.packet().is_none())
    );
}

fn check_block(damaged: impl FnOnce(Blocks) -> Vec<u8>, fault: Fault) {
    check(after_good_packet(damaged), fault);
}

/// Appends bytes that make no block.
fn raw(bytes: &[u8]) -> impl FnOnce(Blocks) -> Vec<u8> {
    move |blocks| [&blocks.bytes, bytes].concat()
}

#[test]
fn pcap_cut_in_a_record_header() {
    let bytes = pcap(Order::Little, MICROSECONDS, 0, 1, &[packet(b"good")]);
    let cut = [&bytes[..], &[0; 15]].concat();
    check(
        (cut, 44),
        Fault::Cut {
            found: 15,
            expected: 16,
        },
    );
}

#[test]
fn pcap_cut_in_a_packet() {
    let mut bytes = pcap(
        Order::Little,
        MICROSECONDS,
        0,
        1,
        &[packet(b"good"), packet(b"cut")],
    );
    bytes.pop();
    check(
        (bytes, 44),
        Fault::Cut {
            found: 18,
            expected: 19,
        },
    );
}

#[test]
fn pcap_cut_in_the_file_header() {
    let bytes = &pcap(Order::Little, MICROSECONDS, 0, 1, &[])[..23];
    container(bytes);
    let (records, damage) = read(bytes);
    assert_eq!(records.len(), 1);
    assert_eq!(
        damage.unwrap().fault,
        Fault::Cut {
            found: 23,
            expected: 24
        }
    );
}

#[test]
fn pcap_record_too_long() {
    for captured in [u32::MAX, PACKET_LEN_MAX as u32 + 1] {
        let packets = [packet(b"good"), packet(b"bad")];
        let mut bytes = pcap(Order::Big, MICROSECONDS, 0, 1, &packets);
        bytes[52..56].copy_from_slice(&captured.to_be_bytes());
        check((bytes, 44), Fault::TooLong(captured));
    }
}

#[test]
fn block_cut() {
    check_block(
        raw(&[0, 0, 0, 6]),
        Fault::Cut {
            found: 4,
            expected: 12,
        },
    );
    let cut = |blocks: Blocks| {
        let mut bytes = blocks.enhanced(0, 1, b"four", &[]).bytes;
        bytes.pop();
        bytes
    };
    check_block(
        cut,
        Fault::Cut {
            found: 35,
            expected: 36,
        },
    );
}

#[test]
fn block_too_long() {
    let long = RECORD_LEN_MAX as u32 + 4;
    let start = [&[0, 0, 0, 6], &long.to_be_bytes()[..], &[0; 999]].concat();
    check_block(raw(&start), Fault::TooLong(long));
}

#[test]
fn block_too_short() {
    for (block_type, least) in [(0x1234, 12), (6, 32), (2, 32), (3, 16), (1, 20)] {
        let stated = least as u32 - 4;
        let block = [block_type, stated, 0, 0].map(u32::to_be_bytes).concat();
        check_block(raw(&block), Fault::TooShort { stated, least });
    }
    let section = [0x0a0d_0d0a, 24, 0x1a2b_3c4d]
        .map(u32::to_be_bytes)
        .concat();
    check_block(
        raw(&section),
        Fault::TooShort {
            stated: 24,
            least: 28,
        },
    );
}

#[test]
fn block_unaligned() {
    let block = [0x1234, 13, 0, 0].map(u32::to_be_bytes).concat();
    check_block(raw(&block), Fault::Unaligned(13));
}

#[test]
fn block_lengths_differ() {
    let block = [0x1234, 16, 0, 20].map(u32::to_be_bytes).concat();
    check_block(
        raw(&block),
        Fault::LengthsDiffer {
            first: 16,
            last: 20,
        },
    );
}

#[test]
fn section_of_unknown_byte_order() {
    let section = [0x0a0d_0d0a, 28, 0x1a2b_3c4e, 0, 0, 0, 28]
        .map(u32::to_be_bytes)
        .concat();
    check_block(raw(&section), Fault::ByteOrder([0x1a, 0x2b, 0x3c, 0x4e]));
}

#[test]
fn section_of_unknown_version() {
    let section = [0x0a0d_0d0a, 28, 0x1a2b_3c4d, 0x2_0000, 0, 0, 28]
        .map(u32::to_be_bytes)
        .concat();
    check_block(raw(&section), Fault::Version(2));
}

#[test]
fn captured_length_too_long() {
    let body = [0, 0, 0, 5, 5, 0].map(u32::to_be_bytes).concat();
    let fault = Fault::CapturedTooLong {
        captured: 5,
        room: 4,
    };
    check_block(|blocks| blocks.block(6, &body).bytes, fault.clone());
    check_block(|blocks| blocks.block(2, &body).bytes, fault.clone());
    check_block(|blocks| blocks.simple(5, b"four").bytes, fault);
    // The snap length of 6 is what a simple packet has at most.
    let fault = Fault::CapturedTooLong {
        captured: 6,
        room: 4,
    };
    check_block(|blocks| blocks.simple(900, b"four").bytes, fault);
}

#[test]
fn interface_unknown() {
    check_block(
        |blocks| blocks.enhanced(1, 0, b"x", &[]).bytes,
        Fault::UnknownInterface(1),
    );
    check_block(
        |blocks| blocks.obsolete(9, 0, b"x", &[]).bytes,
        Fault::UnknownInterface(9),
    );
    let forgotten = |blocks: Blocks| blocks.section(UNSTATED).simple(1, b"x").bytes;
    let (bytes, offset) = after_good_packet(forgotten);
    check((bytes, offset + 28), Fault::UnknownInterface(0));
}

#[test]
fn interfaces_too_many() {
    let (bytes, offset) = after_good_packet(|mut blocks| {
        for _ in 0..INTERFACES_MAX {
            blocks = blocks.interface(1, 0, &[]);
        }
        blocks.bytes
    });
    let offset = offset + 20 * (INTERFACES_MAX as u64 - 1);
    check((bytes, offset), Fault::TooManyInterfaces);
}

#[test]
fn what_follows_damage_comes_in_small_pieces() {
    let (mut bytes, _) = after_good_packet(raw(&[0xff; 12]));
    bytes.resize(bytes.len() + 3 * OPAQUE_LEN_MAX, 0xff);
    let (records, _) = read(&bytes);
    assert_eq!(records.len(), 7);
    assert!(
        records[3..]
            .iter()
            .all(|record| record.bytes().len() <= OPAQUE_LEN_MAX)
    );
}
