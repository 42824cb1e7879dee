//! From a signature's base B_e to its row: an index for each epoch that was asked about, in a secret
//! directory of the store.
//!
//! Only the issuer can make one, and revoked rows are not in it (`spec/opening.md` section 4). At most
//! [`INDEXES_MAX`] are kept; the one that was written longest ago goes first. An index that is damaged,
//! or of another history of the group, is made again. One that only lacks the newest rows is extended.

mod table;
#[cfg(test)]
mod tests;

use crate::error::StoreError;
use clew_evidence::GroupId;
use clew_group::EpochId;
use std::fs::{self, DirBuilder};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use table::{Entry, Head, Table};

/// Most indexes that a store keeps: each has 12 bytes for a machine.
const INDEXES_MAX: usize = 16;

/// Rows whose bases are computed at once, between two reports of progress.
const ROWS_AT_ONCE: u32 = 1 << 14;

const MODE_DIRECTORY: u32 = 0o700;

/// Told how many rows are done, and of how many. Answers whether to go on.
pub type Progress<'p> = &'p mut dyn FnMut(u64, u64) -> bool;

/// The rows of which an index is made, in one epoch.
pub(crate) trait Rows {
    /// How many rows the register has.
    fn machines(&self) -> u32;

    /// Root of the register over its first rows.
    fn root(&self, machines: u32) -> Result<[u8; 32], StoreError>;

    /// How many rows were deleted, ever.
    fn deleted(&self) -> Result<u64, StoreError>;

    /// B_e of each of these rows, encoded; `None` for one that is revoked at or before the epoch.
    fn bases(&self, rows: Range<u32>) -> Result<Vec<Option<[u8; 48]>>, StoreError>;
}

/// The index of one epoch.
pub(crate) struct Index {
    path: PathBuf,
    group: GroupId,
    epoch: u32,
    epoch_id: EpochId,
}

impl Index {
    /// The index of `epoch` in that directory.
    pub fn new(directory: &Path, group: GroupId, epoch: u32, epoch_id: EpochId) -> Self {
        Self {
            path: directory.join(epoch.to_string()),
            group,
            epoch,
            epoch_id,
        }
    }

    /// The first row for which `fits` says yes among those whose base may be `base`. The index is
    /// made, or extended, if it is not there. If it has no such row, its checksum is looked at, and a
    /// damaged one is made again: an answer of `None` is not the fault of the disk.
    pub fn find<T>(
        &self,
        rows: &impl Rows,
        base: &[u8; 48],
        mut fits: impl FnMut(u32) -> Result<Option<T>, StoreError>,
        progress: Progress<'_>,
    ) -> Result<Option<T>, StoreError> {
        let table = match self.current(rows)? {
            Some(table) => table,
            None => self.extended(rows, progress)?,
        };
        let found = self.look_up(&table, base, &mut fits)?;
        if found.is_some() || self.io(table.read())?.is_some() {
            return Ok(found);
        }
        let table = self.made(rows, Vec::new(), 0, progress)?;
        self.look_up(&table, base, &mut fits)
    }

    fn look_up<T>(
        &self,
        table: &Table,
        base: &[u8; 48],
        fits: &mut impl FnMut(u32) -> Result<Option<T>, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        for row in self.io(table.find(base))? {
            // A damaged table may name rows that there are none of.
            if let Some(found) = fits(row)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The table, if it has all rows.
    fn current(&self, rows: &impl Rows) -> Result<Option<Table>, StoreError> {
        let table = self.of_this_history(rows)?;
        Ok(table.filter(|table| table.head().machines == rows.machines()))
    }

    /// The table, if it is of this epoch and of the first rows of this register.
    fn of_this_history(&self, rows: &impl Rows) -> Result<Option<Table>, StoreError> {
        let table = self.io(Table::open(&self.path))?;
        let Some(table) = table.filter(|table| table.head().machines <= rows.machines()) else {
            return Ok(None);
        };
        let head = self.head(rows, table.head().machines)?;
        Ok((head == *table.head()).then_some(table))
    }

    fn head(&self, rows: &impl Rows, machines: u32) -> Result<Head, StoreError> {
        Ok(Head {
            group: self.group,
            epoch: self.epoch,
            epoch_id: self.epoch_id,
            machines,
            root: rows.root(machines)?,
        })
    }

    /// The table with the rows that it lacks: all of them if there is none.
    fn extended(&self, rows: &impl Rows, progress: Progress<'_>) -> Result<Table, StoreError> {
        let table = self.of_this_history(rows)?;
        let entries = match &table {
            Some(table) => self.io(table.read())?,
            None => None,
        };
        match (table, entries) {
            (Some(table), Some(entries)) => {
                self.made(rows, entries, table.head().machines, progress)
            }
            _ => self.made(rows, Vec::new(), 0, progress),
        }
    }

    /// Writes the table of `entries`, which are of the rows below `from`, and of all rows from there.
    fn made(
        &self,
        rows: &impl Rows,
        mut entries: Vec<Entry>,
        from: u32,
        progress: Progress<'_>,
    ) -> Result<Table, StoreError> {
        let machines = rows.machines();
        let head = self.head(rows, machines)?;
        let deleted = rows.deleted()?;
        for first in (from..machines).step_by(ROWS_AT_ONCE as usize) {
            let piece = first..machines.min(first.saturating_add(ROWS_AT_ONCE));
            let bases = rows.bases(piece.clone())?;
            let present = piece.clone().zip(bases);
            entries.extend(present.filter_map(|(row, base)| Some(table::entry(&base?, row))));
            if !progress((piece.end - from).into(), (machines - from).into()) {
                return Err(StoreError::Interrupted);
            }
        }
        self.io(self.write(&head, &mut entries))?;
        let table = self.io(Table::open(&self.path))?;
        // Whoever deletes rows removes the indexes that there are, and this one may have come after that.
        if rows.deleted()? != deleted {
            self.io(remove(&self.path))?;
        }
        table.ok_or_else(|| self.vanished())
    }

    fn write(&self, head: &Head, entries: &mut [Entry]) -> io::Result<()> {
        let directory = clew_keys::files::directory(&self.path);
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(MODE_DIRECTORY);
        builder.create(directory)?;
        // An older one may have been made with other permissions.
        fs::set_permissions(directory, fs::Permissions::from_mode(MODE_DIRECTORY))?;
        table::write(&self.path, head, entries)?;
        drop_oldest(directory, &self.path)
    }

    fn io<T>(&self, result: io::Result<T>) -> Result<T, StoreError> {
        result.map_err(StoreError::io(&self.path))
    }

    fn vanished(&self) -> StoreError {
        StoreError::io(&self.path)(io::ErrorKind::NotFound.into())
    }
}

/// Removes the indexes written longest ago, down to [`INDEXES_MAX`], but not `keep`.
fn drop_oldest(directory: &Path, keep: &Path) -> io::Result<()> {
    let mut others: Vec<(SystemTime, PathBuf)> = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let is_index = entry.file_name().to_str().is_some_and(is_epoch);
        if is_index && entry.path() != keep {
            others.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    others.sort();
    let spare = (others.len() + 1).saturating_sub(INDEXES_MAX);
    for (_, path) in others.into_iter().take(spare) {
        remove(&path)?;
    }
    Ok(())
}

/// Removes an index, unless another process did.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn is_epoch(name: &str) -> bool {
    name.parse::<u32>().is_ok()
}
