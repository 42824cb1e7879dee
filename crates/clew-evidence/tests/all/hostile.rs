//! Mutated bytes into every reader: nothing panics, and what is read is written the same again. A
//! failure prints a seed; `CLEW_SEED` repeats it.

use crate::common::{BBS04, XR, checked, fixtures, rng};
use clew_evidence::{
    Change, Fault, GroupFile, JudgeRule, LineValue, Match, Opening, RegisterEntry,
    RegisterFileHeader, RegisterLine, RegisterReader, Row, Share, armor, judge_match,
    judge_opening, sign_part,
};
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

#[test]
fn group_files() {
    for fixture in fixtures() {
        mutants(&fixture.file(), |bytes| {
            let _ = GroupFile::from_bytes(bytes);
        });
        // Signed again, so that the rules behind the signature are reached.
        for part in 0..7 {
            let bodies = fixture.bodies_of_file();
            mutants(&bodies[part], |bytes| {
                let mut all = bodies.clone();
                all[part] = bytes.to_vec();
                let Ok(group) = GroupFile::from_bytes(&fixture.file_of(&all)) else {
                    return;
                };
                for epoch in 0..=5 {
                    let _ = (group.public_key(epoch), group.sharing(epoch));
                }
                let _ = group.revoked_in(&fixture.entries[1], fixture.x(1).as_ref());
                let epochs = group.epochs().iter().map(|record| record.encode());
                let checkpoints = group.checkpoints().iter().map(|c| c.encode());
                let read: Vec<_> = epochs.chain(checkpoints).collect();
                assert_eq!(read, all[1..6]);
                assert_eq!(group.register().encode(), all[6]);
                if let Ok(group) = group.check_epochs(&mut rng(0)) {
                    let _ = (group.path(0, 4), group.path(4, 1), group.v(3));
                }
            });
        }
    }
    // Steps whose record and all that follow fit again: only the chain can be wrong.
    mutants(&step_bytes(), |bytes| {
        let steps = bytes.as_chunks().0.to_vec();
        let unchanged = bytes == step_bytes();
        let file = XR.with(|_, e| e[0].change = Change::Steps(steps));
        assert_eq!(checked(&file).is_ok(), unchanged);
    });
    assert!(sign_part(&[], &XR.manager).len() == 68);
}

fn step_bytes() -> Vec<u8> {
    match &XR.epochs[0].change {
        Change::Steps(steps) => steps.as_flattened().to_vec(),
        _ => vec![],
    }
}

#[test]
fn entries_rows_and_register_files() {
    for fixture in fixtures() {
        let scheme = fixture.group.scheme();
        mutants(&fixture.entries[0].encode(), |bytes| {
            if let Some(entry) = RegisterEntry::decode(bytes) {
                assert_eq!(entry.encode(), bytes);
                let _ = entry.check_device(&fixture.group);
            }
        });
        mutants(&fixture.row(0).encode(), |bytes| {
            if let Some(row) = Row::decode(scheme, bytes) {
                assert_eq!(row.encode(), bytes);
                let good = row == fixture.row(0);
                assert_eq!(row.is_in_register_of(&fixture.group), good);
            }
        });
        let header = RegisterFileHeader {
            group: fixture.group.id(),
            points: false,
            epochs: vec![2, 4],
        };
        let line = RegisterLine {
            row: fixture.row(0),
            x: fixture.x(0),
            values: vec![LineValue::Hash([1; 32]), LineValue::Revoked],
        };
        let lines = [line.encode(&header), line.encode(&header)].concat();
        mutants(&[header.encode(), lines].concat(), |bytes| {
            let mut reader = RegisterReader::new(scheme);
            reader.push(bytes);
            let mut again = reader.header().map(|h| h.map_or(vec![], |h| h.encode()));
            while let Ok(Some(line)) = reader.line() {
                let header = reader.header().unwrap().unwrap();
                let written = line.encode(header);
                again = again.map(|again| [again, written].concat());
            }
            if reader.finish().is_ok() {
                assert_eq!(again, Ok(bytes.to_vec()));
            }
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
    for fixture in fixtures() {
        let good = fixture.opening(0);
        with_payload(&good.encode(), "clew-opening-1", |text| {
            if let Ok(read) = Opening::decode(text, &fixture.group) {
                assert_eq!(text.lines().last(), read.encode().lines().last());
                let judged = judge_opening(&fixture.group, &read, &fixture.packet(0));
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
