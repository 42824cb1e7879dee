//! The store: what it promises, what it refuses, and that nothing stored is lost.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use clew_evidence::GroupFile;
use clew_group::bbs04::{SigningKey, VerifyingKey};
use clew_manager::keys::{IssuerKeyFile, KeyError, MemberKeyFile, TrusteeKeyFile};
use clew_manager::sealed::{self, Needs, Secret};
use clew_manager::store::{GROUP_FILE, ISSUER_KEY, TRUSTEE_KEY};
use clew_manager::update::{UpdateError, update};
use clew_manager::{Store, StoreError};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use zeroize::Zeroizing;

const NOW: u64 = 1_800_000_000_000_000_000;

fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

fn create(dir: &Path) -> Store {
    Store::create(dir, "acme".parse().unwrap(), NOW, None, &mut rng(1))
        .unwrap()
        .store
}

fn issuer(dir: &Path) -> IssuerKeyFile {
    IssuerKeyFile::decode(&fs::read_to_string(dir.join(ISSUER_KEY)).unwrap()).unwrap()
}

fn enrol(store: &mut Store, dir: &Path, name: &str) -> MemberKeyFile {
    let seed = name.bytes().fold(7, |all, b| all * 31 + u64::from(b));
    let pending = store
        .enrol(&issuer(dir), name.parse().unwrap(), NOW, &mut rng(seed))
        .unwrap();
    let key = pending.key().clone();
    pending.commit().unwrap();
    store.refresh().unwrap();
    key
}

fn published(dir: &Path) -> GroupFile {
    GroupFile::from_bytes(&fs::read(dir.join(GROUP_FILE)).unwrap()).unwrap()
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn a_group_lives_from_creation_to_opening() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("acme");
    let mut store = create(&dir);
    let (one, two) = (
        enrol(&mut store, &dir, "web-1"),
        enrol(&mut store, &dir, "web-2"),
    );
    assert_eq!(published(&dir).register().machines, 2);

    assert_eq!(
        store.revoke(&issuer(&dir), "web-1", NOW + 1, NOW).unwrap(),
        1
    );
    let group = published(&dir);
    assert_eq!(group.start(1), Some(NOW + 1));
    assert_eq!(
        update(&one, &group).unwrap_err(),
        UpdateError::Revoked { epoch: 1 }
    );
    let two = update(&two, &group).unwrap();
    assert_eq!(two.epoch, 1);
    assert_eq!(update(&two, &group).unwrap().encode(), two.encode());
    let three = enrol(&mut store, &dir, "web-3");
    assert_eq!(three.epoch, 1);

    let trustee = fs::read_to_string(dir.join(TRUSTEE_KEY)).unwrap();
    let trustee = TrusteeKeyFile::decode(&trustee).unwrap();
    for key in [one, two, three] {
        let signer = SigningKey::new(&key.public, key.key).unwrap();
        let signature = signer.precursor(&mut rng(3)).sign(&[b"m"]);
        let public = group.public_key(key.epoch).unwrap().unwrap();
        assert!(
            VerifyingKey::new(&public)
                .verify(&[b"m"], &signature)
                .is_ok()
        );
        let tag = public.tag(&trustee.opener.open(&signature));
        assert_eq!(
            store.find(&tag).unwrap().unwrap().name,
            key.machine.as_str()
        );
    }
    assert_eq!(store.find(&[0; 32]).unwrap(), None);
    let mut names = Vec::new();
    store
        .machines(|m| names.push((m.name, m.joined, m.revoked_in)))
        .unwrap();
    let row = |name: &str, joined, revoked| (name.to_owned(), joined, revoked);
    assert_eq!(
        names,
        [
            row("web-1", 0, Some(1)),
            row("web-2", 0, None),
            row("web-3", 1, None)
        ]
    );
}

#[test]
fn secrets_are_their_owners_only() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("g");
    create(&dir);
    for secret in [ISSUER_KEY, TRUSTEE_KEY, "issuer/store.db"] {
        assert_eq!(mode(&dir.join(secret)), 0o600, "{secret}");
    }
    for closed in ["issuer", "trustees"] {
        assert_eq!(mode(&dir.join(closed)), 0o700, "{closed}");
    }
}

#[test]
fn the_database_holds_no_secret() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("g");
    let mut store = create(&dir);
    let key = enrol(&mut store, &dir, "web-1");
    let issuer = issuer(&dir);
    let database = fs::read(dir.join("issuer/store.db")).unwrap();
    let x = &key.key.to_bytes()[48..];
    let secrets: [&[u8]; 4] = [
        x,
        issuer.seed.as_slice(),
        issuer.issuer.to_bytes().as_slice(),
        issuer.manager.as_bytes(),
    ]
    .map(|s| &*s.to_vec().leak());
    for secret in secrets {
        assert!(!database.windows(32).any(|w| w == secret));
    }
}

#[test]
fn refusals_change_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("g");
    let mut store = create(&dir);
    enrol(&mut store, &dir, "web-1");
    let other_dir = temp.path().join("other");
    Store::create(&other_dir, "other".parse().unwrap(), NOW, None, &mut rng(9)).unwrap();
    store.revoke(&issuer(&dir), "web-1", NOW + 5, NOW).unwrap();
    let before = fs::read(dir.join(GROUP_FILE)).unwrap();

    let key = issuer(&dir);
    let name = |n: &str| n.parse().unwrap();
    let taken = store
        .enrol(&key, name("web-1"), NOW, &mut rng(2))
        .err()
        .unwrap();
    assert!(matches!(taken, StoreError::NameTaken(_)));
    let stranger = store
        .enrol(&issuer(&other_dir), name("x"), NOW, &mut rng(2))
        .err()
        .unwrap();
    assert!(matches!(stranger, StoreError::OtherGroupsKey));
    let unknown = store.revoke(&key, "nobody", NOW + 9, NOW).unwrap_err();
    assert!(matches!(unknown, StoreError::NoSuchMachine(_)));
    let again = store.revoke(&key, "web-1", NOW + 9, NOW).unwrap_err();
    assert!(matches!(again, StoreError::AlreadyRevoked { epoch: 1, .. }));
    drop(
        store
            .enrol(&key, name("dropped"), NOW, &mut rng(2))
            .unwrap(),
    ); // never committed

    let mut store = Store::open(&dir).unwrap();
    assert_eq!(fs::read(dir.join(GROUP_FILE)).unwrap(), before);
    assert_eq!(store.machine("dropped").unwrap(), None);
    enrol(&mut store, &dir, "web-2");
    let early = store.revoke(&key, "web-2", NOW + 5, NOW).unwrap_err();
    assert!(matches!(early, StoreError::StartTooEarly { newest } if newest == NOW + 5));
}

#[test]
fn a_store_is_not_made_over_anything() {
    let temp = tempfile::tempdir().unwrap();
    let empty = temp.path().join("empty");
    fs::create_dir(&empty).unwrap();
    create(&empty);
    let again = Store::create(&empty, "x".parse().unwrap(), NOW, None, &mut rng(1))
        .err()
        .unwrap();
    assert!(matches!(again, StoreError::Exists(_)));
    let file = temp.path().join("file");
    fs::write(&file, "mine").unwrap();
    let over = Store::create(&file, "x".parse().unwrap(), NOW, None, &mut rng(1))
        .err()
        .unwrap();
    assert!(matches!(over, StoreError::Exists(_)), "{over}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    let leftovers: Vec<_> = fs::read_dir(temp.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(leftovers.len(), 2, "{leftovers:?}");
}

#[test]
fn a_directory_that_is_no_store_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("g");
    assert!(matches!(
        Store::open(&dir).err().unwrap(),
        StoreError::NotAStore(_)
    ));
    create(&dir);
    let db = dir.join("issuer/store.db");
    fs::write(&db, "not a database at all, whatever its name").unwrap();
    assert!(matches!(
        Store::open(&dir).err().unwrap(),
        StoreError::NotAStore(_)
    ));
}

#[test]
fn a_newer_layout_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("g");
    create(&dir);
    let db = rusqlite::Connection::open(dir.join("issuer/store.db")).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    assert!(matches!(
        Store::open(&dir).err().unwrap(),
        StoreError::Newer { version: 99, .. }
    ));
}

/// A crash after the commit and before the group file: the next opening publishes it.
#[test]
fn a_lost_group_file_comes_back() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("g");
    let mut store = create(&dir);
    let stale = fs::read(dir.join(GROUP_FILE)).unwrap();
    enrol(&mut store, &dir, "web-1");
    store.revoke(&issuer(&dir), "web-1", NOW + 1, NOW).unwrap();
    let current = fs::read(dir.join(GROUP_FILE)).unwrap();
    for wrong in [Some(stale), Some(vec![]), None] {
        match wrong {
            Some(bytes) => fs::write(dir.join(GROUP_FILE), bytes).unwrap(),
            None => fs::remove_file(dir.join(GROUP_FILE)).unwrap(),
        }
        Store::open(&dir).unwrap();
        assert_eq!(fs::read(dir.join(GROUP_FILE)).unwrap(), current);
    }
}

/// Several writers on one store: every change is kept, and the published file is the last one.
#[test]
fn two_processes_do_not_lose_each_others_changes() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("g");
    create(&dir);
    let workers = 4u32;
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let dir = &dir;
            scope.spawn(move || {
                let mut store = Store::open(dir).unwrap();
                for i in 0..4 {
                    enrol(&mut store, dir, &format!("m-{worker}-{i}"));
                }
                let start = NOW + 1 + u64::from(worker);
                match store.revoke(&issuer(dir), &format!("m-{worker}-0"), start, NOW) {
                    Ok(_) | Err(StoreError::StartTooEarly { .. }) => {}
                    Err(error) => unreachable!("{error}"),
                }
            });
        }
    });
    let store = Store::open(&dir).unwrap();
    assert_eq!(store.group().register().machines, 4 * workers);
    let mut revoked = 0;
    store
        .machines(|m| revoked += u32::from(m.revoked_in.is_some()))
        .unwrap();
    assert_eq!(store.group().newest_epoch(), revoked);
    assert_eq!(published(&dir).register(), store.group().register());
}

#[test]
fn a_key_file_says_what_is_wrong_with_it() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("g");
    let mut store = create(&dir);
    let key = enrol(&mut store, &dir, "web-1");
    let text = key.encode();
    let again = MemberKeyFile::decode(&text).unwrap();
    assert_eq!(again.encode(), text);
    assert_eq!(
        MemberKeyFile::decode("hello\n").unwrap_err(),
        KeyError::NotAKey
    );
    assert_eq!(MemberKeyFile::decode("").unwrap_err(), KeyError::NotAKey);
    let wrong = KeyError::Label {
        found: "clew-member-key-1".to_owned(),
        wanted: "clew-issuer-key-1".to_owned(),
    };
    assert_eq!(IssuerKeyFile::decode(&text).unwrap_err(), wrong);
    // Any changed letter of the key line.
    let start = text.find("-1 ").unwrap() + 3;
    for at in (start..text.len() - 2).step_by(17) {
        let mut bytes = text.as_bytes().to_vec();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(bytes).unwrap();
        assert_eq!(
            MemberKeyFile::decode(&changed).unwrap_err(),
            KeyError::Damaged,
            "at {at}"
        );
    }
}

#[test]
fn replacing_a_file_keeps_a_link_to_it() {
    use clew_manager::files::{MODE_SECRET, write_atomically};
    let temp = tempfile::tempdir().unwrap();
    let (file, link) = (temp.path().join("real.key"), temp.path().join("link.key"));
    fs::write(&file, "old").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    assert!(write_atomically(&link, b"new", MODE_SECRET, false).is_err());
    write_atomically(&link, b"new", MODE_SECRET, true).unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"new");
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(mode(&file), 0o600);
}

#[test]
fn sealed_keys_open_with_their_secret_only() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("g");
    let mut store = create(&dir);
    let key = enrol(&mut store, &dir, "web-1");
    let passphrase = |p: &str| Secret::Passphrase(Zeroizing::new(p.to_owned()));
    let key_file = |k: &[u8]| Secret::KeyFile(Zeroizing::new(k.to_vec()));
    let cases = [
        (
            passphrase("correct horse"),
            passphrase("battery"),
            Needs::Passphrase,
        ),
        (key_file(&[1; 32]), key_file(&[2; 32]), Needs::KeyFile),
    ];
    for (good, bad, needs) in cases {
        let sealed = sealed::seal(&key.encode(), &key.comment(), &good, &mut rng(4));
        assert_eq!(sealed::needs(&sealed), Ok(needs));
        assert_eq!(sealed::unseal(&sealed, &good).unwrap(), key.encode());
        assert_eq!(
            sealed::unseal(&sealed, &bad).unwrap_err(),
            KeyError::WrongSecret
        );
        let other = if needs == Needs::KeyFile {
            passphrase("x")
        } else {
            key_file(&[1; 32])
        };
        assert_eq!(
            sealed::unseal(&sealed, &other).unwrap_err(),
            KeyError::WrongSecret
        );
        let at = sealed.find("-1 ").unwrap() + 90;
        let mut bytes = sealed.as_bytes().to_vec();
        bytes[at] ^= 1;
        let changed = String::from_utf8(bytes).unwrap();
        assert_eq!(
            sealed::unseal(&changed, &good).unwrap_err(),
            KeyError::Damaged
        );
    }
    assert_eq!(sealed::needs(&key.encode()), Ok(Needs::Nothing));
}

#[test]
fn updates_are_refused_for_other_groups_and_forks() {
    let temp = tempfile::tempdir().unwrap();
    let (a, b) = (temp.path().join("a"), temp.path().join("b"));
    let mut store = create(&a);
    let key = enrol(&mut store, &a, "web-1");
    let other = Store::create(&b, "b".parse().unwrap(), NOW, None, &mut rng(5))
        .unwrap()
        .store;
    assert!(matches!(
        update(&key, other.group()),
        Err(UpdateError::OtherGroup { .. })
    ));

    enrol(&mut store, &a, "web-2");
    let before = store.group().clone();
    store.revoke(&issuer(&a), "web-2", NOW + 1, NOW).unwrap();
    let newer = update(&key, store.group()).unwrap();
    let old = UpdateError::KeyIsNewer { key: 1, file: 0 };
    assert_eq!(update(&newer, &before).unwrap_err(), old);
    let forked = MemberKeyFile {
        public: key.public.clone(),
        ..newer
    };
    assert_eq!(
        update(&forked, store.group()).unwrap_err(),
        UpdateError::OtherPublicKey
    );
}
