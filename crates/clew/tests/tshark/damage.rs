//! Damaged trailers: the dissector names the reason that clew names, and never fails itself.

use crate::files::{IPV4, IPV6, Packet, begin, begin_flow, packets, plain, write};
use crate::folder::Folder;
use crate::reading::{compare, judgement, reading};
use crate::shark::missing;
use clew_packet::{FOOT_BYTES, HEAD_BYTES};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// From the packet's end to its head, where nothing is saved.
const TO_BLOCK: usize = FOOT_BYTES + HEAD_BYTES;

/// A value that is written over the trailer, so many bytes before its end, and what clew says then.
type Damage = (usize, &'static [u8], &'static str);

const OF_ALL: [Damage; 15] = [
    (5, &[0], "unknown-version"),
    (5, &[2], "unknown-version"),
    (7, &[0, 0], "bad-trailer-length"),
    (7, &[0, 8], "bad-trailer-length"),
    (7, &[0, 30], "bad-trailer-length"),
    (7, &[0xff, 0xff], "bad-trailer-length"),
    (8, &[4], "unknown-mode"),
    (8, &[0xff], "unknown-mode"),
    (9, &[0x40], "reserved-bits"),
    (9, &[0x80], "reserved-bits"),
    // A saved value that is not there shifts the parts before it.
    (9, &[0x04], "bad-trailer-length"),
    (10, &[0], "unknown-carriage"),
    (10, &[4], "unknown-carriage"),
    (11, &[0], "unknown-scheme"),
    (11, &[3], "unknown-scheme"),
];

const OF_EACH: [Damage; 3] = [
    (10, &[2], "unknown-carriage"),
    (8, &[2], "bad-trailer-length"),
    (8, &[3], "bad-trailer-length"),
];

const K: usize = TO_BLOCK + 34;
const OF_WINDOW: [Damage; 5] = [
    (K, &[0, 0], "bad-block"),
    (K, &[4, 1], "bad-block"),
    (K, &[0, 1, 0x77], "bad-block"),
    (8, &[1], "bad-trailer-length"),
    (8, &[3], "bad-trailer-length"),
];

/// In a block of two packets, whose path is one digest of 16 bytes.
const INDEX: usize = TO_BLOCK + 22 + 16 - 16;
const OF_TREE: [Damage; 9] = [
    (INDEX, &[0, 2], "bad-block"),
    (INDEX, &[0, 0, 0, 0], "bad-block"),
    (INDEX, &[0, 0, 0, 1], "bad-block"),
    (INDEX, &[0, 0, 0, 3], "bad-block"),
    (INDEX, &[0, 0, 4, 1], "bad-block"),
    (INDEX - 4, &[15, 1], "bad-trailer-length"),
    (INDEX - 4, &[1, 16], "bad-block"),
    (INDEX - 4, &[16, 2], "bad-trailer-length"),
    (8, &[1], "bad-trailer-length"),
];

const OF_MARK: [Damage; 8] = [
    (5, &[9], "unknown-version"),
    (7, &[0, 11], "bad-trailer-length"),
    (7, &[0xff, 0xff], "bad-trailer-length"),
    (8, &[9], "unknown-mode"),
    (9, &[0x01], "reserved-bits"),
    (9, &[0x20], "reserved-bits"),
    (10, &[0], "bad-mark"),
    // The trailer within: its version.
    (15, &[9], "bad-mark"),
];

const MODES: [(&[&str], &[Damage]); 3] = [
    (&["--mode", "each"], &OF_EACH),
    (&["--mode", "window", "--window", "2"], &OF_WINDOW),
    (&["--mode", "tree", "--block", "2"], &OF_TREE),
];

#[test]
fn damage_shows_the_reason_that_clew_names() {
    if missing("tshark") {
        return;
    }
    let folder = Folder::new();
    begin(&folder, IPV4);
    for (mode, of_mode) in MODES {
        let once = template(&folder, mode);
        refused(&folder, &once, &[&OF_ALL[..], of_mode].concat());
        refused(&folder, &marked(&folder, &once), &OF_MARK);
    }
    // What stands behind IP's header must be the trailer, and not part of that header.
    let short = without_payload(&template(&folder, MODES[0].0));
    refused(&folder, &short, &[(5, &[1], "bad-trailer-length")]);
}

/// The last packet of the first window or block of two, or one that comes after it.
fn template(folder: &Folder, mode: &[&str]) -> Packet {
    assert_eq!(folder.sign(mode), 0);
    let full = |packet: &Packet| match reading(packet).unwrap().trailer().block {
        clew_packet::Block::Each => true,
        clew_packet::Block::Window { k, .. } => k == 2,
        clew_packet::Block::Tree { index, .. } => index == 1,
    };
    let mut packets = packets(&folder.path("signed")).into_iter();
    packets.find(full).unwrap()
}

fn marked(folder: &Folder, packet: &Packet) -> Packet {
    write(&folder.path("one"), [plain(packet)]);
    assert_eq!(folder.sign_as("one", "marked", &[]), 0);
    packets(&folder.path("marked")).remove(0)
}

/// Ethernet and IPv4 header, and no more of an upper layer than the last three bytes of the foot
/// and the magic.
fn without_payload(packet: &Packet) -> Packet {
    let bytes = &packet.bytes;
    let mut short = [&bytes[..34], &bytes[bytes.len() - 7..]].concat();
    short[16..18].copy_from_slice(&27_u16.to_be_bytes());
    packet.with(short)
}

/// Does each damage to a packet of its own; clew and the dissector have to name its reason.
fn refused(folder: &Folder, packet: &Packet, damages: &[Damage]) {
    let damaged: Vec<Packet> = damages
        .iter()
        .map(|(before_end, value, _)| {
            let mut bytes = packet.bytes.clone();
            let at = bytes.len() - before_end;
            bytes[at..at + value.len()].copy_from_slice(value);
            packet.with(bytes)
        })
        .collect();
    write(&folder.path("damaged"), damaged.iter().map(plain));
    let (_, verified, _) = folder.verify("damaged");
    let shown = folder.fields("damaged");
    for ((damage, said), shown) in damages.iter().zip(verified).zip(shown) {
        assert_eq!(said["reason"], damage.2, "{damage:?}");
        let invalid = ("invalid".to_owned(), damage.2.to_owned());
        assert_eq!(judgement(&shown), Some(invalid), "{damage:?}");
        let info = &shown["_ws.col.Info"];
        assert!(
            info.ends_with(&format!("[clew invalid: {}]", damage.2)),
            "{info}"
        );
        assert!(shown.contains_key("clew.malformed"), "{damage:?}");
    }
}

const CODED: [&str; 2] = ["--carriage", "coded"];

/// In a block of twelve packets: six restore the signature by shares of 48 bytes, the path has four
/// digests of 16 bytes and the tag as many of 8.
#[test]
fn damaged_shares_show_the_reason_that_clew_names() {
    const NEEDED: usize = TO_BLOCK + 4 * 8 + 48 + 2;
    const BLOCK: usize = NEEDED + 4 * 16 + 22;
    if missing("tshark") {
        return;
    }
    let folder = Folder::new();
    begin_flow(&folder, 12);
    let packet = template(&folder, &CODED);
    let damages: [Damage; 9] = [
        (NEEDED, &[0, 0], "bad-code"),
        (NEEDED, &[0, 5], "bad-trailer-length"),
        (BLOCK - 16, &[0, 12], "bad-block"),
        (BLOCK - 18, &[0, 8], "bad-block"),
        (BLOCK - 20, &[8], "bad-trailer-length"),
        (BLOCK - 21, &[5], "bad-trailer-length"),
        (10, &[1], "bad-trailer-length"),
        (10, &[3], "bad-trailer-length"),
        (10, &[4], "unknown-carriage"),
    ];
    refused(&folder, &packet, &damages);
    for at in [&packet, &marked(&folder, &packet)] {
        let rest = reading(at).unwrap().trailer().length() + 16;
        let changed = (1..=rest).flat_map(|before_end| with_values(at, before_end));
        let changed: Vec<Packet> = changed.collect();
        write(&folder.path("damaged"), changed.iter().map(plain));
        compare(&folder, "damaged", "coded");
    }
}

/// As much as is known to stand there is shown, so that one sees what is wrong.
#[test]
fn malformed_trailers_show_what_is_known_of_them() {
    if missing("tshark") {
        return;
    }
    let folder = Folder::new();
    begin(&folder, IPV4);
    let packet = template(&folder, MODES[1].0);
    refused(&folder, &packet, &[OF_ALL[14], OF_WINDOW[1]]);
    for (filter, selected) in [
        ("clew.scheme == 3 && clew.group && !clew.signature", 1),
        (
            "clew.window.k == 1025 && clew.window.h && clew.signature",
            2,
        ),
    ] {
        assert_eq!(folder.filtered("damaged", filter), [selected], "{filter}");
    }
}

/// Every byte from the block section on with values that matter, once and within a mark.
#[test]
fn every_byte_of_the_trailer_is_judged_as_clew_does() {
    if missing("tshark") {
        return;
    }
    let folder = Folder::new();
    begin(&folder, IPV4);
    for (mode, _) in MODES {
        let once = template(&folder, mode);
        let body = reading(&once).unwrap().trailer().body.len();
        let rest = reading(&once).unwrap().trailer().length() - body + 16;
        let changed = [once.clone(), marked(&folder, &once)]
            .into_iter()
            .flat_map(|packet| (1..=rest).flat_map(move |at| with_values(&packet, at)));
        write(
            &folder.path("damaged"),
            changed.collect::<Vec<_>>().iter().map(plain),
        );
        compare(&folder, "damaged", &format!("{mode:?}"));
    }
}

fn with_values(packet: &Packet, before_end: usize) -> Vec<Packet> {
    let with = |value: u8| {
        let mut bytes = packet.bytes.clone();
        let at = bytes.len() - before_end;
        bytes[at] = value;
        packet.with(bytes)
    };
    [0, 1, 2, 3, 4, 8, 16, 0x20, 0x40, 0xff].map(with).into()
}

/// Anything may stand anywhere: what clew reads or refuses, the dissector does.
#[test]
fn random_damage_is_judged_as_clew_does() {
    if missing("tshark") {
        return;
    }
    let folder = Folder::new();
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    for (capture, (mode, _)) in [IPV4, IPV6].into_iter().zip(MODES.into_iter().skip(1)) {
        begin(&folder, capture);
        assert_eq!(folder.sign(mode), 0);
        assert_eq!(folder.sign_as("signed", "marked", &[]), 0);
        let mut all = packets(&folder.path("signed"));
        all.extend(packets(&folder.path("marked")));
        let damaged: Vec<Packet> = all
            .iter()
            .cycle()
            .take(1000)
            .map(|packet| damage(packet, &mut rng))
            .collect();
        write(&folder.path("damaged"), damaged.iter().map(plain));
        compare(&folder, "damaged", capture);
    }
}

/// Changes up to three bytes of the headers or the trailer's end, and cuts the frame now and then.
fn damage(packet: &Packet, rng: &mut ChaCha20Rng) -> Packet {
    let mut bytes = packet.bytes.clone();
    let length = bytes.len();
    let mut below = |n: usize| rng.next_u32() as usize % n;
    for _ in 0..=below(3) {
        let at = if below(2) == 0 {
            below(70)
        } else {
            length - 1 - below(100)
        };
        bytes[at.min(length - 1)] = [0, 1, 6, 17, 43, 44, 60, 0xff, below(256) as u8][below(9)];
    }
    if below(8) == 0 {
        let cut = bytes[..below(length + 1)].to_vec();
        return Packet {
            wire_len: length,
            ..packet.with(cut)
        };
    }
    packet.with(bytes)
}
