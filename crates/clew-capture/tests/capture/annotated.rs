//! Annotated output, read back by this module and by `pcap-file`.

use clew_capture::{Annotated, ENTERPRISE_NUMBER, Note, Reader};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::blocks::section_header::SectionHeaderOption;
use pcap_file::pcapng::{Block, PcapNgReader};

use crate::fuzz::assert_same;
use crate::support::*;

const TOOL: &str = "clew 0.1.0";
const JSON: &str = r#"{"packet":1,"verdict":"valid"}"#;

fn annotated(bytes: &[u8]) -> (Vec<u8>, Vec<bool>) {
    annotated_with(bytes, JSON)
}

fn annotated_with(bytes: &[u8], json: &str) -> (Vec<u8>, Vec<bool>) {
    let mut writer = Annotated::new(Vec::new(), TOOL);
    let mut noted = Vec::new();
    for record in Reader::new(bytes)
        .expect("a capture")
        .map(|record| record.expect("memory"))
    {
        let frame = record.packet().map(|packet| packet.frame);
        let comment = format!("clew: valid {}", frame.unwrap_or(0));
        let note = frame.map(|_| Note {
            comment: &comment,
            json,
        });
        let wrote = writer.write(record, note).expect("memory");
        noted.extend(frame.map(|_| wrote));
    }
    (writer.finish().expect("memory"), noted)
}

/// Returns all comments and custom strings of the packets, and the comments of the sections.
fn oracle(bytes: &[u8]) -> (Vec<String>, Vec<String>) {
    let (mut packets, mut sections) = (Vec::new(), Vec::new());
    let mut reader = PcapNgReader::new(bytes).expect("a pcapng file");
    for option in &reader.section().options {
        if let SectionHeaderOption::Comment(text) = option {
            sections.push(text.to_string());
        }
    }
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(packet) = block.expect("a good block") else {
            continue;
        };
        for option in &packet.options {
            match option {
                EnhancedPacketOption::Comment(text) => packets.push(text.to_string()),
                EnhancedPacketOption::CustomUtf8(custom) => {
                    assert_eq!((custom.code, custom.pen), (2988, ENTERPRISE_NUMBER));
                    packets.push(custom.value.to_string());
                }
                _ => packets.push("other".into()),
            }
        }
    }
    (packets, sections)
}

#[test]
fn a_pcap_becomes_pcapng_with_the_same_packets() {
    for order in ORDERS {
        for magic in [MICROSECONDS, NANOSECONDS] {
            let cut = Packet {
                wire_len: 99,
                ..packet(b"cut")
            };
            let bytes = pcap(order, magic, 65535, 113, &[packet(b"whole"), cut]);
            let (output, noted) = annotated(&bytes);
            assert_eq!(noted, [true, true]);
            let (before, after) = (packets(&bytes), packets(&output));
            for (before, after) in before.iter().zip(&after) {
                assert_eq!(
                    (before.packet(), before.data()),
                    (after.packet(), after.data())
                );
            }
            let (notes, sections) = oracle(&output);
            assert_eq!(notes, ["clew: valid 1", JSON, "clew: valid 2", JSON]);
            assert_eq!(sections, [TOOL]);
        }
    }
}

#[test]
fn pcapng_keeps_its_blocks_and_options() {
    for order in ORDERS {
        let blocks = Blocks::new(order);
        let kept = blocks.options(&[(1, b"theirs"), (2, &[0; 4])]);
        let file = |section: &[u8], first: &[u8], second: &[u8]| {
            let blocks = Blocks::new(order).section_with(UNSTATED, section);
            let blocks = blocks.interface(1, 0, &[]).block(0x4242, b"theirs");
            blocks
                .enhanced(0, 1, b"one", first)
                .obsolete(0, 2, b"two", second)
                .bytes
        };
        let number = order.u32(ENTERPRISE_NUMBER);
        let custom = [&number, JSON.as_bytes()].concat();
        let ours = |comment: &[u8]| blocks.options(&[(1, comment), (2988, &custom)]);
        let before_theirs =
            |comment| [ours(comment).split_last_chunk::<4>().unwrap().0, &kept].concat();
        let expected = file(
            &blocks.options(&[(1, TOOL.as_bytes())]),
            &before_theirs(b"clew: valid 1"),
            &ours(b"clew: valid 2"),
        );
        let (output, noted) = annotated(&file(&[], &kept, &[]));
        assert_eq!(noted, [true, true]);
        assert_same(&output, &expected, "annotated");
        assert_eq!(
            oracle(&output).0,
            ["clew: valid 1", JSON, "theirs", "other"]
        );
    }
}

#[test]
fn a_true_section_length_stays_true() {
    let blocks = Blocks::new(Order::Little).section(20).interface(1, 0, &[]);
    let (output, _) = annotated(&blocks.bytes);
    assert_eq!(output[16..24], 20_u64.to_le_bytes());
    let blocks = Blocks::new(Order::Little).section(56).interface(1, 0, &[]);
    let (output, _) = annotated(&blocks.enhanced(0, 1, b"four", &[]).bytes);
    let front = 28 + 4 + TOOL.len().next_multiple_of(4) + 4;
    assert_eq!(
        output[16..24],
        (output.len() as u64 - front as u64).to_le_bytes()
    );
}

#[test]
fn simple_packets_stay_without_a_note() {
    let blocks = Blocks::new(Order::Big)
        .section(UNSTATED)
        .interface(1, 0, &[]);
    let (output, noted) = annotated(&blocks.simple(6, b"simple").enhanced(0, 1, b"x", &[]).bytes);
    assert_eq!(noted, [false, true]);
    assert_eq!(packets(&output)[0].data(), b"simple");
}

#[test]
fn a_note_too_long_for_an_option_is_left_out() {
    let bytes = pcap(Order::Big, MICROSECONDS, 0, 1, &[packet(b"x")]);
    let long = "x".repeat(65_532);
    for (json, expected) in [(&long[1..], true), (&long[..], false)] {
        let mut writer = Annotated::new(Vec::new(), TOOL);
        let note = Note { comment: "c", json };
        let noted = read(&bytes)
            .0
            .into_iter()
            .map(|record| writer.write(record, Some(note)).unwrap());
        assert_eq!(noted.collect::<Vec<_>>(), [false, expected]);
        assert_eq!(packets(&writer.finish().unwrap()).len(), 1);
    }
}

#[test]
fn what_follows_damage_is_left_out() {
    let bytes = [
        pcap(Order::Big, MICROSECONDS, 0, 1, &[packet(b"x")]),
        vec![0xff; 40],
    ]
    .concat();
    let (output, noted) = annotated(&bytes);
    assert_eq!(noted, [true]);
    assert_eq!(packets(&output).len(), 1);
}

/// Whoever made the capture says what we would say: nobody reads it afterwards.
#[test]
fn notes_that_are_not_ours_are_left_out() {
    for order in ORDERS {
        let blocks = Blocks::new(order);
        let forged = [&order.u32(ENTERPRISE_NUMBER), JSON.as_bytes()].concat();
        let other = [&order.u32(ENTERPRISE_NUMBER), b"another's".as_slice()].concat();
        let spaced = [
            &order.u32(ENTERPRISE_NUMBER),
            br#" { "packet":1,"verdict":"valid"}"#.as_slice(),
        ]
        .concat();
        let options = blocks.options(&[
            (1, b"clew: valid reason=ok"),
            (1, b"theirs"),
            (2988, &forged),
            (2988, &other),
            (2988, &spaced),
            (19372, &forged),
            (1, b"clew: valid, too"),
            // What differs in what nobody sees.
            (1, b" clew: valid reason=ok"),
            (1, b"\nclew: valid"),
            (1, b"\0clew:\tvalid"),
            (1, "\u{feff}cl\u{200b}ew: valid".as_bytes()),
            (1, b"Clew : valid"),
            (1, b"a note; CLEW: VALID"),
        ]);
        let file = |options: &[u8]| {
            let blocks = Blocks::new(order).section(UNSTATED).interface(1, 0, &[]);
            blocks.enhanced(0, 1, b"one", options).bytes
        };
        let (output, noted) = annotated(&file(&options));
        assert_eq!(noted, [true]);
        assert_eq!(
            oracle(&output).0,
            ["clew: valid 1", JSON, "theirs", "another's"]
        );
        let (again, _) = annotated(&output);
        assert_eq!(oracle(&again).0, oracle(&output).0, "{order:?}");

        // No room for a note: no note, not theirs.
        let filled = blocks.options(&vec![(2, &[7; 65_500][..]); 256]);
        let full = [&options[..options.len() - 4], &filled].concat();
        let (output, noted) = annotated_with(&file(&full), &"x".repeat(20_000));
        assert_eq!(noted, [false]);
        assert!(!output.windows(6).any(|bytes| bytes == b"clew: "));
    }
}
