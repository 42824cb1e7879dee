//! Following a group from epoch to epoch: what a machine checks before it ever signs again.

use crate::common::*;
use clew_evidence::{Change, EpochRecord, GroupFile, Origin, SharingRecord, WallTime};
use clew_group::curve::Scalar;
use clew_group::quorum::Sharing;
use clew_group::{EpochId, Scheme};
use clew_keys::update::{NoWitnesses, UpdateError, Updated, update};
use clew_keys::{HeldEpoch, MAX_HELD_EPOCHS, MemberKeyFile, TextFile};
use clew_manager::{EpochStart, Store, StoreError};
use std::path::Path;

/// The numbers of the epochs that a key holds.
fn held(key: &MemberKeyFile) -> Vec<u32> {
    key.epochs.iter().map(|held| held.epoch).collect()
}

fn at(acme: &TestGroup, key: &MemberKeyFile, now: u64) -> Result<Updated, UpdateError> {
    update(key, &acme.checked(), now, &mut acme.published_witnesses())
}

fn refused(key: &MemberKeyFile, group: &GroupFile) -> UpdateError {
    update(key, &checked(group), LATER, &mut NoWitnesses).unwrap_err()
}

#[test]
fn a_key_follows_any_number_of_epochs_at_once_or_one_by_one() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        let first = acme.enrol("stays");
        let mut one_by_one = first.clone();
        for victims in [&["a", "b"][..], &["c"], &["d", "e", "f"]] {
            victims.iter().for_each(|name| drop(acme.enrol(name)));
            acme.revoke_all(victims, false);
            one_by_one = acme.update(&one_by_one).unwrap();
        }
        let at_once = acme.update(&first).unwrap();
        assert_eq!(held(&at_once), [3]);
        assert_eq!(at_once.encode(), one_by_one.encode());
        assert_eq!(acme.update(&at_once).unwrap().encode(), at_once.encode());
        assert!(Sent::by(&at_once, b"m", 1).verify(&acme.group()).is_ok());
        let read = MemberKeyFile::decode(&at_once.encode()).unwrap();
        assert_eq!(read.encode(), at_once.encode());
    }
}

/// Plans an epoch that starts so many nanoseconds after [`LATER`].
fn plan(acme: &mut TestGroup, name: &str, start: u64) {
    acme.enrol(name);
    let when = EpochStart {
        now: LATER,
        start: LATER + start,
        far: false,
    };
    let names = [name.parse().unwrap()];
    acme.store
        .revoke(&acme.issuer, &names, false, when, &mut |_, _| true)
        .unwrap();
}

/// The key holds the epoch in force and all announced ones, and signs each packet in the epoch of its
/// time; whatever the clock says, the right one leads back.
#[test]
fn a_wrong_clock_harms_nothing() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        let first = acme.enrol("stays");
        (1..=3).for_each(|i| plan(&mut acme, &format!("m-{i}"), 10 * i));
        let now = at(&acme, &first, LATER).unwrap().key;
        assert_eq!(held(&now), [0, 1, 2, 3]);
        let epoch = |time| now.epoch_at(LATER + time).unwrap().epoch;
        assert_eq!([0, 9, 10, 29, 30, 1000].map(epoch), [0, 0, 1, 2, 3, 3]);
        assert_eq!(now.epoch_at(0).unwrap().epoch, 0);
        for held in &now.epochs {
            assert!(now.signing_key(held).is_ok());
        }
        let ahead = at(&acme, &now, LATER + 25).unwrap().key;
        assert_eq!(held(&ahead), [2, 3]);
        assert_eq!(
            ahead.epoch_at(0).unwrap().epoch,
            2,
            "the earliest that is held"
        );
        // With xr the chain leads back; with bbs04 the bucket of an earlier rebase, or the credential.
        match (scheme, at(&acme, &ahead, LATER)) {
            (Scheme::Xr, Ok(back)) => assert_eq!(back.key.encode(), now.encode()),
            (Scheme::Bbs04, Err(UpdateError::NeedsWitness(need))) => assert_eq!(need.epoch, 0),
            (_, other) => unreachable!("{other:?}"),
        }
        let far_behind = at(&acme, &now, 1).unwrap().key;
        assert_eq!(held(&far_behind), held(&now));
    }
}

/// Witnesses that the manager gave again.
struct Again(Vec<(u32, clew_group::Witness)>);

impl clew_keys::update::Witnesses for Again {
    fn find(&mut self, _: &clew_keys::witness_file::Need) -> Option<clew_group::Witness> {
        None
    }

    fn given(&self) -> &[(u32, clew_group::Witness)] {
        &self.0
    }
}

/// A key of `clew enrol` that a wrong clock brought past a rebase is led back, and over planned
/// rebases too; a revoked row gets nothing.
#[test]
fn a_live_machine_gets_its_witnesses_again() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        let key = acme.enrol("stays");
        acme.enrol("leaves");
        acme.revoke_all(&[], true);
        let planned = EpochStart {
            now: LATER,
            start: LATER + 1000,
            far: false,
        };
        let leaves = ["leaves".parse().unwrap()];
        let TestGroup { store, issuer, .. } = &mut acme;
        store
            .revoke(issuer, &leaves, true, planned, &mut |_, _| true)
            .unwrap();
        let now = acme.update(&key).unwrap();
        let ahead = at(&acme, &now, LATER + 1000).unwrap().key;
        let again = |name: &str, now| {
            let name = name.parse().unwrap();
            let given = acme.store.witnesses(&acme.issuer, &name, now)?;
            Ok::<_, StoreError>((given.index, given.witnesses))
        };
        let (row, witnesses) = again("stays", LATER).unwrap();
        assert_eq!((row, witnesses.len()), (0, 2));
        let back = update(&ahead, &acme.checked(), LATER, &mut Again(witnesses));
        assert_eq!(back.unwrap().key.encode(), now.encode());
        // Until the planned epoch starts, the other machine is live.
        let (_, until) = again("leaves", LATER).unwrap();
        assert_eq!(until.iter().map(|(e, _)| *e).collect::<Vec<_>>(), [1]);
        for (name, now) in [("leaves", LATER + 1000), ("nobody", LATER), ("stays", 0)] {
            let refused = again(name, now).unwrap_err();
            assert!(
                matches!(
                    (name, &refused),
                    ("leaves", StoreError::AlreadyRevoked { epoch: 2, .. })
                        | ("nobody", StoreError::NoSuchMachine(_))
                        | ("stays", StoreError::ClockBehind { .. })
                ),
                "{refused}"
            );
        }
    }
}

/// Back over a rebase: what the manager gave again leads there.
#[test]
fn a_credential_that_is_given_again_leads_back_to_epoch_0() {
    let mut acme = TestGroup::new(Scheme::Bbs04);
    let key = acme.enrol("stays");
    acme.revoke_all(&[], true);
    let new = acme.update(&key).unwrap();
    let group = acme.checked();
    let mut again = Again(vec![(0, key.epochs[0].witness.clone())]);
    let back = update(&new, &group, NOW, &mut again).unwrap().key;
    assert_eq!(held(&back), [0, 1]);
    // Another machine's witness is found out before the key is replaced.
    let mut others = Again(vec![(0, acme.enrol("other").epochs[0].witness.clone())]);
    let bad = update(&new, &group, NOW, &mut others).unwrap_err();
    assert_eq!(bad, UpdateError::BadUpdate { epoch: 0 });
}

#[test]
fn a_key_holds_the_nearest_sixteen() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let key = acme.enrol("stays");
    (1..=20).for_each(|i| plan(&mut acme, &format!("m-{i}"), 10 * i));
    let now = at(&acme, &key, LATER).unwrap().key;
    assert_eq!(held(&now), Vec::from_iter(0..MAX_HELD_EPOCHS as u32));
    let read = MemberKeyFile::decode(&now.encode()).unwrap();
    assert_eq!(read.encode(), now.encode());
    let later = at(&acme, &now, LATER + 100).unwrap().key;
    assert_eq!(held(&later), Vec::from_iter(10..=20));
}

#[test]
fn other_groups_and_newer_keys_are_refused() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        let key = acme.enrol("web-1");
        let other = TestGroup::of(scheme, quorum(1, 1), 5).group();
        assert!(matches!(
            refused(&key, &other),
            UpdateError::OtherGroup { .. }
        ));
        acme.enrol("web-2");
        let before = acme.group();
        acme.revoke("web-2");
        let newer = acme.update(&key).unwrap();
        let expected = UpdateError::KeyIsNewer { key: 1, file: 0 };
        assert_eq!(refused(&newer, &before), expected);
    }
}

/// The issuer shows two histories: to one machine that b was revoked, to another that c was.
#[test]
fn a_fork_is_found() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        let key = acme.enrol("a");
        acme.enrol("b");
        acme.enrol("c");
        let twin = acme.folder.path().join("twin");
        copy_all(&acme.dir, &twin);
        let mut other = Store::open(&twin).unwrap();
        let (when, names) = (EpochStart::now(NOW + 1), ["c".parse().unwrap()]);
        other
            .revoke(&acme.issuer, &names, false, when, &mut |_, _| true)
            .unwrap();
        acme.revoke("b");
        let here = acme.update(&key).unwrap();
        let mut witnesses = Published(other.witnesses_path());
        let there = update(&key, &checked(other.group()), LATER, &mut witnesses)
            .unwrap()
            .key;
        let expected = UpdateError::OtherHistory { epoch: 1 };
        assert_eq!(refused(&here, other.group()), expected);
        assert_eq!(refused(&there, &acme.group()), expected);
    }
}

fn copy_all(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_all(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), &to).unwrap();
        }
    }
}

/// Equal public keys under another record, and another public key under the same record.
#[test]
fn the_record_and_the_public_key_both_count() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        let key = acme.enrol("a");
        let expected = UpdateError::OtherHistory { epoch: 0 };
        let with = |change: &dyn Fn(&mut HeldEpoch)| {
            let mut changed = key.clone();
            change(&mut changed.epochs[0]);
            refused(&changed, &acme.group())
        };
        assert_eq!(with(&|held| held.id = EpochId([9; 32])), expected);
        let public = TestGroup::of(scheme, quorum(1, 1), 5).enrol("x").epochs[0]
            .public
            .clone();
        assert_eq!(with(&|held| held.public = public.clone()), expected);
    }
}

/// A key whose witness is not its own is not replaced by one that is no better.
#[test]
fn a_bad_witness_gives_no_key() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let (key, other) = (acme.enrol("a"), acme.enrol("b"));
    acme.enrol("c");
    acme.revoke("c");
    let mut mixed = key.clone();
    mixed.epochs[0].witness = other.epochs[0].witness.clone();
    let bad = acme.update(&mixed).unwrap_err();
    assert_eq!(bad, UpdateError::BadUpdate { epoch: 1 });
    // A record with the x* of this machine beside the V that revokes another does not lead on.
    let mut record = acme.group().epochs()[0].clone();
    let Change::Steps(steps) = &mut record.change else {
        unreachable!("it is an xr group")
    };
    steps[0][..32].copy_from_slice(&key.key.x().to_bytes());
    let file = GroupFile::from_bytes(&group_file(&acme, &[record])).unwrap();
    assert!(file.check_epochs(&mut rng(1)).is_err());
}

/// A group whose epoch 1 brings another opening key, and epoch 2 another V.
fn reopened(acme: &TestGroup) -> GroupFile {
    let (group, first) = (acme.group(), xr_key(&acme.group(), 0));
    let secret = Scalar::from_u128(77);
    let (sharing, _) = Sharing::deal(first.u(), &secret, quorum(2, 3), &mut rng(8)).unwrap();
    let next = acme.xr().reopened(&first, sharing.public());
    let one = EpochRecord {
        epoch: 1,
        previous: group.last_id(),
        made: WallTime::from_nanos(NOW + 5),
        start: WallTime::from_nanos(NOW + 5),
        machines: 0,
        root: [0; 32],
        change: Change::sharing(&next, SharingRecord::xr(Origin::TrustedDealer, &sharing)),
    };
    let goes = acme.store.machine("goes").unwrap().unwrap();
    let step = acme.xr().revoke(&first, &goes.x(&acme.issuer)).unwrap();
    let two = EpochRecord {
        epoch: 2,
        previous: one.epoch_id(),
        made: WallTime::from_nanos(NOW + 6),
        start: WallTime::from_nanos(LATER + 1),
        change: Change::steps([&step]),
        ..one.clone()
    };
    GroupFile::from_bytes(&group_file(acme, &[one, two])).unwrap()
}

#[test]
fn a_new_opening_key_leaves_member_keys_as_they_are() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let old = acme.enrol("web-1");
    acme.enrol("goes");
    let group = reopened(&acme);
    let new = update(&old, &checked(&group), LATER, &mut NoWitnesses);
    let new = new.unwrap().key;
    assert_eq!(new.key.to_bytes(), old.key.to_bytes());
    let (before, [one, two]) = (&old.epochs[0], &new.epochs[..]) else {
        unreachable!("epoch 1 is in force, and 2 announced")
    };
    assert_eq!(before.witness.to_bytes(), one.witness.to_bytes(), "V stays");
    assert_ne!(one.witness.to_bytes(), two.witness.to_bytes());
    let founding = |held: &HeldEpoch| held.public.founding_bytes();
    assert_ne!(founding(before), founding(one));
    assert_eq!(founding(one), founding(two));
    assert!(
        [&old, &new]
            .iter()
            .all(|key| Sent::by(key, b"m", 1).verify(&group).is_ok())
    );
}

/// Records left out or exchanged, though the manager signs all of it.
#[test]
fn epochs_come_all_and_in_order() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        ["a", "b"]
            .into_iter()
            .for_each(|name| drop(acme.enrol(name)));
        acme.revoke("a");
        acme.revoke("b");
        let [one, two] = <[EpochRecord; 2]>::try_from(acme.group().epochs().to_vec()).unwrap();
        let read = |epochs: &[EpochRecord]| GroupFile::from_bytes(&group_file(&acme, epochs));
        assert!(read(&[one.clone(), two.clone()]).is_ok());
        assert!(read(&[two.clone(), one.clone()]).is_err());
        assert!(read(std::slice::from_ref(&two)).is_err());
        let renumbered = EpochRecord { epoch: 1, ..two };
        assert!(read(&[renumbered]).is_err());
    }
}
