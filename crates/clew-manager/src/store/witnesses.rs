//! The witnesses of a rebase on disk: staged in the issuer's folder before the rebase is committed,
//! published after it.
//!
//! Witnesses are public only once the database has the record of their rebase: nobody has one of a
//! rebase that was never made. V of a rebase is hashed from that record, so that a rebase of another
//! history, after a backup was restored, has other witnesses.

use super::epochs::RevokedRows;
use super::{WITNESSES, register};
use crate::error::StoreError;
use crate::files::{self, MODE_PUBLIC};
use crate::index::Progress;
use crate::keys::IssuerKeyFile;
use crate::witness_file::{self, BUCKET_ROWS};
use clew_evidence::{Change, GroupFile};
use clew_group::EpochIssuer;
use clew_group::curve::Scalar;
use rusqlite::Connection;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const STAGED: &str = "issuer/witnesses";

/// Whether witnesses wait for being published or removed.
pub(super) fn are_staged(dir: &Path) -> bool {
    dir.join(STAGED).exists()
}

/// Computes the witnesses of every row in an epoch, and writes and syncs them in the issuer's folder.
/// Holds those of one bucket in memory.
pub(super) fn stage(
    dir: &Path,
    db: &Connection,
    group: &GroupFile,
    issuer: &IssuerKeyFile,
    epoch: u32,
    progress: Progress<'_>,
) -> Result<(), StoreError> {
    remove(&dir.join(STAGED))?;
    let folder = dir.join(STAGED).join(epoch.to_string());
    fs::create_dir_all(&folder).map_err(StoreError::io(&folder))?;
    let revoked = RevokedRows::read(db, issuer)?;
    let mut buckets = Buckets {
        folder: &folder,
        group,
        in_epoch: revoked.issuer_in(group, issuer, epoch)?,
        epoch,
        first: 0,
        xs: Vec::with_capacity(BUCKET_ROWS as usize),
        progress,
    };
    register::for_each(db, |machine| buckets.add(machine.x(issuer)))?;
    buckets.write()?;
    for folder in [&folder, &dir.join(STAGED), &dir.join("issuer")] {
        files::sync_directory(folder).map_err(StoreError::io(folder))?;
    }
    Ok(())
}

struct Buckets<'a> {
    folder: &'a Path,
    group: &'a GroupFile,
    in_epoch: EpochIssuer,
    epoch: u32,
    first: u32,
    xs: Vec<Scalar>,
    progress: Progress<'a>,
}

impl Buckets<'_> {
    fn add(&mut self, x: Scalar) -> Result<(), StoreError> {
        self.xs.push(x);
        match self.xs.len() < BUCKET_ROWS as usize {
            true => Ok(()),
            false => self.write(),
        }
    }

    fn write(&mut self) -> Result<(), StoreError> {
        if self.xs.is_empty() {
            return Ok(());
        }
        let path = self.folder.join((self.first / BUCKET_ROWS).to_string());
        let witnesses = self.in_epoch.witness_bytes(&self.xs);
        let bytes = witness_file::encode(self.group.id(), self.epoch, self.first, &witnesses);
        files::write_atomically(&path, &bytes, MODE_PUBLIC, true).map_err(StoreError::io(&path))?;
        self.first += self.xs.len() as u32;
        self.xs.clear();
        let machines = self.group.register().machines;
        match (self.progress)(self.first.into(), machines.into()) {
            true => Ok(()),
            false => Err(StoreError::Interrupted),
        }
    }
}

/// Publishes staged witnesses of a rebase that the group has, and removes all others. To be called
/// under the database's write lock, before the group file is published.
pub(super) fn settle(dir: &Path, group: &GroupFile) -> Result<(), StoreError> {
    let (staged, public) = (dir.join(STAGED), dir.join(WITNESSES));
    for (epoch, path) in epochs_in(&staged)? {
        let target = public.join(epoch.to_string());
        if is_rebase(group, epoch) && !target.exists() {
            fs::create_dir_all(&public).map_err(StoreError::io(&public))?;
            fs::rename(&path, &target).map_err(StoreError::io(&target))?;
            for folder in [&public, &dir.join("public")] {
                files::sync_directory(folder).map_err(StoreError::io(folder))?;
            }
        }
    }
    remove(&staged)
}

/// Removes witnesses of rebases before the one that is in force at `now`. Nobody needs them, and a
/// thief of a key could use them to go back before the rebase.
pub(super) fn forget_old(dir: &Path, group: &GroupFile, now: u64) -> Result<(), StoreError> {
    let in_force = group.hashed_since(group.epoch_at(now));
    for (epoch, path) in epochs_in(&dir.join(WITNESSES))? {
        if epoch < in_force {
            remove(&path)?;
        }
    }
    Ok(())
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
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(StoreError::io(folder)),
    }
}
