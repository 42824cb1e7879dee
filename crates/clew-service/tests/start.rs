//! How a log starts: from the state that it kept, and what happens if that is wrong.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use clew_keys::{LogKeyFile, TextFile};
use clew_log::entry::{Body, Entry};
use clew_log::{Founder, KeyKind};
use clew_service::StorageError;
use clew_service::log::{Log, clear_key};
use clew_wire::WallTime;
use ed25519_dalek::SigningKey;
use std::fs;
use std::path::Path;
use std::time::Instant;
use tempfile::TempDir;
use zeroize::Zeroizing;

const NOW: WallTime = WallTime::from_nanos(1_800_000_000_000_000_000);
const RECORD: [u8; 32] = [7; 32];

fn manager() -> SigningKey {
    SigningKey::from_bytes(&[1; 32])
}

fn entry(body: Body) -> Entry {
    let group = core::array::from_fn(|place| RECORD[place]);
    Entry::sign(group, NOW, body, &manager()).unwrap()
}

fn open(dir: &Path) -> Result<Log, StorageError> {
    Log::open(dir, clear_key)
}

/// Adds so many entries: the first one, and machines from row `first` on.
fn grow(log: &mut Log, from: u32, to: u32) {
    for first in (from..to).step_by(256) {
        let rows = first..to.min(first + 256);
        let entries = rows.map(|row| match row {
            0 => entry(Body::Group { record: RECORD }),
            row => entry(Body::Enrolled {
                first: row - 1,
                leaves: vec![[row as u8; 32]],
            }),
        });
        for added in log.add(entries.collect(), NOW).unwrap() {
            assert!(added.unwrap().is_new);
        }
    }
}

fn log() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let key = Zeroizing::new([3; 32]);
    let key = LogKeyFile::new(KeyKind::Log, key, &"log.example/acme".parse().unwrap()).unwrap();
    let dir = folder.path().join("log");
    Log::create(&dir, &key, &key.encode()).unwrap();
    let founder = Founder {
        record: RECORD,
        manager: manager().verifying_key().to_bytes(),
    };
    Log::bind(&dir, &founder, b"group").unwrap();
    folder
}

/// Changes an entry that the kept state has read already.
fn damage(dir: &Path) {
    let db = rusqlite::Connection::open(dir.join("log.db")).unwrap();
    let command = "UPDATE entry SET bytes = zeroblob(length(bytes)) WHERE place = 5";
    assert_eq!(db.execute(command, []).unwrap(), 1);
}

#[test]
fn a_log_goes_on_from_its_kept_state() {
    let folder = log();
    let dir = folder.path().join("log");
    let state = dir.join("state");
    let mut first = open(&dir).unwrap();
    grow(&mut first, 0, 4_095);
    assert!(!state.exists(), "it is not worth it yet");
    grow(&mut first, 4_095, 4_120);
    let (size, root) = (first.newest().size, first.newest().root);
    let old = fs::read(&state).unwrap();
    drop(first);
    // The same log, and one more entry on it.
    let mut again = open(&dir).unwrap();
    assert_eq!((again.newest().size, again.newest().root), (size, root));
    assert_eq!(again.state().rows(), 4_119);
    grow(&mut again, 4_120, 4_130);
    let root = again.newest().root;
    drop(again);
    // Only what came since is read again: an auditor finds what is wrong before that.
    let whole = folder.path().join("whole");
    copy(&dir, &whole);
    damage(&dir);
    drop(open(&dir).unwrap());
    // A state that was changed is not believed, and all entries are read.
    let mut bad = old.clone();
    bad[60] ^= 1;
    fs::write(&state, bad).unwrap();
    assert!(matches!(open(&dir), Err(StorageError::Damaged { .. })));
    fs::remove_file(&state).unwrap();
    assert!(matches!(open(&dir), Err(StorageError::Damaged { .. })));
    // Without it, or with one of somewhere else, a whole log is the same.
    for put in [None, Some(&b"nonsense"[..])] {
        let path = whole.join("state");
        match put {
            Some(bytes) => fs::write(&path, bytes).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        let log = open(&whole).unwrap();
        assert_eq!(log.newest().root, root);
        assert!(path.exists(), "it is kept again");
    }
}

/// A restored copy has fewer entries than the state beside it, or others.
#[test]
fn a_state_of_another_history_is_not_used() {
    let folder = log();
    let dir = folder.path().join("log");
    let older = folder.path().join("older");
    let mut first = open(&dir).unwrap();
    grow(&mut first, 0, 100);
    drop(first);
    copy(&dir, &older);
    let mut first = open(&dir).unwrap();
    grow(&mut first, 100, 4_200);
    drop(first);
    fs::copy(dir.join("state"), older.join("state")).unwrap();
    let mut log = open(&older).unwrap();
    assert_eq!(log.newest().size, 100);
    grow(&mut log, 100, 101);
    drop(log);
    // Another history of the same size, with the first one's state.
    let mut log = open(&older).unwrap();
    let other = (101..4_200).map(|row| {
        entry(Body::Enrolled {
            first: row - 1,
            leaves: vec![[0xee; 32]],
        })
    });
    for added in log.add(other.collect(), NOW).unwrap() {
        added.unwrap();
    }
    let root = log.newest().root;
    drop(log);
    fs::copy(dir.join("state"), older.join("state")).unwrap();
    assert_eq!(open(&older).unwrap().newest().root, root);
}

/// Run with `--ignored`: how long 10^6 entries take to start, with the kept state and without it.
#[test]
#[ignore = "takes minutes: it measures"]
fn a_large_log_starts() {
    let folder = log();
    let dir = folder.path().join("log");
    let mut log = open(&dir).unwrap();
    let started = Instant::now();
    grow(&mut log, 0, 1_000_000);
    println!("10^6 entries written in {:?}", started.elapsed());
    drop(log);
    let started = Instant::now();
    drop(open(&dir).unwrap());
    println!("opened with its state in {:?}", started.elapsed());
    fs::remove_file(dir.join("state")).unwrap();
    let started = Instant::now();
    drop(open(&dir).unwrap());
    println!("opened from all entries in {:?}", started.elapsed());
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}
