//! The store: what it promises, what it refuses, and that nothing stored is lost.

use crate::common::court::*;
use crate::common::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clew_evidence::{OpenedBase, Origin, WallTime, combine_opening};
use clew_group::Scheme;
use clew_group::curve::G1;
use clew_keys::TextFile;
use clew_keys::update::UpdateError;
use clew_manager::{EpochStart, GROUP_FILE, ISSUER_KEY, Store, StoreError};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn a_group_lives_from_creation_to_opening() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        let [one, two] = ["web-1", "web-2"].map(|name| acme.enrol(name));
        assert_eq!(published(&acme.dir).register().machines, 2);
        assert_eq!(acme.revoke("web-1"), 1);
        assert_eq!(
            published(&acme.dir).start(1),
            Some(WallTime::from_nanos(NOW + 1))
        );
        let revoked = UpdateError::Revoked { epoch: 1 };
        assert_eq!(acme.update(&one).unwrap_err(), revoked);
        let two = acme.update(&two).unwrap();
        let three = acme.enrol("web-3");
        for (seed, key) in [one, two, three].into_iter().enumerate() {
            let sent = Sent::by(&key, b"m", seed as u64);
            assert_eq!(sent.epoch, u32::from(seed > 0));
            let group = checked(&published(&acme.dir));
            assert!(sent.verify(&group).is_ok());
            let request = sent.opening(&group);
            let shares = [1, 3].map(|i| share(&acme, i, &sent, &request).unwrap());
            let find = |opened: OpenedBase| acme.find(sent.epoch, opened.search());
            let opened = combine_opening(&group, &request, &shares, &sent.packet(), find).unwrap();
            assert_eq!(opened.judgement.machine, key.machine);
        }
        let expected = [
            ("web-1", 0, Some(1)),
            ("web-2", 0, None),
            ("web-3", 1, None),
        ];
        assert_eq!(
            machines(&acme.store),
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

/// Who joins after revocations has a witness of the present epoch, and the same register entry as
/// anybody: A never changes.
#[test]
fn late_joiners_have_credentials_like_all_others() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        for victim in ["a", "b"] {
            acme.enrol(victim);
            acme.revoke(victim);
        }
        let late = acme.enrol("late");
        let row = acme.row("late");
        assert_eq!((late.newest().unwrap().epoch, row.entry.joined), (2, 2));
        assert!(Sent::by(&late, b"m", 1).verify(&acme.group()).is_ok());
        assert_eq!(late.key.to_bytes()[..48], row.entry.credential);
        assert!(row.entry.check_device(&acme.group()).is_ok());
        // The issuer's B and the machine's own agree.
        let a = G1::from_bytes(&row.entry.credential).unwrap();
        let w = G1::from_bytes(&late.newest().unwrap().witness.to_bytes()).unwrap();
        assert_eq!(acme.base("late", 2).unwrap(), a + w);
    }
}

/// While an epoch is announced, the register says the epoch that is in force.
#[test]
fn machines_join_in_the_epoch_in_force() {
    let mut acme = TestGroup::new(Scheme::Xr);
    acme.enrol("a");
    let when = EpochStart {
        now: LATER,
        start: LATER + 1_000,
        far: false,
    };
    let names = ["a".parse().unwrap()];
    acme.store
        .revoke(&acme.issuer, &names, false, when, &mut |_, _| true)
        .unwrap();
    let key = acme.enrol("b");
    assert_eq!(acme.row("b").entry.joined, 0);
    let held: Vec<u32> = key.epochs.iter().map(|held| held.epoch).collect();
    assert_eq!(held, [0, 1]);
}

#[test]
fn a_quorum_is_what_was_asked_for() {
    for scheme in BOTH {
        for (threshold, trustees) in [(1, 1), (3, 5), (32, 32), (1, 32)] {
            let acme = TestGroup::of(scheme, quorum(threshold, trustees), 1);
            let (since, sharing) = {
                let group = acme.group();
                let (since, sharing) = group.sharing_record(0).unwrap();
                (since, sharing.clone())
            };
            assert_eq!((since, sharing.origin), (0, Origin::TrustedDealer));
            assert_eq!(sharing.quorum, quorum(threshold, trustees));
            for index in 1..=trustees {
                assert_eq!(acme.trustee(index).trustee(), who(index));
            }
            let files = fs::read_dir(acme.dir.join("trustees")).unwrap().count();
            assert_eq!(files, usize::from(trustees));
        }
    }
}

#[test]
fn secrets_are_their_owners_only() {
    let acme = TestGroup::new(Scheme::Xr);
    let keys = [1, 2, 3].map(|i| format!("trustees/{i}.key"));
    for secret in keys
        .iter()
        .map(String::as_str)
        .chain([ISSUER_KEY, "issuer/store.db"])
    {
        assert_eq!(mode(&acme.dir.join(secret)), 0o600, "{secret}");
    }
    for closed in ["issuer", "trustees"] {
        assert_eq!(mode(&acme.dir.join(closed)), 0o700, "{closed}");
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

/// x and s of a machine, and of an xr machine y, y' and the device's seed.
fn secrets_of(acme: &TestGroup, key: &clew_keys::MemberKeyFile) -> Vec<[u8; 32]> {
    let machine = acme.store.machine(key.machine.as_str()).unwrap().unwrap();
    let x = key.key.x().to_bytes();
    assert_eq!(x, machine.x(&acme.issuer).to_bytes());
    let mut secrets = vec![x];
    if let Some(device) = &key.device {
        let (y, s) = (device_secret(key), offered_s(acme, key));
        let own = clew_group::curve::Scalar::from_bytes(&y).unwrap() - s;
        secrets.extend([y, s.to_bytes(), own.to_bytes(), device.to_bytes()]);
    }
    secrets
}

/// s of a machine's offer.
fn offered_s(acme: &TestGroup, key: &clew_keys::MemberKeyFile) -> clew_group::curve::Scalar {
    let database = rusqlite::Connection::open(acme.dir.join("issuer/store.db")).unwrap();
    let query = "SELECT salt FROM machine WHERE idx = ?1";
    let salt: Vec<u8> = database
        .query_row(query, [key.index], |row| row.get(0))
        .unwrap();
    acme.issuer.derive_s(&salt, key.machine.as_str())
}

#[test]
fn the_store_never_holds_what_is_not_its_own() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        let key = acme.enrol("web-1");
        let gone = acme.enrol("web-2");
        let nowhere: Vec<PathBuf> = Vec::new();
        for secret in [&key, &gone].iter().flat_map(|key| secrets_of(&acme, key)) {
            assert_eq!(
                files_with(&acme.dir, &secret),
                nowhere,
                "before revocations"
            );
        }
        acme.revoke("web-2");
        acme.enrol("web-3");
        acme.revoke_all(&["web-3"], true);
        for secret in secrets_of(&acme, &key) {
            assert_eq!(
                files_with(&acme.dir, &secret),
                nowhere,
                "derived when it is needed"
            );
        }
        // x of the revoked machine is public with xr, and with bbs04 never.
        let x = gone.key.x().to_bytes();
        let group_file = PathBuf::from(GROUP_FILE);
        let found = files_with(&acme.dir, &x);
        assert_eq!(found.contains(&group_file), scheme == Scheme::Xr);
        assert_eq!(found.is_empty(), scheme == Scheme::Bbs04);
        // The search finds what is there: the issuer's own, and the shares until they are moved.
        let own = [ISSUER_KEY].map(PathBuf::from);
        for secret in [&acme.issuer.seed[..], acme.issuer.manager.as_bytes()] {
            assert_eq!(files_with(&acme.dir, secret), own);
        }
        for index in 1..=3 {
            let text = acme.trustee(index).encode().to_string();
            let payload = STANDARD
                .decode(text.split_whitespace().last().unwrap())
                .unwrap();
            let share = &payload[22..54]; // behind scheme, group, since, index
            let file = PathBuf::from(format!("trustees/{index}.key"));
            assert_eq!(files_with(&acme.dir, share), std::slice::from_ref(&file));
            fs::rename(
                acme.dir.join(&file),
                acme.folder.path().join(format!("{index}")),
            )
            .unwrap();
            assert_eq!(
                files_with(&acme.dir, share),
                nowhere,
                "the share was moved away"
            );
        }
        acme.enrol("web-3"); // the issuer works on without them
    }
}

#[test]
fn refusals_change_nothing() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        acme.enrol("web-1");
        let other = TestGroup::of(scheme, quorum(1, 1), 9).issuer;
        let before = fs::read(acme.dir.join(GROUP_FILE)).unwrap();
        let name = |n: &str| n.parse().unwrap();
        let TestGroup {
            store,
            issuer: key,
            dir,
            ..
        } = &mut acme;
        let taken = store.enrol(key, name("web-1"), LATER, &mut rng(2));
        assert!(matches!(taken.err().unwrap(), StoreError::NameTaken(_)));
        let stranger = store.enrol(&other, name("x"), LATER, &mut rng(2));
        assert!(matches!(
            stranger.err().unwrap(),
            StoreError::OtherGroupsKey
        ));
        let when = EpochStart::now(LATER);
        let stranger = store.revoke(&other, &[name("web-1")], false, when, &mut |_, _| true);
        assert!(matches!(stranger, Err(StoreError::OtherGroupsKey)));
        drop(
            store
                .enrol(key, name("dropped"), LATER, &mut rng(2))
                .unwrap(),
        ); // never committed
        let store = Store::open(dir).unwrap();
        assert_eq!(fs::read(dir.join(GROUP_FILE)).unwrap(), before);
        assert_eq!(store.machine("dropped").unwrap(), None);
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
    // What the system refuses to show may be a store.
    std::os::unix::fs::symlink("g", &dir).unwrap();
    assert!(
        matches!(refused(), StoreError::Io { path, .. } if path == dir.join("issuer/database"))
    );
    fs::remove_file(&dir).unwrap();
    create(&dir, Scheme::Xr, quorum(2, 3), 1).unwrap();
    let database = dir.join("issuer/store.db");
    fs::write(&database, "not a database at all, whatever its name").unwrap();
    assert!(matches!(refused(), StoreError::OtherDatabase(path) if path == database));
}

/// Layout 2 published credentials, and records of layout 3 bind no register; nothing of them is read as
/// if it were of today.
#[test]
fn other_layouts_are_refused() {
    for layout in [1, 2, 3, 6, 8, 99] {
        let acme = TestGroup::new(Scheme::Xr);
        let database = rusqlite::Connection::open(acme.dir.join("issuer/store.db")).unwrap();
        database
            .pragma_update(None, "user_version", layout)
            .unwrap();
        let refused = Store::open(&acme.dir).err().unwrap();
        let named = matches!(refused, StoreError::OtherLayout { version, .. } if version == layout);
        assert!(named, "layout {layout}: {refused}");
        let advice = if layout > 7 { "newer" } else { "older" };
        assert!(refused.to_string().contains(advice), "{refused}");
    }
}

/// A crash after the commit and before the group file: the next opening publishes it.
#[test]
fn a_lost_group_file_comes_back() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        let path = acme.dir.join(GROUP_FILE);
        let stale = fs::read(&path).unwrap();
        acme.enrol("web-1");
        acme.revoke("web-1");
        let current = fs::read(&path).unwrap();
        for wrong in [Some(stale), None] {
            match wrong {
                Some(bytes) => fs::write(&path, bytes).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            Store::open(&acme.dir).unwrap();
            assert_eq!(fs::read(&path).unwrap(), current);
        }
    }
}

/// Another process changed the store since this one read it: changes build on what is there now.
#[test]
fn a_store_that_was_read_long_ago_changes_what_is_there_now() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        for name in ["a", "b"] {
            acme.enrol(name);
        }
        let mut stale = [0; 2].map(|_| Store::open(&acme.dir).unwrap());
        acme.revoke("a");
        let key = enrol(&mut stale[0], &acme.issuer, "c");
        assert_eq!(key.newest().unwrap().epoch, 1);
        let (when, names) = (EpochStart::now(LATER), ["b".parse().unwrap()]);
        let epoch = stale[1].revoke(&acme.issuer, &names, false, when, &mut |_, _| true);
        assert_eq!(epoch.unwrap(), 2);
        acme.store = Store::open(&acme.dir).unwrap();
        let group = published(&acme.dir);
        assert_eq!((group.newest_epoch(), group.register().machines), (2, 3));
        let key = acme.update(&key).unwrap();
        assert!(Sent::by(&key, b"m", 1).verify(&group).is_ok());
    }
}

/// Several writers on one store: every change is kept, and the published file is the last one.
#[test]
fn two_processes_do_not_lose_each_others_changes() {
    for scheme in BOTH {
        let acme = TestGroup::new(scheme);
        let workers = 4u32;
        std::thread::scope(|scope| {
            for worker in 0..workers {
                let dir = &acme.dir;
                scope.spawn(move || work(dir, worker));
            }
        });
        let store = Store::open(&acme.dir).unwrap();
        assert_eq!(store.group().register().machines, 4 * workers);
        let revoked = machines(&store)
            .iter()
            .filter(|(_, _, r)| r.is_some())
            .count();
        assert_eq!((revoked, store.group().newest_epoch()), (4, 4));
        assert_eq!(published(&acme.dir).register(), store.group().register());
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
    let names = [format!("m-{worker}-0").parse().unwrap()];
    let revoked = store.revoke(&key, &names, false, EpochStart::now(LATER), &mut |_, _| {
        true
    });
    revoked.unwrap();
}

/// Q is given for a base that shares opened in this group, and for no other.
#[test]
fn a_locator_is_of_an_opened_base_of_the_group() {
    let [mut acme, stranger] = [1, 5].map(|seed| TestGroup::of(Scheme::Xr, quorum(2, 3), seed));
    let key = acme.enrol("a");
    let opened = opened_base(&acme, &Sent::by(&key, b"m", 1));
    let refused = stranger.store.locator(&stranger.issuer, &opened);
    assert!(matches!(refused, Err(StoreError::OtherGroupsBase)));
    let refused = acme.store.locator(&stranger.issuer, &opened);
    assert!(matches!(refused, Err(StoreError::OtherGroupsKey)));
    let q = acme.store.locator(&acme.issuer, &opened);
    assert!(opened.search().with_q(&q.unwrap().unwrap()).is_ok());
}

#[test]
fn what_the_database_refuses_is_said_with_its_path() {
    let acme = TestGroup::new(Scheme::Xr);
    let path = acme.dir.join("issuer/store.db");
    let database = rusqlite::Connection::open(&path).unwrap();
    database.execute_batch("DROP TABLE joining").unwrap();
    let refused = acme.store.invitations().unwrap_err().to_string();
    let expected = format!("{}: database: no such table", path.display());
    assert!(refused.starts_with(&expected), "{refused}");
}

/// A tree node that cannot be read is not a missing one: the published file is not called newer.
#[test]
fn an_unreadable_tree_node_is_damage() {
    let mut acme = TestGroup::new(Scheme::Xr);
    acme.enrol("a");
    let older = std::fs::read(acme.store.group_file_path()).unwrap();
    acme.enrol("b");
    std::fs::write(acme.store.group_file_path(), older).unwrap();
    let database = rusqlite::Connection::open(acme.dir.join("issuer/store.db")).unwrap();
    let b = acme.store.machine("b").unwrap().unwrap();
    let damage = "UPDATE node SET hash = x'00' WHERE level = 0 AND idx = 0";
    assert_eq!(database.execute(damage, []).unwrap(), 1);
    for refused in [
        acme.store.root_at(1).map(drop).unwrap_err(),
        acme.store.row(&b).map(drop).unwrap_err(),
        Store::open(&acme.dir).map(drop).unwrap_err(),
    ] {
        assert!(matches!(refused, StoreError::Damaged(_)), "{refused}");
    }
}
