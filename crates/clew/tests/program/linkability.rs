//! What somebody who sees the wire can link, and that it is no more than `spec/packet-trailer.md`
//! section 8 says: packets of one block, and of one flow's windows.
//!
//! Each trailer is taken apart into what was *drawn* (ids, digests, signatures) and the rest. The rest
//! must be the same whichever machine signed; of what was drawn, nothing may come twice but within a
//! block.

use crate::captures::{CAPTURES, beginning};
use crate::folder::Folder;
use crate::modes::{MODES, mixed, packets};
use clew_packet::{Block, Flow, Frame, LinkType, SECOND_NS, Stripped, flow, read, strip};
use std::collections::HashMap;
use std::fmt::Debug;
use std::fs;
use std::path::Path;

/// Bytes that do not come twice by chance: two of 10^6 such values are equal with probability
/// 3 * 10^-8.
const TOKEN: usize = 8;

/// What an eavesdropper sees of a signed packet.
struct Seen {
    flow: Flow,
    /// The original, and everything of the trailer that is not drawn.
    rest: String,
    /// Which packets may share what was drawn: those of a block, or this one.
    unit: Vec<u8>,
    drawn: Vec<u8>,
}

impl Seen {
    fn of(frame: &[u8], place: usize) -> Option<Self> {
        let frame = Frame::whole(LinkType(1), frame);
        let packet = read(&frame).ok()?;
        let trailer = packet.trailer();
        assert_eq!(trailer.timestamp.0 % SECOND_NS, 0, "coarse timestamps");
        let alone = place.to_be_bytes().to_vec();
        let (shape, mut drawn, unit): (Box<dyn Debug>, _, _) = match trailer.block {
            Block::Each => (Box::new(()), Vec::new(), alone),
            Block::Window { k, h } => (Box::new(k), h.to_vec(), alone),
            Block::Tree { block, index, path } => (
                Box::new((index, block.count(), block.digest(), path.len())),
                [block.id(), path].concat(),
                block.id().to_vec(),
            ),
        };
        if matches!(trailer.block, Block::Window { k: 1, .. }) {
            drawn.clear();
        }
        drawn.extend(trailer.body);
        let mut original = Vec::new();
        assert_eq!(strip(&frame, &mut original), Stripped::Trailer);
        let said = (
            trailer.flags(),
            trailer.group,
            trailer.epoch,
            trailer.timestamp,
        );
        let more = (
            trailer.scheme,
            trailer.carriage,
            trailer.saved,
            trailer.length(),
            trailer.coded().map(|coded| coded.needed()),
        );
        Some(Self {
            flow: flow(&frame).ok()?.key(),
            rest: format!("{said:?} {more:?} {shape:?} {original:02x?}"),
            unit,
            drawn,
        })
    }
}

fn signed_file(folder: &Folder, keys: &[&str], mode: &[&str]) -> Vec<u8> {
    folder.yes(&[&["sign", "in", "-w", "signed", "--force"], keys, mode].concat());
    fs::read(folder.path("signed")).unwrap()
}

/// Signs `in` and looks at it.
fn signed(folder: &Folder, keys: &[&str], mode: &[&str]) -> Vec<Seen> {
    let file = signed_file(folder, keys, mode);
    let records = packets(&file).into_iter().enumerate();
    let seen: Vec<Seen> = records
        .filter_map(|(place, record)| Seen::of(record.data(), place))
        .collect();
    assert!(seen.len() > 100);
    seen
}

/// Packets that share something drawn and must not.
fn links<'a>(seen: impl Iterator<Item = &'a Seen>) -> usize {
    let mut first: HashMap<&[u8], &Seen> = HashMap::new();
    let mut links = 0;
    for packet in seen {
        for token in packet.drawn.windows(TOKEN) {
            let other = first.entry(token).or_insert(packet);
            links += usize::from(other.unit != packet.unit || other.flow != packet.flow);
        }
    }
    links
}

/// A machine for every source, or one for these and one for the others.
const ONE: &[&str] = &["--key", "web-1.key"];
const OTHER: &[&str] = &["--key", "web-2.key"];
const BOTH: &[&str] = &[
    "--key",
    "web-1.key",
    "--from",
    "192.168.0.0/16",
    "--from",
    "fe80::/10", //
    "--key",
    "web-2.key",
    "--from",
    "0.0.0.0/0",
    "--from",
    "::/0",
];

#[test]
fn nothing_is_linked_but_packets_of_a_block() {
    let folder = Folder::new();
    folder.yes(&["enrol", "acme", "web-2", "-o", "web-2.key"]);
    fs::write(folder.path("in"), mixed()).unwrap();
    for mode in MODES {
        let runs = [ONE, ONE, OTHER, BOTH].map(|keys| signed(&folder, keys, mode));
        for run in &runs[1..] {
            let rests = runs[0]
                .iter()
                .zip(run)
                .all(|(one, other)| one.rest == other.rest);
            assert!(
                rests && runs[0].len() == run.len(),
                "{mode:?}: who signed shows"
            );
        }
        // Runs too: the same machine signs the same packets twice.
        for run in &runs {
            assert_eq!(links(run.iter()), 0, "{mode:?}");
        }
        let [one, again, ..] = &runs;
        let tagged = again.iter().map(|packet| Seen {
            unit: [b"again", packet.unit.as_slice()].concat(),
            drawn: packet.drawn.clone(),
            rest: String::new(),
            ..*packet
        });
        let tagged: Vec<Seen> = tagged.collect();
        assert_eq!(
            links(one.iter().chain(&tagged)),
            0,
            "{mode:?}: a machine is recognised"
        );
    }
}

/// What is linked: the packets of a block by its id, and those of a flow's windows by their count.
#[test]
fn blocks_link_their_packets() {
    let folder = Folder::new();
    beginning(
        &Path::new(CAPTURES).join("zeek--ssh-ssh.pcap"),
        &folder.path("in"),
    );
    let in_blocks = signed(&folder, ONE, MODES[2]);
    let mut blocks: HashMap<&[u8], Vec<&Seen>> = HashMap::new();
    for packet in &in_blocks {
        blocks.entry(&packet.unit).or_default().push(packet);
    }
    assert!(blocks.len() < in_blocks.len() / 4, "most blocks are large");
    let same_flow = |block: &Vec<&Seen>| block.iter().all(|p| p.flow == block[0].flow);
    assert!(blocks.values().all(same_flow));

    let file = signed_file(&folder, ONE, MODES[1]);
    let mut runs: HashMap<Flow, u16> = HashMap::new();
    for record in packets(&file) {
        let frame = Frame::whole(LinkType(1), record.data());
        let Ok(packet) = read(&frame) else { continue };
        let Block::Window { k, .. } = packet.trailer().block else {
            panic!("mode window");
        };
        let before = runs.entry(flow(&frame).unwrap().key()).or_default();
        assert_eq!(k, (*before + 1).min(8), "it says how many came before it");
        *before = k;
    }
}

/// What the test above the last one would find.
#[test]
fn links_are_found() {
    let folder = Folder::new();
    beginning(
        &Path::new(CAPTURES).join("zeek--ssh-ssh.pcap"),
        &folder.path("in"),
    );
    let mut seen = signed(&folder, ONE, MODES[2]);
    assert_eq!(links(seen.iter()), 0);
    let there = seen
        .iter()
        .position(|packet| packet.flow != seen[0].flow)
        .unwrap();
    let leak: Vec<u8> = seen[0].drawn[..TOKEN].to_vec();
    seen[there].drawn.extend(&leak);
    assert!(links(seen.iter()) > 0, "eight bytes in two blocks");
}
