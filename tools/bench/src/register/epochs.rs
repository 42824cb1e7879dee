//! Revocations: the issuer's work, each member's, and everybody's who loads a group file.

use crate::groups::{XrGroup, quorum, rng};
use crate::issuing::{Issuing, NOW, checked, name};
use crate::measure::Case;
use clew_evidence::GroupFile;
use clew_group::Scheme;
use clew_group::curve::Scalar;
use clew_keys::update::{NoWitnesses, update};
use clew_keys::{IssuerKeyFile, MemberKeyFile};
use clew_manager::{EpochStart, GROUP_FILE, Store};
use std::cell::Cell;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Revocations in the longest history.
const MANY: u32 = 100;

/// A store as it was before any revocation, and the group file after one and after many.
pub struct History {
    before: TempDir,
    issuer: IssuerKeyFile,
    key: MemberKeyFile,
    /// The bytes of group files, by their newest epoch.
    files: [(u32, Vec<u8>); 3],
}

impl History {
    pub fn new() -> Self {
        let mut issuing = Issuing::new(Scheme::Xr, quorum(2, 3));
        let key = issuing.enrol("keeper");
        for epoch in 1..=MANY {
            issuing.enrol(&revoked(epoch));
        }
        issuing.store.refresh().expect("the store is whole");
        let before = tempfile::tempdir().expect("a temporary directory");
        copy(&issuing.dir(), &before.path().join("group"));
        let file = |issuing: &Issuing| {
            let read = fs::read(issuing.dir().join(GROUP_FILE));
            read.expect("the store's own file")
        };
        let none = file(&issuing);
        revoke(&mut issuing.store, &issuing.issuer, 1);
        let one = file(&issuing);
        for epoch in 2..=MANY {
            revoke(&mut issuing.store, &issuing.issuer, epoch);
        }
        Self {
            files: [(0, none), (1, one), (MANY, file(&issuing))],
            before,
            issuer: issuing.issuer,
            key,
        }
    }

    /// A fresh copy of the store, which later copies do not touch.
    fn store(&self, number: u32) -> Store {
        let copied = self.before.path().join(number.to_string());
        copy(&self.before.path().join("group"), &copied);
        Store::open(&copied).expect("a copy of a store")
    }
}

/// The machine that the change to an epoch revokes.
fn revoked(epoch: u32) -> String {
    format!("machine-{epoch}")
}

fn revoke(store: &mut Store, issuer: &IssuerKeyFile, epoch: u32) -> u32 {
    let when = EpochStart {
        now: NOW,
        start: NOW + u64::from(epoch),
        far: false,
    };
    let machine = [name(&revoked(epoch))];
    let made = store.revoke(issuer, &machine, false, when, &mut |_, _| true);
    made.expect("a machine of the store")
}

/// Copies a directory of directories of files.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a temporary directory");
    for entry in fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("the disk takes it");
        }
    }
}

/// The rows.
pub fn all<'a>(group: &'a XrGroup, history: &'a History) -> Vec<Case<'a>> {
    let mut cases = one_revocation(group);
    cases.push(in_store(history));
    cases.extend(
        history
            .files
            .iter()
            .flat_map(|(n, f)| by_length(history, *n, f)),
    );
    cases
}

/// The scheme's part.
fn one_revocation(group: &XrGroup) -> Vec<Case<'_>> {
    let XrGroup {
        issuer,
        public,
        member,
        witness,
        ..
    } = group;
    let x = Scalar::random(&mut rng(7));
    let step = issuer.revoke(public, &x);
    let steps = [step.expect("a random x is not -gamma")];
    let next = public.after(&steps[0]).expect("the issuer's own");
    let after = witness.after(member.x(), &steps);
    assert!(after.is_ok_and(|after| member.check(&next, &after).is_ok()));
    let step = steps[0].clone();
    vec![
        Case::new("revoke", "issuer: what all others need", move || {
            issuer.revoke(public, &x)
        }),
        Case::new(
            "group-update",
            "anybody: the next key, checked",
            move || public.after(&step).is_ok(),
        ),
        Case::new("member-update", "member: W of the next epoch", move || {
            witness.after(member.x(), &steps).is_ok()
        }),
    ]
}

fn in_store(history: &History) -> Case<'_> {
    let copies = Cell::new(0);
    let store = move || {
        copies.set(copies.get() + 1);
        history.store(copies.get())
    };
    Case::with_input(
        "store-revoke",
        "issuer: on disk and published",
        store,
        |mut store| revoke(&mut store, &history.issuer, 1),
    )
}

/// What a group file with so many revocations costs its readers.
fn by_length<'a>(history: &'a History, epochs: u32, file: &'a [u8]) -> Vec<Case<'a>> {
    let group = GroupFile::from_bytes(file).expect("the store's own file");
    let chain = checked(&group);
    let update = move || {
        let now = NOW + u64::from(epochs);
        update(&history.key, &chain, now, &mut NoWitnesses).is_ok()
    };
    assert!(update());
    let mut weights = rng(8);
    vec![
        Case::new(
            format!("load-{epochs}"),
            "reads a group file of so many epochs",
            || GroupFile::from_bytes(file).is_ok(),
        ),
        Case::with_input(
            format!("load-check-{epochs}"),
            "and checks its chain of V",
            move || group.clone(),
            move |group| group.check_epochs(&mut weights).is_ok(),
        ),
        Case::new(
            format!("update-{epochs}"),
            "a member key over so many epochs, checked",
            update,
        ),
    ]
}
