//! New epochs: who is locked out, when an epoch starts, and what is refused.

use crate::common::*;
use clew_evidence::{Change, EpochRecord, Name, RegisterHead, WallTime, sign_part};
use clew_group::Scheme;
use clew_group::curve::{G1, Scalar};
use clew_keys::update::UpdateError;
use clew_manager::{AHEAD_NS, EpochStart, FAR_NS, GROUP_FILE, Store, StoreError};
use std::fs;

const SECOND: u64 = 1_000_000_000;

fn names(names: &[&str]) -> Vec<Name> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

impl TestGroup {
    pub fn try_revoke(
        &mut self,
        machines: &[&str],
        rebase: bool,
        when: EpochStart,
    ) -> Result<u32, StoreError> {
        let machines = names(machines);
        self.store
            .revoke(&self.issuer, &machines, rebase, when, &mut |_, _| true)
    }
}

fn at(now: u64, start: u64) -> EpochStart {
    EpochStart {
        now,
        start,
        far: false,
    }
}

#[test]
fn several_machines_are_one_epoch() {
    for (scheme, rebase) in [
        (Scheme::Xr, false),
        (Scheme::Xr, true),
        (Scheme::Bbs04, false),
    ] {
        let mut acme = TestGroup::new(scheme);
        let keys = ["a", "b", "c", "d"].map(|name| acme.enrol(name));
        // A name twice is one machine, and the order of names does not count.
        assert_eq!(acme.revoke_all(&["c", "a", "c"], rebase), 1);
        let group = published(&acme.dir);
        match &group.record(1).unwrap().change {
            Change::Steps(steps) => {
                assert_eq!((steps.len(), scheme, rebase), (2, Scheme::Xr, false))
            }
            Change::Rebase { revoked } => assert_eq!(revoked[..], [0, 2]),
            Change::Sharing(_) | Change::Log(_) | Change::End(_) => {
                unreachable!("machines were revoked")
            }
        }
        for (key, out) in keys.iter().zip([true, false, true, false]) {
            match acme.update(key) {
                Ok(key) => assert!(!out && Sent::by(&key, b"m", 1).verify(&group).is_ok()),
                Err(error) => assert!(out && error == UpdateError::Revoked { epoch: 1 }),
            }
        }
        let revoked: Vec<_> = ["a", "b", "c"]
            .map(|n| acme.store.machine(n).unwrap().unwrap().revoked_in)
            .to_vec();
        assert_eq!(revoked, [Some(1), None, Some(1)]);
    }
}

/// Rule 2: in the epochs in which a row is revoked there is no witness and no B of it.
#[test]
fn revoked_rows_have_neither_witness_nor_base() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        acme.enrol_all(&["a", "b", "c"]);
        acme.revoke("a");
        acme.revoke_all(&["b"], true);
        for (name, until) in [("a", 0), ("b", 1), ("c", 2)] {
            for epoch in 0..=2 {
                assert_eq!(
                    acme.base(name, epoch).is_ok(),
                    epoch <= until,
                    "{name} in {epoch}"
                );
            }
        }
        let stranger = TestGroup::of(scheme, quorum(1, 1), 5);
        let refused = acme.store.epoch_issuer(&stranger.issuer, 0);
        assert!(matches!(refused, Err(StoreError::OtherGroupsKey)));
    }
}

#[test]
fn a_row_is_revoked_once() {
    for rebase in [false, true] {
        let mut acme = TestGroup::new(Scheme::Xr);
        acme.enrol_all(&["a", "b"]);
        acme.revoke("a");
        let before = fs::read(acme.dir.join(GROUP_FILE)).unwrap();
        for again in [&["a"][..], &["b", "a"]] {
            let refused = acme
                .try_revoke(again, rebase, EpochStart::now(LATER))
                .unwrap_err();
            assert!(
                matches!(refused, StoreError::AlreadyRevoked { epoch: 1, .. }),
                "{refused}"
            );
        }
        let refused = acme.try_revoke(&["b", "nobody"], rebase, EpochStart::now(LATER));
        assert!(matches!(refused, Err(StoreError::NoSuchMachine(_))));
        Store::open(&acme.dir).unwrap();
        assert_eq!(fs::read(acme.dir.join(GROUP_FILE)).unwrap(), before);
        assert_eq!(acme.store.machine("b").unwrap().unwrap().revoked_in, None);
    }
}

#[test]
fn an_urgent_epoch_brings_a_planned_one_forward() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        let stays = acme.enrol("stays");
        acme.enrol_all(&["planned", "stolen"]);
        let day = 24 * 3600 * SECOND;
        acme.try_revoke(&["planned"], false, at(LATER, LATER + 7 * day))
            .unwrap();
        assert_eq!(
            acme.group().start(1),
            Some(WallTime::from_nanos(LATER + 7 * day))
        );
        assert_eq!(acme.group().epoch_at(WallTime::from_nanos(LATER + day)), 0);
        let urgent = at(LATER + day, LATER + day);
        acme.store.confirm_clock(LATER + day).unwrap();
        assert_eq!(acme.try_revoke(&["stolen"], false, urgent).unwrap(), 2);
        let group = published(&acme.dir);
        assert_eq!(
            [1, 2].map(|epoch| group.start(epoch)),
            [Some(WallTime::from_nanos(LATER + day)); 2]
        );
        assert_eq!(
            [LATER + day - 1, LATER + day].map(|time| group.epoch_at(WallTime::from_nanos(time))),
            [0, 2]
        );
        assert_eq!(
            group.record(1).unwrap().start,
            WallTime::from_nanos(LATER + 7 * day),
            "the record stands"
        );
        let mut witnesses = acme.published_witnesses();
        let key = clew_keys::update::update(&stays, &acme.checked(), LATER + day, &mut witnesses);
        let key = key.unwrap().key;
        assert_eq!(key.newest().unwrap().epoch, 2);
        assert!(Sent::by(&key, b"m", 1).verify(&group).is_ok());
    }
}

#[test]
fn clocks_and_starts_that_cannot_be_are_refused() {
    let mut acme = TestGroup::new(Scheme::Xr);
    acme.enrol_all(&["a", "b"]);
    let mut refused = |when| acme.try_revoke(&["a"], false, when).unwrap_err();
    let past = refused(at(LATER, LATER - 1));
    assert!(matches!(past, StoreError::StartInThePast), "{past}");
    let far = refused(at(LATER, LATER + FAR_NS + 1));
    assert!(matches!(far, StoreError::StartFarAhead), "{far}");
    let behind = refused(EpochStart::now(NOW - AHEAD_NS - 1));
    assert!(
        matches!(behind, StoreError::ClockBehind { last: NOW }),
        "{behind}"
    );
    acme.try_revoke(&["a"], false, at(LATER, LATER + FAR_NS))
        .unwrap();
    let behind = acme
        .try_revoke(&["b"], false, EpochStart::now(LATER - AHEAD_NS - 1))
        .unwrap_err();
    assert!(
        matches!(behind, StoreError::ClockBehind { last: LATER }),
        "{behind}"
    );
    let early = acme.store.enrol(
        &acme.issuer,
        "c".parse().unwrap(),
        LATER - AHEAD_NS - 1,
        &mut rng(1),
    );
    assert!(matches!(
        early.err().unwrap(),
        StoreError::ClockBehind { .. }
    ));
    let confirmed = EpochStart {
        far: true,
        ..at(LATER, LATER + 2 * FAR_NS)
    };
    assert_eq!(acme.try_revoke(&["b"], false, confirmed).unwrap(), 2);
    assert_eq!(
        acme.group().start(1),
        Some(WallTime::from_nanos(LATER + FAR_NS))
    );
}

/// Two processes read the clock, and one waits while the other makes its record. Clocks are set back a
/// little, too. Neither keeps a machine in.
#[test]
fn a_record_that_is_a_little_ahead_refuses_nothing() {
    let mut acme = TestGroup::new(Scheme::Xr);
    acme.enrol_all(&["a", "b"]);
    let start = EpochStart::now(LATER);
    acme.try_revoke(&["a"], false, start).unwrap();
    let waited = EpochStart::now(LATER - AHEAD_NS);
    assert_eq!(acme.try_revoke(&["b"], false, waited).unwrap(), 2);
    let made: Vec<u64> = acme
        .group()
        .epochs()
        .iter()
        .map(|e| e.made.as_nanos())
        .collect();
    assert_eq!(made, [LATER, LATER]);
    assert_eq!(acme.group().start(2), Some(WallTime::from_nanos(LATER)));
}

#[test]
fn one_record_revokes_so_many() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let all: Vec<String> = (0..49).map(|i| format!("m-{i}")).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    all.iter().for_each(|name| drop(acme.enrol(name)));
    let refused = acme
        .try_revoke(&all, false, EpochStart::now(LATER))
        .unwrap_err();
    assert!(
        matches!(refused, StoreError::TooManyAtOnce(48)),
        "{refused}"
    );
    assert_eq!(
        acme.try_revoke(&all[1..], false, EpochStart::now(LATER))
            .unwrap(),
        1
    );
    assert_eq!(acme.checked().steps_since_rebase(), 48);
    let nobody = acme
        .try_revoke(&[], false, EpochStart::now(LATER))
        .unwrap_err();
    assert!(matches!(nobody, StoreError::NobodyToRevoke));
    assert_eq!(
        acme.try_revoke(&all[..1], true, EpochStart::now(LATER))
            .unwrap(),
        2
    );
    assert_eq!(acme.checked().steps_since_rebase(), 0);
}

/// A lost key: the machine is revoked, and joins again under its name with a new x.
#[test]
fn a_name_is_issued_again_once_its_machine_is_revoked() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        let lost = acme.enrol("web-1");
        let taken = acme
            .store
            .enrol(&acme.issuer, "web-1".parse().unwrap(), LATER, &mut rng(3));
        assert!(matches!(taken.err().unwrap(), StoreError::NameTaken(_)));
        acme.revoke("web-1");
        let new = acme.enrol("web-1");
        assert_ne!(
            lost.key.x().to_bytes(),
            new.key.x().to_bytes(),
            "x is fresh"
        );
        let entry = acme.row("web-1").entry;
        assert_eq!((entry.index, entry.joined, entry.replaces), (1, 1, Some(0)));
        let group = published(&acme.dir);
        assert!(Sent::by(&new, b"m", 1).verify(&group).is_ok());
        assert_eq!(
            acme.update(&lost).unwrap_err(),
            UpdateError::Revoked { epoch: 1 }
        );
        assert!(
            acme.base("web-1", 0).is_ok(),
            "the last row of the name is meant"
        );
        acme.revoke("web-1");
        assert_eq!(
            acme.update(&new).unwrap_err(),
            UpdateError::Revoked { epoch: 2 }
        );
        acme.enrol("web-1");
        assert_eq!(acme.row("web-1").entry.replaces, Some(1));
        let old = acme.store.machine_at(0).unwrap().unwrap();
        assert_eq!(
            (old.entry.name.as_str(), old.revoked_in),
            ("web-1", Some(1))
        );
    }
}

/// A machine of a planned revocation is a member until it is in force.
#[test]
fn a_planned_revocation_locks_out_when_it_starts() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let key = acme.enrol("leaves");
    acme.try_revoke(&["leaves"], false, at(LATER, LATER + 5 * SECOND))
        .unwrap();
    let update = |now| {
        clew_keys::update::update(
            &key,
            &acme.checked(),
            now,
            &mut clew_keys::update::NoWitnesses,
        )
    };
    let before = update(LATER).unwrap();
    assert_eq!((before.revoked, before.key.epochs.len()), (Some(1), 1));
    let after = update(LATER + 5 * SECOND).unwrap_err();
    assert_eq!(after, UpdateError::Revoked { epoch: 1 });
    // The name is free at once: the register shows which row it replaces.
    acme.enrol("leaves");
    assert_eq!(acme.row("leaves").entry.replaces, Some(0));
}

/// A group file with so many steps, signed by the manager. Nobody checks the V of such a chain here.
fn with_steps(acme: &mut TestGroup, mut steps: u128) {
    let database = rusqlite::Connection::open(acme.dir.join("issuer/store.db")).unwrap();
    let (manager, v) = (&acme.issuer.manager, G1::generator().to_bytes());
    let mut previous = acme.group().last_id();
    let mut epoch = acme.group().newest_epoch();
    database.execute_batch("BEGIN").unwrap();
    while steps > 0 {
        let count = steps.min(48);
        let step = |i: u128| {
            let x = Scalar::from_u128(1 + steps - i).to_bytes();
            <[u8; 80]>::try_from([&x[..], &v].concat()).unwrap()
        };
        epoch += 1;
        let change = Change::Steps((0..count).map(step).collect());
        let record = EpochRecord {
            epoch,
            previous,
            made: WallTime::from_nanos(NOW),
            start: WallTime::from_nanos(NOW),
            machines: 0,
            root: [0; 32],
            change,
        };
        let part = sign_part(&record.encode(), manager);
        database
            .execute("INSERT INTO part VALUES (?1, ?2)", (epoch, part))
            .unwrap();
        previous = record.epoch_id();
        steps -= count;
    }
    let head = RegisterHead {
        last: previous,
        ..acme.group().register().clone()
    };
    let head = sign_part(&head.encode(), manager);
    database
        .execute("UPDATE register SET bytes = ?1", [head])
        .unwrap();
    database.execute_batch("COMMIT").unwrap();
    acme.store = Store::open(&acme.dir).unwrap();
}

/// Cheon's algorithm: after 2^16 steps a rebase is due.
#[test]
fn after_65536_steps_a_rebase_is_due() {
    let mut acme = TestGroup::new(Scheme::Xr);
    acme.enrol_all(&["a", "b", "c"]);
    with_steps(&mut acme, 65_535);
    let refused = acme
        .try_revoke(&["a", "b"], false, EpochStart::now(LATER))
        .unwrap_err();
    assert!(matches!(refused, StoreError::RebaseIsDue), "{refused}");
    acme.try_revoke(&["a"], false, EpochStart::now(LATER))
        .unwrap();
    let refused = acme
        .try_revoke(&["b"], false, EpochStart::now(LATER))
        .unwrap_err();
    assert!(matches!(refused, StoreError::RebaseIsDue), "{refused}");
    acme.try_revoke(&["b"], true, EpochStart::now(LATER))
        .unwrap();
    acme.try_revoke(&["c"], false, EpochStart::now(LATER))
        .unwrap();
}
