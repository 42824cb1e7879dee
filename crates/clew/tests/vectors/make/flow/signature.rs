//! Vectors of flow signatures: descriptors, signed blocks, padded RTP.

use clew_flow::{Algorithm, BlockSigner, Chaining, Descriptor, Distribution, Ed25519Signer, FlowSender, WallTime, rtp};
use clew_tree::carriage::{Rate, TagSize};
use clew_tree::{Degree, DigestSize, Suite, Tree};

use crate::case::Case;
use crate::drawn::Drawn;
use crate::make::damage::Damage;
use crate::make::{flat, hash, rng};

pub const FORMAT: &str = "flow-signature";

/// When blocks are signed, and packets received if nothing else is said.
pub const TIME: u64 = 1_800_000_000_000_000_000;

pub fn all() -> Vec<Case> {
    flat([descriptors(), bad_descriptors(), blocks(), padded()])
}

/// What signs a flow.
pub struct Flow {
    pub descriptor: Descriptor,
    secret: [u8; 32],
}

/// What is drawn for a block, and when it is signed.
#[derive(Clone, Copy)]
pub struct Place {
    pub tag: [u8; 4],
    pub seq: u32,
    pub id: [u8; 16],
    pub time: u64,
}

impl Place {
    pub fn new(label: &str) -> Self {
        let bytes = hash(label.as_bytes());
        Self { tag: bytes[..4].try_into().unwrap(), seq: 7000, id: bytes[16..].try_into().unwrap(), time: TIME }
    }
}

impl Flow {
    pub fn new(name: &str, chaining: Chaining) -> Self {
        let secret = hash(format!("the key of {name}").as_bytes());
        let key = Ed25519Signer::from_secret(&secret).public_key();
        let descriptor = Descriptor::new(chaining, Algorithm::Ed25519, &key, name).unwrap();
        Self { descriptor, secret }
    }

    /// The same descriptor, and another key.
    pub fn with_other_key(&self) -> Self {
        Self { descriptor: self.descriptor.clone(), secret: hash(&self.secret) }
    }

    /// The same key, under another name.
    pub fn renamed(&self, name: &str) -> Self {
        let of = &self.descriptor;
        let descriptor = Descriptor::new(*of.chaining(), of.algorithm(), of.public_key(), name);
        Self { descriptor: descriptor.unwrap(), secret: self.secret }
    }

    pub fn salts(&self, place: &Place, count: usize) -> Vec<[u8; 16]> {
        let salt = |i: usize| {
            let bytes = hash(&[&place.id[..], &i.to_be_bytes()].concat());
            bytes[..16].try_into().unwrap()
        };
        let count = if self.descriptor.chaining().salted { count } else { 0 };
        (0..count).map(salt).collect()
    }

    /// All packets of a block.
    pub fn sign(&self, place: &Place, contents: &[Vec<u8>], distribution: Distribution) -> Vec<Vec<u8>> {
        let salts = self.salts(place, contents.len()).concat();
        let mut drawn = Drawn::new(&[&place.tag, &place.seq.to_be_bytes(), &place.id, &salts]);
        let signer = Ed25519Signer::from_secret(&self.secret);
        let mut sender = FlowSender::new(self.descriptor.clone(), signer, &mut drawn).unwrap();
        let packets: Vec<&[u8]> = contents.iter().map(|content| &content[..]).collect();
        let mut outs = vec![Vec::new(); packets.len()];
        sender.sign_block(&packets, distribution, WallTime::from_nanos(place.time), &mut drawn, &mut outs).unwrap();
        outs
    }

    pub fn root(&self, place: &Place, contents: &[Vec<u8>]) -> [u8; 32] {
        let salts = self.salts(place, contents.len());
        let block = self.descriptor.chaining();
        let block = block.block(place.id, contents.len() as u16).unwrap();
        let content = |(index, packet): (usize, &Vec<u8>)| {
            let salt = salts.get(index).map_or(&[][..], |salt| salt);
            block.leaf(index as u16, &[salt, packet])
        };
        let leaves: Vec<_> = contents.iter().enumerate().map(content).collect();
        Tree::new(block, &leaves).unwrap().root()
    }

    /// What a block's signature covers.
    pub fn message(&self, place: &Place, contents: &[Vec<u8>]) -> Vec<u8> {
        let count = contents.len() as u16;
        let parts: [&[u8]; 8] = [
            b"clew-flow-v1\0\0\0\0",
            self.descriptor.digest(),
            &place.tag,
            &place.seq.to_be_bytes(),
            &place.time.to_be_bytes(),
            &count.to_be_bytes(),
            &place.id,
            &self.root(place, contents),
        ];
        parts.concat()
    }

    /// Timestamp and signature.
    pub fn blob(&self, place: &Place, contents: &[Vec<u8>]) -> Vec<u8> {
        let mut blob = place.time.to_be_bytes().to_vec();
        let mut signer = Ed25519Signer::from_secret(&self.secret);
        let message = self.message(place, contents);
        signer.sign(&message, &mut rng("none"), &mut blob).unwrap();
        blob
    }

    pub fn secret(&self) -> &[u8; 32] {
        &self.secret
    }
}

pub fn contents(count: u16) -> Vec<Vec<u8>> {
    let content = |i: u16| format!("{i}, and no more").into_bytes();
    (0..count).map(content).collect()
}

pub fn coded(percent: u8, tags: Option<TagSize>) -> Distribution {
    Distribution::Coded { rate: Rate::new(percent).unwrap(), tags }
}

fn descriptor(name: &str, expect: &str, comment: &str, bytes: &[u8]) -> Case {
    Case::new(FORMAT, name, expect, comment).text("check", "descriptor").hex("descriptor", bytes)
}

fn descriptors() -> Vec<Case> {
    let good = |name: &str, comment: &str, flow: &str, chaining: Chaining| {
        let found = Flow::new(flow, chaining).descriptor;
        descriptor(name, "valid", comment, &found.to_bytes()).hex("digest", found.digest()).hex("key-id", found.key_id().0)
    };
    let most =
        Chaining { suite: Suite::Sha256, digest: DigestSize::D32, degree: Degree::STAR, most: 1024, salted: true, every: true };
    let long = "\u{fc}".repeat(32);
    let least = Chaining { most: 1, every: false, ..Chaining::default() };
    vec![
        good("descriptor", "As most are.", "camera 7", Chaining::default()),
        good("descriptor-most", "The most of each.", &long, most),
        good("descriptor-least", "No name, no flags.", "", least),
    ]
}

fn bad_descriptors() -> Vec<Case> {
    let good = Flow::new("camera 7", Chaining::default());
    let good = good.descriptor.to_bytes();
    let at = |name: &str, comment: &str, at: usize, value: &[u8]| {
        let bytes = good.set(at, value);
        descriptor(&format!("descriptor-{name}"), "bad-descriptor", comment, &bytes)
    };
    let named = |name: &str, comment: &str, text: &[u8]| {
        let bytes = [&good[..43], &[text.len() as u8], text].concat();
        descriptor(&format!("descriptor-{name}"), "bad-descriptor", comment, &bytes)
    };
    let long = good.plus([0]);
    let key = |first: u8, rest: u8, last: u8| {
        let mut key = [rest; 32];
        (key[0], key[31]) = (first, last);
        key
    };
    let other =
        |name: &str, comment: &str, bytes: &[u8]| descriptor(&format!("descriptor-{name}"), "bad-descriptor", comment, bytes);
    let short_key = good.replace(9..12, [0, 31]);
    vec![
        at("version", "Version 2.", 0, &[2]),
        at("suite-0", "There is no suite 0.", 1, &[0]),
        at("suite-3", "There is no suite 3.", 1, &[3]),
        at("size", "D is 20.", 2, &[20]),
        at("degree-1", "A degree of 1.", 3, &[0, 1]),
        at("degree-1025", "A degree of 1,025.", 3, &[4, 1]),
        at("most-0", "Blocks of no packets.", 5, &[0, 0]),
        at("most-1025", "Blocks of 1,025 packets.", 5, &[4, 1]),
        at("flags", "A flag that nobody knows.", 7, &[4]),
        at("algorithm", "Algorithm 2.", 8, &[2]),
        other("key-short", "A key of 31 bytes.", &short_key),
        at("key-neutral", "The neutral point.", 11, &key(1, 0, 0)),
        at("key-order-4", "A point of order 4.", 11, &[0; 32]),
        at("key-canonical", "y is p + 3: a second encoding of a point.", 11, &key(0xf0, 0xff, 0x7f)),
        at("key-none", "No point has y = 2.", 11, &key(2, 0, 0)),
        named("name-long", "A name of 65 bytes.", &[b'a'; 65]),
        named("name-control", "A line end in the name.", b"a\nb"),
        named("name-c1", "U+0085, a control character.", "\u{85}".as_bytes()),
        named("name-utf8", "No UTF-8.", b"\xff"),
        other("short", "The last byte is missing.", &good.cut(1)),
        other("long", "A byte behind the name.", &long),
        other("empty", "No byte.", &[]),
    ]
}

/// Carriages of good blocks: a name, and what it is for people.
fn carriages(count: u16, degree: Degree) -> Vec<(&'static str, &'static str, Distribution)> {
    // Long paths are in few packets.
    let percent = if degree == Degree::BINARY { 25 } else { 6 };
    let mut all = vec![("full", "all in full", Distribution::Every), ("sparse", "one of eight in full", Distribution::OneIn(8))];
    if count > 8 {
        for (name, words, tags) in [
            ("t8", "shares with 8-byte tags", Some(TagSize::T8)),
            ("t4", "shares with 4-byte tags", Some(TagSize::T4)),
            ("t0", "shares without tags", None),
        ] {
            all.push((name, words, coded(percent, tags)));
        }
    }
    all
}

/// Each suite, degree, count and carriage; digests and salts by turns.
fn blocks() -> Vec<Case> {
    let mut out = Vec::new();
    let degrees = [2, 4, 1024].map(|degree| Degree::new(degree).unwrap());
    let sizes = [DigestSize::D16, DigestSize::D24, DigestSize::D32];
    for suite in [Suite::Blake3, Suite::Sha256] {
        for degree in degrees {
            for count in [1, 2, 5, 64] {
                for (carriage, words, distribution) in carriages(count, degree) {
                    let chaining = Chaining {
                        suite,
                        degree,
                        digest: sizes[out.len() % 3],
                        salted: out.len() / 2 % 2 == 1,
                        ..Chaining::default()
                    };
                    out.push(block(chaining, count, (carriage, words, distribution)));
                }
            }
        }
    }
    let large = Chaining { most: 1024, ..Chaining::default() };
    let shares = ("t8", "shares with 8-byte tags", coded(25, Some(TagSize::T8)));
    out.push(block(Chaining::default(), 9, shares));
    let few = ("t8", "shares with 8-byte tags", coded(2, Some(TagSize::T8)));
    out.push(block(large, 256, few));
    out.push(block(large, 1024, ("full", "all in full", Distribution::Every)));
    let short = ("full-for-t8", "too few for shares", shares.2);
    out.push(block(Chaining::default(), 8, short));
    out
}

/// Which packets of a block its file has: enough, in an order in which some wait.
fn picked(count: u16, carriage: &str) -> Vec<u16> {
    match (carriage, count) {
        ("t8" | "t4" | "t0", _) => (0..count).rev().step_by(usize::from(count / 16).max(1)).collect(),
        (_, 0..=8) => (0..count).rev().collect(),
        _ => vec![count - 1, count / 2, 5],
    }
}

fn block(chaining: Chaining, count: u16, (carriage, words, distribution): (&str, &str, Distribution)) -> Case {
    let suite = match chaining.suite {
        Suite::Blake3 => "blake3",
        Suite::Sha256 => "sha256",
    };
    let degree = match chaining.degree.get() {
        1024 => "star".to_owned(),
        degree => degree.to_string(),
    };
    let name = format!("{suite}-{degree}-of-{count}-{carriage}");
    let (size, salted) = (chaining.digest.bytes(), if chaining.salted { ", salted" } else { "" });
    let comment = format!("{count} packets, {words}; D is {size}{salted}.");
    let (flow, place, contents) = (Flow::new(&name, chaining), Place::new(&name), contents(count));
    let case = Case::new(FORMAT, &name, "valid", &comment)
        .text("check", "packets")
        .hex("descriptor", flow.descriptor.to_bytes())
        .hex("secret", flow.secret())
        .hex("tag", place.tag)
        .hex("seq", place.seq.to_be_bytes())
        .hex("id", place.id)
        .hex("timestamp", place.time.to_be_bytes());
    let case = match distribution {
        Distribution::Every => case.hex("one-in", [0, 1]),
        Distribution::OneIn(one_in) => case.hex("one-in", one_in.to_be_bytes()),
        Distribution::Coded { rate, tags } => {
            let percent = (1..=100).find(|p| Rate::new(*p) == Some(rate)).unwrap();
            let size = tags.map_or(0, |tags| tags.bytes() as u8);
            case.hex("percent", [percent]).hex("tag-size", [size])
        }
    };
    let case = case.each("salt", flow.salts(&place, contents.len()));
    let case = case
        .each("content", &contents)
        .hex("root", flow.root(&place, &contents))
        .hex("message", flow.message(&place, &contents))
        .hex("blob", flow.blob(&place, &contents))
        .hex("time", TIME.to_be_bytes());
    let case = match carriage {
        "t0" => case.hex("untagged", [1]),
        _ => case,
    };
    let signed = flow.sign(&place, &contents, distribution);
    let packets = picked(count, carriage);
    packets.into_iter().fold(case, |case, index| case.hex("packet", &signed[usize::from(index)]).text("reason", "ok"))
}

/// Section 7.
fn padded() -> Vec<Case> {
    let (flow, place) = (Flow::new("a phone", Chaining::default()), Place::new("rtp"));
    let header = [0x80, 96, 0, 1, 0, 0, 0, 9, 1, 2, 3, 4];
    let content = [&header[..], b"sound"].concat();
    let signed = flow.sign(&place, &[content, b"more".to_vec()], Distribution::Every);
    let signed = &signed[0];
    let mut received = signed.clone();
    let length = signed.len() - 17;
    assert!(rtp::pad(&mut received, length));
    let case = |name: &str, comment: &str, received: &[u8], signed: &[u8]| {
        Case::new(FORMAT, &format!("rtp-{name}"), "valid", comment)
            .text("check", "rtp")
            .hex("received", received)
            .hex("signed", signed)
    };
    let as_it_is = |name: &str, comment: &str, received: &[u8]| case(name, comment, received, received);
    let bare = &received[17..];
    let least = [&header[..], bare].concat();
    let least_signed = header.plus(bare.cut(1));
    let least = least.set(0, [0xa0]);
    let magic = [&received[..], &signed[signed.len() - 4..]].concat();
    vec![
        case("padded", "Its signature is its padding.", &received, signed),
        case("header", "Nothing but the header is signed.", &least, &least_signed),
        as_it_is("plain", "The signature stands behind it.", signed),
        as_it_is("version", "Version 1.", &received.set(0, [0x60])),
        as_it_is("no-padding", "No padding bit.", &received.set(0, [0x80])),
        as_it_is("padding-40", "Padding too short.", &received.set(-1, [40])),
        as_it_is("padding-long", "Padding that leaves 11 bytes.", &received.set(-1, [received.len() as u8 - 11])),
        as_it_is("other", "Padding that is no signature.", &received.set(-2, [0])),
        as_it_is("magic", "Padding, and a signature's end behind it.", &magic),
        as_it_is("empty", "No byte.", &[]),
    ]
}
