//! A store as one file, and back; damaged stores.

use crate::common::cluster::SOCKET;
use crate::common::*;
use clew_group::Scheme;
use clew_manager::{EpochStart, ISSUER_KEY, Machine, Store, StoreError};
use sha2::Digest;
use std::fs;
use std::path::Path;

const DAY: u64 = 86_400_000_000_000;

/// A group with some of everything.
fn lived() -> TestGroup {
    let mut acme = TestGroup::new(Scheme::Xr);
    acme.enrol_all(&["a", "b", "c", "d", "e"]);
    acme.revoke("b");
    acme.revoke_all(&["d"], true);
    acme.enrol("f");
    acme.invite("far");
    let queued = ["e".parse().unwrap()];
    acme.store.queue(&queued, LATER).unwrap();
    acme
}

fn backup(acme: &TestGroup, keys: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let made = acme.store.backup(&mut bytes, keys, LATER, None).unwrap();
    assert_eq!((made.group, made.has_keys), (acme.group().id(), keys));
    bytes
}

fn restored(bytes: &[u8], dir: &Path, published: Option<&[u8]>) -> Result<Store, StoreError> {
    let mut bytes = bytes;
    Store::restore(&mut bytes, dir, database().as_deref(), published)?;
    Store::open(dir)
}

fn all(store: &Store) -> (Vec<Machine>, Vec<u8>) {
    let mut machines = Vec::new();
    let each = |machine| -> Result<(), StoreError> {
        machines.push(machine);
        Ok(())
    };
    store.machines(each).unwrap();
    (machines, store.group_bytes().unwrap())
}

#[test]
fn a_backup_is_the_store_and_goes_on() {
    let acme = lived();
    for keys in [true, false] {
        let bytes = backup(&acme, keys);
        let dir = acme.folder.path().join(format!("restored-{keys}"));
        let newest = acme.store.group_bytes().unwrap();
        let mut store = restored(&bytes, &dir, Some(&newest)).unwrap();
        assert_eq!(all(&store), all(&acme.store));
        assert_eq!(store.outbox(100).unwrap(), acme.store.outbox(100).unwrap());
        assert_eq!(store.queued().unwrap(), acme.store.queued().unwrap());
        assert_eq!(
            store.invitations().unwrap(),
            acme.store.invitations().unwrap()
        );
        assert_eq!(store.check().unwrap().last_id(), acme.group().last_id());
        assert_eq!(dir.join(ISSUER_KEY).exists(), keys);
        assert_eq!(fs::read_dir(dir.join("trustees")).unwrap().count(), 0);
        for kind in ["issuer/witnesses/2/0", "public/witnesses/2/0"] {
            let read = |dir: &Path| fs::read(dir.join(kind)).unwrap();
            assert_eq!(read(&dir), read(&acme.dir));
        }
        enrol(&mut store, &acme.issuer, "g");
        let epochs = store.revoke_queued(&acme.issuer, EpochStart::now(LATER), &mut |_, _| true);
        assert_eq!(epochs.unwrap(), [3]);
        store.check().unwrap();
    }
}

/// From one database to the other: what moving a store is.
#[test]
fn a_backup_fits_either_database() {
    let Some(socket) = std::env::var_os(SOCKET) else {
        return; // the run with PostgreSQL has both
    };
    let acme = lived();
    let bytes = backup(&acme, true);
    let file = acme.folder.path().join("file");
    Store::restore(&mut &bytes[..], &file, None, None).unwrap();
    assert!(file.join("issuer/store.db").exists());
    let store = Store::open(&file).unwrap();
    assert_eq!(all(&store), all(&acme.store));
    let mut again = Vec::new();
    store.backup(&mut again, true, LATER, None).unwrap();
    assert_eq!(sorted(&again), sorted(&bytes));
    let taken = cluster::fresh(Path::new(&socket));
    let other = acme.folder.path().join("other");
    Store::restore(&mut &again[..], &other, Some(&taken), None).unwrap();
    assert_eq!(all(&Store::open(&other).unwrap()), all(&acme.store));
    let third = acme.folder.path().join("third");
    let refused = Store::restore(&mut &again[..], &third, Some(&taken), None).unwrap_err();
    assert!(matches!(refused, StoreError::HasGroup(_)), "{refused}");
    assert!(!third.exists());
}

/// The records of a backup in any order: databases give rows in their own.
fn sorted(bytes: &[u8]) -> Vec<&[u8]> {
    let mut rest = &bytes[14..];
    let mut records = Vec::new();
    while let Some(head) = rest.first_chunk::<5>() {
        let length = 5 + u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let (record, behind) = rest.split_at(length);
        if head[0] != 5 {
            records.push(record); // without the hash
        }
        rest = behind;
    }
    records.sort_unstable();
    records
}

#[test]
fn an_older_backup_does_not_open_beside_what_was_published_since() {
    let mut acme = lived();
    let bytes = backup(&acme, true);
    acme.revoke("a");
    let newest = acme.store.group_bytes().unwrap();
    let dir = acme.folder.path().join("old");
    let refused = restored(&bytes, &dir, Some(&newest)).err().unwrap();
    assert!(
        matches!(refused, StoreError::PublishedIsNewer(_)),
        "{refused}"
    );
    let dir = acme.folder.path().join("damaged");
    let other = TestGroup::of(Scheme::Xr, quorum(1, 1), 5);
    for given in [&b"clew"[..], &other.store.group_bytes().unwrap()] {
        let refused = restored(&bytes, &dir, Some(given)).err().unwrap();
        assert!(matches!(refused, StoreError::OtherHistory(_)), "{refused}");
        assert!(!dir.exists(), "nothing is left");
    }
}

#[test]
fn a_backup_that_is_not_whole_makes_nothing() {
    let acme = lived();
    let bytes = backup(&acme, true);
    let place = acme.folder.path().join("place");
    fs::create_dir(&place).unwrap();
    let dir = place.join("restored");
    let refused = |bytes: &[u8], what: &str| {
        let mut bytes = bytes;
        let made = Store::restore(&mut bytes, &dir, None, None);
        assert!(made.is_err(), "{what}");
        assert_eq!(fs::read_dir(&place).unwrap().count(), 0, "{what}");
    };
    let step = bytes.len() / 40;
    for at in (0..bytes.len()).step_by(step) {
        refused(&bytes[..at], &format!("cut at {at}"));
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        refused(&damaged, &format!("damaged at {at}"));
    }
    refused(&[&bytes[..], &[0]].concat(), "longer");
    let mut huge = bytes[..14].to_vec();
    huge.extend([3, 0xff, 0xff, 0xff, 0xff]);
    refused(&huge, "a huge record");
}

/// Every page of the file, at several places: each answer is an error or what it was.
#[test]
fn sqlite_with_a_damaged_page_gives_no_wrong_answer() {
    let acme = lived();
    let (machines, group) = all(&acme.store);
    let rows: Vec<_> = machines
        .iter()
        .map(|m| acme.store.row(m).unwrap())
        .collect();
    let file = acme.dir.join("issuer/store.db");
    let whole = settled(&acme.dir);
    let mut found = 0;
    for page in 0..whole.len() / 4096 {
        for at in [0, 3, 8, 100, 2_000, 4_000, 4_090] {
            let mut damaged = whole.clone();
            damaged[page * 4096 + at..][..6]
                .iter_mut()
                .for_each(|byte| *byte ^= 0x55);
            if damaged == whole {
                continue;
            }
            fs::write(&file, &damaged).unwrap();
            let what = format!("page {page} at {at}");
            let Ok(store) = Store::open(&acme.dir) else {
                found += 1;
                continue;
            };
            let read: Result<(), StoreError> = (|| {
                assert_eq!(store.group_bytes()?, group, "{what}");
                for (machine, row) in machines.iter().zip(&rows) {
                    let name = machine.entry.name.as_str();
                    let by_name = store.machine(name)?;
                    let by_place = store.machine_at(machine.entry.index)?;
                    for read in [by_name, by_place].into_iter().flatten() {
                        assert_eq!(read.entry, machine.entry, "{what}");
                        assert_eq!(store.row(&read)?, *row, "{what}");
                    }
                }
                Ok(())
            })();
            found += usize::from(read.is_err() || store.check().is_err());
        }
    }
    fs::write(&file, &whole).unwrap();
    assert!(found > whole.len() / 4096, "{found}");
    Store::open(&acme.dir).unwrap().check().unwrap();
}

/// A damaged node of the register's tree is found before a row is added behind it.
#[test]
fn sqlite_with_a_damaged_tree_gets_no_row() {
    let mut acme = TestGroup::new(Scheme::Xr);
    acme.enrol_all(&["a", "b", "c"]);
    let database = rusqlite::Connection::open(acme.dir.join("issuer/store.db")).unwrap();
    let damage = "UPDATE node SET hash = zeroblob(32) WHERE level = 1 AND idx = 0";
    assert_eq!(database.execute(damage, []).unwrap(), 1);
    let name = "d".parse().unwrap();
    let refused = acme.store.enrol(&acme.issuer, name, LATER, &mut rng(4));
    assert!(matches!(refused.err().unwrap(), StoreError::Damaged(_)));
    let c = acme.store.machine("c").unwrap().unwrap();
    assert!(matches!(
        acme.store.row(&c).unwrap_err(),
        StoreError::Damaged(_)
    ));
    assert!(matches!(
        acme.store.check().unwrap_err(),
        StoreError::Damaged(_)
    ));
}

/// A machine joins while a backup is written: at once, and the backup is of the moment before.
#[test]
fn machines_join_while_a_backup_is_written() {
    struct Joining<'a>(&'a Path, Option<Store>, Vec<u8>);
    impl std::io::Write for Joining<'_> {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            // With the first row, when the moment of the backup is fixed.
            if self.2.len() > 100 && self.1.is_none() {
                let mut store = Store::open(self.0).unwrap();
                enrol(&mut store, &issuer(self.0), "late");
                self.1 = Some(store);
            }
            self.2.extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let acme = lived();
    let machines = acme.group().register().machines;
    let mut to = Joining(&acme.dir, None, Vec::new());
    acme.store.backup(&mut to, true, LATER, None).unwrap();
    let joined = to.1.unwrap();
    assert_eq!(joined.group().register().machines, machines + 1);
    let dir = acme.folder.path().join("back");
    Store::restore(&mut &to.2[..], &dir, database().as_deref(), None).unwrap();
    let restored = Store::open(&dir).unwrap().check().unwrap();
    assert_eq!(restored.register().machines, machines);
}

/// A rebase takes force while a backup is written, and its predecessor's witnesses go: the backup has them.
#[test]
fn a_backup_has_the_witnesses_of_its_own_rebase() {
    struct Rebasing<'a>(&'a mut TestGroup, Store, bool, Vec<u8>);
    impl std::io::Write for Rebasing<'_> {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if self.3.len() > 100 && !self.2 {
                self.2 = true;
                // The second one finds the first in force for so long that no wrong clock explains it.
                for time in [LATER + 1, LATER + 9 * DAY] {
                    self.1.confirm_clock(time).unwrap();
                    let now = EpochStart::now(time);
                    let made = self.1.rebase(&self.0.issuer, now, &mut |_, _| true);
                    made.unwrap();
                }
            }
            self.3.extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut acme = lived();
    let bucket = "issuer/witnesses/2/0";
    let before = fs::read(acme.dir.join(bucket)).unwrap();
    let (from, other) = [(); 2].map(|()| Store::open(&acme.dir).unwrap()).into();
    let mut to = Rebasing(&mut acme, other, false, Vec::new());
    from.backup(&mut to, true, LATER, None).unwrap();
    let bytes = to.3;
    let kept = fs::read_dir(acme.dir.join("issuer/witnesses")).unwrap();
    let kept: Vec<_> = kept.map(|entry| entry.unwrap().file_name()).collect();
    assert!(!kept.contains(&"2".into()), "{kept:?}");
    let dir = acme.folder.path().join("back");
    Store::restore(&mut &bytes[..], &dir, database().as_deref(), None).unwrap();
    assert_eq!(fs::read(dir.join(bucket)).unwrap(), before);
}

/// A backup brings files of a store, by their names, and no others.
#[test]
fn a_file_that_a_store_does_not_have_is_refused() {
    let acme = lived();
    let tls = acme.dir.join("issuer/tls");
    fs::create_dir(&tls).unwrap();
    for name in ["tls.key", "tls.crt", "tls.key.old"] {
        fs::write(tls.join(name), name).unwrap();
    }
    let bytes = backup(&acme, true);
    let restored = |path: &str, to: &str| {
        // Without its end, which is a hash.
        let mut bytes = bytes[..bytes.len() - 5 - 32].to_vec();
        if !path.is_empty() {
            let length = 2 + path.len() as u32 + 1;
            bytes.push(4);
            bytes.extend(length.to_be_bytes());
            bytes.extend((path.len() as u16).to_be_bytes());
            bytes.extend(path.as_bytes());
            bytes.push(b'x');
        }
        let hash = sha2::Sha256::digest(&bytes);
        bytes.extend([5, 0, 0, 0, 32]);
        bytes.extend(hash);
        let dir = acme.folder.path().join(to);
        Store::restore(&mut &bytes[..], &dir, database().as_deref(), None).map(|_| dir)
    };
    let dir = restored("", "good").unwrap();
    assert!(dir.join("issuer/tls/tls.key").exists());
    assert!(!dir.join("issuer/tls/tls.key.old").exists());
    for path in [
        "issuer/tls/other",
        "issuer/witnesses/2/x",
        "issuer/witnesses/02/1",
        "issuer/witnesses/2/1/1",
        "log/log.db-wal",
        "log/state",
        "issuer/database",
        "log/../issuer/issuer.key",
        "/issuer/issuer.key",
    ] {
        let refused = restored(path, "bad").unwrap_err().to_string();
        assert!(
            refused.contains("a file that a store does not have"),
            "{path}: {refused}"
        );
    }
    for path in ["log/log.db", "log/group.clew", "issuer/witnesses/2/7"] {
        restored(path, &path.replace('/', "-")).unwrap();
    }
}

/// x of a row derives from its salt: a machine with another x would not be locked out.
#[test]
fn sqlite_with_a_damaged_salt_revokes_nobody() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        acme.enrol_all(&["a", "b"]);
        acme.store.check_salts(&acme.issuer).unwrap();
        let database = rusqlite::Connection::open(acme.dir.join("issuer/store.db")).unwrap();
        let damage = "UPDATE machine SET salt = zeroblob(16) WHERE name = 'b'";
        assert_eq!(database.execute(damage, []).unwrap(), 1);
        acme.store.check().unwrap(); // the rest is whole
        let found = acme.store.check_salts(&acme.issuer).unwrap_err();
        assert!(
            matches!(&found, StoreError::DamagedRow(name) if name == "b"),
            "{found}"
        );
        let now = EpochStart::now(LATER);
        for rebase in [false, true] {
            let names = ["b".parse().unwrap()];
            let refused = acme
                .store
                .revoke(&acme.issuer, &names, rebase, now, &mut |_, _| true);
            assert!(matches!(refused, Err(StoreError::DamagedRow(_))));
        }
        let names = ["a".parse().unwrap()];
        let revoked = acme
            .store
            .revoke(&acme.issuer, &names, false, now, &mut |_, _| true);
        assert_eq!(revoked.unwrap(), 1);
    }
}

/// Whoever finds out that the log has another history halts the store for all processes, until the log
/// takes its entries.
#[test]
fn a_halted_store_refuses_every_change() {
    let mut acme = TestGroup::new(Scheme::Xr);
    acme.enrol("a");
    acme.store.halt().unwrap();
    let mut other = Store::open(&acme.dir).unwrap();
    let (issuer, now) = (&acme.issuer, EpochStart::now(LATER));
    let (a, b) = (
        ["a".parse().unwrap()],
        "b".parse::<clew_evidence::Name>().unwrap(),
    );
    let refused = [
        other.enrol(issuer, b.clone(), LATER, &mut rng(1)).err(),
        other.invite(issuer, b.clone(), LATER, &mut rng(1)).err(),
        other.queue(&a, LATER).err(),
        other.revoke(issuer, &a, false, now, &mut |_, _| true).err(),
        other.rebase(issuer, now, &mut |_, _| true).err(),
        other.answer(issuer, Vec::new(), LATER, &mut rng(1)).err(),
        other
            .add_factory(issuer, b, 1, [LATER, LATER + 1], &mut rng(1))
            .err(),
    ];
    let end = clew_evidence::End {
        stolen_since: None,
        successor: None,
    };
    let author = clew_keys::AuthorKeyFile::new(zeroize::Zeroizing::new([5; 32]), b_name());
    let refused = refused.into_iter().chain([
        other.end(issuer, end, LATER).err(),
        other
            .admit_author(&author.public(), clew_log::entry::Role::Observer, LATER)
            .err(),
        other.dismiss_author(&b_name()).err(),
        other
            .set_retention(&clew_manager::Retention::default())
            .err(),
        other.prune(LATER).err(),
        other.keep(issuer, 1, LATER).err(),
    ]);
    for refused in refused {
        assert!(
            matches!(refused, Some(StoreError::Halted(_))),
            "{refused:?}"
        );
    }
    assert!(other.machine("a").unwrap().is_some(), "it can be read");
    assert_eq!(other.group().newest_epoch(), 0);
    other.resume().unwrap();
    acme.revoke("a");
}

fn b_name() -> clew_evidence::Name {
    "b".parse().unwrap()
}
