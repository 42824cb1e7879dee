//! A log's directory within the backup of its group's store.

use super::storage::FILE;
use super::store::KEPT_FILES;
use clew_manager::{Beside, LOG, StoreError};
use rusqlite::backup::Backup;
use rusqlite::{Connection, OpenFlags};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Pages that are copied at once.
const PAGES: i32 = 1_024;

/// A log's directory, for a backup of the store beside it. The log goes on meanwhile.
#[derive(Debug)]
pub struct LogBackup {
    dir: PathBuf,
    keys: bool,
    /// In a transaction that reads, once the moment is fixed.
    fixed: Option<Connection>,
}

impl LogBackup {
    /// Of the log in a directory. With `keys` also the log's key.
    pub fn new(dir: &Path, keys: bool) -> Self {
        Self {
            dir: dir.to_owned(),
            keys,
            fixed: None,
        }
    }

    fn failed(&self) -> impl Fn(rusqlite::Error) -> StoreError {
        let path = self.dir.join(FILE);
        move |error| StoreError::Backup(format!("{}: {error}", path.display()))
    }

    /// Copies the database of the fixed moment to a file without a name.
    fn copied(&self) -> Result<File, StoreError> {
        let none = || StoreError::Backup("the log's moment is not fixed".to_owned());
        let from = self.fixed.as_ref().ok_or_else(none)?;
        let io = |error| StoreError::Backup(format!("{}: {error}", self.dir.display()));
        let mut scratch = tempfile::Builder::new();
        let copy = scratch.prefix("backup-").tempfile_in(&self.dir);
        let copy = copy.map_err(io)?;
        let mut to = Connection::open(copy.path()).map_err(self.failed())?;
        let made = || {
            Backup::new(from, &mut to)?.run_to_completion(PAGES, Duration::ZERO, None)?;
            to.close().map_err(|(_, error)| error)
        };
        made().map_err(self.failed())?;
        File::open(copy.path()).map_err(io)
    }
}

impl Beside for LogBackup {
    fn fix(&mut self) -> Result<(), StoreError> {
        let fixed = || {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let db = Connection::open_with_flags(self.dir.join(FILE), flags)?;
            // The moment is that of the first statement.
            db.execute_batch("BEGIN; SELECT count(*) FROM checkpoint")?;
            Ok(db)
        };
        self.fixed = Some(fixed().map_err(self.failed())?);
        Ok(())
    }

    fn files(&mut self) -> Result<Vec<(PathBuf, File)>, StoreError> {
        let mut files = vec![(Path::new(LOG).join(FILE), self.copied()?)];
        for (name, is_secret) in KEPT_FILES {
            let path = self.dir.join(name);
            if (is_secret && !self.keys) || !path.exists() {
                continue;
            }
            let file = File::open(&path);
            let file = file.map_err(|error| StoreError::Io { path, error })?;
            files.push((Path::new(LOG).join(name), file));
        }
        Ok(files)
    }
}
