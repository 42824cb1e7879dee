//! What a stolen key, a revoked machine, a manager and a publisher of updates can do and cannot: rows
//! of the table in SECURITY.md.

use crate::common::court::*;
use crate::common::*;
use clew_evidence::{
    Caveat, CheckedGroup, EpochRecord, GroupFile, HEADER, RegisterHead, Rule, sign_part,
};
use clew_group::{Scheme, SigningKey, Witness};
use clew_keys::update::{NoWitnesses, UpdateError, update};
use clew_keys::witness_file::{self, Need};
use clew_keys::{HeldEpoch, MemberKeyFile, TextFile};
use clew_manager::{EpochStart, Store, StoreError};
use std::fs;

/// A thief's key: the stolen one with a witness that the thief has for an epoch.
fn with_witness(
    key: &MemberKeyFile,
    group: &CheckedGroup,
    epoch: u32,
    witness: Witness,
) -> MemberKeyFile {
    let held = HeldEpoch {
        epoch,
        id: group.epoch_id(epoch).unwrap(),
        start: 0,
        public: group.public_key(epoch).unwrap().unwrap(),
        witness,
    };
    MemberKeyFile {
        epochs: vec![held],
        ..key.clone()
    }
}

/// Whether a key signs in the one epoch that it holds.
fn signs(key: &MemberKeyFile) -> bool {
    key.signing_key(&key.epochs[0]).is_ok()
}

/// Everything that a thief tries in an epoch: each public V as a witness, and every witness it had.
fn tries(key: &MemberKeyFile, group: &CheckedGroup, epoch: u32) -> bool {
    let points = (0..=group.newest_epoch()).map(|e| group.v(e).unwrap().to_bytes());
    let own = key.epochs.iter().map(|held| held.witness.to_bytes());
    points.chain(own).any(|point| {
        let witness = Witness::from_bytes(&point).unwrap();
        signs(&with_witness(key, group, epoch, witness))
    })
}

#[test]
fn a_stolen_key_signs_until_revoked() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        let stolen = acme.enrol("a");
        acme.enrol("b");
        acme.revoke("b");
        let moved = acme.update(&stolen).unwrap();
        let sent = Sent::by(&moved, b"m", 1);
        assert!(sent.verify(&acme.group()).is_ok());
        acme.revoke("a");
        let refused = acme.update(&moved).unwrap_err();
        assert_eq!(refused, UpdateError::Revoked { epoch: 2 });
        assert!(!tries(&moved, &acme.checked(), 2));
    }
}

/// With the chain backwards, up to the last rebase.
#[test]
fn a_thief_dates_back_within_a_segment() {
    let mut acme = TestGroup::new(Scheme::Xr);
    acme.enrol_all(&["a", "b"]);
    acme.revoke("a");
    acme.revoke("b");
    let stolen = acme.enrol("late");
    let group = acme.checked();
    let back = update(&stolen, &group, NOW, &mut NoWitnesses).unwrap().key;
    assert_eq!(back.epochs[0].epoch, 0);
    let first = MemberKeyFile {
        epochs: vec![back.epochs[0].clone()],
        ..back
    };
    let sent = Sent::by(&first, b"dated back", 1);
    assert!(sent.verify(&group).is_ok());
    let (_, judgement) = opened(&acme, &sent).unwrap();
    assert_eq!(judgement.machine.as_str(), "late");
    assert!(
        judgement
            .caveats
            .contains(&Caveat::JoinedLater { epoch: 2 })
    );
}

/// Who joins later can date back, and is named with the sentence about the epoch.
#[test]
fn late_joiners_are_named() {
    a_thief_dates_back_within_a_segment();
}

#[test]
fn a_thief_without_a_witness_cannot_date_back() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        let key = acme.enrol("a");
        acme.revoke_all(&[], true);
        let stolen = acme.update(&key).unwrap();
        let group = acme.checked();
        assert!(
            stolen.held(0).is_none(),
            "update drops the witness of before the rebase"
        );
        let back = update(&stolen, &group, NOW, &mut NoWitnesses).unwrap_err();
        assert!(matches!(
            back,
            UpdateError::NeedsWitness(Need { epoch: 0, .. })
        ));
        assert!(!tries(&stolen, &group, 0));
        assert!(
            tries(&key, &group, 0),
            "the control: with the old witness it does"
        );
    }
}

/// The lists of a rebase are public: who kept an old one has the witness that was erased elsewhere.
#[test]
fn a_thief_with_an_old_list_dates_back() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let key = acme.enrol("a");
    acme.revoke_all(&[], true);
    let need = Need {
        group: acme.group().id(),
        epoch: 1,
        index: 0,
    };
    let list = fs::read(need.path_under(&acme.store.witnesses_path())).unwrap();
    let key = acme.update(&key).unwrap();
    acme.revoke_all(&[], true);
    let stolen = acme.update(&key).unwrap();
    // The store keeps a list for a day longer, because a clock may be ahead.
    let day = LATER + clew_manager::IDLE_NS;
    acme.store.confirm_clock(day).unwrap();
    let pending = acme
        .store
        .enrol(&acme.issuer, "b".parse().unwrap(), day, &mut rng(5));
    pending.unwrap().commit().unwrap();
    acme.store.refresh().unwrap();
    assert!(!need.path_under(&acme.store.witnesses_path()).exists());
    let group = acme.checked();
    assert!(!tries(&stolen, &group, 1));
    let kept = witness_file::find(&list, &need).unwrap();
    let thief = with_witness(&stolen, &group, 1, kept);
    assert!(Sent::by(&thief, b"m", 1).verify(&group).is_ok());
}

#[test]
fn a_revoked_machine_dates_back_and_is_named() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        let key = acme.enrol("a");
        acme.revoke("a");
        let sent = Sent::by(&key, b"dated back", 1);
        assert!(sent.verify(&acme.group()).is_ok());
        let (_, judgement) = opened(&acme, &sent).unwrap();
        assert_eq!(judgement.machine.as_str(), "a");
        assert!(
            judgement
                .caveats
                .contains(&Caveat::RevokedLater { epoch: 1 })
        );
    }
}

#[test]
fn a_revoked_machine_signs_in_no_later_epoch() {
    for (scheme, rebase) in [
        (Scheme::Xr, false),
        (Scheme::Xr, true),
        (Scheme::Bbs04, true),
    ] {
        let mut acme = TestGroup::new(scheme);
        let (key, other) = (acme.enrol("a"), acme.enrol("b"));
        acme.revoke_all(&["a"], rebase);
        acme.enrol("c");
        acme.revoke("c");
        acme.revoke_all(&[], true);
        let group = acme.checked();
        for epoch in 1..=3 {
            assert!(!tries(&key, &group, epoch), "{scheme} {epoch}");
            assert!(acme.base("a", epoch).is_err());
            // Nor with the witness of somebody who is a member.
            let theirs = acme.update(&other).unwrap().epochs[0].witness.clone();
            assert!(!signs(&with_witness(&key, &group, epoch, theirs)));
        }
    }
}

/// The manager enrols whom it likes under whatever name is free: what tells machines apart is the
/// device key.
#[test]
fn a_name_is_the_managers_word() {
    let mut acme = TestGroup::new(Scheme::Xr);
    acme.enrol("web-1");
    let genuine = acme.row("web-1").entry.fingerprint();
    acme.revoke("web-1");
    let invented = acme.enrol("web-1");
    let (_, judgement) = opened(&acme, &Sent::by(&invented, b"m", 1)).unwrap();
    assert_eq!(judgement.machine.as_str(), "web-1");
    assert!(judgement.caveats.contains(&Caveat::NameReissued { row: 0 }));
    assert_ne!(acme.row("web-1").entry.fingerprint(), genuine);
}

#[test]
fn joined_on_issuer_host_is_said() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let key = acme.enrol("a");
    let (_, judgement) = opened(&acme, &Sent::by(&key, b"m", 1)).unwrap();
    assert!(judgement.caveats.contains(&Caveat::JoinedOnIssuerHost));
    // And rightly: with the key file that it made, this host signs as the machine.
    let copy = MemberKeyFile::decode(&key.encode()).unwrap();
    assert!(Sent::by(&copy, b"m", 2).verify(&acme.group()).is_ok());
}

#[test]
fn trusted_dealer_is_said() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        let key = acme.enrol("a");
        let (_, judgement) = opened(&acme, &Sent::by(&key, b"m", 1)).unwrap();
        assert!(judgement.caveats.contains(&Caveat::TrustedDealer));
    }
}

/// A publisher that withholds updates keeps keys in the epochs that they hold, and no more.
#[test]
fn an_old_file_is_an_old_file() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let key = acme.enrol("a");
    let old = acme.checked();
    acme.enrol("b");
    acme.revoke("b");
    let withheld = update(&key, &old, LATER, &mut NoWitnesses).unwrap().key;
    assert_eq!(withheld.encode(), key.encode());
    let moved = acme.update(&key).unwrap();
    let back = update(&moved, &old, LATER, &mut NoWitnesses).unwrap_err();
    assert_eq!(back, UpdateError::KeyIsNewer { key: 1, file: 0 });
}

/// A copy of the store that enrols somebody else has the same epoch ids and another register, until
/// either makes an epoch.
#[test]
fn who_joined_since_the_last_epoch_is_not_bound() {
    let acme = TestGroup::new(Scheme::Xr);
    let mut other = copy_of(&acme);
    enrol(&mut other, &acme.issuer, "web-1");
    assert_eq!(other.group().last_id(), acme.group().last_id());
    let machine = other.machine("web-1").unwrap().unwrap();
    let row = other.row(&machine).unwrap();
    assert!(row.is_in_register_of(other.group()));
    assert!(!row.is_in_register_of(&acme.group()));
}

fn copy_of(acme: &TestGroup) -> Store {
    let copy = acme.folder.path().join("copy");
    copy_all(&acme.dir, &copy);
    Store::open(&copy).unwrap()
}

/// Two stores make the same record at the same nanosecond, and each has a register of its own: the
/// epoch ids differ, and no file has the records of the one and the register of the other.
#[test]
fn an_epoch_id_has_one_register() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        let mut other = copy_of(&acme);
        acme.enrol("web-1");
        enrol(&mut other, &acme.issuer, "web-2");
        let when = EpochStart::now(acme.next());
        acme.revoke_all(&[], true);
        other.rebase(&acme.issuer, when, &mut |_, _| true).unwrap();
        let (ours, theirs) = (acme.group(), other.group());
        let record = ours.record(1).unwrap();
        let same = EpochRecord {
            root: record.root,
            ..theirs.record(1).unwrap().clone()
        };
        assert_eq!(&same, record, "all but the register");
        assert_ne!(ours.epoch_id(1), theirs.epoch_id(1));
        let head = RegisterHead {
            last: ours.last_id(),
            ..theirs.register().clone()
        };
        let bodies = [
            ours.genesis().encode(),
            record.encode(),
            theirs.checkpoints()[0].encode(),
            head.encode(),
        ];
        let parts = bodies
            .iter()
            .map(|body| sign_part(body, &acme.issuer.manager));
        let mixed = [HEADER.to_vec()].into_iter().chain(parts);
        let refused = GroupFile::from_bytes(&mixed.collect::<Vec<_>>().concat()).unwrap_err();
        assert_eq!((refused.part, refused.rule), (1, Rule::Checkpoint));
    }
}

/// The store is restored from a backup and makes a second rebase with the same number: V of a rebase
/// is hashed from its record, so a witness of the first is none of the second.
#[test]
fn a_restored_store_revives_nobody() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        let key = acme.enrol("a");
        let backup = acme.folder.path().join("backup");
        copy_all(&acme.dir, &backup);
        acme.revoke_all(&[], true);
        let first = acme.update(&key).unwrap();
        let mut restored = Store::open(&backup).unwrap();
        let (when, names) = (EpochStart::now(NOW + 7), ["a".parse().unwrap()]);
        restored
            .revoke(&acme.issuer, &names, true, when, &mut |_, _| true)
            .unwrap();
        let group = checked(restored.group());
        assert_ne!(group.epoch_id(1), acme.group().epoch_id(1));
        let witness = first.epochs[0].witness.clone();
        assert!(!signs(&with_witness(&key, &group, 1, witness)));
        assert!(!tries(&first, &group, 1));
        let refused = update(&first, &group, LATER, &mut NoWitnesses).unwrap_err();
        assert_eq!(refused, UpdateError::OtherHistory { epoch: 1 });
    }
}

/// A backup of the database under a published group file that is newer: replacing that file would
/// revive whoever was revoked since.
#[test]
fn a_restored_store_replaces_no_newer_file() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        acme.enrol("a");
        let database = acme.dir.join("issuer/store.db");
        let backup = settled(&acme.dir);
        acme.revoke("a");
        settled(&acme.dir);
        let published = std::fs::read(acme.store.group_file_path()).unwrap();
        std::fs::write(&database, backup).unwrap();
        let refused = Store::open(&acme.dir).map(drop).unwrap_err();
        assert!(
            matches!(refused, StoreError::PublishedIsNewer(_)),
            "{refused}"
        );
        let path = acme.store.group_file_path();
        assert_eq!(std::fs::read(&path).unwrap(), published);
        // The same if a byte of the newer file is lost: it cannot be told from an older one.
        for damaged in [&published[..published.len() - 1], b""] {
            std::fs::write(&path, damaged).unwrap();
            let refused = Store::open(&acme.dir).map(drop).unwrap_err();
            assert!(
                matches!(refused, StoreError::PublishedIsDamaged(_)),
                "{refused}"
            );
            assert_eq!(std::fs::read(&path).unwrap(), damaged);
        }
        // Who wants the old history moves the file away.
        std::fs::rename(&path, path.with_extension("newer")).unwrap();
        assert_eq!(Store::open(&acme.dir).unwrap().group().newest_epoch(), 0);
    }
}

/// The backup enrols somebody else in the place of a machine that the published file has: as many
/// machines, and not the same.
#[test]
fn a_restored_store_replaces_no_other_register() {
    let mut acme = TestGroup::new(Scheme::Xr);
    acme.enrol("a");
    let backup = settled(&acme.dir);
    acme.enrol("b");
    settled(&acme.dir);
    let published = std::fs::read(acme.store.group_file_path()).unwrap();
    let folder = acme.folder.path().join("restored");
    copy_all(&acme.dir, &folder);
    std::fs::remove_file(folder.join("public/group.clew")).unwrap();
    std::fs::write(folder.join("issuer/store.db"), backup).unwrap();
    let mut restored = Store::open(&folder).unwrap();
    enrol(&mut restored, &acme.issuer, "c");
    assert_eq!(restored.group().register().machines, 2);
    std::fs::write(restored.group_file_path(), &published).unwrap();
    let refused = Store::open(&folder).map(drop).unwrap_err();
    assert!(
        matches!(refused, StoreError::PublishedIsNewer(_)),
        "{refused}"
    );
    let kept = std::fs::read(restored.group_file_path()).unwrap();
    assert_eq!(kept, published);
}

/// Witnesses that another history left in the public folder are replaced by those of this one.
#[test]
fn a_restored_store_publishes_its_own_witnesses() {
    let mut acme = TestGroup::new(Scheme::Bbs04);
    let key = acme.enrol("a");
    let bucket = acme.dir.join("public/witnesses/1/0");
    std::fs::create_dir_all(bucket.parent().unwrap()).unwrap();
    std::fs::write(&bucket, b"of another history").unwrap();
    acme.revoke_all(&[], true);
    let updated = acme.update(&key).unwrap();
    assert!(signs(&updated));
}

/// The control of [`tries`]: an honest key signs with the witness that it holds.
#[test]
fn a_members_own_witness_signs() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let key = acme.enrol("a");
    let held = &key.epochs[0];
    let made = SigningKey::new(&held.public, held.id, key.key.clone(), &held.witness);
    assert!(made.is_ok() && tries(&key, &acme.checked(), 0));
}
