//! The register: every row proves itself, an opened base leads to its row, and revoked rows get
//! nothing.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod common;
#[path = "common/court.rs"]
mod court;

use clew_evidence::{Row, Search};
use clew_group::curve::G1;
use clew_group::{EpochId, Revoked, Scheme};
use clew_manager::StoreError;
use clew_manager::keys::MemberKeyFile;
use clew_manager::store::INDEXES;
use common::*;
use std::fs;

fn rows(office: &Office) -> Vec<Row> {
    let mut rows = Vec::new();
    let each = |machine| -> Result<(), StoreError> {
        rows.push(office.store.row(&machine)?);
        Ok(())
    };
    office.store.machines(each).unwrap();
    rows
}

/// Rows are of the present size; a checkpoint keeps them good for ever.
#[test]
fn rows_stay_good_if_there_was_a_checkpoint() {
    for scheme in BOTH {
        let mut office = Office::new(scheme);
        let mut kept: Vec<Row> = Vec::new();
        let mut lost: Vec<Row> = Vec::new();
        for machines in 1..=20u32 {
            office.enrol(&format!("m-{machines}"));
            let keeps = machines % 3 == 0;
            if keeps {
                office.store.checkpoint(&office.issuer, LATER).unwrap();
                // Once more changes nothing.
                office.store.checkpoint(&office.issuer, LATER).unwrap();
            }
            let (group, rows) = (published(&office.dir), rows(&office));
            assert_eq!(rows.len(), machines as usize);
            for (index, row) in (0..).zip(&rows) {
                assert_eq!(row.entry.index, index);
                assert!(row.is_in_register_of(&group), "{index} of {machines}");
                assert_eq!(Row::decode(scheme, &row.encode()).as_ref(), Some(row));
            }
            let row = rows[machines as usize / 2].clone();
            if keeps { &mut kept } else { &mut lost }.push(row);
        }
        let group = office.group();
        assert_eq!(group.checkpoints().len(), 6);
        assert!(kept.iter().all(|row| row.is_in_register_of(&group)));
        let present = lost.pop().unwrap();
        assert!(present.is_in_register_of(&group));
        assert!(!lost.iter().any(|row| row.is_in_register_of(&group)));
        let mut moved = kept[2].clone();
        moved.entry.index ^= 1;
        assert!(!moved.is_in_register_of(&group));
        let other = Office::of(scheme, quorum(1, 1), 2).group();
        assert!(!kept[2].is_in_register_of(&other));
    }
}

/// The root of every earlier size is known, and only of those.
#[test]
fn earlier_roots_are_known() {
    let mut office = Office::new(Scheme::Xr);
    let mut roots = vec![office.group().register().root];
    for machine in 0..9 {
        office.enrol(&format!("m-{machine}"));
        roots.push(office.group().register().root);
    }
    for (machines, root) in (0..).zip(roots) {
        assert_eq!(office.store.root_at(machines), Some(root));
    }
    assert_eq!(office.store.root_at(10), None);
}

/// Machines by epoch of joining and of revocation: a (0, never), b (0, 1), c (1, never), d (1, 2); in
/// epoch 2 the base starts anew, or not.
fn history(scheme: Scheme, rebase: bool) -> Office {
    let mut office = Office::new(scheme);
    for name in ["a", "b"] {
        office.enrol(name);
    }
    office.revoke("b");
    for name in ["c", "d"] {
        office.enrol(name);
    }
    office.revoke_all(&["d"], rebase);
    office
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
/// Who has a base in epochs 0 to 2: late joiners too.
const WITH_BASE: [&str; 3] = ["abcd", "acd", "ac"];

/// Every base leads to its row and to no other, in every epoch; revoked rows have none.
#[test]
fn a_base_leads_to_its_row() {
    for (scheme, rebase) in [
        (Scheme::Xr, false),
        (Scheme::Xr, true),
        (Scheme::Bbs04, true),
    ] {
        let office = history(scheme, rebase);
        let group = office.checked();
        for (epoch, with_base) in (0..).zip(WITH_BASE) {
            for name in NAMES {
                let base = office.base(name, epoch);
                assert_eq!(base.is_ok(), with_base.contains(name), "{name} in {epoch}");
                let Ok(base) = base else { continue };
                let search = Search::new(&group, epoch, &base).unwrap();
                assert_eq!(office.find(epoch, search), Some(office.found(name)));
                let elsewhere = (epoch + 1) % 3;
                let search = Search::new(&group, elsewhere, &base).unwrap();
                assert_eq!(office.find(elsewhere, search), None);
            }
            let index = office.dir.join(INDEXES).join(epoch.to_string());
            let length = index.metadata().unwrap().len() as usize;
            assert_eq!(length, 108 + 12 * with_base.len() + 32);
        }
    }
}

/// The base that a revoked machine would have, had the issuer helped it: it is named all the same.
#[test]
fn revoked_rows_are_named_too() {
    let office = history(Scheme::Xr, false);
    let (group, machine) = (
        office.checked(),
        office.store.machine("b").unwrap().unwrap(),
    );
    let epoch = 1;
    // Against rule 2: the witness of a revoked row.
    let public = group.public_key(epoch).unwrap().unwrap();
    let helpful = office.issuer.issuer.in_epoch(&public, []).unwrap();
    let x = machine.x(&office.issuer);
    let base = helpful.base(&machine.credential().unwrap(), &x).unwrap();
    assert_eq!(office.base("b", epoch), Err(Revoked));
    let search = Search::new(&group, epoch, &base).unwrap();
    assert_eq!(office.find(epoch, search), Some(office.found("b")));
}

/// What the machine signs with is what the issuer computes, in every epoch that it lived through.
#[test]
fn the_issuers_base_is_the_machines_own() {
    for scheme in BOTH {
        let mut office = Office::new(scheme);
        let mut key = office.enrol("a");
        for victim in ["b", "c", "d"] {
            office.enrol(victim);
            let epoch = office.revoke(victim);
            key = office.update(&key).unwrap();
            let base = own_base(&key);
            assert_eq!(Ok(base), office.base("a", epoch));
        }
    }
}

fn own_base(key: &MemberKeyFile) -> G1 {
    let witness = G1::from_bytes(&key.newest().unwrap().witness.to_bytes()[..]).unwrap();
    key.key.credential() + witness
}

/// A register that grew is looked up whole: an index of before does not hide a row.
#[test]
fn later_rows_are_found_in_earlier_epochs() {
    for scheme in BOTH {
        let mut office = Office::new(scheme);
        office.enrol("a");
        let find = |office: &Office, name: &str| {
            let base = office.base(name, 0).unwrap();
            let search = Search::new(&office.checked(), 0, &base).unwrap();
            assert_eq!(office.find(0, search), Some(office.found(name)), "{name}");
        };
        find(&office, "a");
        for name in ["b", "c"] {
            office.enrol(name);
            find(&office, name);
        }
        office.revoke("b");
        office.enrol("late");
        for name in ["a", "b", "c", "late"] {
            find(&office, name);
        }
    }
}

/// The issuer key of another group gives nothing.
#[test]
fn bases_take_the_issuer_key_of_the_group() {
    let office = history(Scheme::Xr, false);
    let stranger = Office::of(Scheme::Xr, quorum(1, 1), 5);
    let refused = |result: Result<(), StoreError>| {
        assert!(matches!(result, Err(StoreError::OtherGroupsKey)));
    };
    refused(office.store.epoch_issuer(&stranger.issuer, 0).map(drop));
    let base = office.base("a", 0).unwrap();
    let search = Search::new(&office.checked(), 0, &base).unwrap();
    let found = office
        .store
        .find_signer(&stranger.issuer, 0, search, &mut |_, _| true);
    refused(found.map(drop));
    assert!(!office.dir.join(INDEXES).exists());
}

/// A copy of the store whose epochs took another way has other indexes.
#[test]
fn the_index_of_another_history_is_not_used() {
    let office = history(Scheme::Xr, false);
    let base = office.base("a", 1).unwrap();
    let search = || Search::new(&office.checked(), 1, &base).unwrap();
    office.find(1, search()).unwrap();
    let path = office.dir.join(INDEXES).join("1");
    let good = fs::read(&path).unwrap();
    let mut other = good.clone();
    let EpochId(id) = office.group().epoch_id(1).unwrap();
    let at = good.windows(32).position(|bytes| bytes == id).unwrap();
    other[at] ^= 1;
    fs::write(&path, other).unwrap();
    assert_eq!(office.find(1, search()), Some(office.found("a")));
    assert_eq!(fs::read(&path).unwrap(), good);
}
