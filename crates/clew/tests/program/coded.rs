//! Coded carriage on captures: loss, disorder, changes, room, pipes.

use crate::captures::{CAPTURES, without_snaplen};
use crate::folder::Folder;
use crate::modes::{ETHERNET, Way, file, late, packets, send};
use clew_packet::{Block, Carriage, FOOT_BYTES, Frame, HEAD_BYTES, LinkType, SignedPacket, read};
use clew_tree::carriage::{Code, ShareTree, TagSize, Tags};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::path::Path;

const CODED: [&str; 2] = ["--carriage", "coded"];

/// One flow of TCP after another, 400 packets in all: blocks of many sizes.
fn signed(folder: &Folder, more: &[&str]) -> Vec<clew_capture::Record> {
    let ssh = fs::read(Path::new(CAPTURES).join("zeek--ssh-ssh.pcap")).unwrap();
    let records = packets(&ssh).into_iter().skip(1000).take(400);
    let records: Vec<_> = records.collect();
    let times = records
        .iter()
        .map(|record| (record.packet().unwrap().time_ns.unwrap(), record.data()));
    fs::write(folder.path("in"), file(ETHERNET, times)).unwrap();
    assert_eq!(folder.sign(&[&CODED[..], more].concat()), 0);
    packets(&fs::read(folder.path("signed")).unwrap())
}

fn looked_at<T>(frame: &[u8], look: impl FnOnce(&SignedPacket<'_>) -> T) -> Option<T> {
    let frame = Frame::whole(LinkType(1), frame);
    read(&frame).ok().map(|packet| look(&packet))
}

fn message(packet: &SignedPacket<'_>) -> Vec<u8> {
    let mut message = Vec::new();
    packet.write_message(&mut message);
    message
}

/// The blocks of which enough came as it was sent, by their messages.
fn decided(sent: &[(Way, u64, Vec<u8>)]) -> HashSet<Vec<u8>> {
    let mut shares: HashMap<Vec<u8>, HashSet<u16>> = HashMap::new();
    let mut decided = HashSet::new();
    for (_, _, frame) in sent.iter().filter(|(way, ..)| *way != Way::Changed) {
        let share = looked_at(frame, |packet| {
            let coded = packet.trailer().coded();
            (message(packet), coded.map(|c| (c.index(), c.needed())))
        });
        let Some((message, share)) = share else {
            continue;
        };
        let (index, needed) = share.unwrap_or((0, 1));
        let seen = shares.entry(message.clone()).or_default();
        seen.insert(index);
        if seen.len() >= needed.into() {
            decided.insert(message);
        }
    }
    decided
}

fn said(verdict: &Value) -> (&str, &str) {
    let of = |member: &str| verdict[member].as_str().unwrap();
    (of("verdict"), of("reason"))
}

/// What was not changed is valid as soon as enough of its block came, and undecided without; what
/// was changed is valid only if the packet itself is what was signed, with another share.
#[test]
fn blocks_are_decided_by_what_came_of_them() {
    let folder = Folder::new();
    let signed = signed(&folder, &[]);
    for (seed, lost) in [(1, 0), (2, 3), (3, 2)] {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let left = signed.iter().enumerate();
        let left = left.filter(|(i, _)| lost == 0 || i % lost == 0);
        let left: Vec<_> = left.map(|(_, record)| record.clone()).collect();
        let sent = send(&left, &mut rng);
        let frames = sent.iter().map(|(_, time, frame)| (*time, &frame[..]));
        fs::write(folder.path("sent"), file(ETHERNET, frames)).unwrap();
        let (_, verdicts, _) = folder.verify("sent");
        let (decided, late) = (decided(&sent), late(&sent));
        let mut undecided = 0;
        for (i, ((way, _, frame), verdict)) in sent.iter().zip(&verdicts).enumerate() {
            let of_decided = looked_at(frame, |p| decided.contains(&message(p)));
            let what = format!("packet {}, {way:?}, seed {seed}: {verdict}", i + 1);
            let said = said(verdict);
            match (way, of_decided) {
                (Way::Unsigned, _) => assert_eq!(said.0, "unsigned", "{what}"),
                (Way::Changed, Some(true)) => assert_eq!(said.0, "valid", "{what}"),
                (Way::Changed, _) => assert_ne!(said.0, "valid", "{what}"),
                (_, Some(false)) => {
                    undecided += 1;
                    assert_eq!(said, ("undecided", "too-few-shares"), "{what}");
                }
                (Way::Copy, _) => assert_eq!(said, ("valid", "duplicate"), "{what}"),
                // A changed copy of it may be what came first.
                _ if late[i] => assert_eq!(said, ("valid", "reordered"), "{what}"),
                _ => assert_eq!(said.0, "valid", "{what}"),
            }
        }
        assert_eq!(undecided > 0, lost > 0, "seed {seed}");
    }
}

/// One thread or many, a file or a pipe: the same verdicts in the same order.
#[test]
fn verdicts_do_not_depend_on_threads_or_pipes() {
    let folder = Folder::new();
    let signed = signed(&folder, &[]);
    let sent = send(&signed[..150], &mut ChaCha20Rng::seed_from_u64(4));
    let some = sent.iter().enumerate().filter(|(i, _)| i % 5 < 3);
    let frames = some.map(|(_, (_, time, frame))| (*time, &frame[..]));
    fs::write(folder.path("sent"), file(ETHERNET, frames)).unwrap();
    let verify = |threads: &str, name: &str, input: Option<File>| {
        let arguments = [
            "verify",
            "--group",
            "acme/public/group.clew",
            "--json",
            name,
        ];
        let mut command = folder.command(&arguments);
        command.env("RAYON_NUM_THREADS", threads);
        input.map(|file| command.stdin(file));
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let one = verify("1", "sent", None);
    assert!(one.contains("too-few-shares") && one.contains("\"ok\""));
    assert!(verify("7", "sent", None) == one);
    let pipe = File::open(folder.path("sent")).unwrap();
    assert!(verify("3", "-", Some(pipe)) == one);
}

/// A packet leaves its block if its trailer does not fit, and the trailers of a smaller block are
/// others, up to all of the signature: no datagram is longer than it may be.
#[test]
fn no_packet_is_longer_than_the_mtu() {
    let folder = Folder::new();
    let mut carriages = HashSet::new();
    for mtu in [300, 320, 400, 1500] {
        let signed = signed(&folder, &["--mtu", &mtu.to_string()]);
        for record in &signed {
            let frame = record.data();
            let carriage = looked_at(frame, |packet| packet.trailer().carriage);
            let Some(carriage) = carriage else { continue };
            carriages.insert(carriage == Carriage::Full);
            let length = u16::from_be_bytes([frame[16], frame[17]]);
            assert!(length <= mtu, "{length} of {mtu}");
        }
        let (_, _, summary) = folder.verify("signed");
        assert_eq!(
            (&summary["invalid"], &summary["undecided"]),
            (&0.into(), &0.into())
        );
        assert!(summary["valid"].as_u64().unwrap() > 50);
        folder.yes(&["strip", "signed", "-w", "restored", "--force"]);
        let read = |name| without_snaplen(fs::read(folder.path(name)).unwrap());
        assert!(read("in") == read("restored"), "{mtu}");
    }
    assert_eq!(carriages.len(), 2, "blocks in both carriages");
}

/// The packets of a block with shares of another signature, whose tags are right.
fn forged(block: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let (id, code) = looked_at(&block[0], |packet| {
        let Block::Tree { block, .. } = packet.trailer().block else {
            unreachable!("coded packets are of blocks");
        };
        let needed = packet.trailer().coded().unwrap().needed();
        (*block.id(), Code::new(block.count(), needed, 288).unwrap())
    })
    .unwrap();
    let shares = code.encode(&[7; 288]).unwrap();
    let tree = ShareTree::new(Tags::new(id, code, TagSize::T8), &shares).unwrap();
    let shares = shares.chunks(code.share_bytes());
    let forge = |((index, frame), share): ((u16, &Vec<u8>), &[u8])| {
        let tag = tree.tag(index).unwrap();
        let body = [&code.needed().to_be_bytes()[..], share, &tag].concat();
        let end = frame.len() - HEAD_BYTES - FOOT_BYTES;
        let mut forged = frame.clone();
        forged[end - body.len()..end].copy_from_slice(&body);
        forged
    };
    (0..).zip(block).zip(shares).map(forge).collect()
}

/// Somebody copies a block and gives the copies a signature of their own.
#[test]
fn forged_shares_are_refused_and_the_packet_still_comes_out() {
    let folder = Folder::new();
    signed(&folder, &[]);
    let one = packets(&fs::read(folder.path("in")).unwrap()).remove(0);
    let times = |count: usize| (0..count as u64).map(|i| 1_700_000_000_000_000_000 + i);
    let twelve = times(12).map(|time| (time, one.data()));
    fs::write(folder.path("in"), file(ETHERNET, twelve)).unwrap();
    assert_eq!(folder.sign(&CODED), 0);
    let honest = packets(&fs::read(folder.path("signed")).unwrap());
    let honest: Vec<Vec<u8>> = honest.iter().map(|r| r.data().to_vec()).collect();
    let forged = forged(&honest);
    let write = |name: &str, frames: &[Vec<u8>]| {
        let frames = times(frames.len()).zip(frames.iter().map(Vec::as_slice));
        fs::write(folder.path(name), file(ETHERNET, frames)).unwrap();
    };
    write("both", &[&forged[..], &honest].concat());
    write("forged", &forged);
    let (status, verdicts, _) = folder.verify("both");
    assert_eq!(status, 1);
    let words: Vec<_> = verdicts.iter().map(said).collect();
    assert_eq!(words[..12], [("invalid", "bad-signature"); 12]);
    assert_eq!(words[12..], [("valid", "ok"); 12]);
    let extract = |from: &str, packet: &str| {
        let group = ["extract", "--group", "acme/public/group.clew"];
        folder.status(
            &[
                &group[..],
                &[from, "--packet", packet, "-w", "out", "--force"],
            ]
            .concat(),
        )
    };
    // The first is a forged copy of the thirteenth: in full form they are the same.
    for packet in ["1", "13"] {
        assert_eq!(extract("both", packet), 0);
        let (status, _, summary) = folder.verify("out");
        assert_eq!((status, &summary["valid"]), (0, &1.into()));
    }
    assert_eq!(extract("forged", "1"), 1);
    write("few", &honest[..3]);
    assert_eq!(extract("few", "1"), 2);
}
