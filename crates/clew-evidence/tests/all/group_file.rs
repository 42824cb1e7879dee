//! Valid files of both schemes, and one broken file per rule of `spec/group-file.md` section 3 but for
//! those about revocation (`revocation.rs`) and the register's growth (`checkpoints.rs`).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail the test"
)]

use crate::common::{BBS04, CREATED, Fixture, XR, fixtures, later};
use clew_evidence::WallTime;
use clew_evidence::{
    Change, EpochRecord, GroupFile, GroupFileError, HEADER, MAX_PART_BYTES, MAX_REBASE_ROWS,
    MAX_STEPS_PER_RECORD, Origin, Rule, sign_part,
};
use clew_group::quorum::Quorum;
use ed25519_dalek::SigningKey;
use proptest::prelude::*;
use std::time::Duration;

const TICK: Duration = Duration::from_nanos(1);

/// Parts of every file: 5 records, a checkpoint, the register.
const PARTS: usize = 7;

fn refused(bytes: &[u8]) -> (usize, Rule) {
    let GroupFileError { part, rule } = GroupFile::from_bytes(bytes).unwrap_err();
    (part, rule)
}

#[test]
fn a_good_file_says_who_and_when() {
    for fixture in fixtures() {
        let group = GroupFile::from_bytes(&fixture.file()).unwrap();
        assert_eq!(group.genesis(), &fixture.genesis);
        assert_eq!(group.scheme(), fixture.genesis.scheme);
        assert_eq!(group.id().0, fixture.genesis.epoch_id().0[..16]);
        assert_eq!(group.epochs(), fixture.epochs);
        assert_eq!(group.newest_epoch(), 4);
        assert_eq!(group.record(2), Some(&fixture.epochs[1]));
        assert!(group.record(0).is_none() && group.record(5).is_none());
        assert_eq!(group.register(), &fixture.register);
        assert_eq!(group.checkpoints(), fixture.checkpoints);
    }
}

#[test]
fn every_epoch_has_its_id_and_its_key() {
    for fixture in fixtures() {
        let group = &fixture.group;
        let ids = fixture.epochs.iter().map(|record| record.epoch_id());
        for (epoch, id) in (0..).zip([fixture.genesis.epoch_id()].into_iter().chain(ids)) {
            assert_eq!(group.epoch_id(epoch), Some(id));
            assert_eq!(group.epoch_of(&id), Some(epoch));
            let key = group.public_key(epoch).unwrap().unwrap();
            assert_eq!(key, fixture.keys[epoch as usize], "epoch {epoch}");
            assert_eq!(group.v(epoch).as_ref(), Some(key.v()), "epoch {epoch}");
        }
        assert_eq!(group.last_id(), fixture.epochs[3].epoch_id());
        for missing in [5, u32::MAX] {
            assert!(group.epoch_id(missing).is_none() && group.public_key(missing).is_none());
            assert!(group.sharing(missing).is_none() && group.v(missing).is_none());
        }
    }
}

#[test]
fn an_urgent_epoch_brings_planned_ones_forward() {
    let file = XR.with(|_, e| {
        e[0].start = later(20);
        e[1].start = later(9_000); // planned
        e[2].start = later(300); // urgent, made later
        e[3].start = later(8_000);
    });
    let group = GroupFile::from_bytes(&file).unwrap();
    let starts = (0..=5).map(|epoch| group.start(epoch).map(|start| (start - CREATED).as_nanos()));
    let expected = [None, Some(20), Some(300), Some(300), Some(8_000), None];
    assert_eq!(starts.collect::<Vec<_>>(), expected);
    let at = |time| group.epoch_at(later(time));
    assert_eq!([at(0), at(19), at(20), at(299)], [0, 0, 1, 1]);
    assert_eq!(
        [at(300), at(7_999), at(8_000), at(u64::MAX / 4)],
        [3, 3, 4, 4]
    );
    assert_eq!(group.epoch_at(WallTime::default()), 0);
}

#[test]
fn sharings_count_from_their_epoch_on() {
    let since = |epoch| {
        let sharing = XR.group.sharing(epoch).unwrap().unwrap();
        (sharing.since, sharing.origin, sharing.quorum.trustees())
    };
    assert_eq!(since(0), (0, Origin::TrustedDealer, 3));
    assert_eq!(since(1), (0, Origin::TrustedDealer, 3));
    assert_eq!(since(2), (2, Origin::Dkg, 4));
    assert_eq!(since(4), (2, Origin::Dkg, 4));
    for fixture in fixtures() {
        let sharing = fixture.group.sharing(3).unwrap().unwrap();
        assert_eq!(sharing.parts, fixture.sharings);
    }
}

#[test]
fn header() {
    assert_eq!(refused(b""), (0, Rule::Header));
    assert_eq!(refused(b"clew-group-file\r"), (0, Rule::Header));
}

#[test]
fn truncated() {
    for fixture in fixtures() {
        let good = fixture.file();
        let start = HEADER.len();
        for cut in [start, start + 3, start + 100, good.len() - 1] {
            assert_eq!(refused(&good[..cut]).1, Rule::Truncated, "cut at {cut}");
        }
        let without_register = fixture.file_of(&fixture.bodies_of_file()[..PARTS - 1]);
        assert_eq!(refused(&without_register), (PARTS - 1, Rule::Truncated));
    }
}

#[test]
fn too_long() {
    let mut bytes = HEADER.to_vec();
    bytes.extend((MAX_PART_BYTES as u32 + 1).to_be_bytes());
    assert_eq!(refused(&bytes), (0, Rule::TooLong));
}

#[test]
fn kind() {
    let all = XR.bodies_of_file();
    let file = |order: &[usize]| {
        let bodies: Vec<Vec<u8>> = order.iter().map(|i| all[*i].clone()).collect();
        refused(&XR.file_of(&bodies))
    };
    assert_eq!(file(&[1, 2, 3, 4, 5, 6]), (0, Rule::Kind));
    assert_eq!(file(&[0, 0, 6]), (1, Rule::Kind));
    assert_eq!(
        file(&[0, 5, 1, 6]),
        (2, Rule::Kind),
        "a record behind a checkpoint"
    );
    for none in [vec![9], vec![]] {
        let bodies = [all[0].clone(), none];
        assert_eq!(refused(&XR.file_of(&bodies)), (1, Rule::Kind));
    }
}

#[test]
fn trailing_bytes() {
    let mut all = XR.bodies_of_file();
    all.push(all[PARTS - 1].clone());
    assert_eq!(refused(&XR.file_of(&all)), (PARTS, Rule::TrailingBytes));
    // Whatever it is: no part is looked for behind the register.
    let file = [&XR.file()[..], &[0]].concat();
    assert_eq!(refused(&file), (PARTS, Rule::TrailingBytes));
}

#[test]
fn layout_lengths() {
    for fixture in fixtures() {
        for part in 0..PARTS {
            for longer in [true, false] {
                let mut all = fixture.bodies_of_file();
                let length = all[part].len();
                all[part].resize(if longer { length + 1 } else { length - 1 }, 0);
                assert_eq!(refused(&fixture.file_of(&all)), (part, Rule::Layout));
            }
        }
    }
}

/// The file with one byte of one part set.
fn with_byte(fixture: &Fixture, part: usize, at: usize, value: u8) -> (usize, Rule) {
    let mut all = fixture.bodies_of_file();
    all[part][at] = value;
    refused(&fixture.file_of(&all))
}

#[test]
fn layout_values_of_record_0() {
    // Scheme, log, length and first byte of the name.
    for at in [1, 74, 75, 76] {
        for fixture in fixtures() {
            let found = with_byte(fixture, 0, at, 3 * u8::from(at < 76));
            assert_eq!(found, (0, Rule::Layout), "byte {at}");
        }
    }
    // Origin, threshold and trustees, in front of the commitments.
    for fixture in fixtures() {
        let sharing =
            fixture.genesis.encode().len() - fixture.genesis.sharing.commitments.len() - 3;
        for (at, value) in [(0, 0), (0, 3), (1, 0), (1, 4), (2, 1), (2, 33)] {
            let found = with_byte(fixture, 0, sharing + at, value);
            assert_eq!(found, (0, Rule::Layout), "{at}: {value}");
        }
    }
    let distributed = BBS04.with(|g, _| g.sharing.origin = Origin::Dkg);
    assert_eq!(refused(&distributed), (0, Rule::Layout));
}

/// kind, epoch, previous, made, start, machines, root.
const CHANGE: usize = 1 + 4 + 32 + 8 + 8 + 4 + 32;

#[test]
fn layout_values_of_epochs() {
    for fixture in fixtures() {
        for value in [0, 5] {
            assert_eq!(with_byte(fixture, 1, CHANGE, value), (1, Rule::Layout));
        }
    }
    // Steps and new opening keys are of xr only.
    for i in [0, 1] {
        let foreign = BBS04.with(|_, e| e[i].change = XR.epochs[i].change.clone());
        assert_eq!(refused(&foreign), (i + 1, Rule::Layout));
    }
    let steps = |count| XR.with(|_, e| e[0].change = Change::Steps(vec![[1; 80]; count]));
    assert_eq!(refused(&steps(0)), (1, Rule::Layout));
    assert_eq!(refused(&steps(49)), (1, Rule::Layout));
    assert_ne!(refused(&steps(48)).1, Rule::Layout);
    for fixture in fixtures() {
        let rebase =
            |revoked: Vec<u32>| fixture.with(|_, e| e[0].change = Change::Rebase { revoked });
        assert_eq!(refused(&rebase(vec![4, 4])), (1, Rule::Layout));
        assert_eq!(refused(&rebase(vec![5, 4])), (1, Rule::Layout));
        assert_eq!(refused(&rebase((100..1001).collect())), (1, Rule::Layout));
        assert!(GroupFile::from_bytes(&rebase((100..1000).collect())).is_ok());
    }
}

#[test]
fn layout_comes_before_the_signature() {
    let mut bytes = XR.file();
    let manager = HEADER.len() + 4 + 42;
    bytes[manager] ^= 1;
    assert_eq!(refused(&bytes), (0, Rule::Signature));
    let mut all = XR.bodies_of_file();
    all[0].pop();
    all[0][42] ^= 1;
    assert_eq!(refused(&XR.file_of(&all)), (0, Rule::Layout));
}

/// Each part is checked before the next one is looked at.
#[test]
fn the_first_bad_part_is_named() {
    let good = XR.bodies_of_file();
    let mut file = XR.file_of(&good[..2]);
    *file.last_mut().unwrap() ^= 1;
    for rest in [
        &[][..],
        &[1],
        &[0xff; 200],
        &sign_part(&good[6], &XR.manager),
    ] {
        let file = [&file, rest].concat();
        assert_eq!(refused(&file), (1, Rule::Signature));
    }
    let mut all = good.clone();
    all[1][5] ^= 1;
    all[3].pop();
    assert_eq!(refused(&XR.file_of(&all)), (1, Rule::Chain));
    let mut all = good;
    all.remove(3);
    all[4][1] ^= 1; // of the checkpoint
    assert_eq!(refused(&XR.file_of(&all)), (3, Rule::Epoch));
}

/// The longest records fit, with the register that they bind.
#[test]
fn the_longest_records_fit() {
    let largest = |change: Change| {
        let record = EpochRecord {
            change,
            ..XR.epochs[3].clone()
        };
        record.encode().len()
    };
    let Change::Sharing(new) = &XR.epochs[1].change else {
        panic!("a record with a sharing");
    };
    let mut new = new.clone();
    new.sharing.quorum = Quorum::new(32, 32).unwrap();
    new.sharing.commitments = vec![0; 48 * 31];
    let lengths = [
        largest(Change::Steps(vec![[0; 80]; MAX_STEPS_PER_RECORD])),
        largest(Change::Sharing(new)),
        largest(Change::Rebase {
            revoked: vec![0; MAX_REBASE_ROWS],
        }),
    ];
    assert_eq!(lengths, [90 + 3_841, 90 + 1_587, 90 + 3_602]);
    assert!(lengths.into_iter().all(|length| length <= MAX_PART_BYTES));
}

#[test]
fn signature() {
    for fixture in fixtures() {
        let (good, mut at) = (fixture.file(), HEADER.len());
        for (i, body) in fixture.bodies_of_file().iter().enumerate() {
            at += 4 + body.len() + 64;
            let mut bytes = good.clone();
            bytes[at - 1] ^= 0x10;
            assert_eq!(refused(&bytes), (i, Rule::Signature));
        }
    }
    let all = XR.bodies_of_file();
    let stranger = sign_part(&all[PARTS - 1], &SigningKey::from_bytes(&[6; 32]));
    let mut forged = XR.file_of(&all[..PARTS - 1]);
    forged.extend(stranger);
    assert_eq!(refused(&forged), (PARTS - 1, Rule::Signature));
    // The signature of a register covers what it says.
    let mut later = XR.with_register(|_, head| head.time = head.time + TICK);
    let at = later.len() - 64;
    later[at..].copy_from_slice(&XR.file()[at..]);
    assert_eq!(refused(&later), (PARTS - 1, Rule::Signature));
    let weak = XR.with(|g, _| g.manager = [0; 32]);
    assert_eq!(refused(&weak), (0, Rule::Signature));
}

#[test]
fn epoch() {
    let wrong = XR.with(|_, e| e[1].epoch = 3);
    assert_eq!(refused(&wrong), (2, Rule::Epoch));
}

#[test]
fn chain() {
    let mut all = XR.bodies_of_file();
    all[2][5] ^= 1;
    assert_eq!(refused(&XR.file_of(&all)), (2, Rule::Chain));
    let mut all = XR.bodies_of_file();
    all.remove(4); // the register still names the epoch that was cut away
    assert_eq!(refused(&XR.file_of(&all)), (5, Rule::Chain));
}

#[test]
fn start() {
    for fixture in fixtures() {
        let before_made = fixture.with(|_, e| e[1].start = e[1].made - TICK);
        assert_eq!(refused(&before_made), (2, Rule::Start));
        let made_before = fixture.with(|_, e| e[1].made = e[0].made - TICK);
        assert_eq!(refused(&made_before), (2, Rule::Start));
        let before_the_group = fixture.with(|g, e| e[0].made = g.created - TICK);
        assert_eq!(refused(&before_the_group), (1, Rule::Start));
        let at_once = fixture.with(|g, e| {
            (e[0].made, e[0].start) = (g.created, g.created);
            (e[1].made, e[1].start) = (g.created, g.created);
        });
        assert!(GroupFile::from_bytes(&at_once).is_ok());
    }
}

#[test]
fn first_public_key() {
    for fixture in fixtures() {
        let off_curve = fixture.with(|g, _| g.founding[47] ^= 1);
        assert_eq!(refused(&off_curve), (0, Rule::PublicKey));
        let identity = fixture.with(|g, _| {
            g.founding[..48].fill(0);
            g.founding[0] = 0xc0;
        });
        assert_eq!(refused(&identity), (0, Rule::PublicKey));
    }
    let other_nonce = XR.with(|g, _| g.nonce[0] ^= 1);
    assert_eq!(refused(&other_nonce), (0, Rule::PublicKey));
    let other_h_w = XR.with(|g, _| g.founding.copy_within(..48, 48));
    assert_eq!(refused(&other_h_w), (0, Rule::PublicKey));
    let unproven = XR.with(|g, _| g.issuer_proof.as_mut().unwrap()[63] ^= 1);
    assert_eq!(refused(&unproven), (0, Rule::PublicKey));
}

#[test]
fn public_key_of_a_new_opening_key() {
    let stray = XR.with(|_, e| {
        if let Change::Sharing(new) = &mut e[1].change {
            new.h_w = new.h;
        }
    });
    let group = GroupFile::from_bytes(&stray).unwrap();
    assert!(group.public_key(1).unwrap().is_ok());
    for epoch in [2, 3, 4] {
        let error = group.public_key(epoch).unwrap().unwrap_err();
        assert_eq!((error.part, error.rule), (epoch as usize, Rule::PublicKey));
    }
    let error = group.sharing(3).unwrap().unwrap_err();
    assert_eq!((error.part, error.rule), (2, Rule::PublicKey));
}

#[test]
fn sharing() {
    let broken = |file: &[u8], epoch: u32| {
        let group = GroupFile::from_bytes(file).unwrap();
        let error = group.sharing(epoch).unwrap().unwrap_err();
        (error.part, error.rule)
    };
    for fixture in fixtures() {
        let file = fixture.with(|g, _| g.sharing.commitments[47] ^= 1);
        assert_eq!(broken(&file, 1), (0, Rule::Sharing));
    }
    let file = XR.with(|_, e| {
        if let Change::Sharing(new) = &mut e[1].change {
            new.sharing.commitments[47] ^= 1;
        }
    });
    assert_eq!(broken(&file, 3), (2, Rule::Sharing));
}

#[test]
fn errors_name_rule_and_part() {
    let error = GroupFile::from_bytes(&XR.with(|_, e| e[1].epoch = 3)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "epochs do not increase by one (part 2, rule epoch)"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_flipped_bit_is_found(at in any::<prop::sample::Index>(), bit in 0u8..8, xr: bool) {
        let fixture = if xr { &XR } else { &BBS04 };
        let mut bytes = fixture.file();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        prop_assert!(GroupFile::from_bytes(&bytes).is_err());
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in any::<Vec<u8>>(), with_header in any::<bool>()) {
        let bytes = if with_header { [HEADER.as_slice(), &bytes].concat() } else { bytes };
        prop_assert!(GroupFile::from_bytes(&bytes).is_err());
    }
}
