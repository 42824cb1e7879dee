//! Trailers and marks as bytes: each field read, each field written.

use clew_group::Scheme;
use clew_packet::{Block, Carriage, Carrier, GroupTag, Mark, Saved, Timestamp, Trailer};

const BODY: [u8; 336] = [0x5a; 336];

/// Block, saved, head and foot of a trailer that saved two values.
#[rustfmt::skip]
const TRAILER_END: [u8; 35] = [
    0x12, 0x34, 0x56, 0x78,                         // IPv4 checksum, L4 checksum
    1, 2, 3, 4, 5, 6, 7, 8,                         // group
    0, 0, 0, 9,                                     // epoch
    0x17, 0x97, 0x9c, 0xfe, 0x36, 0x2a, 0, 0,       // timestamp
    1, 1,                                           // scheme, carriage
    0b0001_0101, 1, 0x01, 0x73, 1,                  // flags, mode, length 371, version
    0xc1, 0x4c, 0x45, 0x57,
];

fn trailer() -> Trailer<'static> {
    Trailer {
        carrier: Carrier::Trailer,
        body: &BODY,
        block: Block::Each,
        saved: Saved {
            ipv4_checksum: Some(0x1234),
            udp_length: None,
            l4_checksum: Some(0x5678),
        },
        group: GroupTag([1, 2, 3, 4, 5, 6, 7, 8]),
        epoch: 9,
        timestamp: Timestamp(1_700_000_000_000_000_000),
        scheme: Scheme::Bbs04,
        carriage: Carriage::Full,
        nat: true,
        tolerant: false,
        incremental: false,
    }
}

#[test]
fn deconstruct_trailer() {
    let upper = [&b"upper layer"[..], &BODY, &TRAILER_END].concat();
    assert_eq!(Trailer::parse(&upper), Ok(trailer()));
    assert_eq!(trailer().length(), 371);
    assert_eq!(trailer().flags(), 0b0001_0101);
}

#[test]
fn construct_trailer() {
    let mut buffer = vec![0xa5; 371];
    trailer().emit(&mut buffer);
    assert_eq!(buffer, [&BODY[..], &TRAILER_END].concat());
}

#[test]
fn construct_and_deconstruct_flags() {
    let saved = Saved {
        ipv4_checksum: Some(1),
        udp_length: Some(2),
        l4_checksum: Some(3),
    };
    let (nat, tolerant, incremental) = (false, true, true);
    let trailer = Trailer {
        body: &[7; 1104],
        saved,
        nat,
        tolerant,
        incremental,
        ..trailer()
    };
    let mut buffer = vec![0xa5; trailer.length()];
    trailer.emit(&mut buffer);
    assert_eq!(buffer.len(), 1104 + 6 + 22 + 9);
    assert_eq!(buffer[1104..1110], [0, 1, 0, 2, 0, 3]);
    assert_eq!(buffer[1104 + 6 + 22], 0b0011_1110);
    assert_eq!(Trailer::parse(&buffer), Ok(trailer));
}

#[test]
fn blocks() {
    let check = |block: Block<'_>, mode: u8, bytes: &[u8]| {
        let trailer = Trailer { block, ..trailer() };
        let mut buffer = vec![0xa5; trailer.length()];
        trailer.emit(&mut buffer);
        assert_eq!(buffer[336..buffer.len() - 35], *bytes);
        assert_eq!(buffer[buffer.len() - 8], mode);
        assert_eq!(Trailer::parse(&buffer), Ok(trailer));
    };
    check(Block::Each, 1, &[]);
    let window = [&[0x01, 0x02][..], &[7; 32]].concat();
    check(
        Block::Window {
            k: 0x0102,
            h: &[7; 32],
        },
        2,
        &window,
    );
    let tree = [&[8; 16][..], &[0, 3, 0, 4, 16, 2], &[9; 32]].concat();
    let block = Block::Tree {
        block: clew_tree::Block::new([8; 16], 4, clew_tree::DigestSize::D16).unwrap(),
        index: 3,
        path: &[9; 32],
    };
    check(block, 3, &tree);
}

#[test]
fn mark_bytes() {
    let saved = Saved {
        ipv4_checksum: None,
        udp_length: Some(0x0102),
        l4_checksum: None,
    };
    let mark = Mark { saved, count: 3 };
    let mut buffer = [0xa5; 12];
    mark.emit(&mut buffer);
    assert_eq!(
        buffer,
        [1, 2, 3, 0b1000, 0, 0, 12, 1, 0xc1, 0x4c, 0x45, 0x57]
    );
    assert_eq!(mark.length(), 12);
}
