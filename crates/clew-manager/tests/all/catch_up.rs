//! A store that was restored from an older backup takes over what was published since.

use crate::common::*;
use clew_evidence::GroupLog;
use clew_group::Scheme;
use clew_log::{KeyKind, VerifierKey};
use clew_manager::{CaughtUp, EpochStart, GROUP_FILE, LoggedBody, Store, StoreError};
use std::fs;
use std::path::PathBuf;

/// A group, with a log that has all of it if `with_log`, and a backup of it.
fn lived(with_log: bool) -> (TestGroup, Vec<u8>, Vec<LoggedBody>) {
    let mut acme = TestGroup::new(Scheme::Xr);
    acme.enrol_all(&["a", "b", "c"]);
    acme.revoke("b");
    let mut logged = Vec::new();
    if with_log {
        let key = acme.issuer.manager.verifying_key();
        let key = VerifierKey::new("log", KeyKind::Log, key).unwrap();
        let log = Some(GroupLog::new(key).unwrap());
        let start = EpochStart::now(LATER);
        acme.store.set_log(&acme.issuer, log, start).unwrap();
        send(&mut acme, &mut logged);
    }
    let mut bytes = Vec::new();
    acme.store.backup(&mut bytes, true, LATER, None).unwrap();
    (acme, bytes, logged)
}

/// Sends what waits to the log.
fn send(acme: &mut TestGroup, logged: &mut Vec<LoggedBody>) {
    let key = acme.group().newest_log().unwrap().key().clone();
    for entry in acme.store.outbox(100).unwrap() {
        let place = logged.len() as u64;
        logged.push((place, entry.kind, entry.body));
        acme.store.set_sent(&key, &[(entry.seq, place)]).unwrap();
    }
}

fn restored(acme: &TestGroup, backup: &[u8], name: &str) -> (PathBuf, Vec<u8>) {
    let dir = acme.folder.path().join(name);
    let newest = acme.store.group_bytes().unwrap();
    let mut backup = backup;
    Store::restore(&mut backup, &dir, database().as_deref(), Some(&newest)).unwrap();
    let refused = Store::open(&dir).err().unwrap();
    assert!(
        matches!(refused, StoreError::PublishedIsNewer(_)),
        "{refused}"
    );
    (dir, newest)
}

/// Epochs of every kind come back; what the store does then, readers of the newer file accept.
#[test]
fn epochs_and_revocations_come_back() {
    let (mut acme, backup, _) = lived(false);
    acme.revoke("a");
    acme.revoke_all(&[], true);
    let (dir, newest) = restored(&acme, &backup, "old");
    let (store, took) = Store::catch_up(&dir, &acme.issuer, &newest, None).unwrap();
    let expected = CaughtUp {
        epochs: 2,
        revoked: vec!["a".to_owned()],
        ..CaughtUp::default()
    };
    assert_eq!(took, expected);
    assert_eq!(store.group().last_id(), acme.group().last_id());
    assert_eq!(store.machine("a").unwrap().unwrap().revoked_in, Some(2));
    store.check().unwrap();
    for kind in ["issuer/witnesses/3/0", "public/witnesses/3/0"] {
        assert_eq!(
            fs::read(dir.join(kind)).unwrap(),
            fs::read(acme.dir.join(kind)).unwrap()
        );
    }
    let mut store = store;
    enrol(&mut store, &acme.issuer, "d");
    let machines = ["c".parse().unwrap()];
    let when = EpochStart::now(LATER);
    let epoch = store.revoke(&acme.issuer, &machines, false, when, &mut |_, _| true);
    assert_eq!(epoch.unwrap(), 4);
    assert_eq!(published(&dir).epoch_id(3), acme.group().epoch_id(3));
    // Once more there is nothing to take over.
    let again = fs::read(dir.join(GROUP_FILE)).unwrap();
    drop(store);
    let (_, took) = Store::catch_up(&dir, &acme.issuer, &again, None).unwrap();
    assert_eq!(took, CaughtUp::default());
}

/// Without a log the hashes of rows are lost: rows that nothing binds are dropped, others end it.
#[test]
fn rows_without_a_log_are_dropped_if_nothing_binds_them() {
    let (mut acme, backup, _) = lived(false);
    acme.revoke("a");
    acme.enrol_all(&["d", "e"]);
    let (dir, newest) = restored(&acme, &backup, "old");
    let (store, took) = Store::catch_up(&dir, &acme.issuer, &newest, None).unwrap();
    assert_eq!((took.epochs, took.lost, took.dropped), (1, 0, 2));
    assert_eq!(published(&dir).register().machines, 3);
    store.check().unwrap();
    acme.revoke("d");
    let (dir, newest) = restored(&acme, &backup, "older");
    let refused = Store::catch_up(&dir, &acme.issuer, &newest, None)
        .err()
        .unwrap();
    assert!(
        matches!(refused, StoreError::RowsMissing { need: 5, have: 3 }),
        "{refused}"
    );
    assert!(Store::open(&dir).is_err(), "nothing was changed");
}

/// The log has the hashes of all rows: the register goes on, and names alone are lost.
#[test]
fn rows_come_back_from_the_log_without_their_names() {
    let (mut acme, backup, mut logged) = lived(true);
    let old = acme.row("a");
    acme.enrol_all(&["d", "e"]);
    acme.revoke_all(&["d", "a"], false);
    acme.enrol("f");
    send(&mut acme, &mut logged);
    let (dir, newest) = restored(&acme, &backup, "old");
    let refused = Store::catch_up(&dir, &acme.issuer, &newest, None)
        .err()
        .unwrap();
    assert!(matches!(refused, StoreError::LogNeeded), "{refused}");
    let (mut store, took) = Store::catch_up(&dir, &acme.issuer, &newest, Some(&logged)).unwrap();
    assert_eq!((took.epochs, took.lost, took.dropped), (1, 3, 0));
    assert_eq!(took.revoked, ["a"]);
    assert_eq!(store.group().register().root, acme.group().register().root);
    store.check().unwrap();
    assert_eq!(store.outbox(10).unwrap(), [], "the log has all of it");
    assert_eq!(store.last_place().unwrap(), Some(logged.len() as u64 - 1));
    assert!(store.machine("d").unwrap().is_none());
    assert!(old.is_in_register_of(store.group()));
    // The machines enrol again, and a rebase locks their old keys out.
    let again = enrol(&mut store, &acme.issuer, "d");
    let when = EpochStart::now(LATER);
    store.rebase(&acme.issuer, when, &mut |_, _| true).unwrap();
    let waiting = store.outbox(10).unwrap();
    let signed = store.signed_for_log(
        &acme.issuer,
        &waiting,
        clew_evidence::WallTime::from_nanos(LATER),
    );
    assert_eq!(signed.unwrap().len(), 2);
    acme.store = store;
    assert!(acme.update(&again).is_ok());
    assert_eq!(acme.row("d").entry.index, 6);
}

/// Another history is not taken over: neither of the file nor of the log.
#[test]
fn another_history_is_refused() {
    let (mut acme, backup, mut logged) = lived(true);
    acme.revoke("a");
    send(&mut acme, &mut logged);
    let (dir, newest) = restored(&acme, &backup, "old");
    let refused = |published: &[u8], logged: &[LoggedBody]| {
        let done = Store::catch_up(&dir, &acme.issuer, published, Some(logged));
        let error = done.err().unwrap();
        assert!(matches!(error, StoreError::OtherHistory(_)), "{error}");
    };
    // An older file than the log knows.
    let older = {
        let store = {
            let dir = acme.folder.path().join("again");
            let mut backup = &backup[..];
            Store::restore(&mut backup, &dir, database().as_deref(), None).unwrap();
            Store::open(&dir).unwrap()
        };
        store.group_bytes().unwrap()
    };
    refused(&older, &logged);
    // A log with another row, or another epoch.
    for kind in [3, 4] {
        let mut forked = logged.clone();
        let entry = forked.iter_mut().rev().find(|(_, own, _)| *own == kind);
        let (_, _, body) = entry.unwrap();
        let last = body.len() - 9; // in a leaf hash, or in an epoch id
        body[last] ^= 1;
        refused(&newest, &forked);
    }
    let (_, took) = Store::catch_up(&dir, &acme.issuer, &newest, Some(&logged)).unwrap();
    assert_eq!(took.epochs, 1);
}
