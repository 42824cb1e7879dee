//! Rebases: the witnesses that the manager publishes, and that a crash at any point loses nothing and
//! tells nobody too much.

use crate::common::*;
use clew_group::Scheme;
use clew_keys::update::{NoWitnesses, UpdateError, update};
use clew_keys::witness_file::{self, BUCKET_ROWS, BucketFault, Need};
use clew_manager::{Store, StoreError, WITNESSES, When};
use std::fs;

fn need(office: &Office, epoch: u32, index: u32) -> Need {
    Need {
        group: office.group().id(),
        epoch,
        index,
    }
}

fn bucket(office: &Office, epoch: u32, bucket: u32) -> Vec<u8> {
    fs::read(office.dir.join(WITNESSES).join(format!("{epoch}/{bucket}"))).unwrap()
}

#[test]
fn a_key_passes_a_rebase_with_its_bucket_only() {
    for scheme in BOTH {
        let mut office = Office::new(scheme);
        let keys = ["a", "b", "c"].map(|name| office.enrol(name));
        office.revoke("a");
        assert_eq!(office.revoke_all(&["b"], true), 2);
        let group = office.checked();
        let alone = update(&keys[2], &group, LATER, &mut NoWitnesses).unwrap_err();
        assert_eq!(alone, UpdateError::NeedsWitness(need(&office, 2, 2)));
        let key = office.update(&keys[2]).unwrap();
        assert!(Sent::by(&key, b"m", 1).verify(&office.group()).is_ok());
        for (key, epoch) in keys[..2].iter().zip([1, 2]) {
            assert_eq!(
                office.update(key).unwrap_err(),
                UpdateError::Revoked { epoch }
            );
        }
        let bytes = bucket(&office, 2, 0);
        let first = need(&office, 2, 0);
        let find = |index| witness_file::find(&bytes, &Need { index, ..first });
        assert_eq!(
            [0, 1].map(|row| find(row).unwrap_err()),
            [BucketFault::NoWitness; 2]
        );
        assert!(find(2).is_ok());
        // Younger than the rebase, and with its witness from the start.
        let young = office.enrol("d");
        assert!(Sent::by(&young, b"m", 1).verify(&office.group()).is_ok());
        assert_eq!(find(3).unwrap_err(), BucketFault::NoWitness);
    }
}

/// After a rebase the chain goes on, and a key that slept through all of it catches up.
#[test]
fn steps_after_a_rebase_follow_its_witness() {
    let mut office = Office::new(Scheme::Xr);
    let sleeps = office.enrol("sleeps");
    for name in ["a", "b", "c", "d"] {
        office.enrol(name);
        office.revoke_all(&[name], name == "b");
    }
    let key = office.update(&sleeps).unwrap();
    assert_eq!(key.newest().unwrap().epoch, 4);
    assert!(Sent::by(&key, b"m", 1).verify(&office.group()).is_ok());
}

#[test]
fn a_bucket_says_what_is_wrong_with_it() {
    let mut office = Office::new(Scheme::Xr);
    office.enrol("a");
    office.revoke_all(&[], true);
    let (bytes, own) = (bucket(&office, 1, 0), need(&office, 1, 0));
    let fault = |bytes: &[u8], need: &Need| witness_file::find(bytes, need).unwrap_err();
    let other = Office::of(Scheme::Xr, quorum(1, 1), 5).group().id();
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
    let mut office = Office::new(Scheme::Bbs04);
    let first = office.enrol("m-0");
    for i in 1..=BUCKET_ROWS {
        let name = format!("m-{i}").parse().unwrap();
        office
            .store
            .enrol(&office.issuer, name, LATER, &mut rng(i.into()))
            .unwrap()
            .commit()
            .unwrap();
    }
    office.store.refresh().unwrap();
    let mut told = Vec::new();
    let mut progress = |done, of| {
        told.push((done, of));
        true
    };
    office
        .store
        .rebase(&office.issuer, When::now(LATER), &mut progress)
        .unwrap();
    assert_eq!(told, [(1024, 1025), (1025, 1025)]);
    let sizes = [0, 1].map(|b| bucket(&office, 1, b).len());
    assert_eq!(sizes, [42 + 1024 * 48, 42 + 48]);
    assert!(witness_file::find(&bucket(&office, 1, 1), &need(&office, 1, 1024)).is_ok());
    assert!(office.update(&first).is_ok());
}

/// Interrupted while witnesses are computed: nothing was changed, and nothing of it is public.
#[test]
fn an_interrupted_rebase_never_was() {
    let mut office = Office::new(Scheme::Xr);
    let key = office.enrol("a");
    let refused = office
        .store
        .rebase(&office.issuer, When::now(LATER), &mut |_, _| false);
    assert!(matches!(refused, Err(StoreError::Interrupted)));
    let store = Store::open(&office.dir).unwrap();
    assert_eq!(store.group().newest_epoch(), 0);
    assert!(!office.dir.join("issuer/witnesses/1").exists());
    assert!(!office.dir.join(WITNESSES).exists());
    office.store = store;
    office.revoke_all(&[], true);
    assert!(office.update(&key).is_ok());
}

/// A crash after the commit: the next opening publishes the witnesses, then the group file.
#[test]
fn a_committed_rebase_is_published_by_the_next_opening() {
    let mut office = Office::new(Scheme::Xr);
    let key = office.enrol("a");
    let path = office.store.group_file_path();
    let before = fs::read(&path).unwrap();
    office.revoke_all(&[], true);
    let after = fs::read(&path).unwrap();
    // As the crash left it: witnesses in the issuer's folder, the old group file.
    fs::remove_dir_all(office.dir.join(WITNESSES)).unwrap();
    fs::write(&path, before).unwrap();
    office.store = Store::open(&office.dir).unwrap();
    assert_eq!(fs::read(&path).unwrap(), after);
    assert!(office.update(&key).is_ok());
}

/// Public witnesses that were lost, damaged or added to are what the issuer's folder has, once the
/// store is opened.
#[test]
fn damaged_witnesses_are_published_again() {
    let mut office = Office::new(Scheme::Xr);
    let key = office.enrol("a");
    office.revoke_all(&[], true);
    let good = bucket(&office, 1, 0);
    let public = office.dir.join(WITNESSES).join("1");
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
        Store::open(&office.dir).unwrap();
        assert_eq!(bucket(&office, 1, 0), good);
        assert_eq!(time(), before);
        assert_eq!(fs::read_dir(&public).unwrap().count(), 1);
    }
    assert!(office.update(&key).is_ok());
}

/// A crash before the commit: witnesses of a rebase that never was are not seen.
#[test]
fn staged_witnesses_of_no_rebase_are_removed() {
    let mut office = Office::new(Scheme::Xr);
    office.enrol("a");
    office.revoke("a");
    for epoch in ["1", "2", "7"] {
        let staged = office.dir.join("issuer/witnesses").join(epoch);
        fs::create_dir_all(&staged).unwrap();
        fs::write(staged.join("0"), "witnesses").unwrap();
    }
    Store::open(&office.dir).unwrap();
    let kept = fs::read_dir(office.dir.join("issuer/witnesses")).unwrap();
    assert_eq!(kept.count(), 0);
    assert!(!office.dir.join(WITNESSES).exists());
}

/// Another process is at a rebase: opening the store waits for nobody and disturbs nothing.
#[test]
fn a_store_is_opened_while_another_process_rebases() {
    let mut office = Office::new(Scheme::Xr);
    let key = office.enrol("a");
    let dir = office.dir.clone();
    let mut seen = 0;
    let mut while_at_it = |_, _| {
        let store = Store::open(&dir).unwrap();
        assert_eq!(store.group().newest_epoch(), 0);
        seen += 1;
        true
    };
    office
        .store
        .rebase(&office.issuer, When::now(LATER), &mut while_at_it)
        .unwrap();
    assert_eq!(seen, 1);
    assert!(office.update(&key).is_ok());
}

/// Witnesses of before the rebase in force help thieves only.
#[test]
fn old_witnesses_are_removed() {
    let mut office = Office::new(Scheme::Xr);
    office.enrol("a");
    let folders = |office: &Office| {
        let [kept, public] = ["issuer/witnesses", WITNESSES].map(|folder| {
            let entries = fs::read_dir(office.dir.join(folder)).unwrap();
            let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name()).collect();
            names.sort();
            names
        });
        assert_eq!(kept, public);
        public
    };
    office.revoke_all(&[], true);
    office.revoke_all(&[], true);
    assert_eq!(folders(&office), ["2"]);
    let planned = When {
        now: LATER,
        start: LATER + 1000,
        far: false,
    };
    office
        .store
        .rebase(&office.issuer, planned, &mut |_, _| true)
        .unwrap();
    assert_eq!(
        folders(&office),
        ["2", "3"],
        "the one in force stays until the next is"
    );
}
