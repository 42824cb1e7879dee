//! What a trustee remembers of the group and its log: a file beside its key, replaced as a whole.

use crate::TrusteeError;
use crate::approval::Seen;
use clew_evidence::armor;
use clew_evidence::wire::Reader;
use clew_keys::files::{IfExists, MODE_SECRET, write_atomically};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const LABEL: &str = "clew-trustee-log-1";
const COMMENT: &str = "clew: what this trustee saw of the group's log. Keep it: without it the log could show \
    another history.";

/// The memory of one trustee key, locked: two processes do not go back behind each other.
pub struct Memory {
    path: PathBuf,
    _lock: File,
}

impl Memory {
    /// Returns whether something was kept.
    pub fn is_kept(stem: &Path) -> bool {
        stem.with_extension("log").symlink_metadata().is_ok()
    }

    /// Locks the memory by the stem of the trustee's files.
    ///
    /// # Errors
    /// [`TrusteeError::Io`].
    pub fn lock(stem: &Path) -> Result<Self, TrusteeError> {
        let path = stem.with_extension("log");
        let lock = || {
            let mut options = OpenOptions::new();
            let options = options.create(true).append(true).mode(MODE_SECRET);
            let file = options.open(path.with_extension("log-lock"))?;
            file.lock()?;
            Ok(file)
        };
        let lock = lock().map_err(|error| failed(&path, error))?;
        Ok(Self { path, _lock: lock })
    }

    /// Reads what was kept. Returns `None` if nothing was.
    ///
    /// # Errors
    /// [`TrusteeError::Io`]: it cannot be read, or is damaged; then the trustee must not answer.
    pub fn read(&self) -> Result<Option<Seen>, TrusteeError> {
        let text = match std::fs::read_to_string(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|error| failed(&self.path, error))?,
        };
        let damaged =
            |why: &str| failed(&self.path, io::Error::new(io::ErrorKind::InvalidData, why));
        let payload = armor::decode(&text, LABEL).map_err(|error| damaged(&error.to_string()))?;
        let mut fields = Reader(&payload);
        let mut read = || {
            Some(Seen {
                epoch: fields.u32()?,
                epoch_id: fields.array()?,
                log: fields.array()?,
                size: fields.u64()?,
                root: fields.array()?,
            })
        };
        let seen = read().filter(|_| fields.0.is_empty());
        seen.map(Some).ok_or_else(|| damaged("the file is damaged"))
    }

    /// Keeps it, synced, in the place of what was kept.
    ///
    /// # Errors
    /// [`TrusteeError::Io`].
    pub fn write(&self, seen: &Seen) -> Result<(), TrusteeError> {
        let mut payload = seen.epoch.to_be_bytes().to_vec();
        payload.extend(seen.epoch_id);
        payload.extend(seen.log);
        payload.extend(seen.size.to_be_bytes());
        payload.extend(seen.root);
        let text = armor::encode(COMMENT, LABEL, &payload);
        write_atomically(&self.path, text.as_bytes(), MODE_SECRET, IfExists::Replace)
            .map_err(|error| failed(&self.path, error))
    }
}

fn failed(path: &Path, error: io::Error) -> TrusteeError {
    TrusteeError::Io {
        path: path.to_owned(),
        error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_is_kept_and_damage_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let memory = Memory::lock(&dir.path().join("trustee-1")).unwrap();
        assert_eq!(memory.read().unwrap(), None);
        for size in [5, 9] {
            let seen = Seen {
                epoch: 1,
                epoch_id: [2; 32],
                log: [3; 32],
                size,
                root: [4; 32],
            };
            memory.write(&seen).unwrap();
            assert_eq!(memory.read().unwrap(), Some(seen));
        }
        for text in ["", "clew-trustee-log-1 AAAA"] {
            std::fs::write(&memory.path, text).unwrap();
            assert!(memory.read().is_err(), "{text}");
        }
    }
}
