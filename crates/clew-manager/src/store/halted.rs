//! A store that must not go on, because the group's log has another history of the group.

use super::Store;
use crate::error::StoreError;
use clew_keys::files::{self, IfExists, MODE_SECRET};
use std::io::ErrorKind;
use std::path::PathBuf;

/// There while the store is halted.
const HALTED: &str = "issuer/halted";

impl Store {
    fn halted_path(&self) -> PathBuf {
        self.dir.join(HALTED)
    }

    /// Whether the group's log was found to have another history than this store.
    pub fn is_halted(&self) -> bool {
        // A file that cannot be looked at may be there.
        self.halted_path().try_exists().unwrap_or(true)
    }

    /// Halts the store: from now on no process enrols, revokes or invites. It outlives a restart.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn halt(&self) -> Result<(), StoreError> {
        let path = self.halted_path();
        let why = b"the group's log has another history of this group\n";
        let written = files::write_atomically(&path, why, MODE_SECRET, IfExists::Replace);
        written
            .and_then(|()| files::sync_directory(files::directory(&path)))
            .map_err(StoreError::io(&path))
    }

    /// Lets the store go on: the log took its entries.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn resume(&self) -> Result<(), StoreError> {
        let path = self.halted_path();
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(StoreError::io(&path)(error)),
            _ => Ok(()),
        }
    }

    /// Refuses a change of a halted store.
    pub(super) fn check_not_halted(&self) -> Result<(), StoreError> {
        match self.is_halted() {
            true => Err(StoreError::Halted(self.dir.clone())),
            false => Ok(()),
        }
    }
}
