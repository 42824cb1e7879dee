//! The groups that a verifier was given, with keys prepared when they are first needed.

use crate::failure::Failure;
use crate::random;
use clew_evidence::{CheckedGroup, GroupFile, GroupFileReader, Name};
use clew_group::{Scheme, VerifyingKey};
use clew_manager::GROUP_FILE;
use clew_packet::{GroupTag, KeySource, Timestamp, Unknown};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Most prepared keys that are kept: 64 epochs, 29 MB.
const PREPARED_MAX: usize = 64;

/// Largest group file that is read: 2^20 epochs.
const GROUP_FILE_BYTES_MAX: u64 = 1 << 30;

/// Bytes of a group file that are read at once.
const PIECE_BYTES: usize = 1 << 16;

/// Group files, and the prepared keys of the epochs used last.
pub struct Keyring {
    groups: Vec<GroupFile>,
    prepared: Mutex<VecDeque<Prepared>>,
}

struct Prepared {
    group: GroupTag,
    epoch: u32,
    key: Arc<VerifyingKey>,
}

impl Keyring {
    /// A keyring of these groups.
    pub fn new(groups: Vec<GroupFile>) -> Self {
        Self {
            groups,
            prepared: Mutex::new(VecDeque::new()),
        }
    }

    /// Reads the group files.
    pub fn read(paths: &[impl AsRef<Path>]) -> Result<Self, Failure> {
        let groups = paths.iter().map(|path| read_group_file(path.as_ref()));
        Ok(Self::new(groups.collect::<Result<_, _>>()?))
    }

    /// The group with that tag.
    pub fn group(&self, tag: GroupTag) -> Option<&GroupFile> {
        self.groups.iter().find(|group| group.id().tag() == tag)
    }

    /// The name of the group with that tag.
    pub fn name(&self, tag: GroupTag) -> Option<&Name> {
        self.group(tag).map(|group| &group.genesis().name)
    }

    /// All groups.
    pub fn groups(&self) -> &[GroupFile] {
        &self.groups
    }

    fn prepare(&self, group: GroupTag, epoch: u32) -> Option<Arc<VerifyingKey>> {
        let group = self.group(group)?;
        let id = group.epoch_id(epoch)?;
        match group.public_key(epoch)? {
            Ok(public) => Some(Arc::new(VerifyingKey::new(&public, id))),
            Err(error) => {
                eprintln!("clew: warning: group file: {error}");
                None
            }
        }
    }
}

impl KeySource for &Keyring {
    fn scheme(&self, group: GroupTag) -> Result<Scheme, Unknown> {
        Ok(self.group(group).ok_or(Unknown::Group)?.scheme())
    }

    fn successor_start(&self, group: GroupTag, epoch: u32) -> Result<Option<Timestamp>, Unknown> {
        let group = self.group(group).ok_or(Unknown::Group)?;
        if epoch > group.newest_epoch() {
            return Err(Unknown::Epoch);
        }
        Ok(group.start(epoch + 1).map(Timestamp))
    }

    fn key(&self, group: GroupTag, epoch: u32) -> Option<Arc<VerifyingKey>> {
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = prepared
            .iter()
            .find(|p| p.group == group && p.epoch == epoch)
        {
            return Some(Arc::clone(&found.key));
        }
        let key = self.prepare(group, epoch)?;
        if prepared.len() == PREPARED_MAX {
            prepared.pop_front();
        }
        prepared.push_back(Prepared {
            group,
            epoch,
            key: Arc::clone(&key),
        });
        Some(key)
    }
}

/// Reads and checks one group file, no further than its first bad part.
pub fn read_group_file(path: &Path) -> Result<GroupFile, Failure> {
    let mut file = File::open(path)
        .map_err(|e| unread(path, &e))?
        .take(GROUP_FILE_BYTES_MAX);
    let (mut reader, mut piece) = (GroupFileReader::default(), vec![0; PIECE_BYTES]);
    loop {
        match file.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => reader
                .push(&piece[..read])
                .map_err(|e| Failure::binary(path, &piece[..read], e))?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(unread(path, &error)),
        }
    }
    reader.finish().map_err(|e| Failure::file(path, e))
}

/// The failure to read a group file. In a group's directory it has another name.
fn unread(path: &Path, error: &io::Error) -> Failure {
    let (failure, within) = (Failure::io(path, error), path.join(GROUP_FILE));
    match within.is_file() {
        true => failure.hint(format!("give {}", within.display())),
        false => failure,
    }
}

/// Reads one group file with its whole chain of epochs checked, as those need it who open, judge,
/// match, or give shares.
///
/// # Errors
/// It cannot be read, or a rule is broken.
pub fn read_checked(path: &Path) -> Result<CheckedGroup, Failure> {
    check(path, read_group_file(path)?)
}

/// Checks the chain of a group file that was read from `path`.
///
/// # Errors
/// A step does not lead from one epoch to the next.
pub fn check(path: &Path, group: GroupFile) -> Result<CheckedGroup, Failure> {
    let checked = group.check_epochs(&mut random::os());
    checked.map_err(|error| Failure::file(path, error))
}
