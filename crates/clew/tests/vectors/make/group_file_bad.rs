//! Vectors of the group file: one file for each rule broken, of both schemes.

use clew_evidence::{Change, EpochRecord, Genesis, MAX_PART_BYTES};
use ed25519_dalek::SigningKey;

use super::bbs04_group::BBS04;
use super::damage::{Damage, identity, order_3};
use super::flat;
use super::hash;
use super::records::{HEADER, Records, file_by};
use super::xr_group::XR;
use crate::case::Case;

pub fn all() -> Vec<Case> {
    flat([
        bad_frames(),
        bad_lengths("", &BBS04.records, &["genesis", "epoch", "epoch-2", "checkpoint", "register"]),
        bad_lengths(
            "xr-",
            &XR.records,
            &[
                "genesis",
                "epoch",
                "sharing",
                "epoch-3",
                "rebase",
                "checkpoint-2",
                "checkpoint-3",
                "checkpoint-5",
                "register",
            ],
        ),
        bad_values(),
        bad_signatures(),
        bad_chains(),
        bad_revocations(),
        bad_checkpoints(),
        bad_bindings(),
        first_bad_parts(),
        bad_keys(),
        bad_xr_keys(),
        bad_sharings(),
    ])
}

fn bad(name: &str, rule: &str, part: u32, comment: &str, file: &[u8]) -> Case {
    Case::new("group-file", name, rule, comment).hex("file", file).hex("part", part.to_be_bytes())
}

fn file(bodies: &[Vec<u8>]) -> Vec<u8> {
    file_by(bodies, &BBS04.records.manager)
}

/// The good file with some bodies changed: all else is not made to fit.
fn with_bodies_of(records: &Records, change: impl FnOnce(&mut Vec<Vec<u8>>)) -> Vec<u8> {
    let mut bodies = records.bodies();
    change(&mut bodies);
    file_by(&bodies, &records.manager)
}

fn with_bodies(change: impl FnOnce(&mut Vec<Vec<u8>>)) -> Vec<u8> {
    with_bodies_of(&BBS04.records, change)
}

/// The good file with some records changed, and the chain made to fit.
fn with_records_of(records: &Records, change: impl FnOnce(&mut Genesis, &mut Vec<EpochRecord>)) -> Vec<u8> {
    let mut records = records.clone();
    let mut epochs = std::mem::take(&mut records.epochs);
    change(&mut records.genesis, &mut epochs);
    for epoch in epochs {
        let before = records.last_id();
        let epoch = EpochRecord { previous: before, ..epoch };
        records.epochs.push(epoch);
    }
    records.file()
}

fn with_records(change: impl FnOnce(&mut Genesis, &mut Vec<EpochRecord>)) -> Vec<u8> {
    with_records_of(&BBS04.records, change)
}

/// Rules 1 to 3: what is read before any body.
fn bad_frames() -> Vec<Case> {
    let bodies = BBS04.records.bodies();
    let good = file(&bodies);
    let long = vec![vec![0; MAX_PART_BYTES + 1]];
    let genesis_twice = with_bodies(|b| b[1] = b[0].clone());
    let last = &good.cut(1);
    let other_line_end = good.set(15, [b'\r']);
    let early = {
        let mut records = BBS04.records.clone();
        let last = records.epochs.pop().unwrap().encode();
        file(&[records.bodies(), vec![last]].concat())
    };
    vec![
        bad("empty", "header", 0, "No byte.", b""),
        bad("header", "header", 0, "Another line end in the header.", &other_line_end),
        bad("truncated-after-header", "truncated", 0, "Nothing follows the header.", &good[..16]),
        bad("truncated-length", "truncated", 0, "The file ends within a length.", &good[..19]),
        bad("truncated-body", "truncated", 0, "The file ends within a body.", &good[..200]),
        bad("truncated-signature", "truncated", 4, "The last byte is missing.", last),
        bad("truncated-register", "truncated", 4, "The register is missing.", &file(&bodies[..4])),
        bad("too-long", "too-long", 0, "A body of 4,097 bytes.", &file(&long)),
        bad("kind-epoch-first", "kind", 0, "Record 0 is missing.", &file(&bodies[1..])),
        bad("kind-genesis-twice", "kind", 1, "Record 0 again in the place of epoch 1.", &genesis_twice),
        bad("kind-unknown", "kind", 1, "A part of kind 4.", &with_bodies(|b| b[1][0] = 4)),
        bad("kind-empty", "kind", 1, "A part without a byte.", &with_bodies(|b| b[1].clear())),
        bad("trailing-register", "trailing-bytes", 5, "The register twice.", &with_bodies(|b| b.push(b[4].clone()))),
        bad("trailing-epoch", "trailing-bytes", 4, "An epoch behind the register of the epochs before.", &early),
        bad("trailing-byte", "trailing-bytes", 5, "A byte behind the register, which begins no part.", &good.plus([0])),
    ]
}

/// Rule 4: a byte more or less in each of the first parts.
fn bad_lengths(prefix: &str, records: &Records, parts: &[&str]) -> Vec<Case> {
    let of_part = |(part, name): (usize, &&str)| {
        let longer = with_bodies_of(records, |b| b[part].push(0));
        let shorter = with_bodies_of(records, |b| _ = b[part].pop());
        [("long", "A byte too many, and signed.", longer), ("short", "A byte is missing, and signed.", shorter)].map(
            |(what, comment, file)| {
                let name = format!("{prefix}layout-{name}-{what}");
                bad(&name, "layout", part as u32, comment, &file)
            },
        )
    };
    parts.iter().enumerate().flat_map(of_part).collect()
}

/// Where the change of a record is, behind the register that it binds.
const CHANGE: usize = 89;

/// Rule 4: one byte of a body has a value that the field does not have. The last places of record 0
/// are those of the sharing, before its commitments.
fn bad_values() -> Vec<Case> {
    let (bbs04, xr) = (&BBS04.records, &XR.records);
    let of_bbs04 = bbs04.genesis.encode().len() - 96 - 3;
    let of_xr = xr.genesis.encode().len() - 48 - 3;
    // Of epoch 2 of xr: h, h_w, then origin, t, n.
    let of_epoch = CHANGE + 1 + 96;
    let mut cases = values([
        ("scheme", bbs04, 0, 1, 9),
        ("scheme-other", bbs04, 0, 1, 2),
        ("log", bbs04, 0, 74, 1),
        ("name-empty", bbs04, 0, 75, 0),
        ("name-control", bbs04, 0, 76, b'\n'),
        ("name-space", bbs04, 0, 76, b' '),
        ("name-space-end", bbs04, 0, 82, b' '),
        ("name-utf8", bbs04, 0, 76, 0xff),
        ("origin", bbs04, 0, of_bbs04, 0),
        ("origin-distributed", bbs04, 0, of_bbs04, 2),
        ("threshold-zero", bbs04, 0, of_bbs04 + 1, 0),
        ("threshold-above", bbs04, 0, of_bbs04 + 1, 4),
        ("trustees-below", bbs04, 0, of_bbs04 + 2, 1),
        ("trustees-33", bbs04, 0, of_bbs04 + 2, 33),
        ("change", bbs04, 1, CHANGE, 0),
        ("change-steps", bbs04, 1, CHANGE, 1),
        ("change-sharing", bbs04, 1, CHANGE, 2),
        ("rows", bbs04, 1, CHANGE + 2, 2),
        ("xr-log", xr, 0, 74, 1),
        ("xr-origin", xr, 0, of_xr, 3),
        ("xr-threshold", xr, 0, of_xr + 1, 4),
        ("xr-trustees", xr, 0, of_xr + 2, 33),
        ("xr-change", xr, 1, CHANGE, 4),
        ("xr-change-sharing", xr, 1, CHANGE, 2),
        ("xr-steps-none", xr, 1, CHANGE + 1, 0),
        ("xr-steps-two", xr, 1, CHANGE + 1, 2),
        ("xr-checkpoint-none", xr, 5, 4, 0),
        ("xr-checkpoint-hashes", xr, 6, 37, 65),
        ("xr-sharing-origin", xr, 2, of_epoch, 0),
        ("xr-sharing-threshold", xr, 2, of_epoch + 1, 2),
        ("xr-sharing-trustees", xr, 2, of_epoch + 2, 2),
    ]);
    let rows = |revoked: Vec<u32>| with_records(|_, epochs| epochs[0].change = Change::Rebase { revoked });
    let steps = XR.steps[0][0].to_bytes();
    let many = with_records_of(&XR.records, |_, epochs| {
        epochs[0].change = Change::Steps(vec![steps; 49]);
    });
    let layout = |name: &str, comment: &str, file: &[u8]| bad(&format!("layout-{name}"), "layout", 1, comment, file);
    cases.extend([
        layout("rows-equal", "A rebase names a row twice.", &rows(vec![1, 1])),
        layout("rows-falling", "Rows of a rebase in falling order.", &rows(vec![2, 1])),
        layout("rows-many", "A rebase of 901 rows.", &rows((0..901).collect())),
        layout("steps-many", "A record of 49 steps.", &many),
        layout("root", "Epoch 1 binds no machine, and a root.", &with_records(|_, epochs| epochs[0].machines = 0)),
        bad(
            "layout-register-root",
            "layout",
            4,
            "A register of no machine with a root.",
            &with_bodies(|b| b[4][41..45].fill(0)),
        ),
    ]);
    cases.extend(names());
    cases
}

/// Rule 4: names with characters that nobody sees, or that are blank.
fn names() -> Vec<Case> {
    let named = |name: &str, comment: &str, hidden: char| {
        let file = with_bodies(|b| {
            let mut bytes = [0; 4];
            b[0] = b[0].set(77, hidden.encode_utf8(&mut bytes).as_bytes());
        });
        bad(&format!("layout-name-{name}"), "layout", 0, comment, &file)
    };
    vec![
        named("space-none", "A zero width space in the name.", '\u{200b}'),
        named("joiner", "A zero width joiner, as in emoji.", '\u{200d}'),
        named("override", "The name is shown from right to left.", '\u{202e}'),
        named("hyphen", "A soft hyphen in the name.", '\u{ad}'),
        named("tag", "A tag, beyond the first plane.", '\u{e0061}'),
        named("glyphs", "A sign of Unicode 15 that joins hieroglyphs.", '\u{1343f}'),
        named("selector", "A variation selector, as in emoji.", '\u{fe0f}'),
        named("filler", "A letter that is blank.", '\u{3164}'),
        named("space-no-break", "A no-break space.", '\u{a0}'),
        named("space-wide", "An ideographic space.", '\u{3000}'),
        named("line", "A line separator.", '\u{2028}'),
        named("braille", "A Braille pattern without dots.", '\u{2800}'),
        named("reserved", "The last of those that Unicode has reserved for invisible characters.", '\u{e0fff}'),
    ]
}

type Value = (&'static str, &'static Records, usize, usize, u8);

fn values<const N: usize>(all: [Value; N]) -> Vec<Case> {
    all.map(|(name, records, part, at, value)| {
        let name = match name.strip_prefix("xr-") {
            Some(name) => format!("xr-layout-{name}"),
            None => format!("layout-{name}"),
        };
        let comment = format!("Byte {at} of record {part} is {value}.");
        let file = with_bodies_of(records, |b| {
            assert_ne!(b[part][at], value);
            b[part][at] = value;
        });
        bad(&name, "layout", part as u32, &comment, &file)
    })
    .into()
}

/// Rule 5.
fn bad_signatures() -> Vec<Case> {
    let (bodies, mut cases) = (BBS04.records.bodies(), Vec::new());
    let good = file(&bodies);
    let mut end = HEADER.len();
    for (part, body) in bodies.iter().enumerate() {
        end += 4 + body.len() + 64;
        let (name, comment) =
            (format!("signature-{part}"), format!("One bit of the signature of part {part} is flipped."));
        let file = good.flip(end - 40);
        cases.push(bad(&name, "signature", part as u32, &comment, &file));
    }
    let stranger = file_by(&bodies, &SigningKey::from_bytes(&hash(b"stranger")));
    cases.push(bad("signature-stranger", "signature", 0, "Another key signed all parts.", &stranger));
    // The neutral point: with R the same and s = 0, verification that is not strict says yes.
    let neutral = [0; 32].set(0, [1]);
    let small = with_records(|genesis, _| genesis.manager.copy_from_slice(&neutral));
    let forged = small.set(16 + 4 + bodies[0].len(), &[&neutral[..], &[0; 32]].concat());
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
    let times = |epoch: usize, made: u64, start: u64| {
        with_records(|_, epochs| (epochs[epoch - 1].made, epochs[epoch - 1].start) = (made, start))
    };
    let start = BBS04.records.start(1);
    let (made, created) = (BBS04.records.epochs[0].made, BBS04.records.genesis.created);
    let (skipped, zero) = (with_records(|_, e| e[1].epoch = 3), with_records(|_, e| e[0].epoch = 0));
    let previous = with_bodies(|b| b[2][5] ^= 1);
    let cut = with_bodies(|b| drop(b.remove(2)));
    let xr_cut = with_bodies_of(&XR.records, |b| drop(b.remove(4)));
    vec![
        bad("epoch-skipped", "epoch", 2, "Epoch 3 follows epoch 1.", &skipped),
        bad("epoch-zero", "epoch", 1, "The first epoch record has number 0.", &zero),
        bad("chain-previous", "chain", 2, "Epoch 2 names another record before it.", &previous),
        bad("chain-register", "chain", 3, "The newest epoch was cut away.", &cut),
        bad("xr-chain-register", "chain", 7, "The newest epoch was cut away.", &xr_cut),
        bad("start-before-made", "start", 1, "Epoch 1 starts before its record was made.", &times(1, start + 1, start)),
        bad("start-made-earlier", "start", 2, "Record 2 was made before record 1.", &times(2, made - 1, start + 1)),
        bad(
            "start-made-before-group",
            "start",
            1,
            "Record 1 was made before the group.",
            &times(1, created - 1, start),
        ),
    ]
}

/// Rule 6, revocations.
fn bad_revocations() -> Vec<Case> {
    let rows = with_records(|_, epochs| epochs[1].change = epochs[0].change.clone());
    let again = with_records_of(&XR.records, |_, epochs| {
        let first = epochs[0].change.clone();
        epochs[2].change = first;
    });
    let both = with_records_of(&XR.records, |_, epochs| {
        epochs[0].change = Change::Steps(vec![XR.steps[0][0].to_bytes(); 2]);
    });
    let bad = |name: &str, part, comment: &str, file: &[u8]| {
        bad(&format!("revoked-twice-{name}"), "revoked-twice", part, comment, file)
    };
    vec![
        bad("rows", 2, "Two rebases revoke one row.", &rows),
        bad("x", 3, "Two records revoke one x.", &again),
        bad("x-at-once", 1, "One record revokes one x twice.", &both),
    ]
}

/// Rules 7 and 8, the register's sizes.
fn bad_checkpoints() -> Vec<Case> {
    let body = |part: usize, change: &dyn Fn(&mut Vec<u8>)| with_bodies_of(&XR.records, |b| change(&mut b[part]));
    let bad = |name: &str, part, comment: &str, file: &[u8]| {
        bad(&format!("xr-checkpoint-{name}"), "checkpoint", part, comment, file)
    };
    let fork = {
        let mut bodies = XR.records.bodies();
        let mut other = XR.records.clone();
        other.entries.truncate(2);
        other.entries[1].joined += 1;
        other.checkpoints = vec![2];
        bodies[5] = other.checkpoint_bodies().remove(0);
        file_by(&bodies, &XR.records.manager)
    };
    vec![
        bad("root", 6, "The root of the second is one bit off.", &body(6, &|b| b[5] ^= 1)),
        bad("proof", 6, "A hash of its proof is one bit off.", &body(6, &|b| b[40] ^= 1)),
        bad("fork", 6, "The first is of another register.", &fork),
        bad("not-growing", 6, "The second is not larger.", &body(6, &|b| b[4] = 2)),
        bad(
            "first-proof",
            5,
            "The first has a proof.",
            &body(5, &|b| {
                b[37] = 1;
                b.extend([0; 32]);
            }),
        ),
        bad("register", 8, "The register's proof is one bit off.", &{
            let mut bodies = grown().bodies();
            let proof = bodies[8].last_mut().unwrap();
            *proof ^= 1;
            file_by(&bodies, &XR.records.manager)
        }),
        bad("register-smaller", 8, "The register is smaller.", &body(8, &|b| b[44] = 3)),
        bad(
            "register-proof",
            8,
            "The register is as large as the last, and has a proof.",
            &body(8, &|b| {
                b[77] = 1;
                b.extend([0; 32]);
            }),
        ),
    ]
}

/// The group of xr with a machine more than the last checkpoint.
fn grown() -> Records {
    let mut records = XR.records.clone();
    records.entries.push(records.entries[0].clone());
    records
}

/// Rule 8, the register that each record binds.
fn bad_bindings() -> Vec<Case> {
    let bad = |name: &str, part, comment: &str, file: &[u8]| {
        bad(&format!("xr-checkpoint-record-{name}"), "checkpoint", part, comment, file)
    };
    let bound_in = |records: &Records, epoch: usize, size: (u32, [u8; 32])| {
        with_records_of(records, |_, epochs| {
            let record = &mut epochs[epoch - 1];
            (record.machines, record.root) = size;
        })
    };
    let bound = |epoch: usize, size| bound_in(&XR.records, epoch, size);
    let records = &XR.records;
    let mut missing = records.clone();
    missing.checkpoints.pop();
    let (five, other_root) = (records.size(5), records.size(5).1.flip(31));
    vec![
        bad("fewer", 3, "Epoch 3 binds two machines, and epoch 2 three.", &bound(3, records.size(2))),
        bad("none", 4, "Epoch 4 binds no machine, and epoch 3 five.", &bound(4, (0, [0; 32]))),
        bad(
            "root",
            4,
            "Epoch 4 binds another root than the checkpoint has.",
            &bound(4, (five.0, other_root.try_into().unwrap())),
        ),
        bad("missing", 3, "The checkpoint of epochs 3 and 4 is missing.", &missing.file()),
        bad("between", 2, "Epoch 2 binds four machines, of which there is no checkpoint.", &bound(2, records.size(4))),
        bad(
            "register",
            4,
            "Epoch 4 binds the register, which is no checkpoint.",
            &bound_in(&grown(), 4, grown().size(6)),
        ),
    ]
}

/// Each part is checked before the next one is looked at.
fn first_bad_parts() -> Vec<Case> {
    let bodies = BBS04.records.bodies();
    let mut begun = file(&bodies[..2]);
    *begun.last_mut().unwrap() ^= 1;
    let rest = &file(&bodies[2..])[HEADER.len()..];
    let chain = with_bodies(|b| {
        b[1][5] ^= 1;
        b[2].push(0);
    });
    vec![
        bad(
            "first-signature-cut",
            "signature",
            1,
            "The signature of part 1 is one bit off, and the file ends there.",
            &begun,
        ),
        bad(
            "first-signature-long",
            "signature",
            1,
            "The same, and a part that is too long follows.",
            &[&begun[..], &[0xff; 8]].concat(),
        ),
        bad(
            "first-signature-kind",
            "signature",
            1,
            "The same, and the register stands before epoch 2.",
            &[&begun[..], &file(&bodies[4..])[HEADER.len()..], rest].concat(),
        ),
        bad(
            "first-chain",
            "chain",
            1,
            "Epoch 1 names another record before it, and epoch 2 has a byte too many.",
            &chain,
        ),
    ]
}

/// Rule 9 of bbs04.
fn bad_keys() -> Vec<Case> {
    let first = |change: &dyn Fn(&mut Genesis)| with_records(|genesis, _| change(genesis));
    let set = |at: usize, point: &[u8]| first(&|g| g.founding[at..at + point.len()].copy_from_slice(point));
    let key =
        |name: &str, comment: &str, file: &[u8]| bad(&format!("public-key-{name}"), "public-key", 0, comment, file);
    vec![
        key("identity", "u is the identity.", &set(0, &identity(48))),
        key("off-curve", "v is no point.", &set(48, &[0xff; 48])),
        key("w", "w is the identity.", &set(96, &identity(96))),
    ]
}

/// Rules 9, 11 and 12 of xr.
fn bad_xr_keys() -> Vec<Case> {
    let good = &XR.records.genesis;
    let first = |change: &dyn Fn(&mut Genesis)| with_records_of(&XR.records, |g, _| change(g));
    let set = |key: Vec<u8>| first(&|g| g.founding.copy_from_slice(&key));
    let proof = |at: usize| first(&|g| g.issuer_proof.as_mut().unwrap()[at] ^= 1);
    let later = |epoch: usize, change: &dyn Fn(&mut Change)| {
        with_records_of(&XR.records, |_, epochs| change(&mut epochs[epoch - 1].change))
    };
    let stepped = |epoch: usize, step: usize, value: &dyn Fn(&[u8; 80]) -> Vec<u8>| {
        later(epoch, &|change| {
            if let Change::Steps(steps) = change {
                steps[step] = value(&steps[step]).try_into().unwrap();
            }
        })
    };
    let swapped = later(3, &|change| {
        if let Change::Steps(steps) = change {
            steps.swap(0, 1);
        }
    });
    let h_w = later(2, &|change| {
        if let Change::Sharing(new) = change {
            new.h_w = new.h_w.doubled(0, 48).try_into().unwrap();
        }
    });
    let key = |name: &str, part: u32, comment: &str, file: &[u8]| {
        bad(&format!("xr-public-key-{name}"), "public-key", part, comment, file)
    };
    let of = &good.founding[..];
    let nonce = first(&|g| g.nonce[0] ^= 1);
    vec![
        key("nonce", 0, "The proof of gamma is for another nonce.", &nonce),
        key("identity", 0, "h is the identity.", &set(of.set(0, identity(48)))),
        key("order-3", 0, "h is (0, 2), which has order 3.", &set(of.set(0, order_3()))),
        key("h", 0, "h is another point than that of h_w.", &set(of.doubled(0, 48))),
        key("h-w", 0, "h_w is another point.", &set(of.doubled(48, 48))),
        key("proof-c", 0, "c of the proof of gamma is one bit off.", &proof(31)),
        key("proof-s", 0, "s of the proof of gamma is one bit off.", &proof(63)),
        key("other-h-w", 2, "The new h_w of epoch 2 is another point.", &h_w),
        key("step-v", 1, "V of epoch 1 is another point: no step leads there.", &stepped(1, 0, &|s| s.doubled(32, 48))),
        key("step-x", 1, "x of epoch 1 is another.", &stepped(1, 0, &|s| s.flip(31))),
        key("step-swapped", 3, "The two steps of epoch 3 in the other order.", &swapped),
        key("step-identity", 1, "V of epoch 1 is the identity.", &stepped(1, 0, &|s| s.set(32, identity(48)))),
        key("step-order-3", 1, "V of epoch 1 is (0, 2).", &stepped(1, 0, &|s| s.set(32, order_3()))),
        key("step-x-zero", 1, "x of epoch 1 is zero.", &{ stepped(1, 0, &|s| s.set(0, [0; 32])) }),
    ]
}

/// Rule 10.
fn bad_sharings() -> Vec<Case> {
    let set = |records: &Records, at: usize, point: &[u8]| {
        with_records_of(records, |genesis, _| {
            genesis.sharing.commitments = genesis.sharing.commitments.set(at, point);
        })
    };
    let later = with_records_of(&XR.records, |_, epochs| {
        if let Change::Sharing(new) = &mut epochs[1].change {
            new.sharing.commitments = new.sharing.commitments.set(48, identity(48));
        }
    });
    let sharing = |name: &str, part: u32, comment: &str, file: &[u8]| bad(name, "sharing", part, comment, file);
    let (bbs04, xr) = (&BBS04.records, &XR.records);
    vec![
        sharing("sharing-u", 0, "C_1 in base u is the identity.", &set(bbs04, 0, &identity(48))),
        sharing("sharing-v", 0, "C_1 in base v is the identity.", &set(bbs04, 48, &identity(48))),
        sharing("xr-sharing", 0, "C_1 is the identity.", &set(xr, 0, &identity(48))),
        sharing("xr-sharing-off-curve", 0, "C_1 is no point.", &set(xr, 0, &[0xff; 48])),
        sharing("xr-sharing-order-3", 0, "C_1 is (0, 2).", &set(xr, 0, &order_3())),
        sharing("xr-sharing-epoch-2", 2, "C_2 of epoch 2 is the identity.", &later),
    ]
}
