//! Vectors of the group file: one file for each rule broken, of both schemes.

use clew_evidence::{Change, EpochRecord, Genesis, MAX_PART_BYTES};
use ed25519_dalek::SigningKey;

use super::bbs04_group::BBS04;
use super::damage::{doubled, identity};
use super::records::{HEADER, Records, chained, file_by};
use super::xr_group::XR;
use super::{hash, patched, replaced};
use crate::case::Case;

pub fn all() -> Vec<Case> {
    let groups = [
        bad_frames(),
        bad_lengths(
            "",
            &BBS04.records,
            &["genesis", "epoch", "epoch-2", "register"],
        ),
        bad_lengths(
            "xr-",
            &XR.records,
            &["genesis", "epoch", "sharing", "epoch-3"],
        ),
        bad_values(),
        bad_signatures(),
        bad_chains(),
        bad_keys(),
        bad_xr_keys(),
        bad_sharings(),
    ];
    groups.into_iter().flatten().collect()
}

fn bad(name: &str, rule: &str, part: u32, comment: &str, file: &[u8]) -> Case {
    Case::new("group-file", name, rule, comment)
        .hex("file", file)
        .hex("part", part.to_be_bytes())
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
fn with_records_of(
    records: &Records,
    change: impl FnOnce(&mut Genesis, &mut Vec<EpochRecord>),
) -> Vec<u8> {
    let mut records = records.clone();
    let mut epochs = std::mem::take(&mut records.epochs);
    change(&mut records.genesis, &mut epochs);
    for epoch in epochs {
        let bodies = records.bodies();
        let before = &bodies[..bodies.len() - 1];
        records.epochs.push(chained(before, epoch));
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
    let last = &good[..good.len() - 1];
    let other_line_end = patched(&good, 15, b'\r');
    vec![
        bad("empty", "header", 0, "No byte.", b""),
        bad(
            "header",
            "header",
            0,
            "Another line end in the header.",
            &other_line_end,
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
            last,
        ),
        bad(
            "truncated-register",
            "truncated",
            3,
            "The register is missing.",
            &file(&bodies[..3]),
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
            &file(&bodies[1..]),
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

/// Rule 4: a byte more or less in each of the first parts.
fn bad_lengths(prefix: &str, records: &Records, parts: &[&str]) -> Vec<Case> {
    let of_part = |(part, name): (usize, &&str)| {
        let longer = with_bodies_of(records, |b| b[part].push(0));
        let shorter = with_bodies_of(records, |b| _ = b[part].pop());
        [
            ("long", "A byte too many, and signed.", longer),
            ("short", "A byte is missing, and signed.", shorter),
        ]
        .map(|(what, comment, file)| {
            let name = format!("{prefix}layout-{name}-{what}");
            bad(&name, "layout", part as u32, comment, &file)
        })
    };
    parts.iter().enumerate().flat_map(of_part).collect()
}

/// Rule 4: one byte of a body has a value that the field does not have. The last places of record 0
/// are those of the sharing, before its commitments.
fn bad_values() -> Vec<Case> {
    let (bbs04, xr) = (&BBS04.records, &XR.records);
    let of_bbs04 = bbs04.genesis.encode().len() - 96 - 3;
    let of_xr = xr.genesis.encode().len() - 48 - 3;
    // Of epoch 2 of xr: h, h_w, then origin, t, n.
    let of_epoch = 46 + 96;
    [
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
        ("change", bbs04, 1, 45, 0),
        ("change-sharing", bbs04, 1, 45, 2),
        ("xr-log", xr, 0, 74, 1),
        ("xr-origin", xr, 0, of_xr, 3),
        ("xr-threshold", xr, 0, of_xr + 1, 4),
        ("xr-trustees", xr, 0, of_xr + 2, 33),
        ("xr-change", xr, 1, 45, 3),
        ("xr-change-sharing", xr, 1, 45, 2),
        ("xr-sharing-origin", xr, 2, of_epoch, 0),
        ("xr-sharing-threshold", xr, 2, of_epoch + 1, 2),
        ("xr-sharing-trustees", xr, 2, of_epoch + 2, 2),
    ]
    .map(|(name, records, part, at, value)| {
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
        let (name, comment) = (
            format!("signature-{part}"),
            format!("One bit of the signature of part {part} is flipped."),
        );
        let file = patched(&good, end as isize - 40, good[end - 40] ^ 1);
        cases.push(bad(&name, "signature", part as u32, &comment, &file));
    }
    let stranger = file_by(&bodies, &SigningKey::from_bytes(&hash(b"stranger")));
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
        16 + 4 + bodies[0].len(),
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
    let start = BBS04.records.start(1);
    let (skipped, zero) = (
        with_records(|_, e| e[1].epoch = 3),
        with_records(|_, e| e[0].epoch = 0),
    );
    let previous = with_bodies(|b| b[2][5] ^= 1);
    let cut = with_bodies(|b| drop(b.remove(2)));
    let xr_cut = with_bodies_of(&XR.records, |b| drop(b.remove(3)));
    vec![
        bad(
            "epoch-skipped",
            "epoch",
            2,
            "Epoch 3 follows epoch 1.",
            &skipped,
        ),
        bad(
            "epoch-zero",
            "epoch",
            1,
            "The first epoch record has number 0.",
            &zero,
        ),
        bad(
            "chain-previous",
            "chain",
            2,
            "Epoch 2 names another record before it.",
            &previous,
        ),
        bad(
            "chain-register",
            "chain",
            2,
            "The newest epoch was cut away.",
            &cut,
        ),
        bad(
            "xr-chain-register",
            "chain",
            3,
            "The newest epoch was cut away.",
            &xr_cut,
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

/// Rules 7 and 9 of bbs04.
fn bad_keys() -> Vec<Case> {
    let first = |change: &dyn Fn(&mut Genesis)| with_records(|genesis, _| change(genesis));
    let later = |at: usize, value: &[u8]| {
        with_records(|_, epochs| {
            let Change::Bbs04Revocation { revocation, .. } = &mut epochs[0].change else {
                unreachable!("epoch 1 is a revocation");
            };
            revocation[at..at + value.len()].copy_from_slice(value);
        })
    };
    let other = BBS04.revocations[1].0.to_bytes();
    let other_w = BBS04.public[2].w_bytes();
    let changed_w = with_records(|_, epochs| {
        if let Change::Bbs04Revocation { w, .. } = &mut epochs[0].change {
            **w = other_w;
        }
    });
    let key = |name: &str, part: u32, comment: &str, file: &[u8]| {
        bad(
            &format!("public-key-{name}"),
            "public-key",
            part,
            comment,
            file,
        )
    };
    let set = |key: Vec<u8>| first(&|g| g.public_key = key.clone());
    let (good, epoch_1) = (
        &BBS04.records.genesis.public_key,
        BBS04.public[1].to_bytes(),
    );
    vec![
        key(
            "nonce",
            0,
            "h is not the one of the nonce.",
            &first(&|g| g.nonce[0] ^= 1),
        ),
        key(
            "not-epoch-0",
            0,
            "Record 0 has the key of epoch 1.",
            &set(epoch_1.to_vec()),
        ),
        key(
            "identity",
            0,
            "u is the identity.",
            &set(replaced(good, 96, &identity(48))),
        ),
        key(
            "other-g1",
            1,
            "Epoch 1 has the g1 of epoch 2.",
            &later(32, &other[32..80]),
        ),
        key(
            "other-g2",
            1,
            "Epoch 1 has the g2 of epoch 2.",
            &later(80, &other[80..176]),
        ),
        key(
            "other-lift",
            1,
            "Epoch 1 has the lift of epoch 2.",
            &later(176, &other[176..]),
        ),
        key("other-w", 1, "Epoch 1 has the w of epoch 2.", &changed_w),
    ]
}

/// Rules 7 and 9 of xr.
fn bad_xr_keys() -> Vec<Case> {
    let good = &XR.records.genesis;
    let first = |change: &dyn Fn(&mut Genesis)| with_records_of(&XR.records, |g, _| change(g));
    let set = |key: Vec<u8>| first(&|g| g.public_key = key.clone());
    let proof = |at: usize| first(&|g| g.issuer_proof.as_mut().unwrap()[at] ^= 1);
    let later = |epoch: usize, change: &dyn Fn(&mut Change)| {
        with_records_of(&XR.records, |_, epochs| {
            change(&mut epochs[epoch - 1].change)
        })
    };
    let revoked = |at: usize, length: usize| {
        later(1, &|change| {
            if let Change::XrRevocation(bytes) = change {
                **bytes = doubled(&bytes[..], at, length).try_into().unwrap();
            }
        })
    };
    let h_w = later(2, &|change| {
        if let Change::Sharing(new) = change {
            new.h_w = doubled(&new.h_w, 0, 48).try_into().unwrap();
        }
    });
    let key = |name: &str, part: u32, comment: &str, file: &[u8]| {
        bad(
            &format!("xr-public-key-{name}"),
            "public-key",
            part,
            comment,
            file,
        )
    };
    let (of, epoch_1) = (&good.public_key, XR.public[1].to_bytes());
    vec![
        key(
            "nonce",
            0,
            "The generators are not those of the nonce.",
            &first(&|g| g.nonce[0] ^= 1),
        ),
        key(
            "not-epoch-0",
            0,
            "Record 0 has the key of epoch 1.",
            &set(epoch_1.to_vec()),
        ),
        key(
            "identity",
            0,
            "u is the identity.",
            &set(replaced(of, 96, &identity(48))),
        ),
        key("order-3", 0, "h is (0, 2), which has order 3.", &{
            set(replaced(of, 144, &replaced(&[0; 48], 0, &[0x80])))
        }),
        key(
            "h",
            0,
            "h is another point than that of h_w.",
            &set(doubled(of, 144, 48)),
        ),
        key(
            "h-w",
            0,
            "h_w is another point.",
            &set(doubled(of, 192, 48)),
        ),
        key(
            "proof-c",
            0,
            "c of the proof of gamma is one bit off.",
            &proof(31),
        ),
        key(
            "proof-s",
            0,
            "s of the proof of gamma is one bit off.",
            &proof(63),
        ),
        key("other-g1", 1, "Epoch 1 has another g1.", &revoked(32, 48)),
        key("other-h0", 1, "Epoch 1 has another h0.", &revoked(80, 48)),
        key(
            "other-lift",
            1,
            "Epoch 1 has another lift.",
            &revoked(128, 96),
        ),
        key(
            "other-h-w",
            2,
            "The new h_w of epoch 2 is another point.",
            &h_w,
        ),
    ]
}

/// Rule 8.
fn bad_sharings() -> Vec<Case> {
    let set = |records: &Records, at: usize, point: &[u8]| {
        with_records_of(records, |genesis, _| {
            genesis.sharing.commitments = replaced(&genesis.sharing.commitments, at, point);
        })
    };
    let later = with_records_of(&XR.records, |_, epochs| {
        if let Change::Sharing(new) = &mut epochs[1].change {
            new.sharing.commitments = replaced(&new.sharing.commitments, 48, &identity(48));
        }
    });
    let order_3 = replaced(&[0; 48], 0, &[0x80]);
    let sharing = |name: &str, part: u32, comment: &str, file: &[u8]| {
        bad(name, "sharing", part, comment, file)
    };
    let (bbs04, xr) = (&BBS04.records, &XR.records);
    vec![
        sharing(
            "sharing-u",
            0,
            "C_1 in base u is the identity.",
            &set(bbs04, 0, &identity(48)),
        ),
        sharing(
            "sharing-v",
            0,
            "C_1 in base v is the identity.",
            &set(bbs04, 48, &identity(48)),
        ),
        sharing(
            "xr-sharing",
            0,
            "C_1 is the identity.",
            &set(xr, 0, &identity(48)),
        ),
        sharing(
            "xr-sharing-off-curve",
            0,
            "C_1 is no point.",
            &set(xr, 0, &[0xff; 48]),
        ),
        sharing(
            "xr-sharing-order-3",
            0,
            "C_1 is (0, 2).",
            &set(xr, 0, &order_3),
        ),
        sharing(
            "xr-sharing-epoch-2",
            2,
            "C_2 of epoch 2 is the identity.",
            &later,
        ),
    ]
}
