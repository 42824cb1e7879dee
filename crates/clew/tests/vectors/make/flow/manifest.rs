//! Vectors of manifests: signatures beside packets that stay as they are.

use clew_flow::manifest::Manifest;
use clew_flow::{BlockSigner, Chaining, Distribution, Ed25519Signer, Fixed, FlowSender, WallTime};
use clew_tree::Suite;
use sha2::{Digest, Sha256};

use crate::case::Case;
use crate::drawn::Drawn;
use crate::make::damage::Damage;
use crate::make::flow::evidence::proof_of;
use crate::make::flow::signature::{Flow, Place, TIME, contents};
use crate::make::{flat, rng};

const FORMAT: &str = "flow-manifest";
const WINDOW: u64 = 30_000_000_000;

/// Length of timestamp and signature, and of the fixed fields behind them.
const BLOB: usize = 72;
const FIXED: usize = 40;

pub fn all() -> Vec<Case> {
    flat([good(), bad(), packets(), blocks(), times(), proofs()])
}

fn flow(suite: Suite) -> Flow {
    let chaining = Chaining { suite, ..Chaining::default() };
    Flow::new("a camera", chaining)
}

fn list(flow: &Flow, place: &Place, contents: &[Vec<u8>]) -> Vec<u8> {
    let mut drawn = Drawn::new(&[&place.tag, &place.seq.to_be_bytes(), &place.id]);
    let signer = Ed25519Signer::from_secret(flow.secret());
    let mut sender = FlowSender::new(flow.descriptor.clone(), signer, &mut drawn).unwrap();
    let packets: Vec<&[u8]> = contents.iter().map(|content| &content[..]).collect();
    sender.sign_manifest(&packets, WallTime::from_nanos(place.time), &mut drawn).unwrap()
}

/// What the block's signature covers, by the digests of its manifest.
fn message(flow: &Flow, place: &Place, manifest: &[u8]) -> Vec<u8> {
    let digests = &manifest[..manifest.len() - FIXED - BLOB];
    let count = (digests.len() / 32) as u16;
    let parts: [&[u8]; 8] = [
        b"clew-flow-m1\0\0\0\0",
        flow.descriptor.digest(),
        &place.tag,
        &place.seq.to_be_bytes(),
        &place.time.to_be_bytes(),
        &count.to_be_bytes(),
        &place.id,
        &Sha256::digest(digests),
    ];
    parts.concat()
}

/// What comes, and what is thought of it in the end.
#[derive(Clone)]
struct Came(&'static str, Vec<u8>, &'static str);

fn manifest(bytes: &[u8], reason: &'static str) -> Came {
    Came("manifest", bytes.to_vec(), reason)
}

fn packet(bytes: &[u8], reason: &'static str) -> Came {
    Came("packet", bytes.to_vec(), reason)
}

fn case(name: &str, comment: &str, flow: &Flow, all: &[Came]) -> Case {
    judged(name, comment, flow, all).hex("time", TIME.to_be_bytes())
}

fn judged(name: &str, comment: &str, flow: &Flow, all: &[Came]) -> Case {
    let wrong = all.iter().find(|Came(_, _, reason)| *reason != "ok");
    let case = Case::new(FORMAT, name, wrong.map_or("valid", |w| w.2), comment)
        .text("check", "manifests")
        .hex("descriptor", flow.descriptor.to_bytes());
    all.iter().fold(case, |case, Came(kind, bytes, reason)| case.text("kind", kind).hex("received", bytes).text("reason", reason))
}

fn good() -> Vec<Case> {
    let listed = |(name, suite): (&str, Suite), count: u16| {
        let (flow, all) = (flow(suite), contents(count));
        let name = format!("{name}-of-{count}");
        let place = Place::new(&name);
        let bytes = list(&flow, &place, &all);
        let mut came = vec![manifest(&bytes, "ok")];
        came.extend(all.iter().rev().take(3).map(|content| packet(content, "ok")));
        let blob = &bytes[bytes.len() - FIXED - BLOB..bytes.len() - FIXED];
        let case = case(&name, &format!("{count} packets."), &flow, &came)
            .hex("secret", flow.secret())
            .hex("tag", place.tag)
            .hex("seq", place.seq.to_be_bytes())
            .hex("id", place.id)
            .hex("timestamp", place.time.to_be_bytes())
            .hex("message", message(&flow, &place, &bytes))
            .hex("blob", blob);
        case.each("content", &all)
    };
    let suites = [("blake3", Suite::Blake3), ("sha256", Suite::Sha256)];
    let all = suites.into_iter().flat_map(|s| [1, 2, 32].map(|c| (s, c)));
    all.map(|(suite, count)| listed(suite, count)).collect()
}

/// Manifests that are refused by themselves.
fn bad() -> Vec<Case> {
    let (flow, place, all) = (flow(Suite::Blake3), Place::new("five"), contents(5));
    let good = list(&flow, &place, &all);
    let salted = Chaining { salted: true, ..Chaining::default() };
    let salted = Flow::new("a salted camera", salted);
    let end = |back: usize, value: &[u8]| good.set(good.len() - back, value);
    let bit = |at: usize| good.flip(at);
    let of_salted = end(16, &salted.descriptor.key_id().0);
    let length = |bytes: &[u8], length: usize| bytes.set(bytes.len() - 6, (length as u16).to_be_bytes());
    let short = length(&good[32..], good.len() - 32);
    let long = length(&[&[0; 32][..], &good].concat(), good.len() + 32);
    let full = full_form(&flow, &good, &all[2]);
    let signed = flow.sign(&place, &all, Distribution::Every).remove(0);
    let mut of_packets = place.time.to_be_bytes().to_vec();
    // The message of section 4, over the root that manifests have.
    let message = message(&flow, &place, &good);
    let message = message.set(0, b"clew-flow-v1");
    let mut signer = Ed25519Signer::from_secret(flow.secret());
    let done = signer.sign(&message, &mut rng("none"), &mut of_packets);
    assert_eq!(done, Ok(()));
    let one =
        |name: &str, reason: &'static str, comment: &str, bytes: Vec<u8>| case(name, comment, &flow, &[manifest(&bytes, reason)]);
    let (length_at, signature) = (good.len() - FIXED, "bad-signature");
    vec![
        one("unsigned", "unsigned", "Another magic.", bit(good.len() - 1)),
        one("version", "unknown-version", "Version 2.", end(7, &[2])),
        one("flow", "unknown-flow", "Another key id.", bit(good.len() - 13)),
        one("count-0", "bad-block", "No packets.", end(10, &[0, 0])),
        one("most", "bad-block", "More packets than blocks have.", end(10, &[0, 65])),
        one("index", "bad-block", "Index 5 of 5.", end(12, &[0, 5])),
        one("carriage", "unknown-carriage", "Carriage 7.", end(8, &[7])),
        one("packet", "unknown-carriage", "A packet in full carriage.", signed),
        one("in-front", "bad-length", "A byte in front.", [&[0], &good[..]].concat()),
        one("full-form", "bad-length", "A packet in full form.", full),
        one("index-3", "bad-length", "An empty packet in full form.", end(12, &[0, 3])),
        one("short", "bad-length", "A digest is missing.", short),
        one("long", "bad-length", "A digest too many.", long),
        one("digest", signature, "A bit of a digest.", bit(70)),
        one("time", signature, "A bit of the timestamp.", bit(length_at - BLOB + 7)),
        one("signature", signature, "A bit of S.", bit(length_at - 20)),
        one("id", signature, "A bit of the block id.", bit(length_at)),
        one("tag", signature, "A bit of the tag.", bit(length_at + 16)),
        one("seq", signature, "A bit of the seq.", bit(length_at + 23)),
        one("of-packets", signature, "A signature of the kind that is over trees.", good.set(length_at - BLOB, &of_packets)),
        case("salted", "A flow whose packets have salts.", &salted, &[manifest(&of_salted, "bad-block")]),
    ]
}

fn full_form(flow: &Flow, manifest: &[u8], content: &[u8]) -> Vec<u8> {
    let fixed = Fixed::of(manifest).unwrap();
    let read = Manifest::of(manifest, fixed, &flow.descriptor).unwrap();
    read.in_full(content, &flow.descriptor).unwrap()
}

/// Packets, before and after their manifest.
fn packets() -> Vec<Case> {
    let (flow, place, all) = (flow(Suite::Sha256), Place::new("packets"), contents(3));
    let good = list(&flow, &place, &all);
    let same = [b"same".to_vec(), b"same".to_vec(), b"other".to_vec()];
    let twice = list(&flow, &place, &same);
    let next = Place { seq: 7001, ..place };
    let later = list(&flow, &next, &same[..1]);
    let signed = flow.sign(&place, &all, Distribution::Every).remove(0);
    let of_signed = list(&flow, &place, std::slice::from_ref(&signed));
    let of = |name: &str, comment: &str, came: &[Came]| case(name, comment, &flow, came);
    let waits = [packet(&all[0], "ok"), packet(&all[1], "ok"), manifest(&good, "ok"), packet(&all[2], "ok")];
    let changed = [manifest(&good, "ok"), packet(&all[0], "ok"), packet(b"0, and some more", "pending")];
    let again = [manifest(&good, "ok"), packet(&all[0], "ok"), packet(&all[0], "duplicate")];
    let never = [manifest(&good, "ok"), packet(b"of none", "no-signature")];
    let twice_in_one = [packet(b"same", "ok"), manifest(&twice, "ok"), packet(b"same", "ok"), packet(b"same", "pending")];
    let twice_in_two = [&twice_in_one[..3], &[packet(b"same", "ok"), manifest(&later, "ok")]];
    vec![
        of("packets-first", "Packets that come before their manifest wait.", &waits),
        of("packets-other", "A packet that is not listed.", &changed),
        of("packets-twice", "A digest that stands there twice is taken twice.", &twice_in_one),
        of("packets-later", "Once more in a later manifest.", &twice_in_two.concat()),
        of(
            "packets-signed",
            "A packet with a packet signature is a packet as any.",
            &[manifest(&of_signed, "ok"), packet(&signed, "ok"), packet(&all[0], "pending")],
        ),
        of("packets-empty", "An empty packet.", &[packet(b"", "ok"), manifest(&list(&flow, &place, &[Vec::new()]), "ok")]),
        of("packets-end", "Of no manifest, when none comes any more.", &never).hex("end", [1]),
        of("packets-again", "A packet again, when no manifest comes.", &again).hex("end", [1]),
    ]
}

/// Manifests after others.
fn blocks() -> Vec<Case> {
    let (flow, place, all) = (flow(Suite::Blake3), Place::new("blocks"), contents(4));
    let at = |seq: u32, id: &str, contents: &[Vec<u8>]| {
        let id = Place::new(id).id;
        list(&flow, &Place { seq, id, ..place }, contents)
    };
    let first = at(7000, "blocks", &all);
    let after = |name: &str, reason: &'static str, comment: &str, bytes: Vec<u8>| {
        let came = [manifest(&first, "ok"), manifest(&bytes, reason)];
        case(name, comment, &flow, &came)
    };
    let spoiled = first.flip(5);
    let of_old = [manifest(&at(7064, "later", &all[..1]), "ok"), manifest(&first, "old"), packet(&all[1], "pending")];
    let forged = [manifest(&spoiled, "bad-signature"), manifest(&spoiled, "bad-signature"), manifest(&first, "ok")];
    vec![
        after("duplicate", "duplicate", "The same again.", first.clone()),
        after("conflict-id", "conflict", "Another block of the seq.", at(7000, "x", &all)),
        after("conflict-count", "conflict", "Another count.", at(7000, "blocks", &all[..3])),
        after("conflict-digests", "conflict", "Other digests of the same block.", spoiled.clone()),
        after("old-63", "ok", "63 blocks behind.", at(6937, "before", &all)),
        case("old", "64 blocks behind.", &flow, &of_old),
        case("again", "Refused, and refused again; then the good one comes.", &flow, &forged),
    ]
}

fn times() -> Vec<Case> {
    let (flow, all) = (flow(Suite::Blake3), contents(2));
    let bytes = list(&flow, &Place::new("times"), &all);
    let at = |name: &str, comment: &str, time: u64, reason: &'static str| {
        judged(name, comment, &flow, &[manifest(&bytes, reason)]).hex("time", time.to_be_bytes())
    };
    vec![
        at("fresh-late", "30 s old.", TIME + WINDOW, "ok"),
        at("stale", "A nanosecond older.", TIME + WINDOW + 1, "stale"),
        at("fresh-early", "30 s ahead.", TIME - WINDOW, "ok"),
        at("future", "A nanosecond more.", TIME - WINDOW - 1, "future"),
    ]
}

/// Full forms, which proofs are made of.
fn proofs() -> Vec<Case> {
    let (flow, place, all) = (flow(Suite::Blake3), Place::new("proofs"), contents(5));
    let (own, alone) = (flow.descriptor.to_bytes(), list(&flow, &place, &all));
    let full = full_form(&flow, &alone, &all[3]);
    let case = |name: &str, expect: &str, comment: &str, packet: &[u8]| {
        Case::new(FORMAT, &format!("proof-{name}"), expect, comment).text("check", "proof").hex("proof", proof_of(&own, packet))
    };
    let bad = |name: &str, comment: &str, packet: &[u8]| case(name, "bad-proof", comment, packet);
    let bit = |at: usize| full.flip(at);
    let index = full.set(full.len() - 12, [0, 2]);
    vec![
        case("full-form", "valid", "A packet, and the manifest behind it.", &full)
            .hex("descriptor", &own)
            .hex("content", &all[3]),
        bad("alone", "A manifest alone.", &alone),
        bad("content", "A bit of the content.", &bit(0)),
        bad("digest", "A bit of its digest.", &bit(all[3].len() + 3 * 32)),
        bad("other-digest", "A bit of another's digest.", &bit(all[3].len())),
        bad("index", "Another packet's index.", &index),
        bad("signature", "A bit of the signature.", &bit(full.len() - FIXED - 1)),
    ]
}
