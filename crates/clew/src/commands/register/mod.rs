//! Where machines are looked up: the group's directory, or a register file.

mod directory;
mod export;
mod file;
mod lines;

pub use export::export;

use crate::failure::Failure;
use crate::groups::check;
use crate::secrets::Unlock;
use clew_evidence::{CheckedGroup, FoundRow, GroupFile, OpenedBase, Row, Search};
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
    pub found: FoundRow,
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

    /// The group file of a directory.
    pub fn group_file_path(&self) -> Option<std::path::PathBuf> {
        match &self.place {
            Place::Directory(directory) => Some(directory.group_file_path()),
            Place::File(_) => None,
        }
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
    pub fn find(&self, epoch: u32, search: Search) -> Result<Option<FoundRow>, Failure> {
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
    pub fn locator(&self, opened: &OpenedBase) -> Result<G1, Failure> {
        match &self.place {
            Place::Directory(directory) => directory.locator(opened)?.ok_or_else(|| {
                Failure::new(
                    "--write-q requires scheme xr: rows of bbs04 groups are found using pairings",
                )
            }),
            Place::File(_) => Err(Failure::new("--write-q requires the issuer key")
                .hint("use the group's directory: --register DIR")),
        }
    }
}

/// The row of a register file with that leaf hash.
///
/// # Errors
/// The file cannot be read, or lacks the row.
pub fn row_with_leaf(path: &Path, group: &GroupFile, leaf: &[u8; 32]) -> Result<Row, Failure> {
    let row = RegisterFile::open(path, group)?.with_leaf(group, leaf)?;
    row.ok_or_else(|| {
        Failure::file(
            path,
            "no row of this register has the leaf hash that the warrant names",
        )
        .hint("use a register file and a group file that are as new as the warrant")
    })
}

fn no_such_machine(name: &str) -> Failure {
    Failure::new(format!("machine {name} is not in the register"))
}

fn not_a_member(name: &str, epoch: u32) -> Failure {
    Failure::new(format!(
        "machine {name} could not sign in the packet's epoch {epoch}: it was revoked in that epoch \
         or before"
    ))
    .no()
}

/// Of several rows that have one name, one after the other: the one that had it in an epoch. Before
/// the first it is the first: it may have dated back. Holds one row, however many there are.
struct InUse<T> {
    epoch: u32,
    best: Option<((bool, u32), T)>,
}

impl<T> InUse<T> {
    fn new(epoch: u32) -> Self {
        Self { epoch, best: None }
    }

    /// Takes in a row that joined in that epoch. Of equals the later one counts.
    fn add(&mut self, joined: u32, row: T) {
        let rank = match joined <= self.epoch {
            true => (true, joined),
            false => (false, u32::MAX - joined),
        };
        if self.best.as_ref().is_none_or(|(best, _)| *best <= rank) {
            self.best = Some((rank, row));
        }
    }

    fn row(self) -> Option<T> {
        self.best.map(|(_, row)| row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_that_of_the_row_of_its_time() {
        let of = |epoch| {
            let mut name = InUse::new(epoch);
            for (joined, row) in [(2, "zeroth"), (2, "first"), (5, "second"), (9, "third")] {
                name.add(joined, row);
            }
            name.row().unwrap()
        };
        assert_eq!([0, 1, 2, 4].map(of), ["first"; 4]);
        assert_eq!([5, 8].map(of), ["second"; 2]);
        assert_eq!(of(100), "third");
        assert_eq!(InUse::<()>::new(3).row(), None);
    }
}
