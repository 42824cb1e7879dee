//! The end of a group: what stops, what goes on, and what a thief of the keys cannot do after it.

use crate::common::court::opened;
use crate::common::*;
use clew_evidence::{
    Change, End, EpochRecord, GroupFile, GroupFileError, RegisterHead, Rule, WallTime, sign_part,
};
use clew_group::{EpochId, Scheme};
use clew_keys::HeldEpoch;
use clew_keys::update::UpdateError;
use clew_manager::{EpochStart, GROUP_FILE, Store, StoreError};
use std::fs;

const STOLEN: End = End {
    stolen_since: Some(WallTime::from_nanos(NOW)),
    successor: Some(EpochId([9; 32])),
};

fn caveats(acme: &TestGroup, sent: &Sent) -> Vec<&'static str> {
    let (_, judged) = opened(acme, sent).unwrap();
    judged.caveats.iter().map(|own| own.as_str()).collect()
}

/// Nobody joins, is revoked or signs any more; old packets verify, and open with a caveat.
#[test]
fn an_ended_group_stops_and_its_past_stays() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        let key = acme.enrol("web-1");
        let sent = Sent::by(&key, b"m", 1);
        acme.enrol("web-2"); // no checkpoint has it yet
        assert_eq!(acme.store.end(&acme.issuer, STOLEN, LATER).unwrap(), 1);
        let group = published(&acme.dir);
        assert_eq!(group.end(), Some((1, &STOLEN)));
        let ended = |result: Result<(), StoreError>| {
            assert!(matches!(result, Err(StoreError::Ended(1))), "{result:?}");
        };
        let when = EpochStart::now(LATER + 2);
        let nobody = &mut |_, _| true;
        ended(acme.store.rebase(&acme.issuer, when, nobody).map(drop));
        ended(acme.store.end(&acme.issuer, STOLEN, LATER + 2).map(drop));
        let name = "web-3".parse().unwrap();
        let enrolled = acme.store.enrol(&acme.issuer, name, LATER + 2, &mut rng(3));
        ended(enrolled.map(drop));
        assert_eq!(
            acme.update(&key).unwrap_err(),
            UpdateError::Ended { epoch: 1 }
        );
        assert!(sent.verify(&group).is_ok());
        assert!(caveats(&acme, &sent).contains(&"keys-stolen"));
        assert!(acme.store.check().is_ok());
        let again = Store::open(&acme.dir).unwrap();
        assert_eq!(again.group().end(), Some((1, &STOLEN)));
    }
}

/// A group that is given up without a theft has no such caveat.
#[test]
fn an_end_without_a_theft_warns_of_nothing() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let key = acme.enrol("web-1");
    let sent = Sent::by(&key, b"m", 1);
    let itself = End {
        stolen_since: None,
        successor: acme.group().epoch_id(0),
    };
    let refused = acme.store.end(&acme.issuer, itself, LATER).unwrap_err();
    assert!(matches!(refused, StoreError::Successor));
    let end = End {
        stolen_since: None,
        successor: None,
    };
    acme.store.end(&acme.issuer, end, LATER).unwrap();
    assert!(!caveats(&acme, &sent).contains(&"keys-stolen"));
}

/// Whoever has gamma makes witnesses for any V. The last epoch has no key, so they are good for nothing.
#[test]
fn a_thief_of_gamma_signs_nothing_in_the_last_epoch() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let mut key = acme.enrol("web-1");
    let before = acme.group();
    acme.store.end(&acme.issuer, STOLEN, LATER).unwrap();
    let group = acme.group();
    // V stays, so the old witness would do, if the epoch had a key.
    let held = key.newest().unwrap().clone();
    let forged = HeldEpoch {
        epoch: 1,
        id: group.epoch_id(1).unwrap(),
        public: before.public_key(0).unwrap().unwrap(),
        ..held
    };
    key.epochs = vec![forged];
    // It signs, and a verifier has no key to check that with.
    assert_eq!(Sent::by(&key, b"m", 1).epoch, 1);
    assert!(group.public_key(1).is_none());
    assert!(group.public_key(0).is_some());
}

fn rule(bytes: &[u8]) -> Option<Rule> {
    let read = GroupFile::from_bytes(bytes);
    read.err().map(|GroupFileError { rule, .. }| rule)
}

/// No record, and no row, follows an end, whoever signs it; an end is not planned.
#[test]
fn nothing_follows_an_end() {
    let mut acme = TestGroup::new(Scheme::Xr);
    acme.enrol("web-1");
    acme.store.end(&acme.issuer, STOLEN, LATER).unwrap();
    let group = acme.group();
    let end = group.record(1).unwrap().clone();
    let good = group_file(&acme, std::slice::from_ref(&end));
    assert_eq!(rule(&good), None);
    let next = EpochRecord {
        epoch: 2,
        previous: end.epoch_id(),
        change: Change::Log(None),
        ..end.clone()
    };
    assert_eq!(
        rule(&group_file(&acme, &[end.clone(), next])),
        Some(Rule::Ended)
    );
    let planned = EpochRecord {
        start: WallTime::from_nanos(LATER + 5),
        ..end.clone()
    };
    assert_eq!(rule(&group_file(&acme, &[planned])), Some(Rule::Ended));
    // One row more: the rule comes before the proof.
    let head = RegisterHead {
        machines: 2,
        ..group.register().clone()
    };
    let part = sign_part(&head.encode(), &acme.issuer.manager);
    let mut more = group.clone();
    assert_eq!(more.set_head(&part).unwrap_err().rule, Rule::Ended);
}

/// A thief went on from a copy of the store. The owner ends what the thief published, by the thief's file.
#[test]
fn the_owner_ends_what_a_thief_went_on_with() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let key = acme.enrol("web-1");
    let copy = acme.folder.path().join("copy");
    copy_all(&acme.dir, &copy);
    let mut thief = Store::open(&copy).unwrap();
    enrol(&mut thief, &acme.issuer, "nobody");
    let when = EpochStart::now(LATER);
    thief.rebase(&acme.issuer, when, &mut |_, _| true).unwrap();
    enrol(&mut thief, &acme.issuer, "another"); // behind the last checkpoint
    let theirs = fs::read(copy.join(GROUP_FILE)).unwrap();
    let ended = acme
        .store
        .end_file(&acme.issuer, &theirs, STOLEN, LATER + 1);
    let ended = GroupFile::from_bytes(&ended.unwrap()).unwrap();
    assert_eq!(ended.end(), Some((2, &STOLEN)));
    assert_eq!(ended.register().machines, 3);
    assert_eq!(ended.epoch_id(1), thief.group().epoch_id(1));
    let mut nothing = clew_keys::update::NoWitnesses;
    let updated = clew_keys::update::update(&key, &checked(&ended), LATER + 2, &mut nothing);
    assert_eq!(updated.unwrap_err(), UpdateError::Ended { epoch: 2 });
    // Not with another group's key, not twice, and not a file that does not read.
    let other = TestGroup::of(Scheme::Xr, quorum(2, 3), 7);
    let try_it = |bytes: &[u8]| acme.store.end_file(&other.issuer, bytes, STOLEN, LATER + 1);
    assert!(matches!(try_it(&theirs), Err(StoreError::OtherGroupsKey)));
    let try_it = |bytes: &[u8]| acme.store.end_file(&acme.issuer, bytes, STOLEN, LATER + 1);
    let others = fs::read(other.dir.join(GROUP_FILE)).unwrap();
    assert!(matches!(try_it(&others), Err(StoreError::OtherGroupsKey)));
    assert!(matches!(try_it(&theirs[..99]), Err(StoreError::Damaged(_))));
    let twice = acme
        .store
        .end_file(&acme.issuer, &theirs, STOLEN, LATER + 1)
        .unwrap();
    assert!(matches!(try_it(&twice), Err(StoreError::Ended(2))));
}
