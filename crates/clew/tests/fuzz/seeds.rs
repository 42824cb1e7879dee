//! What fuzzing starts from: the vectors, the captures, and captures built here.

use std::fs;
use std::path::{Path, PathBuf};

use clew_capture::Reader;
use serde_json::Value as Json;

use crate::flows;
use crate::logs;
use crate::made;
use crate::openings;
use crate::support::*;
use crate::targets::flow;
use crate::targets::packet::LINKS;
use crate::tunnels;

/// Larger files make fewer rounds, and find nothing that small ones do not.
const CAPTURE_BYTES_MAX: u64 = 30_000;

/// The seeds of a target.
pub fn of(target: &str) -> Vec<Vec<u8>> {
    match target {
        "carriers" => vectors("carriers").map(frames_of).collect(),
        "coded_packets" => coded_blocks(),
        "container" => [captures(), built_captures()].concat(),
        "dkg" => openings::seeds(),
        "flow_descriptor" => vec![flow::descriptor().to_bytes()],
        "effs" => flows::effs(),
        "flow_file" => flows::files(),
        "flow_manifests" => vec![flows::manifests()],
        "flow_packets" => flows::seeds(),
        "flow_proof" => flows::proofs(),
        "flow_rtp" => vec![flows::padded()],
        "frame" => [captured_frames(), vector_frames()].concat(),
        "group_file" => {
            let files = vectors("group-file").flat_map(|v| v.all("file"));
            files.chain(made::seeds(target)).collect()
        }
        "key_file" => vectors("key-file").map(|v| v.text("line")).collect(),
        "batch" | "join" | "join_file" | "key_payload" | "locator" | "matching" | "member_key"
        | "opening" | "public_key" | "quorum" | "register_file" | "row" | "share" | "steps"
        | "witness_file" => made::seeds(target),
        "log_entry" => logs::entries(),
        "log_note" => logs::texts(),
        "log_tile" => logs::tiles(),
        "request_post" => vec![
            [
                &b"\x20clew-case-1\0\0\0\0\0"[..],
                &[1; 44],
                &[0, 1, b'w', 0, 0, 7],
            ]
            .concat(),
            [&[33][..], &[0; 8], &[1, 1]].concat(),
            [&[35][..], &[0; 8], &[1, 0], &[5; 60]].concat(),
            vec![37, 1, 0, 0, 0, 5],
            b"\x22c2sp.org/tlog-proof@v1\nextra AA==\nindex 1\n\n".to_vec(),
        ],
        "signature" => vectors("group-signature")
            .flat_map(|v| v.all("signature"))
            .chain(made::seeds(target))
            .collect(),
        "trailer" => vectors("packet-trailer")
            .flat_map(|v| v.all("frame"))
            .collect(),
        "tunnel_engine" => tunnels::scripts(),
        "tunnel_packet" => tunnels::packets(),
        "tunnel_puzzle" => tunnels::puzzles(),
        "tunnel_record" => tunnels::records(),
        "tunnel_rpc" => vec![tunnels::plaintext()],
        other => unreachable!("{other} has no seeds"),
    }
}

/// The packets of vectors that restore a signature.
fn coded_blocks() -> Vec<Vec<u8>> {
    let formats = ["packet-trailer", "carriers"].into_iter().flat_map(vectors);
    let restored = formats.filter(|v| !v.all("full").is_empty());
    restored.map(frames_of).collect()
}

/// The frames of a case, each behind its length.
fn frames_of(vector: Vector) -> Vec<u8> {
    let packets = [vector.all("earlier-frame"), vector.all("frame")].concat();
    let behind = |packet: &Vec<u8>| [&(packet.len() as u16).to_be_bytes()[..], packet].concat();
    packets.iter().flat_map(behind).collect()
}

/// A case of a vector file.
struct Vector(Json);

impl Vector {
    fn values(&self, name: &str) -> Vec<&str> {
        let strings = match &self.0[name] {
            Json::Array(all) => all.iter().collect(),
            one => vec![one],
        };
        strings.into_iter().filter_map(Json::as_str).collect()
    }

    /// All values of a name that are hex.
    fn all(&self, name: &str) -> Vec<Vec<u8>> {
        let values = self.values(name).into_iter();
        let hex = values.filter_map(|value| value.strip_prefix("0x"));
        hex.map(|digits| hex::decode(digits).unwrap()).collect()
    }

    /// The lines of text with that name.
    fn text(&self, name: &str) -> Vec<u8> {
        let lines = self.values(name).into_iter();
        lines
            .flat_map(|line| [line.as_bytes(), b"\n"].concat())
            .collect()
    }
}

fn vectors(format: &str) -> impl Iterator<Item = Vector> {
    let folder = root().join("../../spec/vectors");
    let text = fs::read_to_string(folder.join(format!("{format}.jsonl"))).unwrap();
    let cases: Vec<_> = text
        .lines()
        .map(|line| Vector(serde_json::from_str(line).unwrap()))
        .collect();
    cases.into_iter()
}

/// What `packet::frame` takes: selector of the link type, policy, bytes that the capture lacks.
fn selected(link: u32, missing: usize, bytes: &[u8]) -> Option<Vec<u8>> {
    let link = LINKS.iter().position(|number| *number == link)?;
    Some([&[link as u8, 0, missing as u8][..], bytes].concat())
}

fn vector_frames() -> Vec<Vec<u8>> {
    let frames = |vector: Vector| {
        let link = vector.all("link-type").concat();
        let link = u32::from_be_bytes(link.try_into().unwrap());
        let frames = [vector.all("frame"), vector.all("original")].concat();
        frames
            .into_iter()
            .filter_map(move |frame| selected(link, 0, &frame))
    };
    let formats = ["packet-trailer", "carriers"].into_iter();
    formats.flat_map(vectors).flat_map(frames).collect()
}

/// The first packets of each capture.
fn captured_frames() -> Vec<Vec<u8>> {
    let frames = |capture: Vec<u8>| -> Vec<Vec<u8>> {
        let records = Reader::new(&capture[..])
            .expect("it is a capture")
            .map(Result::unwrap);
        let packets = records.filter_map(|record| {
            let packet = record.packet()?;
            let missing = (packet.wire_len as usize).saturating_sub(record.data().len());
            selected(u32::from(packet.link), missing.min(3), record.data())
        });
        packets.take(20).collect()
    };
    captures().into_iter().flat_map(frames).collect()
}

fn captures() -> Vec<Vec<u8>> {
    let paths = files(&root().join("tests/captures"));
    let small = |path: &PathBuf| fs::metadata(path).is_ok_and(|m| m.len() <= CAPTURE_BYTES_MAX);
    let is_capture = |path: &PathBuf| path.extension().is_some_and(|e| e != "md");
    let paths = paths
        .into_iter()
        .filter(|path| is_capture(path) && small(path));
    paths.map(|path| fs::read(path).unwrap()).collect()
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The files of a folder by name, so that a seed always means the same run.
fn files(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = paths.filter(|path| path.is_file()).collect();
    files.sort();
    files
}

/// Length of the first section below, so that mistakes are made in a true length too.
const TRUE_LENGTH: u64 = 204;

/// Captures with every kind of record, in both byte orders.
fn built_captures() -> Vec<Vec<u8>> {
    let mut built = Vec::new();
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
        built.push(blocks.enhanced(0, 1, b"last", &[]).bytes);
        built.push(pcap(
            order,
            NANOSECONDS,
            16,
            1,
            &[packet(b"one"), packet(b"two")],
        ));
    }
    built
}
