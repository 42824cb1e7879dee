//! The witnesses of rebases on disk: made in the issuer's folder before the rebase is committed, copied
//! to the public one after it, and copied again if the public ones are missing or differ.
//!
//! Witnesses are public only once the database has the record of their rebase: nobody has one of a
//! rebase that was never made. V of a rebase is hashed from that record, so that a rebase of another
//! history, after a backup was restored, has other witnesses.

use super::clock::IDLE_NS;
use super::search::{ROWS_PER_THREAD_MIN, by_threads};
use super::{Machine, WITNESSES};
use crate::error::StoreError;
use crate::index::Progress;
use crate::storage::Tables;
use clew_evidence::{Change, GroupFile, WallTime};
use clew_group::EpochIssuer;
use clew_keys::IssuerKeyFile;
use clew_keys::files;
use clew_keys::witness_file::{self, BUCKET_ROWS};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, DirEntry, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use zeroize::Zeroizing;

const KEPT: &str = "issuer/witnesses";
/// Where those of a rebase are made.
const MAKING: &str = "issuer/rebase";
/// Locked meanwhile.
const MAKING_LOCK: &str = "issuer/rebase.lock";

const LOCK_TRIES: u32 = 200;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

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

/// The making of witnesses of a rebase, which one process at a time does for a store.
pub(super) struct Making<'d> {
    dir: &'d Path,
    folder: PathBuf,
    _lock: File,
}

impl<'d> Making<'d> {
    /// Waits for another process that is at it, 10 s at most.
    ///
    /// # Errors
    /// [`StoreError::Busy`].
    pub fn begin(dir: &'d Path) -> Result<Self, StoreError> {
        let path = dir.join(MAKING_LOCK);
        for _ in 0..LOCK_TRIES {
            if let Some(lock) = super::lock_file(&path)? {
                let folder = dir.join(MAKING);
                return Ok(Self {
                    dir,
                    folder,
                    _lock: lock,
                });
            }
            std::thread::sleep(LOCK_PAUSE);
        }
        Err(StoreError::Busy(dir.to_owned()))
    }

    /// An empty folder of buckets of an epoch. `group` is the group with it.
    pub fn buckets<'a>(
        &self,
        group: &'a GroupFile,
        issuer: &'a IssuerKeyFile,
        in_epoch: &'a EpochIssuer,
        epoch: u32,
        progress: Progress<'a>,
    ) -> Result<Buckets<'a>, StoreError> {
        remove(&self.folder)?;
        fs::create_dir_all(&self.folder).map_err(StoreError::io(&self.folder))?;
        Ok(Buckets {
            folder: self.folder.clone(),
            group,
            issuer,
            in_epoch,
            epoch,
            done: 0,
            waiting: Vec::with_capacity(ROWS_AT_ONCE),
            progress,
        })
    }

    /// Keeps what was made as the witnesses of an epoch, synced. To be called under the database's write
    /// lock, before the epoch is committed.
    pub fn keep(&self, epoch: u32) -> Result<(), StoreError> {
        let kept = self.dir.join(KEPT);
        let folder = kept.join(epoch.to_string());
        remove(&folder)?;
        fs::create_dir_all(&kept).map_err(StoreError::io(&kept))?;
        fs::rename(&self.folder, &folder).map_err(StoreError::io(&folder))?;
        for folder in [&folder, &kept, &self.dir.join("issuer")] {
            files::sync_directory(folder).map_err(StoreError::io(folder))?;
        }
        Ok(())
    }
}

impl Drop for Making<'_> {
    /// What is not kept is of a rebase that never was.
    fn drop(&mut self) {
        let _ = clear(&self.folder);
    }
}

/// The buckets of one rebase, as they are made. Holds [`ROWS_AT_ONCE`] rows in memory.
pub(super) struct Buckets<'a> {
    folder: PathBuf,
    group: &'a GroupFile,
    issuer: &'a IssuerKeyFile,
    in_epoch: &'a EpochIssuer,
    epoch: u32,
    /// Rows that are written.
    done: u32,
    /// Empty where a row was deleted: it is revoked.
    waiting: Vec<Option<Machine>>,
    progress: Progress<'a>,
}

impl Buckets<'_> {
    /// Adds the next row that there is. The places of those before it that were deleted stay empty.
    pub fn add(&mut self, machine: Machine) -> Result<(), StoreError> {
        self.fill(machine.entry.index)?;
        self.push(Some(machine))
    }

    /// Leaves places empty, up to so many rows.
    pub fn fill(&mut self, machines: u32) -> Result<(), StoreError> {
        while self.done.saturating_add(self.waiting.len() as u32) < machines {
            self.push(None)?;
        }
        Ok(())
    }

    fn push(&mut self, machine: Option<Machine>) -> Result<(), StoreError> {
        self.waiting.push(machine);
        match self.waiting.len() < ROWS_AT_ONCE {
            true => Ok(()),
            false => self.finish(),
        }
    }

    /// Adds the rows that the register got since, up to so many.
    pub fn extend(&mut self, db: &dyn Tables, machines: u32) -> Result<(), StoreError> {
        if machines <= self.done {
            return Ok(());
        }
        // The last bucket may not be full: it is made again.
        let last = self.done / BUCKET_ROWS;
        self.done = last * BUCKET_ROWS;
        let path = self.folder.join(last.to_string());
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::io(&path)(error));
            }
            _ => {}
        }
        for index in self.done..machines {
            self.push(db.machine(index)?)?;
        }
        self.finish()
    }

    /// Writes and syncs what was added.
    pub fn finish(&mut self) -> Result<(), StoreError> {
        let (issuer, in_epoch) = (self.issuer, self.in_epoch);
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
        let machines = self.group.register().machines.max(self.done);
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
    let mut copies = Vec::new();
    for bucket in fs::read_dir(kept)? {
        let bucket = bucket?;
        let path = copy.join(bucket.file_name());
        let mut file = File::create_new(&path)?;
        file.write_all(&fs::read(bucket.path())?)?;
        file.set_modified(bucket.metadata()?.modified()?)?;
        copies.push(path);
    }
    // Afterwards: one by one it takes five times as long, and others wait.
    for path in copies {
        File::open(path)?.sync_all()?;
    }
    files::sync_directory(&copy)?;
    clear(public)?;
    fs::rename(&copy, public)?;
    files::sync_directory(folder)?;
    files::sync_directory(files::directory(folder))
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// The folders of rebases before the one that was in force a day before the store last changed: no clock
/// that is believed is further ahead. Nobody needs them, and a thief of a key could use them to go back
/// before the rebase.
fn outdated(dir: &Path, group: &GroupFile) -> Result<Vec<PathBuf>, StoreError> {
    let surely = group.register().time.as_nanos().saturating_sub(IDLE_NS);
    let in_force = group.hashed_since(group.epoch_at(WallTime::from_nanos(surely)));
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
