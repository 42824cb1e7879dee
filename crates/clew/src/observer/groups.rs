//! Group files that are followed when they change on the disk.

use crate::failure::Failure;
use crate::groups::read_group_file;
use crate::newest::{Newest, read_successor};
use clew_engine::Keyring;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Which file was read, its length, and when it was last changed: contents, name or permissions.
type Stamp = (u64, u64, (i64, i64));

/// A group file, and what was last seen of it.
struct File {
    path: PathBuf,
    stamp: Option<Stamp>,
    /// How new it was when it was read last.
    newest: Option<Newest>,
    /// What is wrong with the file, as it was said last.
    complaint: Option<String>,
}

/// All group files of an observer.
pub struct Groups(Vec<File>);

/// What a changed file brought.
#[derive(Debug)]
pub enum Change {
    /// The group is known up to this epoch now.
    Newer(PathBuf, u32),
    /// The file does not count, and the one before stays. Said once.
    Refused(Failure),
}

impl Groups {
    /// Reads the files.
    ///
    /// # Errors
    /// One cannot be read, or two show two histories.
    pub fn read(paths: &[PathBuf]) -> Result<(Self, Keyring), Failure> {
        let (mut files, mut keyring) = (Vec::new(), Keyring::default());
        for path in paths {
            let stamp = stamp(path);
            let group = read_group_file(path)?;
            files.push(File {
                path: path.clone(),
                stamp,
                newest: Newest::of(&group),
                complaint: None,
            });
            let added = keyring.add(group);
            added.map_err(|error| two_histories(path, error))?;
        }
        Ok((Self(files), keyring))
    }

    /// Reads those that changed since.
    pub fn refresh(&mut self, keyring: &mut Keyring) -> Vec<Change> {
        let changed = |file: &mut File| file.refresh(keyring);
        self.0.iter_mut().filter_map(changed).collect()
    }
}

impl File {
    fn refresh(&mut self, keyring: &mut Keyring) -> Option<Change> {
        // A file that is being replaced may be away for a moment.
        let stamp = Some(stamp(&self.path)?);
        if stamp == self.stamp {
            return None;
        }
        self.stamp = stamp;
        match self.read(keyring) {
            Ok(change) => {
                self.complaint = None;
                change
            }
            Err(failure) if self.complaint.as_ref() == Some(&failure.message) => None,
            Err(failure) => {
                self.complaint = Some(failure.message.clone());
                Some(Change::Refused(failure))
            }
        }
    }

    fn read(&mut self, keyring: &mut Keyring) -> Result<Option<Change>, Failure> {
        let group = match &self.newest {
            Some(known) => read_successor(&self.path, known)?,
            None => read_group_file(&self.path)?,
        };
        let newest = Newest::of(&group);
        let added = keyring.add(group);
        added.map_err(|error| two_histories(&self.path, error))?;
        let is_newer = newest != self.newest;
        self.newest = newest;
        let epoch = newest.map_or(0, |newest| newest.epoch);
        Ok(is_newer.then(|| Change::Newer(self.path.clone(), epoch)))
    }
}

fn two_histories(path: &Path, error: clew_engine::TwoHistories) -> Failure {
    Failure::file(path, error).hint("compare the ids with those of other machines")
}

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = fs::metadata(path).ok()?;
    let changed = (metadata.ctime(), metadata.ctime_nsec());
    Some((metadata.ino(), metadata.len(), changed))
}
