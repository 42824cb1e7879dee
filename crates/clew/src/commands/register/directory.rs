//! The register in the group's directory, with the issuer key.

use super::{Candidate, InUse, no_such_machine, not_a_member};
use crate::clock;
use crate::failure::Failure;
use crate::progress::while_counting;
use crate::secrets::Unlock;
use clew_evidence::{FoundRow, GroupFile, OpenedBase, Row, Search};
use clew_group::Scheme;
use clew_group::curve::G1;
use clew_keys::IssuerKeyFile;
use clew_manager::{Machine, Store};
use std::path::{Path, PathBuf};

pub struct Directory {
    store: Store,
    issuer: IssuerKeyFile,
    /// The sizes of the register that the given file vouches for.
    given: Vec<u32>,
}

impl Directory {
    /// Opens the directory of the group that `given` is an earlier or the same file of.
    pub fn open(path: &Path, given: &GroupFile, unlock: &Unlock) -> Result<Self, Failure> {
        let store = Store::open(path)?;
        check_history(path, &store, given)?;
        let issuer = unlock.issuer(&store);
        let issuer = issuer.map_err(|failure| match store.issuer_key_path().exists() {
            true => failure,
            false => without_key(failure),
        })?;
        let checkpoints = given.checkpoints().iter();
        let sizes = checkpoints.map(|checkpoint| checkpoint.machines);
        Ok(Self {
            store,
            issuer,
            given: sizes.chain([given.register().machines]).collect(),
        })
    }

    pub fn group(&self) -> &GroupFile {
        self.store.group()
    }

    pub fn group_file_path(&self) -> PathBuf {
        self.store.group_file_path()
    }

    /// Keeps a row good that is given to others, and says so if evidence with it is not judged under
    /// the given file.
    pub fn keep(&mut self, row: &Row) -> Result<(), Failure> {
        self.store
            .keep(&self.issuer, row.machines, clock::now_ns())?;
        if !self.given.contains(&row.machines) {
            let path = self.store.group_file_path();
            mention!(
                "clew: the register has grown since this group file: judging requires {} or a \
                 later one",
                path.display()
            );
        }
        Ok(())
    }

    pub fn find(&self, epoch: u32, search: Search) -> Result<Option<FoundRow>, Failure> {
        let (store, issuer) = (&self.store, &self.issuer);
        let found = while_counting("computing the index of this epoch", |progress| {
            store.find_signer(issuer, epoch, search, progress)
        });
        Ok(found?)
    }

    pub fn locator(&self, opened: &OpenedBase) -> Result<Option<G1>, Failure> {
        Ok(self.store.locator(&self.issuer, opened)?)
    }

    pub fn candidate(&self, name: &str, epoch: u32) -> Result<Candidate, Failure> {
        let machine = self.named(name, epoch)?;
        let issuer = self.store.epoch_issuer(&self.issuer, epoch)?;
        let x = machine.x(&self.issuer);
        let base = issuer.base(&machine.credential()?, &x);
        Ok(Candidate {
            base: base.map_err(|_| not_a_member(name, epoch))?,
            found: FoundRow {
                row: self.store.row(&machine)?,
                x: (self.group().scheme() == Scheme::Xr).then_some(x),
            },
        })
    }

    fn named(&self, name: &str, epoch: u32) -> Result<Machine, Failure> {
        let mut named = InUse::new(epoch);
        for row in rows_named(&self.store, name)?.into_iter().rev() {
            named.add(row.entry.joined, row);
        }
        named.row().ok_or_else(|| no_such_machine(name))
    }
}

/// All rows that have or had a name, the last one first.
pub fn rows_named(store: &Store, name: &str) -> Result<Vec<Machine>, Failure> {
    let mut rows = Vec::new();
    let mut next = store.machine(name)?;
    while let Some(row) = next {
        // Rows are replaced by later ones only: the store checks that, and a damaged one ends here.
        let before = row
            .entry
            .replaces
            .filter(|before| *before < row.entry.index);
        next = match before {
            Some(before) => store.machine_at(before)?,
            None => None,
        };
        rows.push(row);
    }
    Ok(rows)
}

/// Evidence is about the history that the given file has, or about none.
fn check_history(path: &Path, store: &Store, given: &GroupFile) -> Result<(), Failure> {
    let (group, newest) = (store.group(), given.newest_epoch());
    if group.id() != given.id() {
        return Err(Failure::file(path, "register belongs to another group"));
    }
    let register = given.register();
    let same_epochs = group.epoch_id(newest) == given.epoch_id(newest);
    let same_rows = store.root_at(register.machines)? == Some(register.root);
    match same_epochs && same_rows {
        true => Ok(()),
        false => Err(Failure::file(
            path,
            "register is older than the group file, or from another history of the group",
        )
        .hint(
            "compare their epoch ids and registers with clew group show. If the directory was \
             copied or restored, the group file counts",
        )),
    }
}

fn without_key(failure: Failure) -> Failure {
    failure.hint(
        "a directory requires its issuer key. Elsewhere use a register file: clew group register \
         DIR -o REGISTER",
    )
}
