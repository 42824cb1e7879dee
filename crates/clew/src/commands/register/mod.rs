//! Where machines are looked up: the group's directory, or a register file.

mod directory;
mod export;
mod file;
mod lines;

pub use export::export;

use crate::failure::Failure;
use crate::keyring::check;
use crate::secrets::Unlock;
use clew_evidence::{CheckedGroup, Found, GroupFile, Row, Search};
use clew_group::curve::G1;
use directory::Directory;
use file::RegisterFile;
use std::path::Path;

/// A register, and the group file under which its rows count.
pub struct Register {
    group: CheckedGroup,
    place: Place,
}

enum Place {
    Directory(Box<Directory>),
    File(Box<RegisterFile>),
}

/// The machine of a match.
pub struct Candidate {
    /// Its row, and its x.
    pub found: Found,
    /// The base that it signs with in the packet's epoch.
    pub base: G1,
}

impl Register {
    /// Opens the register of a group.
    ///
    /// # Errors
    /// It cannot be read, is of another group, or of another history than `given`; the chain of the
    /// group file is wrong; a directory's issuer key stays locked.
    pub fn open(path: &Path, given: GroupFile, unlock: &Unlock) -> Result<Self, Failure> {
        if !path.is_dir() {
            return Self::of_file(path, given);
        }
        let directory = Directory::open(path, &given, unlock)?;
        Ok(Self {
            group: check(&directory.group_file_path(), directory.group().clone())?,
            place: Place::Directory(Box::new(directory)),
        })
    }

    fn of_file(path: &Path, given: GroupFile) -> Result<Self, Failure> {
        let file = RegisterFile::open(path, &given)?;
        Ok(Self {
            group: check(path, given)?,
            place: Place::File(Box::new(file)),
        })
    }

    /// The group file under which rows count: the one that was given; with a directory, the present
    /// one, which extends it.
    pub fn group(&self) -> &CheckedGroup {
        &self.group
    }

    /// Keeps a row of this register good for those to whom it is given, however the register grows.
    /// Rows of a file are good already.
    ///
    /// # Errors
    /// The directory cannot be written, or its register became another one meanwhile.
    pub fn keep(&mut self, row: &Row) -> Result<(), Failure> {
        match &mut self.place {
            Place::Directory(directory) => directory.keep(row),
            Place::File(_) => Ok(()),
        }
    }

    /// The row of an opened base.
    ///
    /// # Errors
    /// The register cannot be read, lacks rows or has wrong ones; the work was interrupted.
    pub fn find(&self, epoch: u32, search: Search) -> Result<Option<Found>, Failure> {
        match &self.place {
            Place::Directory(directory) => directory.find(epoch, search),
            Place::File(file) => file.find(&self.group, epoch, &search),
        }
    }

    /// The machine of that name, with the base that it signs with in `epoch`.
    ///
    /// # Errors
    /// There is none, it is revoked by then (a no), or the register has no points of that epoch.
    pub fn candidate(&self, name: &str, epoch: u32) -> Result<Candidate, Failure> {
        match &self.place {
            Place::Directory(directory) => directory.candidate(name, epoch),
            Place::File(file) => file.candidate(name, epoch),
        }
    }

    /// Q = B^gamma for an opened base (`xr`).
    ///
    /// # Errors
    /// Only the group's directory has gamma; the group is of `bbs04`.
    pub fn locator(&self, base: &G1) -> Result<G1, Failure> {
        match &self.place {
            Place::Directory(directory) => directory.locator(base)?.ok_or_else(|| {
                Failure::new("--write-q: bbs04 groups have no Q, their rows are found by pairings")
            }),
            Place::File(_) => Err(Failure::new("--write-q needs the issuer key")
                .hint("give the group's directory: --register DIR")),
        }
    }
}

fn no_such_machine(name: &str) -> Failure {
    Failure::new(format!("no machine named {name} is in the register"))
}

fn not_a_member(name: &str, epoch: u32) -> Failure {
    Failure::new(format!(
        "{name} was revoked at or before epoch {epoch}, that of the packet: it could not sign in it"
    ))
    .no()
}

/// Of several rows that have one name, one after the other: the one that had it in `epoch`, given
/// when each joined. Before the first it is the first: it may have dated back.
fn in_use<T>(rows: impl IntoIterator<Item = (u32, T)>, epoch: u32) -> Option<T> {
    let rank = |joined: u32| match joined <= epoch {
        true => (1, joined),
        false => (0, u32::MAX - joined),
    };
    let best = rows.into_iter().max_by_key(|(joined, _)| rank(*joined));
    best.map(|(_, row)| row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_that_of_the_row_of_its_time() {
        let rows = || [(2, "first"), (5, "second"), (9, "third")];
        let of = |epoch| in_use(rows(), epoch).unwrap();
        assert_eq!([0, 1, 2, 4].map(of), ["first"; 4]);
        assert_eq!([5, 8].map(of), ["second"; 2]);
        assert_eq!(of(100), "third");
        assert_eq!(in_use::<()>([], 3), None);
    }
}
