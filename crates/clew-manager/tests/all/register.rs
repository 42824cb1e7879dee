//! The register: every row proves itself, an opened base leads to its row, and revoked rows get
//! nothing.

use crate::common::*;
use clew_evidence::{Row, Search};
use clew_group::curve::G1;
use clew_group::{EpochId, Revoked, Scheme};
use clew_keys::MemberKeyFile;
use clew_manager::{INDEXES, StoreError};
use std::fs;

fn rows(acme: &TestGroup) -> Vec<Row> {
    let mut rows = Vec::new();
    let each = |machine| -> Result<(), StoreError> {
        rows.push(acme.store.row(&machine)?);
        Ok(())
    };
    acme.store.machines(each).unwrap();
    rows
}

/// Rows of the present size are good until the register grows; rows that are kept stay good.
#[test]
fn rows_stay_good_if_they_were_kept() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        let mut kept: Vec<Row> = Vec::new();
        let mut lost: Vec<Row> = Vec::new();
        for machines in 1..=20u32 {
            acme.enrol(&format!("m-{machines}"));
            let (group, rows) = (published(&acme.dir), rows(&acme));
            assert_eq!(rows.len(), machines as usize);
            for (index, row) in (0..).zip(&rows) {
                assert_eq!(row.entry.index, index);
                assert!(row.is_in_register_of(&group), "{index} of {machines}");
                assert_eq!(Row::decode(scheme, &row.encode()).as_ref(), Some(row));
            }
            let last = rows[machines as usize - 1].clone();
            if machines % 3 == 0 {
                acme.keep(&last);
                kept.push(last);
            } else {
                lost.push(last);
            }
        }
        let group = acme.group();
        let sizes = group.checkpoints().iter().map(|c| c.machines);
        assert_eq!(sizes.collect::<Vec<_>>(), [3, 6, 9, 12, 15, 18]);
        assert!(kept.iter().all(|row| row.is_in_register_of(&group)));
        let present = lost.pop().unwrap();
        assert!(present.is_in_register_of(&group));
        assert!(!lost.iter().any(|row| row.is_in_register_of(&group)));
        let mut moved = kept[2].clone();
        moved.entry.index ^= 1;
        assert!(!moved.is_in_register_of(&group));
        let other = TestGroup::of(scheme, quorum(1, 1), 2).group();
        assert!(!kept[2].is_in_register_of(&other));
    }
}

/// Every epoch binds the register and makes it a checkpoint, once and not if it is empty.
#[test]
fn epochs_make_checkpoints() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        acme.revoke_all(&[], true);
        assert!(acme.group().checkpoints().is_empty());
        acme.enrol_all(&["a", "b"]);
        acme.revoke("a");
        acme.revoke("b");
        acme.enrol_all(&["c", "d"]);
        let kept = acme.row("d");
        acme.keep(&kept); // between two epochs
        acme.revoke("c");
        acme.enrol("e");
        acme.revoke("d");
        let group = published(&acme.dir);
        let bound = group.epochs().iter().map(|record| record.machines);
        assert_eq!(bound.collect::<Vec<_>>(), [0, 2, 2, 4, 5]);
        let sizes = group.checkpoints().iter().map(|c| c.machines);
        assert_eq!(sizes.collect::<Vec<_>>(), [2, 4, 5]);
        for record in group.epochs() {
            let root = acme.store.root_at(record.machines).unwrap().unwrap();
            assert_eq!(record.root, root);
        }
    }
}

/// A row is given out under a checkpoint that others know: the public learns of nothing. Only a
/// machine that was enrolled since the last one needs another.
#[test]
fn rows_of_checkpoints_change_no_published_byte() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        acme.enrol_all(&["early", "goes"]);
        acme.revoke("goes");
        acme.enrol("late");
        let file = |acme: &TestGroup| fs::read(acme.store.group_file_path()).unwrap();
        let before = file(&acme);
        let early = acme.row("early");
        assert_eq!(early.machines, 2);
        acme.keep(&early);
        assert!(file(&acme) == before, "not a byte");
        let late = acme.row("late");
        acme.keep(&late);
        let after = file(&acme);
        assert_eq!(after.len() - before.len(), checkpoint_bytes(&acme));
        assert_eq!(published(&acme.dir).checkpoints()[1].machines, 3);
        acme.keep(&late);
        acme.keep(&acme.row("late"));
        assert!(file(&acme) == after, "once");
        acme.enrol_all(&["x", "y"]);
        acme.revoke("x");
        acme.enrol("z");
        let group = published(&acme.dir);
        for row in [&early, &late] {
            assert!(row.is_in_register_of(&group));
            let name = row.entry.name.as_str();
            assert_eq!(&acme.row(name), row, "and is given out again");
        }
    }
}

/// The last checkpoint as a part of the file, and the growth of the head by its proof.
fn checkpoint_bytes(acme: &TestGroup) -> usize {
    let group = acme.group();
    let checkpoint = group.checkpoints().last().unwrap();
    // Before, the head had the proof that the checkpoint has now.
    4 + checkpoint.encode().len() + 64 - 32 * checkpoint.hashes.len()
}

/// A row whose size was passed by a checkpoint cannot be kept: it is made again.
#[test]
fn a_size_behind_a_checkpoint_is_not_kept() {
    let mut acme = TestGroup::new(Scheme::Xr);
    acme.enrol("a");
    let row = acme.row("a");
    acme.enrol("b");
    let size = acme.store.size_with(1);
    acme.store.keep(&acme.issuer, size, LATER).unwrap();
    let before = fs::read(acme.store.group_file_path()).unwrap();
    let refused = acme.store.keep(&acme.issuer, row.machines, LATER);
    assert!(matches!(refused, Err(StoreError::RegisterMoved)));
    assert_eq!(fs::read(acme.store.group_file_path()).unwrap(), before);
    let again = acme.row("a");
    assert_eq!((row.machines, again.machines), (1, 2));
    acme.keep(&again);
}

/// Another process enrolled a machine after the row was made, and gave nothing out: it is kept.
#[test]
fn a_size_before_the_present_one_is_kept() {
    let mut acme = TestGroup::new(Scheme::Xr);
    acme.enrol("a");
    let row = acme.row("a");
    acme.enrol("b");
    acme.keep(&row);
    let group = published(&acme.dir);
    assert_eq!(
        (group.checkpoints()[0].machines, group.register().machines),
        (1, 2)
    );
    assert!(row.is_in_register_of(&group));
}

/// The root of every earlier size is known, and only of those.
#[test]
fn earlier_roots_are_known() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let mut roots = vec![acme.group().register().root];
    for machine in 0..9 {
        acme.enrol(&format!("m-{machine}"));
        roots.push(acme.group().register().root);
    }
    for (machines, root) in (0..).zip(roots) {
        assert_eq!(acme.store.root_at(machines).unwrap(), Some(root));
    }
    assert_eq!(acme.store.root_at(10).unwrap(), None);
}

/// Machines by epoch of joining and of revocation: a (0, never), b (0, 1), c (1, never), d (1, 2); in
/// epoch 2 the base starts anew, or not.
fn history(scheme: Scheme, rebase: bool) -> TestGroup {
    let mut acme = TestGroup::new(scheme);
    for name in ["a", "b"] {
        acme.enrol(name);
    }
    acme.revoke("b");
    for name in ["c", "d"] {
        acme.enrol(name);
    }
    acme.revoke_all(&["d"], rebase);
    acme
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
        let acme = history(scheme, rebase);
        let group = acme.checked();
        for (epoch, with_base) in (0..).zip(WITH_BASE) {
            for name in NAMES {
                let base = acme.base(name, epoch);
                assert_eq!(base.is_ok(), with_base.contains(name), "{name} in {epoch}");
                let Ok(base) = base else { continue };
                let search = Search::new(&group, epoch, &base).unwrap();
                assert_eq!(acme.find(epoch, search), Some(acme.found(name)));
                let elsewhere = (epoch + 1) % 3;
                let search = Search::new(&group, elsewhere, &base).unwrap();
                assert_eq!(acme.find(elsewhere, search), None);
            }
            let index = acme.dir.join(INDEXES).join(epoch.to_string());
            let length = index.metadata().unwrap().len() as usize;
            assert_eq!(length, 108 + 12 * with_base.len() + 32);
        }
    }
}

/// The base that a revoked machine would have, had the issuer helped it: it is named all the same.
#[test]
fn revoked_rows_are_named_too() {
    let acme = history(Scheme::Xr, false);
    let (group, machine) = (acme.checked(), acme.store.machine("b").unwrap().unwrap());
    let epoch = 1;
    // Against rule 2: the witness of a revoked row.
    let public = group.public_key(epoch).unwrap().unwrap();
    let helpful = acme.issuer.issuer.in_epoch(&public, []).unwrap();
    let x = machine.x(&acme.issuer);
    let base = helpful.base(&machine.credential().unwrap(), &x).unwrap();
    assert_eq!(acme.base("b", epoch), Err(Revoked));
    let search = Search::new(&group, epoch, &base).unwrap();
    assert_eq!(acme.find(epoch, search), Some(acme.found("b")));
}

/// What the machine signs with is what the issuer computes, in every epoch that it lived through.
#[test]
fn the_issuers_base_is_the_machines_own() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        let mut key = acme.enrol("a");
        for victim in ["b", "c", "d"] {
            acme.enrol(victim);
            let epoch = acme.revoke(victim);
            key = acme.update(&key).unwrap();
            let base = own_base(&key);
            assert_eq!(Ok(base), acme.base("a", epoch));
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
        let mut acme = TestGroup::new(scheme);
        acme.enrol("a");
        let find = |acme: &TestGroup, name: &str| {
            let base = acme.base(name, 0).unwrap();
            let search = Search::new(&acme.checked(), 0, &base).unwrap();
            assert_eq!(acme.find(0, search), Some(acme.found(name)), "{name}");
        };
        find(&acme, "a");
        for name in ["b", "c"] {
            acme.enrol(name);
            find(&acme, name);
        }
        acme.revoke("b");
        acme.enrol("late");
        for name in ["a", "b", "c", "late"] {
            find(&acme, name);
        }
    }
}

/// The issuer key of another group gives nothing.
#[test]
fn bases_take_the_issuer_key_of_the_group() {
    let acme = history(Scheme::Xr, false);
    let stranger = TestGroup::of(Scheme::Xr, quorum(1, 1), 5);
    let refused = |result: Result<(), StoreError>| {
        assert!(matches!(result, Err(StoreError::OtherGroupsKey)));
    };
    refused(acme.store.epoch_issuer(&stranger.issuer, 0).map(drop));
    let base = acme.base("a", 0).unwrap();
    let search = Search::new(&acme.checked(), 0, &base).unwrap();
    let found = acme
        .store
        .find_signer(&stranger.issuer, 0, search, &mut |_, _| true);
    refused(found.map(drop));
    assert!(!acme.dir.join(INDEXES).exists());
}

/// A copy of the store whose epochs took another way has other indexes.
#[test]
fn the_index_of_another_history_is_not_used() {
    let acme = history(Scheme::Xr, false);
    let base = acme.base("a", 1).unwrap();
    let search = || Search::new(&acme.checked(), 1, &base).unwrap();
    acme.find(1, search()).unwrap();
    let path = acme.dir.join(INDEXES).join("1");
    let good = fs::read(&path).unwrap();
    let mut other = good.clone();
    let EpochId(id) = acme.group().epoch_id(1).unwrap();
    let at = good.windows(32).position(|bytes| bytes == id).unwrap();
    other[at] ^= 1;
    fs::write(&path, other).unwrap();
    assert_eq!(acme.find(1, search()), Some(acme.found("a")));
    assert_eq!(fs::read(&path).unwrap(), good);
}
