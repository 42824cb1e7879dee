//! Vectors of proofs and of signed files.

use clew_flow::{Chaining, Distribution};
use clew_tree::carriage::TagSize;

use crate::case::Case;
use crate::make::damage::Damage;
use crate::make::flow::signature::{FORMAT, Flow, Place, coded, contents};

pub fn all() -> Vec<Case> {
    [proofs(), files()].into_iter().flatten().collect()
}

pub fn proof_of(descriptor: &[u8], packet: &[u8]) -> Vec<u8> {
    let length = (descriptor.len() as u16).to_be_bytes();
    [&b"clew-flow-proof1"[..], &length, descriptor, packet].concat()
}

/// Section 8.
fn proofs() -> Vec<Case> {
    let salted = Chaining { salted: true, ..Chaining::default() };
    let (flow, open) = (Flow::new("a witness", salted), Flow::new("open", Chaining::default()));
    let (place, all) = (Place::new("proof"), contents(12));
    let sign = |distribution: Distribution| flow.sign(&place, &all, distribution)[7].clone();
    let (full, own) = (sign(Distribution::Every), flow.descriptor.to_bytes());
    let good = proof_of(&own, &full);
    let case = |name: &str, expect: &str, comment: &str, proof: &[u8]| {
        Case::new(FORMAT, &format!("proof-{name}"), expect, comment).text("check", "proof").hex("proof", proof)
    };
    let holds = |name: &str, comment: &str, flow: &Flow| {
        let packet = &flow.sign(&place, &all, Distribution::Every)[7];
        let own = flow.descriptor.to_bytes();
        case(name, "valid", comment, &proof_of(&own, packet)).hex("descriptor", own).hex("content", &all[7])
    };
    let bad = |name: &str, comment: &str, proof: &[u8]| case(name, "bad-proof", comment, proof);
    let flipped = |at: usize| good.flip(at);
    let name_end = 18 + own.len() - 1;
    vec![
        holds("salted", "One of twelve packets, salted.", &flow),
        holds("plain", "One of twelve, not salted.", &open),
        bad("sparse", "A packet without the signature.", &proof_of(&own, &sign(Distribution::OneIn(8)))),
        bad("coded", "A packet with a share.", &proof_of(&own, &sign(coded(25, Some(TagSize::T8))))),
        bad("magic", "Another magic.", &flipped(15)),
        bad("name", "A bit of the flow's name.", &flipped(name_end)),
        bad("content", "A bit of the content.", &flipped(name_end + 1)),
        bad("salt", "A bit of the salt.", &flipped(name_end + 1 + all[7].len())),
        bad("length", "A descriptor that is longer.", &good.set(17, [good[17] + 1])),
        bad("cut", "The last byte is missing.", &good.cut(1)),
        bad("long", "A byte behind the packet.", &good.plus([0])),
        bad("no-packet", "A descriptor and nothing else.", &proof_of(&own, &[])),
        bad("empty", "No byte.", &[]),
    ]
}

/// The packets of a file of some sentences, in blocks of four, and its bytes.
fn packets(flow: &Flow, label: &str, sentences: u32) -> (Vec<Vec<u8>>, Vec<u8>) {
    let (mut bytes, mut contents) = (Vec::new(), Vec::new());
    for number in 0..sentences {
        let sentence = format!("Sentence {number} of {label}.\n");
        contents.push([&(bytes.len() as u64).to_be_bytes(), sentence.as_bytes()].concat());
        bytes.extend(sentence.as_bytes());
    }
    contents.push((bytes.len() as u64).to_be_bytes().to_vec());
    let sign = |(block, contents): (usize, &[Vec<u8>])| {
        let id = Place::new(&format!("{label} {block}")).id;
        let seq = 7000 + block as u32;
        let place = Place { id, seq, ..Place::new(label) };
        flow.sign(&place, contents, Distribution::OneIn(4))
    };
    (contents.chunks(4).enumerate().flat_map(sign).collect(), bytes)
}

fn joined(packets: &[Vec<u8>]) -> Vec<u8> {
    let record = |packet: &Vec<u8>| [&(packet.len() as u32).to_be_bytes(), &packet[..]].concat();
    let records: Vec<_> = packets.iter().map(record).collect();
    [&b"clew-flow-file1\n"[..], &records.concat()[..]].concat()
}

/// Section 9.
fn files() -> Vec<Case> {
    let flow = Flow::new("an author", Chaining::default());
    let other_flow = Flow::new("another author", Chaining::default());
    let case = |name: &str, expect: &str, comment: &str, file: &[u8]| {
        let case = Case::new(FORMAT, &format!("file-{name}"), expect, comment)
            .text("check", "file")
            .hex("descriptor", flow.descriptor.to_bytes())
            .hex("descriptor", other_flow.descriptor.to_bytes());
        case.hex("file", file)
    };
    let whole = |name: &str, comment: &str, sentences: u32| {
        let (packets, bytes) = packets(&flow, name, sentences);
        case(name, "valid", comment, &joined(&packets)).hex("content", bytes)
    };
    let (good, _) = packets(&flow, "whole", 9);
    let file = joined(&good);
    let bad = |name: &str, comment: &str, file: &[u8]| case(name, "bad-file", comment, file);
    let of = |name: &str, comment: &str, parts: &[&[Vec<u8>]]| bad(name, comment, &joined(&parts.concat()));
    let (other, _) = packets(&flow, "other", 9);
    let (author, _) = packets(&other_flow, "whole", 9);
    let mut changed = good.clone();
    changed[5] = good[5].flip(9);
    let mut swapped = good.clone();
    swapped.swap(1, 2);
    let mut late = good.clone();
    late.swap(4, 5);
    let misplaced = {
        let place = Place::new("misplaced");
        flow.sign(&place, &[[&[0; 7][..], &[1], b"one"].concat(), vec![0; 8]], Distribution::Every)
    };
    let short = flow.sign(&Place::new("short"), &[vec![0; 7]], Distribution::Every);
    vec![
        whole("whole", "Nine sentences, ten packets, three blocks.", 9),
        whole("empty", "A file of no bytes.", 0),
        of("no-end", "The last packet is missing.", &[&good[..9]]),
        of("no-start", "The first block is missing.", &[&good[4..]]),
        of("gap", "A packet is missing.", &[&good[..6], &good[7..]]),
        of("changed", "A bit of a packet.", &[&changed]),
        of("swapped", "Two packets in each other's place.", &[&swapped]),
        of("late", "A packet in front of the one that has its signature.", &[&late]),
        of("twice", "A packet twice.", &[&good[..5], &good[4..]]),
        of("mixed", "Blocks of two files of one flow.", &[&good[..4], &other[4..]]),
        of("two-flows", "Blocks of two flows.", &[&good[..4], &author[4..]]),
        of("behind", "A packet behind the end.", &[&good, &other[..1]]),
        of("place", "It begins at byte 1.", &[&misplaced]),
        of("short", "A packet of seven bytes.", &[&short]),
        bad("cut", "The last byte is missing.", &file.cut(1)),
        bad("cut-length", "It ends within a length.", &file[..16 + 2]),
        bad("no-packet", "Nothing but the magic.", &file[..16]),
        bad("magic", "Another magic.", &file.set(15, [b' '])),
        bad("too-long", "A length of 131,073 bytes.", &file.set(16, [0, 2, 0, 1])),
    ]
}
