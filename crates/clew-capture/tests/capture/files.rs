//! Real captures: ours always, and every one of the folder that `CLEW_CAPTURES` names.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clew_capture::{PacketInfo, Record};
use pcap_parser::{Block, PcapBlockOwned, PcapError, create_reader};

use crate::fuzz::{assert_same, container};
use crate::support::{read, resize};

#[test]
fn copies_resizes_and_annotations_keep_every_byte() {
    for_each_capture(|_, bytes| container(bytes));
}

#[test]
fn longer_and_shorter_again_is_the_same_file() {
    for_each_capture(|path, bytes| {
        let longer = resize(bytes, 367);
        assert!(
            longer.len() > bytes.len(),
            "{}: no packet grew",
            path.display()
        );
        let restored = resize(&longer, -367);
        let (before, _) = read(bytes);
        let (after, _) = read(&restored);
        assert_eq!(before.len(), after.len());
        for (before, after) in before
            .iter()
            .zip(&after)
            .filter(|(a, _)| a.packet().is_some())
        {
            assert_same(after.bytes(), before.bytes(), &path.display().to_string());
        }
    });
}

#[test]
fn records_agree_with_pcap_parser() {
    for_each_capture(|path, bytes| {
        let (records, damage) = read(bytes);
        assert_eq!(damage, None, "{}", path.display());
        let ours: Vec<Seen> = records.iter().filter_map(Seen::of).collect();
        let theirs = oracle(bytes);
        assert_eq!(ours.len(), theirs.len(), "{}", path.display());
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert!(
                ours == theirs,
                "{}: {ours:?} against {theirs:?}",
                path.display()
            );
        }
    });
}

fn for_each_capture(check: impl Fn(&Path, &[u8])) {
    let own = captures_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../clew/tests/captures"));
    assert!(own.len() >= 11, "captures of the repository are missing");
    let shared = std::env::var_os("CLEW_CAPTURES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/captures"),
        PathBuf::from,
    );
    let more = captures_in(&shared);
    if more.is_empty() {
        // Not by println!, which is shown for tests that fail only.
        let skipped = b"SKIPPED further captures: none in the folder of CLEW_CAPTURES\n";
        let _ = std::io::stderr().write_all(skipped);
    }
    for path in own.iter().chain(&more) {
        check(path, &fs::read(path).expect("a readable file"));
    }
}

fn captures_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_capture = |path: &PathBuf| {
        path.extension()
            .is_some_and(|e| e == "pcap" || e == "pcapng")
    };
    entries
        .map(|entry| entry.path())
        .filter(is_capture)
        .collect()
}

/// A packet as both sides describe it.
#[derive(Debug, PartialEq)]
struct Seen {
    link: u16,
    wire_len: u32,
    time_ns: u64,
    data: Vec<u8>,
}

impl Seen {
    fn of(record: &Record) -> Option<Self> {
        let PacketInfo {
            link,
            wire_len,
            time_ns,
            ..
        } = record.packet()?;
        let time_ns = time_ns.expect("a time");
        Some(Self {
            link,
            wire_len,
            time_ns,
            data: record.data().to_vec(),
        })
    }
}

/// Reads a capture with an independent library.
fn oracle(bytes: &[u8]) -> Vec<Seen> {
    let mut seen = Vec::new();
    let mut interfaces = Vec::new();
    let mut pcap_tick_ns = 0;
    let mut reader = create_reader(1 << 21, bytes).expect("a capture");
    loop {
        match reader.next() {
            Ok((len, block)) => {
                match block {
                    PcapBlockOwned::LegacyHeader(header) => {
                        pcap_tick_ns = if header.is_nanosecond_precision() {
                            1
                        } else {
                            1000
                        };
                        interfaces.push((header.network.0 as u16, 0, 0));
                    }
                    PcapBlockOwned::Legacy(packet) => seen.push(Seen {
                        link: interfaces[0].0,
                        wire_len: packet.origlen,
                        time_ns: u64::from(packet.ts_sec) * 1_000_000_000
                            + u64::from(packet.ts_usec) * pcap_tick_ns,
                        data: packet.data[..packet.caplen as usize].to_vec(),
                    }),
                    PcapBlockOwned::NG(Block::SectionHeader(_)) => interfaces.clear(),
                    PcapBlockOwned::NG(Block::InterfaceDescription(interface)) => {
                        let resolution = interface.ts_resolution().expect("a resolution");
                        let link = interface.linktype.0 as u16;
                        interfaces.push((link, resolution, interface.ts_offset()));
                    }
                    PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
                        let (link, resolution, offset) = interfaces[packet.if_id as usize];
                        let ticks = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                        let ns = u128::from(ticks) * 1_000_000_000 / u128::from(resolution);
                        seen.push(Seen {
                            link,
                            wire_len: packet.origlen,
                            time_ns: ns as u64 + offset as u64 * 1_000_000_000,
                            data: packet.data[..packet.caplen as usize].to_vec(),
                        });
                    }
                    PcapBlockOwned::NG(_) => {}
                }
                reader.consume(len);
            }
            Err(PcapError::Eof) => return seen,
            Err(PcapError::Incomplete(_)) => reader.refill().expect("memory does not fail"),
            Err(error) => unreachable!("the oracle fails: {error:?}"),
        }
    }
}
