//! One wrong clock can neither delete nor date what cannot be taken back.

use crate::common::*;
use clew_group::Scheme;
use clew_manager::{AHEAD_NS, EpochStart, IDLE_NS, Retention, Store, StoreError, WITNESSES};
use std::fs;

const DAY: u64 = IDLE_NS;

fn planned(start: u64) -> EpochStart {
    EpochStart {
        start,
        ..EpochStart::now(LATER)
    }
}

fn folders(acme: &TestGroup) -> Vec<String> {
    let entries = fs::read_dir(acme.dir.join(WITNESSES)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

fn try_enrol(acme: &mut TestGroup, name: &str, now: u64) -> Result<(), StoreError> {
    let name = name.parse().unwrap();
    let pending = acme.store.enrol(&acme.issuer, name, now, &mut rng(9))?;
    pending.commit()?;
    acme.store.refresh()
}

#[test]
fn an_enrolment_under_a_clock_ahead_removes_no_witnesses_of_the_epoch_in_force() {
    let mut acme = TestGroup::new(Scheme::Xr);
    acme.enrol("a");
    acme.revoke_all(&[], true);
    // The next rebase is planned for tonight, and the clock is ahead of it: as far as a clock may be.
    let when = planned(LATER + DAY / 2);
    acme.store
        .rebase(&acme.issuer, when, &mut |_, _| true)
        .unwrap();
    try_enrol(&mut acme, "b", NOW + DAY).unwrap();
    assert_eq!(folders(&acme), ["1", "2"]);
    let further = try_enrol(&mut acme, "c", NOW + 3 * DAY).unwrap_err();
    assert!(
        matches!(further, StoreError::ClockAhead { .. }),
        "{further}"
    );
    // A day behind its start nobody needs the earlier one.
    let again = LATER + DAY / 2 + DAY;
    try_enrol(&mut acme, "c", again).unwrap();
    assert_eq!(folders(&acme), ["2"]);
}

#[test]
fn a_clock_that_is_ahead_dates_and_deletes_nothing_until_it_is_confirmed() {
    let mut acme = TestGroup::new(Scheme::Xr);
    acme.enrol_all(&["a", "b"]);
    acme.revoke("a");
    let rule = Retention {
        machines: Some(30),
        ..Retention::default()
    };
    acme.store.set_retention(&rule).unwrap();
    let ahead = NOW + 40 * DAY;
    let before = acme.store.group_bytes().unwrap();
    let is_ahead = |error: StoreError| matches!(error, StoreError::ClockAhead { .. });
    assert!(is_ahead(acme.store.judge_clock(ahead).unwrap_err()));
    assert!(is_ahead(acme.store.prune(ahead).unwrap_err()));
    assert!(is_ahead(try_enrol(&mut acme, "c", ahead).unwrap_err()));
    let revoked = acme.try_revoke(&["b"], false, EpochStart::now(ahead));
    assert!(is_ahead(revoked.unwrap_err()));
    let far = EpochStart {
        far: true,
        ..EpochStart::now(ahead)
    };
    assert!(is_ahead(acme.try_revoke(&["b"], true, far).unwrap_err()));
    assert_eq!(acme.store.group_bytes().unwrap(), before);
    acme.store.confirm_clock(ahead).unwrap();
    assert_eq!(acme.store.prune(ahead).unwrap().machines.len(), 1);
    acme.try_revoke(&["b"], false, EpochStart::now(ahead))
        .unwrap();
}

/// An epoch that is dated back would take validity from packets that were good.
#[test]
fn a_clock_that_is_behind_dates_nothing_back() {
    let mut acme = TestGroup::new(Scheme::Xr);
    acme.enrol_all(&["a", "b"]);
    for hour in 1..=40 {
        let now = NOW + hour * DAY / 24;
        acme.store.judge_clock(now).unwrap(); // as a service does while nothing happens
    }
    let seen = NOW + 40 * DAY / 24;
    let behind = EpochStart::now(seen - AHEAD_NS - 1);
    let refused = acme.try_revoke(&["a"], false, behind).unwrap_err();
    assert!(
        matches!(refused, StoreError::ClockBehind { last } if last == seen),
        "{refused}"
    );
    // Another process knows the same.
    let other = Store::open(&acme.dir).unwrap();
    assert!(other.judge_clock(seen - AHEAD_NS - 1).is_err());
    other.judge_clock(seen).unwrap();
    // What was believed can be taken back, a record cannot.
    acme.try_revoke(&["a"], false, EpochStart::now(seen))
        .unwrap();
    let refused = acme.store.confirm_clock(NOW).unwrap_err();
    assert!(
        matches!(refused, StoreError::ClockBehind { .. }),
        "{refused}"
    );
}

/// An opening needs no right clock, and its checkpoint dates nothing.
#[test]
fn a_wrong_clock_keeps_nobody_from_an_opening() {
    let mut acme = TestGroup::new(Scheme::Xr);
    acme.enrol("a");
    for wrong in [NOW + 900 * DAY, 0] {
        let time = acme.group().register().time;
        acme.store.keep(&acme.issuer, 1, wrong).unwrap();
        assert_eq!(acme.group().register().time, time);
    }
}
