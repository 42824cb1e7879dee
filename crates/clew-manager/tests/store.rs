//! The store: what it promises, what it refuses, and that nothing stored is lost.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod common;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clew_evidence::{Origin, combine_opening};
use clew_group::{MemberKey, Scheme};
use clew_manager::store::{GROUP_FILE, ISSUER_KEY};
use clew_manager::update::{UpdateError, update};
use clew_manager::{Store, StoreError};
use common::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn a_group_lives_from_creation_to_opening() {
    for scheme in BOTH {
        let mut office = Office::new(scheme);
        let [one, two] = ["web-1", "web-2"].map(|name| office.enrol(name));
        assert_eq!(published(&office.dir).register().machines, 2);
        assert_eq!(office.revoke("web-1"), 1);
        let group = published(&office.dir);
        assert_eq!(group.start(1), Some(NOW + 1));
        let revoked = UpdateError::Revoked { epoch: 1 };
        assert_eq!(update(&one, &group).unwrap_err(), revoked);
        let two = update(&two, &group).unwrap();
        let three = office.enrol("web-3");
        assert_eq!([two.epoch, three.epoch], [1, 1]);
        for (seed, key) in [one, two, three].into_iter().enumerate() {
            let sent = Sent::by(&key, b"m", seed as u64);
            let group = published(&office.dir);
            assert!(sent.verify(&group).is_ok());
            let request = sent.opening(&group);
            let shares = [1, 3].map(|i| share(&office, i, &sent, &request).unwrap());
            let find = |tag: &[u8; 32], _: &_| {
                let machine = office.store.find(tag).unwrap()?;
                Some(office.store.row(&machine).unwrap())
            };
            let opened = combine_opening(&group, &request, &shares, &sent.packet(), find).unwrap();
            assert_eq!(opened.judgement.machine, key.machine);
        }
        assert_eq!(office.store.find(&[0; 32]).unwrap(), None);
        let expected = [
            ("web-1", 0, Some(1)),
            ("web-2", 0, None),
            ("web-3", 1, None),
        ];
        assert_eq!(
            machines(&office.store),
            expected.map(|(n, j, r)| (n.to_owned(), j, r))
        );
    }
}

/// Name, epoch of joining, epoch of revocation.
fn machines(store: &Store) -> Vec<(String, u32, Option<u32>)> {
    let mut all = Vec::new();
    let each = |machine: clew_manager::Machine| -> Result<(), StoreError> {
        let name = machine.entry.name.to_string();
        all.push((name, machine.entry.joined, machine.revoked_in));
        Ok(())
    };
    store.machines(each).unwrap();
    all
}

/// Who joins after revocations has a key of the present epoch, and a credential of epoch 0 in the
/// register.
#[test]
fn late_joiners_are_in_the_register_with_epoch_0() {
    let mut office = Office::new(Scheme::Xr);
    for victim in ["a", "b"] {
        office.enrol(victim);
        office.revoke(victim);
    }
    let late = office.enrol("late");
    let group = office.group();
    let (row, credential) = office.candidate("late", 2);
    assert_eq!((late.epoch, row.entry.joined), (2, 2));
    assert!(Sent::by(&late, b"m", 1).verify(&group).is_ok());
    assert_eq!(late.key.to_bytes()[..48], credential.to_bytes());
    assert_ne!(row.entry.credential, credential.to_bytes());
    let a_0 = clew_group::curve::G1::from_bytes(&row.entry.credential).unwrap();
    assert!(xr_key(&group, 2).names(&credential, &a_0));
    assert!(row.entry.check_device(group.id()).is_ok());
}

#[test]
fn a_quorum_is_what_was_asked_for() {
    for scheme in BOTH {
        for (threshold, trustees) in [(1, 1), (3, 5), (32, 32), (1, 32)] {
            let office = Office::of(scheme, quorum(threshold, trustees), 1);
            let (since, sharing) = {
                let group = office.group();
                let (since, sharing) = group.sharing_record(0).unwrap();
                (since, sharing.clone())
            };
            assert_eq!((since, sharing.origin), (0, Origin::Dealt));
            assert_eq!(sharing.quorum, quorum(threshold, trustees));
            for index in 1..=trustees {
                assert_eq!(office.trustee(index).trustee(), who(index));
            }
            let files = fs::read_dir(office.dir.join("trustees")).unwrap().count();
            assert_eq!(files, usize::from(trustees));
        }
    }
}

#[test]
fn secrets_are_their_owners_only() {
    let office = Office::new(Scheme::Xr);
    let keys = [1, 2, 3].map(|i| format!("trustees/{i}.key"));
    for secret in keys
        .iter()
        .map(String::as_str)
        .chain([ISSUER_KEY, "issuer/store.db"])
    {
        assert_eq!(mode(&office.dir.join(secret)), 0o600, "{secret}");
    }
    for closed in ["issuer", "trustees"] {
        assert_eq!(mode(&office.dir.join(closed)), 0o700, "{closed}");
    }
}

/// What every file under a folder holds: its bytes, and what its base64 decodes to.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            all.extend(contents(&path));
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let words = bytes.split(|b| b.is_ascii_whitespace());
        let decoded = words
            .filter_map(|word| STANDARD.decode(word).ok())
            .flatten();
        let decoded: Vec<u8> = decoded.collect();
        all.extend([(path.clone(), bytes), (path, decoded)]);
    }
    all
}

fn files_with(dir: &Path, secret: &[u8]) -> Vec<PathBuf> {
    assert!(secret.len() >= 32);
    let found = contents(dir)
        .into_iter()
        .filter(|(_, bytes)| bytes.windows(secret.len()).any(|w| w == secret));
    found
        .map(|(path, _)| path.strip_prefix(dir).unwrap().to_owned())
        .collect()
}

#[test]
fn the_store_never_holds_what_is_not_its_own() {
    for scheme in BOTH {
        let mut office = Office::new(scheme);
        let key = office.enrol("web-1");
        office.enrol("web-2");
        office.revoke("web-2");
        let x = &key.key.to_bytes()[48..80];
        let nowhere: Vec<PathBuf> = Vec::new();
        assert_eq!(
            files_with(&office.dir, x),
            nowhere,
            "x is derived when it is needed"
        );
        if let (MemberKey::Xr(_), Some(device)) = (&key.key, &key.device) {
            for secret in [device_secret(&key), device.to_bytes()] {
                assert_eq!(files_with(&office.dir, &secret), nowhere);
            }
        }
        // The search finds what is there: the issuer's own, and the shares until they are moved.
        let own = [ISSUER_KEY].map(PathBuf::from);
        for secret in [&office.issuer.seed[..], office.issuer.manager.as_bytes()] {
            assert_eq!(files_with(&office.dir, secret), own);
        }
        for index in 1..=3 {
            let text = office.trustee(index).encode().to_string();
            let payload = STANDARD
                .decode(text.split_whitespace().last().unwrap())
                .unwrap();
            let share = &payload[22..54]; // behind scheme, group, since, index
            let file = PathBuf::from(format!("trustees/{index}.key"));
            assert_eq!(files_with(&office.dir, share), std::slice::from_ref(&file));
            fs::rename(
                office.dir.join(&file),
                office.folder.path().join(format!("{index}")),
            )
            .unwrap();
            assert_eq!(
                files_with(&office.dir, share),
                nowhere,
                "the share was moved away"
            );
        }
        office.enrol("web-3"); // the issuer works on without them
    }
}

#[test]
fn refusals_change_nothing() {
    for scheme in BOTH {
        let mut office = Office::new(scheme);
        office.enrol("web-1");
        let other = Office::of(scheme, quorum(1, 1), 9).issuer;
        office
            .store
            .revoke(&office.issuer, "web-1", NOW + 5, NOW)
            .unwrap();
        let before = fs::read(office.dir.join(GROUP_FILE)).unwrap();
        let Office {
            store,
            issuer: key,
            dir,
            ..
        } = &mut office;
        let name = |n: &str| n.parse().unwrap();
        let taken = store
            .enrol(key, name("web-1"), NOW, &mut rng(2))
            .err()
            .unwrap();
        assert!(matches!(taken, StoreError::NameTaken(_)));
        let stranger = store
            .enrol(&other, name("x"), NOW, &mut rng(2))
            .err()
            .unwrap();
        assert!(matches!(stranger, StoreError::OtherGroupsKey));
        let unknown = store.revoke(key, "nobody", NOW + 9, NOW).unwrap_err();
        assert!(matches!(unknown, StoreError::NoSuchMachine(_)));
        let again = store.revoke(key, "web-1", NOW + 9, NOW).unwrap_err();
        assert!(matches!(again, StoreError::AlreadyRevoked { epoch: 1, .. }));
        drop(store.enrol(key, name("dropped"), NOW, &mut rng(2)).unwrap()); // never committed

        let mut store = Store::open(dir).unwrap();
        assert_eq!(fs::read(dir.join(GROUP_FILE)).unwrap(), before);
        assert_eq!(store.machine("dropped").unwrap(), None);
        enrol(&mut store, key, "web-2");
        let early = store.revoke(key, "web-2", NOW + 5, NOW).unwrap_err();
        assert!(matches!(early, StoreError::StartTooEarly { newest } if newest == NOW + 5));
    }
}

#[test]
fn a_store_is_not_made_over_anything() {
    let temp = tempfile::tempdir().unwrap();
    let empty = temp.path().join("empty");
    fs::create_dir(&empty).unwrap();
    create(&empty, Scheme::Xr, quorum(2, 3), 1).unwrap();
    let again = create(&empty, Scheme::Xr, quorum(2, 3), 2).err().unwrap();
    assert!(matches!(again, StoreError::Exists(_)));
    let file = temp.path().join("file");
    fs::write(&file, "mine").unwrap();
    let over = create(&file, Scheme::Bbs04, quorum(2, 3), 2).err().unwrap();
    assert!(matches!(over, StoreError::Exists(_)), "{over}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    let leftovers = fs::read_dir(temp.path()).unwrap().count();
    assert_eq!(leftovers, 2);
}

#[test]
fn a_directory_that_is_no_store_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("g");
    let refused = || Store::open(&dir).err().unwrap();
    assert!(matches!(refused(), StoreError::NotAStore(_)));
    create(&dir, Scheme::Xr, quorum(2, 3), 1).unwrap();
    let database = dir.join("issuer/store.db");
    fs::write(&database, "not a database at all, whatever its name").unwrap();
    assert!(matches!(refused(), StoreError::NotAStore(_)));
}

/// Layout 1 had one opener and no devices; nothing of it is read as if it were of today.
#[test]
fn other_layouts_are_refused() {
    for layout in [1, 3, 99] {
        let office = Office::new(Scheme::Xr);
        let database = rusqlite::Connection::open(office.dir.join("issuer/store.db")).unwrap();
        database
            .pragma_update(None, "user_version", layout)
            .unwrap();
        let refused = Store::open(&office.dir).err().unwrap();
        let named = matches!(refused, StoreError::OtherLayout { version, .. } if version == layout);
        assert!(named, "layout {layout}: {refused}");
        let advice = if layout > 2 { "newer" } else { "older" };
        assert!(refused.to_string().contains(advice), "{refused}");
    }
}

/// A crash after the commit and before the group file: the next opening publishes it.
#[test]
fn a_lost_group_file_comes_back() {
    for scheme in BOTH {
        let mut office = Office::new(scheme);
        let path = office.dir.join(GROUP_FILE);
        let stale = fs::read(&path).unwrap();
        office.enrol("web-1");
        office.revoke("web-1");
        let current = fs::read(&path).unwrap();
        for wrong in [Some(stale), Some(vec![]), None] {
            match wrong {
                Some(bytes) => fs::write(&path, bytes).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            Store::open(&office.dir).unwrap();
            assert_eq!(fs::read(&path).unwrap(), current);
        }
    }
}

/// Another process changed the store since this one read it: changes build on what is there now.
#[test]
fn a_store_that_was_read_long_ago_changes_what_is_there_now() {
    for scheme in BOTH {
        let mut office = Office::new(scheme);
        for name in ["a", "b"] {
            office.enrol(name);
        }
        let mut stale = [0; 2].map(|_| Store::open(&office.dir).unwrap());
        office.revoke("a");
        let key = enrol(&mut stale[0], &office.issuer, "c");
        assert_eq!(key.epoch, 1);
        let start = NOW + 100;
        assert_eq!(stale[1].revoke(&office.issuer, "b", start, NOW).unwrap(), 2);
        let group = published(&office.dir);
        assert_eq!((group.newest_epoch(), group.register().machines), (2, 3));
        assert!(
            Sent::by(&update(&key, &group).unwrap(), b"m", 1)
                .verify(&group)
                .is_ok()
        );
    }
}

/// Several writers on one store: every change is kept, and the published file is the last one.
#[test]
fn two_processes_do_not_lose_each_others_changes() {
    for scheme in BOTH {
        let office = Office::new(scheme);
        let workers = 4u32;
        std::thread::scope(|scope| {
            for worker in 0..workers {
                let dir = &office.dir;
                scope.spawn(move || work(dir, worker));
            }
        });
        let store = Store::open(&office.dir).unwrap();
        assert_eq!(store.group().register().machines, 4 * workers);
        let revoked = machines(&store)
            .iter()
            .filter(|(_, _, r)| r.is_some())
            .count();
        assert_eq!(store.group().newest_epoch(), revoked as u32);
        assert_eq!(published(&office.dir).register(), store.group().register());
        let each = |machine: clew_manager::Machine| -> Result<(), StoreError> {
            assert!(store.row(&machine)?.is_in_register_of(store.group()));
            Ok(())
        };
        store.machines(each).unwrap();
    }
}

fn work(dir: &Path, worker: u32) {
    let (mut store, key) = (Store::open(dir).unwrap(), issuer(dir));
    for i in 0..4 {
        enrol(&mut store, &key, &format!("m-{worker}-{i}"));
    }
    let start = NOW + 1 + u64::from(worker);
    match store.revoke(&key, &format!("m-{worker}-0"), start, NOW) {
        Ok(_) | Err(StoreError::StartTooEarly { .. }) => {}
        Err(error) => unreachable!("{error}"),
    }
}
