//! Every mode: all captures there and back, and what loss, disorder, copies and changes do to the
//! verdicts.

use crate::captures::{CAPTURES, beginning, captures, without_snaplen};
use crate::folder::Folder;
use clew_capture::{Reader, Record};
use clew_packet::{Block, Frame, LinkType, read};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::collections::HashMap;
use std::fs;
use std::ops::Range;
use std::path::Path;

pub const MODES: [&[&str]; 7] = [
    &["--mode", "each"],
    &["--mode", "window"],
    &["--mode", "tree"],
    &["--mode", "window", "--window", "3", "--incremental"],
    &["--mode", "tree", "--block", "5", "--nat"],
    &["--mode", "window", "--window", "adaptive"],
    &["--carriage", "coded"],
];

/// Those where each packet is judged by itself: a changed one is refused, whatever else came.
const ALONE: usize = 6;

#[test]
fn every_capture_is_signed_verified_and_restored() {
    let folder = Folder::new();
    for (n, capture) in captures().iter().enumerate() {
        beginning(capture, &folder.path("in"));
        // Each mode with its usual options, and one of the others in turn.
        for mode in MODES[..3].iter().chain([&MODES[3 + n % 4]]) {
            let name = format!("{} {mode:?}", capture.display());
            assert_eq!(folder.sign(mode), 0, "{name}");
            let (status, packets, summary) = folder.verify("signed");
            assert_eq!(summary["invalid"], 0, "{name}");
            assert_eq!(summary["packets"], packets.len(), "{name}");
            let expected = match (&summary["undecided"], &summary["valid"]) {
                (undecided, valid) if *undecided == 0 && *valid != 0 => 0,
                _ => 2,
            };
            assert_eq!(status, expected, "{name}: {summary}");
            folder.yes(&["strip", "signed", "-w", "restored", "--force"]);
            let read = |name| without_snaplen(fs::read(folder.path(name)).unwrap());
            assert!(read("in") == read("restored"), "{name} is not restored");
        }
    }
}

/// The link type of most captures.
pub const ETHERNET: u32 = 1;

/// What became of a packet on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Unsigned,
    Untouched,
    Changed,
    Copy,
}

/// Captures of several kinds after each other, as one file, each packet with its own time.
pub fn mixed() -> Vec<u8> {
    let names = [
        "zeek--ssh-ssh.pcap",
        "arkime--v6.pcap",
        "tcpdump--quic_handshake.pcap",
        "zeek--pppoe-over-qinq.pcap",
    ];
    let records = names.map(|name| {
        let file = fs::read(Path::new(CAPTURES).join(name)).unwrap();
        packets(&file).into_iter().take(80).collect::<Vec<_>>()
    });
    let longest = records.iter().map(Vec::len).max().unwrap();
    let interleaved = (0..longest).flat_map(|i| records.iter().filter_map(move |of| of.get(i)));
    file(
        ETHERNET,
        interleaved.map(|record| (record.packet().unwrap().time_ns.unwrap(), record.data())),
    )
}

/// A capture with these times and frames of a link type.
pub fn file<'a>(link: u32, packets: impl Iterator<Item = (u64, &'a [u8])>) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_3c4d, 0x0004_0002, 0, 0, 65535, link] {
        file.extend(u32::to_le_bytes(word));
    }
    for (time, frame) in packets {
        let length = frame.len() as u64;
        for word in [time / 1_000_000_000, time % 1_000_000_000, length, length] {
            file.extend(u32::to_le_bytes(word as u32));
        }
        file.extend(frame);
    }
    file
}

pub fn packets(file: &[u8]) -> Vec<Record> {
    let records = Reader::new(file).unwrap().map(Result::unwrap);
    records.filter(|record| record.packet().is_some()).collect()
}

/// The bytes of a signed frame that its signature protects, here: its trailer but the magic.
fn protected(frame: &[u8]) -> Option<Range<usize>> {
    let mut places = frame.windows(4);
    let magic = places.rposition(|bytes| bytes == [0xc1, b'L', b'E', b'W'])?;
    let length = u16::from_be_bytes([frame[magic - 3], frame[magic - 2]]);
    Some(magic + 4 - usize::from(length)..magic)
}

/// Loses, exchanges, copies and changes packets, each about one in twelve.
pub fn send(signed: &[Record], rng: &mut ChaCha20Rng) -> Vec<(Way, u64, Vec<u8>)> {
    let mut sent: Vec<(Way, u64, Vec<u8>)> = Vec::new();
    for record in signed {
        let (time, frame) = (
            record.packet().unwrap().time_ns.unwrap(),
            record.data().to_vec(),
        );
        let Some(at) = protected(&frame) else {
            sent.push((Way::Unsigned, time, frame));
            continue;
        };
        match rng.next_u32() % 12 {
            0 => {}
            1 => {
                let at = sent.len().saturating_sub(1 + rng.next_u32() as usize % 5);
                sent.insert(at, (Way::Untouched, time, frame));
            }
            2 => {
                sent.push((Way::Untouched, time, frame.clone()));
                sent.push((Way::Copy, time, frame));
            }
            3 => {
                let mut frame = frame;
                frame[at.start + rng.next_u32() as usize % at.len()] ^= 1 << (rng.next_u32() % 8);
                sent.push((Way::Changed, time, frame));
            }
            _ => sent.push((Way::Untouched, time, frame)),
        }
    }
    sent
}

/// Which packets come after one of a greater index in their block.
pub fn late(sent: &[(Way, u64, Vec<u8>)]) -> Vec<bool> {
    let mut latest: HashMap<[u8; 16], u16> = HashMap::new();
    let late = |(way, _, frame): &(Way, u64, Vec<u8>)| {
        let frame = Frame::whole(LinkType(1), frame);
        let packet = read(&frame).ok().filter(|_| *way != Way::Changed);
        let Some(Block::Tree { block, index, .. }) = packet.map(|p| p.trailer().block) else {
            return false;
        };
        let before = latest.entry(*block.id()).or_insert(index);
        *before = index.max(*before);
        index < *before
    };
    sent.iter().map(late).collect()
}

#[test]
fn changed_packets_and_only_those_are_invalid() {
    let folder = Folder::new();
    fs::write(folder.path("in"), mixed()).unwrap();
    for (seed, mode) in MODES[..ALONE].iter().enumerate() {
        assert_eq!(folder.sign(mode), 0);
        let signed = fs::read(folder.path("signed")).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(seed as u64);
        let sent = send(&packets(&signed), &mut rng);
        let frames = sent
            .iter()
            .map(|(_, time, frame)| (*time, frame.as_slice()));
        fs::write(folder.path("sent"), file(ETHERNET, frames)).unwrap();
        let (status, verdicts, _) = folder.verify("sent");
        assert_eq!(status, 1);
        assert_eq!(verdicts.len(), sent.len());
        let late = late(&sent);
        assert!(!mode.contains(&"tree") || late.contains(&true), "{mode:?}");
        for (i, ((way, ..), said)) in sent.iter().zip(&verdicts).enumerate() {
            let expected = match way {
                Way::Unsigned => ("unsigned", said["reason"].as_str().unwrap()),
                Way::Untouched if late[i] => ("valid", "reordered"),
                Way::Untouched => ("valid", "ok"),
                Way::Copy => ("valid", "duplicate"),
                Way::Changed => ("invalid", said["reason"].as_str().unwrap()),
            };
            let said = (
                said["verdict"].as_str().unwrap(),
                said["reason"].as_str().unwrap(),
            );
            assert_eq!(said, expected, "packet {} of {mode:?}, seed {seed}", i + 1);
        }
        let count = |which| sent.iter().filter(|(way, ..)| *way == which).count();
        assert!(count(Way::Changed) > 5 && count(Way::Copy) > 5, "{mode:?}");
    }
}

/// A window reaches back to the pause before its flight, and no further than 64 packets.
#[test]
fn adaptive_windows_are_flights() {
    let folder = Folder::new();
    let original = fs::read(Path::new(CAPTURES).join("zeek--ssh-ssh.pcap")).unwrap();
    let one = packets(&original).remove(0);
    let millisecond = 1_000_000;
    let pauses = [1, 9, 10, 1, 1, 11].into_iter().chain([1; 70]);
    let times = pauses.scan(0, |time, pause| {
        *time += pause * millisecond;
        Some(*time)
    });
    fs::write(
        folder.path("in"),
        file(ETHERNET, times.map(|time| (time, one.data()))),
    )
    .unwrap();
    assert_eq!(
        folder.sign(&["--mode", "window", "--window", "adaptive"]),
        0
    );
    let signed = packets(&fs::read(folder.path("signed")).unwrap());
    let k = |record: &Record| {
        let frame = Frame::whole(LinkType(1), record.data());
        match read(&frame).unwrap().trailer().block {
            Block::Window { k, .. } => k,
            other => panic!("{other:?}"),
        }
    };
    let sizes: Vec<u16> = signed.iter().map(k).collect();
    let last: Vec<u16> = (1..=71).map(|k| k.min(64)).collect();
    assert_eq!(sizes[..5], [1, 2, 1, 2, 3]);
    assert_eq!(sizes[5..], last);
    assert_eq!(folder.verify("signed").0, 0);
}
