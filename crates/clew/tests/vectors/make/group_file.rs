//! Vectors of the group file: one good file, and one per rule.

use clew_evidence::{EpochRecord, Genesis, MAX_PART_BYTES, RegisterHead, seal};
use ed25519_dalek::SigningKey;

use super::group::{FILE, GROUP};
use super::{hash, patched, replaced};
use crate::case::Case;

const HEADER: &[u8; 16] = b"clew-group-file\n";

pub fn all() -> Vec<Case> {
    let mut cases = vec![good()];
    cases.extend(bad_frames());
    cases.extend(bad_bodies());
    cases.extend(bad_signatures());
    cases.extend(bad_chains());
    cases.extend(bad_keys());
    cases
}

fn good() -> Case {
    let name = FILE.strip_suffix(".txt").unwrap();
    let comment =
        "Two epochs after the first, and a register of three machines; most packets use it.";
    let mut case = Case::new("group-file", name, "valid", comment)
        .hex("file", file(&bodies()))
        .hex("id", GROUP.id().0)
        .text("name", GROUP.genesis.name.as_str())
        .hex("manager", GROUP.genesis.manager);
    for key in &GROUP.public {
        case = case.hex("public-key", key.to_bytes());
    }
    for record in &GROUP.epochs {
        case = case.hex("start", record.start.to_be_bytes());
    }
    for entry in &GROUP.entries {
        case = case.hex("entry", entry.encode());
    }
    case.hex("root", GROUP.register.root)
}

fn bad(name: &str, rule: &str, part: u32, comment: &str, file: &[u8]) -> Case {
    Case::new("group-file", name, rule, comment)
        .hex("file", file)
        .hex("part", part.to_be_bytes())
}

/// Bodies of the good file: record 0, two epochs, the register.
fn bodies() -> Vec<Vec<u8>> {
    let epochs = GROUP.epochs.iter().map(EpochRecord::encode);
    let first = [GROUP.genesis.encode()].into_iter();
    first
        .chain(epochs)
        .chain([GROUP.register.encode()])
        .collect()
}

fn file(bodies: &[Vec<u8>]) -> Vec<u8> {
    file_by(bodies, &GROUP.manager)
}

fn file_by(bodies: &[Vec<u8>], manager: &SigningKey) -> Vec<u8> {
    let parts = bodies.iter().flat_map(|body| seal(body, manager));
    HEADER.iter().copied().chain(parts).collect()
}

/// The good file with some bodies changed: all else is not made to fit.
fn with_bodies(change: impl FnOnce(&mut Vec<Vec<u8>>)) -> Vec<u8> {
    let mut bodies = bodies();
    change(&mut bodies);
    file(&bodies)
}

/// The good file with some records changed, and the chain made to fit.
fn with_records(change: impl FnOnce(&mut Genesis, &mut Vec<EpochRecord>)) -> Vec<u8> {
    let (mut genesis, mut epochs) = (GROUP.genesis.clone(), GROUP.epochs.clone());
    change(&mut genesis, &mut epochs);
    let mut bodies = vec![genesis.encode()];
    for epoch in epochs {
        let previous = hash(bodies.last().unwrap());
        bodies.push(EpochRecord { previous, ..epoch }.encode());
    }
    let last = hash(bodies.last().unwrap());
    bodies.push(
        RegisterHead {
            last,
            ..GROUP.register.clone()
        }
        .encode(),
    );
    file(&bodies)
}

/// Rules 1 to 3: what is read before any body.
fn bad_frames() -> Vec<Case> {
    let good = file(&bodies());
    let long = vec![vec![0; MAX_PART_BYTES + 1]];
    let genesis_twice = with_bodies(|b| b[1] = b[0].clone());
    vec![
        bad("empty", "header", 0, "No byte.", b""),
        bad(
            "header",
            "header",
            0,
            "Another line end in the header.",
            &patched(&good, 15, b'\r'),
        ),
        bad(
            "truncated-after-header",
            "truncated",
            0,
            "Nothing follows the header.",
            &good[..16],
        ),
        bad(
            "truncated-length",
            "truncated",
            0,
            "The file ends within a length.",
            &good[..19],
        ),
        bad(
            "truncated-body",
            "truncated",
            0,
            "The file ends within a body.",
            &good[..200],
        ),
        bad(
            "truncated-signature",
            "truncated",
            3,
            "The last byte is missing.",
            &good[..good.len() - 1],
        ),
        bad(
            "truncated-register",
            "truncated",
            3,
            "The register is missing.",
            &file(&bodies()[..3]),
        ),
        bad(
            "too-long",
            "too-long",
            0,
            "A body of 4,097 bytes.",
            &file(&long),
        ),
        bad(
            "kind-epoch-first",
            "kind",
            0,
            "Record 0 is missing.",
            &file(&bodies()[1..]),
        ),
        bad(
            "kind-genesis-twice",
            "kind",
            1,
            "Record 0 again in the place of epoch 1.",
            &genesis_twice,
        ),
        bad(
            "kind-unknown",
            "kind",
            1,
            "A part of kind 3.",
            &with_bodies(|b| b[1][0] = 3),
        ),
        bad(
            "kind-empty",
            "kind",
            1,
            "A part without a byte.",
            &with_bodies(|b| b[1].clear()),
        ),
        bad(
            "trailing-register",
            "trailing-bytes",
            4,
            "The register twice.",
            &with_bodies(|b| b.push(b[3].clone())),
        ),
        bad(
            "trailing-epoch",
            "trailing-bytes",
            3,
            "An epoch behind the register.",
            &with_bodies(|b| b.swap(2, 3)),
        ),
    ]
}

/// Rule 4.
fn bad_bodies() -> Vec<Case> {
    let mut cases = Vec::new();
    for (part, name) in ["genesis", "epoch", "epoch-2", "register"]
        .into_iter()
        .enumerate()
    {
        let longer = with_bodies(|b| b[part].push(0));
        let shorter = with_bodies(|b| _ = b[part].pop());
        let mut add = |what: &str, comment: &str, file: &[u8]| {
            cases.push(bad(
                &format!("layout-{name}-{what}"),
                "layout",
                part as u32,
                comment,
                file,
            ));
        };
        add("long", "A byte too many, and signed.", &longer);
        add("short", "A byte is missing, and signed.", &shorter);
    }
    for (name, at, value) in [
        ("scheme", 1, 9),
        ("opening", 74, 0),
        ("threshold", 75, 2),
        ("trustees", 76, 2),
        ("name-empty", 77, 0),
        ("name-control", 78, b'\n'),
        ("name-space", 78, b' '),
        ("name-utf8", 78, 0xff),
    ] {
        let (file_name, comment) = (
            format!("layout-{name}"),
            format!("Byte {at} of record 0 is {value}."),
        );
        let file = with_bodies(|b| b[0][at] = value);
        cases.push(bad(&file_name, "layout", 0, &comment, &file));
    }
    cases
}

/// Rule 5.
fn bad_signatures() -> Vec<Case> {
    let good = file(&bodies());
    let mut cases = Vec::new();
    let mut end = HEADER.len();
    for (part, body) in bodies().iter().enumerate() {
        end += 4 + body.len() + 64;
        let (name, comment) = (
            format!("signature-{part}"),
            format!("One bit of the signature of part {part} is flipped."),
        );
        let file = patched(&good, end as isize - 40, good[end - 40] ^ 1);
        cases.push(bad(&name, "signature", part as u32, &comment, &file));
    }
    let stranger = file_by(&bodies(), &SigningKey::from_bytes(&hash(b"stranger")));
    cases.push(bad(
        "signature-stranger",
        "signature",
        0,
        "Another key signed all parts.",
        &stranger,
    ));
    // The neutral point: with R the same and s = 0, verification that is not strict says yes.
    let neutral = replaced(&[0; 32], 0, &[1]);
    let small = with_records(|genesis, _| genesis.manager.copy_from_slice(&neutral));
    let forged = replaced(
        &small,
        16 + 4 + GROUP.genesis.encode().len(),
        &[&neutral[..], &[0; 32]].concat(),
    );
    cases.push(bad(
        "signature-small-order",
        "signature",
        0,
        "The manager key is the neutral point, and the signature fits any message.",
        &forged,
    ));
    cases
}

/// Rule 6.
fn bad_chains() -> Vec<Case> {
    let starts = |first: u64, second: u64| {
        with_records(|_, epochs| (epochs[0].start, epochs[1].start) = (first, second))
    };
    let start = GROUP.epochs[0].start;
    vec![
        bad(
            "epoch-skipped",
            "epoch",
            2,
            "Epoch 3 follows epoch 1.",
            &with_records(|_, e| e[1].epoch = 3),
        ),
        bad(
            "epoch-zero",
            "epoch",
            1,
            "The first epoch record has number 0.",
            &with_records(|_, e| e[0].epoch = 0),
        ),
        bad(
            "chain-previous",
            "chain",
            2,
            "Epoch 2 names another record before it.",
            &with_bodies(|b| b[2][5] ^= 1),
        ),
        bad(
            "chain-register",
            "chain",
            2,
            "The newest epoch was cut away.",
            &with_bodies(|b| drop(b.remove(2))),
        ),
        bad(
            "start-equal",
            "start",
            2,
            "Epochs 1 and 2 start at the same time.",
            &starts(start, start),
        ),
        bad(
            "start-earlier",
            "start",
            2,
            "Epoch 2 starts before epoch 1.",
            &starts(start, start - 1),
        ),
        bad(
            "start-zero",
            "start",
            1,
            "Epoch 1 starts at time 0.",
            &starts(0, start),
        ),
    ]
}

/// Rules 7 and 8.
fn bad_keys() -> Vec<Case> {
    let first = |change: &dyn Fn(&mut Genesis)| with_records(|genesis, _| change(genesis));
    let later = |at: usize, value: &[u8]| {
        with_records(|_, epochs| {
            let changed = replaced(&epochs[0].revocation, at, value);
            epochs[0].revocation = changed.try_into().unwrap();
        })
    };
    let other = &GROUP.epochs[1].revocation;
    vec![
        bad(
            "public-key-nonce",
            "public-key",
            0,
            "h is not the one of the nonce.",
            &first(&|g| g.nonce[0] ^= 1),
        ),
        bad(
            "public-key-not-epoch-0",
            "public-key",
            0,
            "Record 0 has the key of epoch 1.",
            &first(&|g| g.public_key = GROUP.public[1].to_bytes()),
        ),
        bad(
            "public-key-identity",
            "public-key",
            0,
            "u is the identity.",
            &first(&|g| {
                g.public_key = replaced(&g.public_key, 96, &replaced(&[0; 48], 0, &[0xc0]))
                    .try_into()
                    .unwrap();
            }),
        ),
        bad(
            "public-key-other-g1",
            "public-key",
            1,
            "Epoch 1 has the g1 of epoch 2.",
            &later(32, &other[32..80]),
        ),
        bad(
            "public-key-other-g2",
            "public-key",
            1,
            "Epoch 1 has the g2 of epoch 2.",
            &later(80, &other[80..176]),
        ),
        bad(
            "public-key-other-lift",
            "public-key",
            1,
            "Epoch 1 has the lift of epoch 2.",
            &later(176, &other[176..]),
        ),
        bad(
            "public-key-other-w",
            "public-key",
            1,
            "Epoch 1 has the w of epoch 2.",
            &with_records(|_, e| e[0].w = e[1].w),
        ),
    ]
}
