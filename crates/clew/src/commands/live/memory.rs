//! How new the group files of a daemon were when they were read last, so that no older one counts later.
//!
//! A running daemon also knows which group each path has. A file keeps the rest over restarts.

use super::lock;
use crate::failure::Failure;
use crate::newest::{Newest, NoSuccessor, follows};
use clew_engine::Keyring;
use clew_group::EpochId;
use clew_live::files;
use clew_packet::GroupTag;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

/// Group, newest epoch, its id, time of the register: as the file keeps it.
type Kept = ([u8; 8], u32, [u8; 32], u64);

/// Longest file, in bytes: many times what all groups of the most peers need.
const FILE_MAX: u64 = 1 << 20;

/// What is known of group files.
#[derive(Debug)]
pub(super) struct Memory {
    known: Mutex<Known>,
    file: PathBuf,
}

#[derive(Debug, Default)]
struct Known {
    /// The files in force, and their groups.
    files: Vec<(PathBuf, GroupTag)>,
    /// Of each group, what was read by this process or an earlier one.
    groups: Vec<Newest>,
    /// Whether the file has them.
    is_kept: bool,
}

impl Memory {
    /// Reads what earlier processes knew, if there were any.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(file: PathBuf) -> Result<Self, Failure> {
        let text = match files::read(&file, FILE_MAX) {
            // To another user than the daemon's and root it is as if there were none.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::NotFound | ErrorKind::PermissionDenied
                ) =>
            {
                "[]".into()
            }
            read => read.map_err(|error| Failure::io(&file, &error))?,
        };
        let kept: Vec<Kept> = serde_json::from_str(&text).map_err(|_| {
            Failure::file(&file, "damaged: it tells which group files are too old")
                .hint(format!("rm {}", file.display()))
        })?;
        let newest = |(group, epoch, id, time): Kept| Newest {
            group: GroupTag(group),
            epoch,
            id: EpochId(id),
            time,
        };
        let known = Known {
            files: Vec::new(),
            groups: kept.into_iter().map(newest).collect(),
            is_kept: true,
        };
        Ok(Self {
            known: Mutex::new(known),
            file,
        })
    }

    /// Checks that the files in `paths` may take the place of those that were read before: each path has
    /// its group, and no group has another history or is older. Of files of one group the newest counts.
    ///
    /// # Errors
    /// They may not.
    pub fn check(&self, paths: &[(PathBuf, GroupTag)], keys: &Keyring) -> Result<(), Failure> {
        let known = self.known();
        for (path, tag) in paths {
            let mut files = known.files.iter();
            if files.any(|(at, group)| at == path && group != tag) {
                return Err(Failure::file(path, NoSuccessor::OtherGroup)
                    .hint("use another name for another group's file"));
            }
            let newest = known.groups.iter().find(|newest| newest.group == *tag);
            if let Some((newest, group)) = newest.zip(keys.group(*tag)) {
                follows(path, newest, group).map_err(|failure| self.hinted(failure, &known))?;
            }
        }
        Ok(())
    }

    /// At the start an administrator may mean it.
    fn hinted(&self, failure: Failure, known: &Known) -> Failure {
        match known.files.is_empty() {
            false => failure,
            true => failure.hint(format!(
                "get the newest group file; if this one is right, rm {}",
                self.file.display()
            )),
        }
    }

    /// Takes note of the files that are in force now, and keeps that for later processes.
    ///
    /// # Errors
    /// It cannot be kept. This process knows all the same, and tries again by [`Self::keep_again`].
    pub fn take(&self, files: Vec<(PathBuf, GroupTag)>, keys: &Keyring) -> Result<(), Failure> {
        let newest = |(_, tag): &(PathBuf, GroupTag)| Newest::of(keys.group(*tag)?);
        let mut groups: Vec<Newest> = files.iter().filter_map(newest).collect();
        let mut known = self.known();
        // A peer that is taken out may come back, with an older file.
        let is_gone = |old: &&Newest| groups.iter().all(|new| new.group != old.group);
        let gone: Vec<Newest> = known.groups.iter().filter(is_gone).cloned().collect();
        groups.extend(gone);
        groups.sort_by_key(|newest| newest.group);
        groups.dedup_by_key(|newest| newest.group);
        let is_same = known.groups == groups;
        let is_kept = is_same && known.is_kept;
        *known = Known {
            files,
            groups,
            is_kept,
        };
        match is_same {
            true => Ok(()),
            false => self.keep(&mut known),
        }
    }

    /// Tries again to keep what could not be kept. Returns whether that was so, and is done now.
    pub fn keep_again(&self) -> bool {
        let mut known = self.known();
        !known.is_kept && self.keep(&mut known).is_ok()
    }

    /// Returns whether the file has what is known.
    pub fn is_kept(&self) -> bool {
        self.known().is_kept
    }

    fn keep(&self, known: &mut Known) -> Result<(), Failure> {
        let written = self.write(&known.groups);
        known.is_kept = written.is_ok();
        written.map_err(|error| Failure::io(&self.file, &error))
    }

    fn write(&self, groups: &[Newest]) -> io::Result<()> {
        let kept = |newest: &Newest| -> Kept {
            let Newest {
                group,
                epoch,
                id,
                time,
            } = *newest;
            (group.0, epoch, id.0, time)
        };
        let kept: Vec<Kept> = groups.iter().map(kept).collect();
        files::replace(&self.file, serde_json::to_string(&kept)?.as_bytes())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        lock(&self.known)
    }
}
