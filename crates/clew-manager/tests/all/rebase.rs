//! Rebases: the witnesses that the manager publishes, and that a crash at any point loses nothing and
//! tells nobody too much.

use crate::common::*;
use clew_group::Scheme;
use clew_keys::update::{NoWitnesses, UpdateError, update};
use clew_keys::witness_file::{self, BUCKET_ROWS, BucketFault, Need};
use clew_manager::{EpochStart, Store, StoreError, WITNESSES};
use std::fs;

fn need(acme: &TestGroup, epoch: u32, index: u32) -> Need {
    Need {
        group: acme.group().id(),
        epoch,
        index,
    }
}

fn bucket(acme: &TestGroup, epoch: u32, bucket: u32) -> Vec<u8> {
    fs::read(acme.dir.join(WITNESSES).join(format!("{epoch}/{bucket}"))).unwrap()
}

#[test]
fn a_key_passes_a_rebase_with_its_bucket_only() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        let keys = ["a", "b", "c"].map(|name| acme.enrol(name));
        acme.revoke("a");
        assert_eq!(acme.revoke_all(&["b"], true), 2);
        let group = acme.checked();
        let alone = update(&keys[2], &group, LATER, &mut NoWitnesses).unwrap_err();
        assert_eq!(alone, UpdateError::NeedsWitness(need(&acme, 2, 2)));
        let key = acme.update(&keys[2]).unwrap();
        assert!(Sent::by(&key, b"m", 1).verify(&acme.group()).is_ok());
        for (key, epoch) in keys[..2].iter().zip([1, 2]) {
            assert_eq!(
                acme.update(key).unwrap_err(),
                UpdateError::Revoked { epoch }
            );
        }
        let bytes = bucket(&acme, 2, 0);
        let first = need(&acme, 2, 0);
        let find = |index| witness_file::find(&bytes, &Need { index, ..first });
        assert_eq!(
            [0, 1].map(|row| find(row).unwrap_err()),
            [BucketFault::NoWitness; 2]
        );
        assert!(find(2).is_ok());
        // Younger than the rebase, and with its witness from the start.
        let young = acme.enrol("d");
        assert!(Sent::by(&young, b"m", 1).verify(&acme.group()).is_ok());
        assert_eq!(find(3).unwrap_err(), BucketFault::NoWitness);
    }
}

/// After a rebase the chain goes on, and a key that slept through all of it catches up.
#[test]
fn steps_after_a_rebase_follow_its_witness() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let sleeps = acme.enrol("sleeps");
    for name in ["a", "b", "c", "d"] {
        acme.enrol(name);
        acme.revoke_all(&[name], name == "b");
    }
    let key = acme.update(&sleeps).unwrap();
    assert_eq!(key.newest().unwrap().epoch, 4);
    assert!(Sent::by(&key, b"m", 1).verify(&acme.group()).is_ok());
}

#[test]
fn a_bucket_says_what_is_wrong_with_it() {
    let mut acme = TestGroup::new(Scheme::Xr);
    acme.enrol("a");
    acme.revoke_all(&[], true);
    let (bytes, own) = (bucket(&acme, 1, 0), need(&acme, 1, 0));
    let fault = |bytes: &[u8], need: &Need| witness_file::find(bytes, need).unwrap_err();
    let other = TestGroup::of(Scheme::Xr, quorum(1, 1), 5).group().id();
    let of_other = Need {
        group: other,
        ..own
    };
    assert_eq!(fault(&bytes, &of_other), BucketFault::OtherGroup(own.group));
    assert_eq!(
        fault(&bytes, &Need { epoch: 2, ..own }),
        BucketFault::OtherEpoch(1)
    );
    let far = Need {
        index: BUCKET_ROWS,
        ..own
    };
    assert_eq!(fault(&bytes, &far), BucketFault::OtherRows(0));
    assert_eq!(
        fault(&bytes, &Need { index: 1, ..own }),
        BucketFault::NoWitness
    );
    for cut in 0..bytes.len() {
        assert_eq!(fault(&bytes[..cut], &own), BucketFault::Layout);
    }
    assert_eq!(
        fault(&[&bytes[..], &[0]].concat(), &own),
        BucketFault::Layout
    );
    let mut off_curve = bytes.clone();
    *off_curve.last_mut().unwrap() ^= 1;
    let refused = witness_file::find(&off_curve, &own);
    assert!(refused.is_err_and(|fault| fault == BucketFault::Point));
    assert_eq!(bytes.len(), 42 + 48);
}

#[test]
fn buckets_have_1024_rows() {
    let mut acme = TestGroup::new(Scheme::Bbs04);
    let first = acme.enrol("m-0");
    for i in 1..=BUCKET_ROWS {
        let name = format!("m-{i}").parse().unwrap();
        acme.store
            .enrol(&acme.issuer, name, LATER, &mut rng(i.into()))
            .unwrap()
            .commit()
            .unwrap();
    }
    acme.store.refresh().unwrap();
    let mut told = Vec::new();
    let mut progress = |done, of| {
        told.push((done, of));
        true
    };
    acme.store
        .rebase(&acme.issuer, EpochStart::now(LATER), &mut progress)
        .unwrap();
    assert_eq!(told, [(1024, 1025), (1025, 1025)]);
    let sizes = [0, 1].map(|b| bucket(&acme, 1, b).len());
    assert_eq!(sizes, [42 + 1024 * 48, 42 + 48]);
    assert!(witness_file::find(&bucket(&acme, 1, 1), &need(&acme, 1, 1024)).is_ok());
    assert!(acme.update(&first).is_ok());
}

/// Interrupted while witnesses are computed: nothing was changed, and nothing of it is public.
#[test]
fn an_interrupted_rebase_never_was() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let key = acme.enrol("a");
    let refused = acme
        .store
        .rebase(&acme.issuer, EpochStart::now(LATER), &mut |_, _| false);
    assert!(matches!(refused, Err(StoreError::Interrupted)));
    let store = Store::open(&acme.dir).unwrap();
    assert_eq!(store.group().newest_epoch(), 0);
    assert!(!acme.dir.join("issuer/witnesses/1").exists());
    assert!(!acme.dir.join(WITNESSES).exists());
    acme.store = store;
    acme.revoke_all(&[], true);
    assert!(acme.update(&key).is_ok());
}

/// A crash after the commit: the next opening publishes the witnesses, then the group file.
#[test]
fn a_committed_rebase_is_published_by_the_next_opening() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let key = acme.enrol("a");
    let path = acme.store.group_file_path();
    let before = fs::read(&path).unwrap();
    acme.revoke_all(&[], true);
    let after = fs::read(&path).unwrap();
    // As the crash left it: witnesses in the issuer's folder, the old group file.
    fs::remove_dir_all(acme.dir.join(WITNESSES)).unwrap();
    fs::write(&path, before).unwrap();
    acme.store = Store::open(&acme.dir).unwrap();
    assert_eq!(fs::read(&path).unwrap(), after);
    assert!(acme.update(&key).is_ok());
}

/// Public witnesses that were lost, damaged or added to are what the issuer's folder has, once the
/// store is opened.
#[test]
fn damaged_witnesses_are_published_again() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let key = acme.enrol("a");
    acme.revoke_all(&[], true);
    let good = bucket(&acme, 1, 0);
    let public = acme.dir.join(WITNESSES).join("1");
    let time = || fs::metadata(public.join("0")).unwrap().modified().unwrap();
    let before = time();
    let damages: [&dyn Fn(); 4] = [
        &|| fs::remove_file(public.join("0")).unwrap(),
        &|| fs::write(public.join("0"), &good[..good.len() - 1]).unwrap(),
        &|| fs::write(public.join("0"), vec![0; good.len()]).unwrap(),
        &|| fs::write(public.join("1"), &good).unwrap(),
    ];
    for damage in damages {
        damage();
        Store::open(&acme.dir).unwrap();
        assert_eq!(bucket(&acme, 1, 0), good);
        assert_eq!(time(), before);
        assert_eq!(fs::read_dir(&public).unwrap().count(), 1);
    }
    assert!(acme.update(&key).is_ok());
}

/// Folders that cannot be read are not equal.
#[test]
fn unreadable_witnesses_are_an_error() {
    let mut acme = TestGroup::new(Scheme::Xr);
    acme.enrol("a");
    acme.revoke_all(&[], true);
    for folder in ["issuer/witnesses/1", "public/witnesses/1"] {
        fs::remove_dir_all(acme.dir.join(folder)).unwrap();
        fs::write(acme.dir.join(folder), "no folder").unwrap();
    }
    let refused = Store::open(&acme.dir).map(drop).unwrap_err();
    assert!(matches!(refused, StoreError::Io { .. }), "{refused}");
}

/// A crash before the commit: witnesses of a rebase that never was are not seen.
#[test]
fn staged_witnesses_of_no_rebase_are_removed() {
    let mut acme = TestGroup::new(Scheme::Xr);
    acme.enrol("a");
    acme.revoke("a");
    for epoch in ["1", "2", "7"] {
        let staged = acme.dir.join("issuer/witnesses").join(epoch);
        fs::create_dir_all(&staged).unwrap();
        fs::write(staged.join("0"), "witnesses").unwrap();
    }
    Store::open(&acme.dir).unwrap();
    let kept = fs::read_dir(acme.dir.join("issuer/witnesses")).unwrap();
    assert_eq!(kept.count(), 0);
    assert!(!acme.dir.join(WITNESSES).exists());
}

/// Another process is at a rebase: opening the store waits for nobody and disturbs nothing.
#[test]
fn a_store_is_opened_while_another_process_rebases() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let key = acme.enrol("a");
    let dir = acme.dir.clone();
    let mut seen = 0;
    let mut while_at_it = |_, _| {
        let store = Store::open(&dir).unwrap();
        assert_eq!(store.group().newest_epoch(), 0);
        seen += 1;
        true
    };
    acme.store
        .rebase(&acme.issuer, EpochStart::now(LATER), &mut while_at_it)
        .unwrap();
    assert_eq!(seen, 1);
    assert!(acme.update(&key).is_ok());
}

/// While witnesses are computed machines join, and they have theirs of the new epoch, too.
#[test]
fn machines_join_while_a_rebase_is_made() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let early = acme.enrol("early");
    let (dir, issuer) = (acme.dir.clone(), issuer(&acme.dir));
    let mut late = Vec::new();
    let mut join = |_, _| {
        let mut other = Store::open(&dir).unwrap();
        let name = format!("late-{}", late.len());
        if late.len() < 2 {
            late.push(enrol(&mut other, &issuer, &name)); // at once, not after the rebase
        }
        true
    };
    let now = EpochStart::now(LATER);
    acme.store.rebase(&acme.issuer, now, &mut join).unwrap();
    assert_eq!(late.len(), 2);
    assert_eq!(acme.group().register().machines, 3);
    assert_eq!(acme.group().record(1).unwrap().machines, 1);
    for key in [&early].into_iter().chain(&late) {
        assert!(acme.update(key).is_ok());
    }
    assert_eq!(bucket(&acme, 1, 0).len(), 42 + 3 * 48);
    acme.store.check().unwrap();
    assert!(!acme.dir.join("issuer/rebase").exists());
}

/// A revocation does not wait for a rebase: the rebase begins again behind it.
#[test]
fn a_revocation_overtakes_a_rebase() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let [stays, leaves] = ["stays", "leaves"].map(|name| acme.enrol(name));
    let (dir, issuer) = (acme.dir.clone(), issuer(&acme.dir));
    let mut calls = 0;
    let mut revoke = |_, _| {
        calls += 1;
        if calls == 1 {
            let mut other = Store::open(&dir).unwrap();
            let names = ["leaves".parse().unwrap()];
            let now = EpochStart::now(LATER);
            let made = other.revoke(&issuer, &names, false, now, &mut |_, _| true);
            assert_eq!(made.unwrap(), 1);
        }
        true
    };
    let now = EpochStart::now(LATER);
    let made = acme.store.rebase(&acme.issuer, now, &mut revoke).unwrap();
    assert_eq!((made, calls), (2, 2));
    assert!(acme.update(&stays).is_ok());
    assert!(acme.update(&leaves).is_err());
    acme.store.check().unwrap();
}

/// If each attempt is overtaken, the last one keeps others waiting.
#[test]
fn a_rebase_that_is_always_overtaken_is_made_at_last() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let key = acme.enrol("a");
    acme.enrol_all(&["gone-1", "gone-2", "gone-3"]);
    let (dir, issuer) = (acme.dir.clone(), issuer(&acme.dir));
    let mut calls = 0;
    let mut overtake = |_, _| {
        calls += 1;
        if calls <= 3 {
            let mut other = Store::open(&dir).unwrap();
            let names = [format!("gone-{calls}").parse().unwrap()];
            let now = EpochStart::now(LATER);
            let made = other.revoke(&issuer, &names, false, now, &mut |_, _| true);
            made.unwrap();
        }
        true
    };
    let now = EpochStart::now(LATER);
    let made = acme.store.rebase(&acme.issuer, now, &mut overtake).unwrap();
    assert_eq!((made, calls), (4, 4));
    assert!(acme.update(&key).is_ok());
}

/// Witnesses of before the rebase in force help thieves only.
#[test]
fn old_witnesses_are_removed() {
    let mut acme = TestGroup::new(Scheme::Xr);
    acme.enrol("a");
    let folders = |acme: &TestGroup| {
        let [kept, public] = ["issuer/witnesses", WITNESSES].map(|folder| {
            let entries = fs::read_dir(acme.dir.join(folder)).unwrap();
            let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name()).collect();
            names.sort();
            names
        });
        assert_eq!(kept, public);
        public
    };
    acme.revoke_all(&[], true);
    acme.revoke_all(&[], true);
    assert_eq!(folders(&acme), ["1", "2"], "a clock may be a day ahead");
    let day = LATER + clew_manager::IDLE_NS;
    acme.store.confirm_clock(day).unwrap();
    let pending = acme
        .store
        .enrol(&acme.issuer, "b".parse().unwrap(), day, &mut rng(5));
    pending.unwrap().commit().unwrap();
    acme.store.refresh().unwrap();
    assert_eq!(folders(&acme), ["2"]);
    let planned = EpochStart {
        now: day,
        start: day + 1000,
        far: false,
    };
    acme.store
        .rebase(&acme.issuer, planned, &mut |_, _| true)
        .unwrap();
    assert_eq!(
        folders(&acme),
        ["2", "3"],
        "the one in force stays until the next is"
    );
}
