//! What is deleted by rule: it is gone from the files, and everything else is as good as before.

use crate::common::court::opened;
use crate::common::*;
use clew_group::Scheme;
use clew_keys::post::Post;
use clew_log::entry::Role;
use clew_manager::{Board, EpochStart, Retention, Store};
use std::fs;
use std::path::Path;

const DAY: u64 = 86_400_000_000_000;

/// How many files below a directory have these bytes.
fn files_with(dir: &Path, bytes: &[u8]) -> usize {
    let entries = fs::read_dir(dir).unwrap().map(Result::unwrap);
    let counts = entries.map(|entry| match entry.file_type().unwrap().is_dir() {
        true => files_with(&entry.path(), bytes),
        false => {
            let file = fs::read(entry.path()).unwrap();
            usize::from(file.windows(bytes.len()).any(|window| window == bytes))
        }
    });
    counts.sum()
}

const MACHINES: Retention = Retention {
    machines: Some(30),
    joins: None,
    posts: None,
};

/// Machines that were revoked long ago are gone, to the last byte; all others keep rows, proofs, witnesses
/// and openings.
#[test]
fn revoked_machines_are_deleted_after_their_time() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        let stays = acme.enrol("stays");
        let gone: Vec<String> = (0..40).map(|n| format!("zq-{n}-g")).collect();
        for name in &gone {
            acme.enrol(name);
        }
        acme.enrol("late");
        let names: Vec<&str> = gone.iter().map(String::as_str).collect();
        acme.revoke_all(&names, scheme == Scheme::Xr);
        let later = EpochStart::now(NOW + 20 * DAY);
        acme.store.confirm_clock(NOW + 20 * DAY).unwrap();
        let late = ["late".parse().unwrap()];
        let (store, issuer) = (&mut acme.store, &acme.issuer);
        store
            .revoke(issuer, &late, false, later, &mut |_, _| true)
            .unwrap();
        let row = acme.row("late");
        let sent = Sent::by(&stays, b"m", 1);
        assert!(opened(&acme, &sent).is_ok(), "an index is made");

        assert!(
            acme.store.past(NOW + 900 * DAY).unwrap().is_empty(),
            "by default all is kept"
        );
        acme.store.set_retention(&MACHINES).unwrap();
        assert!(acme.store.past(NOW + 29 * DAY).unwrap().is_empty());
        let past = acme.store.past(NOW + 31 * DAY).unwrap();
        assert_eq!(past.machines.len(), 40);
        let name = b"zq-3-g".as_slice();
        let is_file = database().is_none();
        assert!(
            !is_file || files_with(&acme.dir, name) > 0,
            "a look deletes nothing"
        );

        acme.store.confirm_clock(NOW + 31 * DAY).unwrap();
        assert_eq!(acme.store.prune(NOW + 31 * DAY).unwrap(), past);
        assert!(acme.store.prune(NOW + 31 * DAY).unwrap().is_empty());
        assert_eq!(acme.store.deleted_machines().unwrap(), 40);
        if is_file {
            assert_eq!(files_with(&acme.dir, name), 0);
            assert_eq!(files_with(&acme.dir, b"zq-1"), 0);
        }
        for name in &names {
            assert!(acme.store.machine(name).unwrap().is_none());
        }
        acme.store.check().unwrap();
        // All else works: rows, openings, a rebase with its buckets, and one more machine.
        assert_eq!(acme.row("late"), row);
        assert!(opened(&acme, &sent).is_ok());
        let when = EpochStart::now(NOW + 32 * DAY - 1);
        let (store, issuer) = (&mut acme.store, &acme.issuer);
        store.rebase(issuer, when, &mut |_, _| true).unwrap();
        let mut witnesses = acme.published_witnesses();
        let now = NOW + 33 * DAY;
        let updated = clew_keys::update::update(&stays, &acme.checked(), now, &mut witnesses);
        assert_eq!(updated.unwrap().key.epochs.len(), 1);
        let again = Store::open(&acme.dir).unwrap();
        again.check().unwrap();
    }
}

/// A packet of a deleted machine is opened to nobody; evidence from before stays good.
#[test]
fn a_deleted_machine_cannot_be_named() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let key = acme.enrol("person");
    let sent = Sent::by(&key, b"m", 1);
    acme.revoke("person");
    let (opening, _) = opened(&acme, &sent).unwrap();
    acme.store.set_retention(&MACHINES).unwrap();
    acme.store.confirm_clock(NOW + 31 * DAY).unwrap();
    acme.store.prune(NOW + 31 * DAY).unwrap();
    assert!(opened(&acme, &sent).is_err());
    let judged = clew_evidence::judge_opening(&acme.checked(), &opening, &sent.packet());
    assert_eq!(judged.unwrap().machine.as_str(), "person");
    // Its name is free, and nothing says that somebody had it.
    acme.store
        .enrol(
            &acme.issuer,
            "person".parse().unwrap(),
            NOW + 31 * DAY,
            &mut rng(5),
        )
        .map(drop)
        .unwrap();
}

/// A stub of a machine that is in force is damage, not a deletion.
#[test]
fn a_row_that_was_emptied_is_found() {
    if database().is_some() {
        return; // the test writes into SQLite's file
    }
    let mut acme = TestGroup::new(Scheme::Xr);
    acme.enrol_all(&["a", "b", "c"]);
    let path = acme.dir.join("issuer/store.db");
    let empty = |row: u32| {
        let db = rusqlite::Connection::open(&path).unwrap();
        let command = "UPDATE machine SET entry = x'', salt = x'' WHERE idx = ?1";
        db.execute(command, [row]).unwrap();
    };
    empty(2); // the last one
    let told = acme.store.check().unwrap_err().to_string();
    assert!(told.contains("row of the register is missing"), "{told}");
    empty(0);
    assert!(acme.store.check().is_err());
}

/// Old topics, invitations and rights go, and make room on the board; numbers of posts do not go back.
#[test]
fn old_posts_and_joins_are_deleted() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let court = clew_keys::AuthorKeyFile::new([9; 32].into(), "court".parse().unwrap());
    acme.store
        .admit_author(&court.public(), Role::Requester, NOW)
        .unwrap();
    let mut board = Board::open(&acme.dir).unwrap();
    let mut say = |topic: u8, body: &[u8], now| {
        let key = court.signing_key();
        let post = Post::sign(board.id(), [topic; 32], 9, body.to_vec(), &key).unwrap();
        board.post(&post, now).unwrap();
    };
    say(1, b"a case about somebody", NOW);
    say(1, b"more about somebody", NOW);
    say(2, b"another case", NOW + 50 * DAY);
    let name: clew_evidence::Name = "invited-person".parse().unwrap();
    let invited = acme.store.invite(&acme.issuer, name, NOW, &mut rng(4));
    drop(invited.unwrap());
    let rule = Retention {
        machines: None,
        joins: Some(10),
        posts: Some(30),
    };
    acme.store.set_retention(&rule).unwrap();
    assert_eq!(acme.store.retention().unwrap(), rule);
    let now = NOW + 90 * DAY;
    let past = acme.store.past(now).unwrap();
    assert_eq!((past.joins, past.topics, past.posts), (1, 1, 2));
    acme.store.confirm_clock(now).unwrap();
    assert_eq!(acme.store.prune(now).unwrap(), past);
    assert!(acme.store.prune(now).unwrap().is_empty());
    if database().is_none() {
        for text in ["about somebody", "invited-person"] {
            assert_eq!(files_with(&acme.dir, text.as_bytes()), 0, "{text}");
        }
    }
    let board = Board::open(&acme.dir).unwrap();
    assert_eq!(
        board.last().unwrap(),
        3,
        "the newest post stays, however old"
    );
    let key = court.public().signs.to_bytes();
    assert!(board.read(&key, &[1; 32], 0).unwrap().is_empty());
    assert_eq!(board.read(&key, &[2; 32], 0).unwrap().len(), 1);
    assert_eq!(board.news(&key, 3).unwrap(), []);
}

/// A new log gets the entries of deleted rows, too: the tree has their hashes.
#[test]
fn a_new_log_gets_deleted_rows() {
    let mut acme = TestGroup::new(Scheme::Xr);
    acme.enrol_all(&["person", "stays"]);
    acme.revoke("person");
    acme.store.set_retention(&MACHINES).unwrap();
    acme.store.confirm_clock(NOW + 31 * DAY).unwrap();
    assert_eq!(acme.store.prune(NOW + 31 * DAY).unwrap().machines.len(), 1);
    let waiting = acme.store.outbox(100).unwrap();
    let now = clew_evidence::WallTime::from_nanos(NOW);
    let signed = acme.store.signed_for_log(&acme.issuer, &waiting, now);
    assert_eq!(signed.unwrap().len(), waiting.len());
}
