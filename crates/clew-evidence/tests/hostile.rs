//! Mutated bytes into every reader: nothing panics, and what is read is written the same again. A
//! failure prints a seed; `CLEW_SEED` repeats it.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod common;

use clew_evidence::{
    Fault, GroupFile, JudgeRule, Match, Opening, RegisterEntry, RegisterReader, Row, Share, armor,
    judge_match, judge_opening, seal,
};
use common::{BBS04, World, XR, rng};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::Rng;

const ROUNDS: u64 = 300;

fn seed() -> u64 {
    let given = std::env::var("CLEW_SEED").ok();
    given.map_or(0, |seed| seed.parse().unwrap())
}

/// Calls `check` with mutants of `good`, each from a seed of its own.
fn mutants(good: &[u8], check: impl Fn(&[u8]) + std::panic::RefUnwindSafe) {
    for seed in seed()..seed() + ROUNDS {
        let mut bytes = good.to_vec();
        let mut rng = rng(seed);
        for _ in 0..=rng.next_u32() % 3 {
            mutate(&mut bytes, &mut rng);
        }
        let done = std::panic::catch_unwind(|| check(&bytes));
        assert!(done.is_ok(), "CLEW_SEED={seed} repeats it");
    }
}

fn mutate(bytes: &mut Vec<u8>, rng: &mut ChaCha20Rng) {
    let below = |n: usize, rng: &mut ChaCha20Rng| rng.next_u32() as usize % n.max(1);
    let at = below(bytes.len(), rng);
    match rng.next_u32() % 5 {
        0 if !bytes.is_empty() => bytes[at] ^= 1 << below(8, rng),
        1 if !bytes.is_empty() => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][below(5, rng)],
        2 => bytes.truncate(at),
        3 => {
            let piece = bytes[at..].to_vec();
            let to = below(bytes.len(), rng);
            bytes.splice(to..to, piece.into_iter().take(below(200, rng)));
        }
        _ => {
            let end = (at + below(200, rng)).min(bytes.len());
            bytes.drain(at..end);
        }
    }
}

/// The text of a mutated payload, so that the checksum holds.
fn with_payload(text: &str, label: &'static str, check: impl Fn(&str) + std::panic::RefUnwindSafe) {
    let payload = armor::decode(text, label).unwrap();
    mutants(&payload, |bytes| check(&armor::encode("", label, bytes)));
}

fn worlds() -> [&'static World; 2] {
    [&BBS04, &XR]
}

#[test]
fn group_files() {
    for world in worlds() {
        mutants(&world.file(), |bytes| {
            let _ = GroupFile::from_bytes(bytes);
        });
        // Signed again, so that the rules behind the signature are reached.
        for part in 0..5 {
            let bodies = world.bodies_of_file();
            mutants(&bodies[part], |bytes| {
                let mut all = bodies.clone();
                all[part] = bytes.to_vec();
                let Ok(group) = GroupFile::from_bytes(&world.file_of(&all)) else {
                    return;
                };
                for epoch in 0..=4 {
                    let _ = (
                        group.public_key(epoch),
                        group.sharing(epoch),
                        group.change(epoch),
                    );
                }
                let _ = group.revoked_in(&world.entries[1]);
                assert_eq!(group.epochs()[0].encode(), all[1]);
                assert_eq!(group.register().encode(), all[4]);
            });
        }
    }
    assert!(seal(&[], &XR.manager).len() == 68);
}

#[test]
fn entries_rows_and_register_files() {
    for world in worlds() {
        let scheme = world.group.scheme();
        mutants(&world.entries[0].encode(), |bytes| {
            if let Some(entry) = RegisterEntry::decode(bytes) {
                assert_eq!(entry.encode(), bytes);
                let _ = entry.check_device(world.group.id());
            }
        });
        mutants(&world.row(0).encode(), |bytes| {
            if let Some(row) = Row::decode(scheme, bytes) {
                assert_eq!(row.encode(), bytes);
                let good = row == world.row(0);
                assert_eq!(row.is_in_register_of(&world.group), good);
            }
            let mut reader = RegisterReader::new(scheme);
            reader.push(bytes);
            while let Ok(Some(_)) = reader.line() {}
        });
    }
}

#[test]
fn shares() {
    let mut all = BBS04.opening_shares(0, &[1]);
    all.extend(XR.opening_shares(0, &[1]));
    all.extend(
        XR.match_shares(0, 0, &[1, 2])
            .into_iter()
            .flatten()
            .step_by(2),
    );
    for share in all {
        with_payload(&share.encode(), "clew-share-1", |text| {
            if let Ok(read) = Share::decode(text) {
                assert_eq!(text.lines().last(), read.encode().lines().last());
            }
        });
        mutants(share.encode().as_bytes(), |bytes| {
            let _ = Share::decode(&String::from_utf8_lossy(bytes));
        });
    }
}

/// No mutant of evidence holds, but the evidence itself.
#[test]
fn openings_and_matches() {
    for world in worlds() {
        let good = world.opening(0);
        with_payload(&good.encode(), "clew-opening-1", |text| {
            if let Ok(read) = Opening::decode(text, &world.group) {
                assert_eq!(text.lines().last(), read.encode().lines().last());
                let judged = judge_opening(&world.group, &read, &world.packet(0));
                assert_eq!(judged.is_ok(), read == good);
            }
        });
    }
    let good = XR.matched(0, 1, &[1, 2]).evidence;
    with_payload(&good.encode(), "clew-match-1", |text| {
        if let Ok(read) = Match::decode(text, &XR.group) {
            assert_eq!(text.lines().last(), read.encode().lines().last());
            let judged = judge_match(&XR.group, &read, &XR.packet(0));
            assert_eq!(judged.is_ok(), read == good);
        }
    });
    assert_eq!(Fault::from(JudgeRule::Layout).trustee, None);
}
