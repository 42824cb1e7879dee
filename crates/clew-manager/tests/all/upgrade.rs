//! A store of layout 4, made by the program of that time (`tests/layout4`), becomes one of today.

use crate::common::*;
use clew_keys::TextFile;
use clew_keys::join::{AcceptanceFile, Joining};
use clew_manager::{Store, StoreError};
use std::fs;
use std::path::Path;

const OLD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/layout4");
/// After the old program made it.
const SINCE: u64 = 1_795_500_000_000_000_000;

fn version(database: &Path) -> i64 {
    let database = rusqlite::Connection::open(database).unwrap();
    let version = database.pragma_query_value(None, "user_version", |row| row.get(0));
    version.unwrap()
}

#[test]
fn a_store_of_layout_4_goes_on_with_a_copy_beside() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("acme");
    copy_all(Path::new(OLD), &dir);
    let before = fs::read(dir.join("issuer/store.db")).unwrap();
    let group = published(&dir);
    let mut store = Store::open(&dir).unwrap();
    assert_eq!(store.group().last_id(), group.last_id());
    assert_eq!(store.group().register(), group.register());
    assert_eq!(version(&dir.join("issuer/store.db")), 7);
    let kept = dir.join("issuer/store.db.layout-4");
    assert_eq!(version(&kept), 4);
    assert!(fs::read(&kept).unwrap().len() >= before.len() / 2);
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(kept.metadata().unwrap().permissions().mode() & 0o777, 0o600);

    // Everything that the log would have of it, in the log's order.
    let waiting = store.outbox(100).unwrap();
    let kinds: Vec<u8> = waiting.iter().map(|entry| entry.kind).collect();
    assert_eq!(kinds, [1, 3, 4]);
    assert_eq!(waiting[1].body.len(), 4 + 2 + 2 * 32);
    assert_eq!(waiting[2].body[..4], [0, 0, 0, 1]);
    assert_eq!(waiting[2].body[4..36], group.last_id().0);

    // The join that was under way: its epoch is over, and the answer says so.
    let text = fs::read_to_string(dir.join("far.acceptance")).unwrap();
    let late = store.admit(
        &issuer(&dir),
        &AcceptanceFile::decode(&text).unwrap(),
        SINCE,
    );
    assert!(
        matches!(late, Err(StoreError::OfferExpired { .. })),
        "{late:?}"
    );
    let state = fs::read_to_string(dir.join("far.joining")).unwrap();
    let far = Joining::decode(&state).unwrap();
    assert!(
        store
            .offer(&issuer(&dir), far.request(), SINCE, &mut rng(1))
            .is_ok()
    );
    drop(store);
    Store::open(&dir).unwrap();
}

/// Killed between the copy and the change, or with a copy half made.
#[test]
fn an_upgrade_that_was_killed_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("acme");
    copy_all(Path::new(OLD), &dir);
    let database = dir.join("issuer/store.db");
    fs::write(dir.join("issuer/store.db.partial"), "half").unwrap();
    fs::copy(&database, dir.join("issuer/store.db.layout-4")).unwrap();
    assert!(Store::open(&dir).is_ok());
    assert_eq!(version(&database), 7);
}

/// Layout 7 added the tables of authors and of the board.
#[test]
fn a_store_of_layout_5_gets_the_tables_of_the_board() {
    let group = TestGroup::new(clew_group::Scheme::Xr);
    let dir = group.dir.clone();
    drop(group.store);
    let database = dir.join("issuer/store.db");
    let db = rusqlite::Connection::open(&database).unwrap();
    let old = "DROP TABLE author; DROP TABLE post; DROP TABLE seat; DROP TABLE posted; DROP TABLE trusteeship;
               PRAGMA user_version = 5;";
    db.execute_batch(old).unwrap();
    drop(db);
    let mut store = Store::open(&dir).unwrap();
    assert_eq!(version(&database), 7);
    assert_eq!(version(&dir.join("issuer/store.db.layout-5")), 5);
    let seed = zeroize::Zeroizing::new([1; 32]);
    let author = clew_keys::AuthorKeyFile::new(seed, "court".parse().unwrap());
    let role = clew_log::entry::Role::Requester;
    assert!(store.admit_author(&author.public(), role, SINCE).unwrap());
}
