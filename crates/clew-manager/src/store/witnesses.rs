//! The witnesses of rebases on disk: made in the issuer's folder before the rebase is committed, copied
//! to the public one after it, and copied again if the public ones are missing or differ.
//!
//! Witnesses are public only once the database has the record of their rebase: nobody has one of a
//! rebase that was never made. V of a rebase is hashed from that record, so that a rebase of another
//! history, after a backup was restored, has other witnesses.

use super::epochs::RevokedRows;
use super::search::{ROWS_PER_THREAD_MIN, by_threads};
use super::{Machine, WITNESSES, register};
use crate::error::StoreError;
use crate::index::Progress;
use crate::storage::Tables;
use clew_evidence::{Change, GroupFile};
use clew_group::EpochIssuer;
use clew_keys::IssuerKeyFile;
use clew_keys::files;
use clew_keys::witness_file::{self, BUCKET_ROWS};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, DirEntry, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use zeroize::Zeroizing;

const KEPT: &str = "issuer/witnesses";

/// Rows that are computed at once: 16 buckets.
const ROWS_AT_ONCE: usize = 16 * BUCKET_ROWS as usize;

/// Whether the public witnesses are those of the group's rebases that are kept, and no others are
/// kept. Looks at the lengths and times of files, not into them.
pub(super) fn are_published(dir: &Path, group: &GroupFile) -> bool {
    let kept = epochs_in(&dir.join(KEPT));
    let published = kept.is_ok_and(|kept| {
        kept.iter().all(|(epoch, kept)| {
            let public = dir.join(WITNESSES).join(epoch.to_string());
            is_rebase(group, *epoch) && are_copied(kept, &public).unwrap_or(false)
        })
    });
    published && outdated(dir, group).is_ok_and(|old| old.is_empty())
}

/// Whether two folders have the same buckets.
fn are_copied(kept: &Path, public: &Path) -> Result<bool, StoreError> {
    let read = |folder| buckets(folder).map_err(StoreError::io(folder));
    Ok(read(kept)? == read(public)?)
}

/// The buckets in a folder by name, with length and time; none if there is no folder.
fn buckets(folder: &Path) -> io::Result<BTreeMap<OsString, (u64, SystemTime)>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        entries => entries?,
    };
    let facts = |entry: DirEntry| {
        let metadata = entry.metadata()?;
        Ok((entry.file_name(), (metadata.len(), metadata.modified()?)))
    };
    entries.map(|entry| facts(entry?)).collect()
}

/// Computes the witnesses of every row in an epoch, and writes and syncs them in the issuer's folder.
/// Holds [`ROWS_AT_ONCE`] rows in memory, and the x of those that are revoked.
pub(super) fn stage(
    dir: &Path,
    db: &dyn Tables,
    group: &GroupFile,
    issuer: &IssuerKeyFile,
    epoch: u32,
    progress: Progress<'_>,
) -> Result<(), StoreError> {
    let folder = dir.join(KEPT).join(epoch.to_string());
    remove(&folder)?;
    fs::create_dir_all(&folder).map_err(StoreError::io(&folder))?;
    let mut buckets = Buckets {
        folder: &folder,
        group,
        issuer,
        in_epoch: RevokedRows::read(db, issuer)?.issuer_in(group, issuer, epoch)?,
        epoch,
        done: 0,
        waiting: Vec::with_capacity(ROWS_AT_ONCE),
        progress,
    };
    register::for_each(db, |machine| {
        // The place of a row that was deleted stays empty: it is revoked.
        for _ in buckets.taken()..machine.entry.index {
            buckets.add(None)?;
        }
        buckets.add(Some(machine))
    })?;
    for _ in buckets.taken()..group.register().machines {
        buckets.add(None)?;
    }
    buckets.compute()?;
    for folder in [&folder, &dir.join(KEPT), &dir.join("issuer")] {
        files::sync_directory(folder).map_err(StoreError::io(folder))?;
    }
    Ok(())
}

/// The buckets of one rebase, as they are made.
struct Buckets<'a> {
    folder: &'a Path,
    group: &'a GroupFile,
    issuer: &'a IssuerKeyFile,
    in_epoch: EpochIssuer,
    epoch: u32,
    done: u32,
    waiting: Vec<Option<Machine>>,
    progress: Progress<'a>,
}

impl Buckets<'_> {
    /// How many rows came so far.
    fn taken(&self) -> u32 {
        self.done.saturating_add(self.waiting.len() as u32)
    }

    fn add(&mut self, machine: Option<Machine>) -> Result<(), StoreError> {
        self.waiting.push(machine);
        match self.waiting.len() < ROWS_AT_ONCE {
            true => Ok(()),
            false => self.compute(),
        }
    }

    fn compute(&mut self) -> Result<(), StoreError> {
        let (issuer, in_epoch) = (self.issuer, &self.in_epoch);
        let witnesses = by_threads(&self.waiting, ROWS_PER_THREAD_MIN, |machines| {
            let present = machines.iter().flatten();
            let mut xs = Zeroizing::new(Vec::with_capacity(machines.len()));
            xs.extend(present.map(|machine| machine.x(issuer)));
            let mut made = in_epoch.witness_bytes(&xs).into_iter();
            let each = machines.iter().map(|machine| match machine {
                Some(_) => made.next().flatten(),
                None => None,
            });
            Ok(each.collect())
        })?;
        self.waiting.clear();
        witnesses
            .chunks(BUCKET_ROWS as usize)
            .try_for_each(|rows| self.write(rows))
    }

    fn write(&mut self, rows: &[Option<[u8; 48]>]) -> Result<(), StoreError> {
        let path = self.folder.join((self.done / BUCKET_ROWS).to_string());
        let bytes = witness_file::encode(self.group.id(), self.epoch, self.done, rows);
        write_new(&path, &bytes).map_err(StoreError::io(&path))?;
        self.done += rows.len() as u32;
        let machines = self.group.register().machines;
        match (self.progress)(self.done.into(), machines.into()) {
            true => Ok(()),
            false => Err(StoreError::Interrupted),
        }
    }
}

/// Publishes the kept witnesses of rebases that the group has, and removes all others that are kept,
/// and those that are outdated. To be called under the database's write lock, before the group file
/// is published.
pub(super) fn settle(dir: &Path, group: &GroupFile) -> Result<(), StoreError> {
    for folder in outdated(dir, group)? {
        remove(&folder)?;
    }
    for (epoch, kept) in epochs_in(&dir.join(KEPT))? {
        let public = dir.join(WITNESSES).join(epoch.to_string());
        if !is_rebase(group, epoch) {
            remove(&kept)?;
        } else if !are_copied(&kept, &public)? {
            publish(&kept, &public).map_err(StoreError::io(&public))?;
        }
    }
    Ok(())
}

/// Copies a folder of buckets, and puts the copy in the place of what is there.
fn publish(kept: &Path, public: &Path) -> io::Result<()> {
    let copy = public.with_extension("partial");
    let folder = files::directory(public);
    clear(&copy)?;
    fs::create_dir_all(&copy)?;
    for bucket in fs::read_dir(kept)? {
        let bucket = bucket?;
        let file = write_new(&copy.join(bucket.file_name()), &fs::read(bucket.path())?)?;
        file.set_modified(bucket.metadata()?.modified()?)?;
    }
    files::sync_directory(&copy)?;
    clear(public)?;
    fs::rename(&copy, public)?;
    files::sync_directory(folder)?;
    files::sync_directory(files::directory(folder))
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<File> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    Ok(file)
}

/// The folders of rebases before the one that was in force when the store last changed. Nobody needs
/// them, and a thief of a key could use them to go back before the rebase.
fn outdated(dir: &Path, group: &GroupFile) -> Result<Vec<PathBuf>, StoreError> {
    let in_force = group.hashed_since(group.epoch_at(group.register().time));
    let mut folders = epochs_in(&dir.join(KEPT))?;
    folders.extend(epochs_in(&dir.join(WITNESSES))?);
    let old = folders.into_iter().filter(|(epoch, _)| *epoch < in_force);
    Ok(old.map(|(_, folder)| folder).collect())
}

fn is_rebase(group: &GroupFile, epoch: u32) -> bool {
    let change = group.record(epoch).map(|record| &record.change);
    matches!(change, Some(Change::Rebase { .. }))
}

/// The folders of epochs in a folder, which may not exist.
fn epochs_in(folder: &Path) -> Result<Vec<(u32, PathBuf)>, StoreError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(StoreError::io(folder))?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(StoreError::io(folder))?.path();
        let epoch = path
            .file_name()
            .and_then(|name| name.to_str()?.parse().ok());
        found.extend(epoch.map(|epoch| (epoch, path)));
    }
    Ok(found)
}

fn remove(folder: &Path) -> Result<(), StoreError> {
    clear(folder).map_err(StoreError::io(folder))
}

fn clear(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
