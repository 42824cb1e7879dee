//! Databases of services: files of SQLite, each written by one process.

use clew_keys::files::{MODE_SECRET, check_owner};
use rusqlite::{Connection, OpenFlags};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

const LOCK: &str = "lock";
/// How long a reader waits for a checkpoint of SQLite's log.
const BUSY_WAIT: Duration = Duration::from_secs(10);

/// Which database a file is: its number in SQLite's header, its layout's version, its tables.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) application: i64,
    pub(crate) version: i64,
    pub(crate) schema: &'static str,
}

/// Why a service's data cannot be used.
#[derive(Debug, Error)]
pub enum StorageError {
    /// A file cannot be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
    /// Another process uses the directory.
    #[error("{}: another process uses it", .0.display())]
    InUse(PathBuf),
    /// There is something already.
    #[error("{}: already exists", .0.display())]
    Exists(PathBuf),
    /// The log has no group yet.
    #[error("{}: this log has no group yet", .0.display())]
    NoGroup(PathBuf),
    /// The log has a group already.
    #[error("{}: this log has a group already", .0.display())]
    HasGroup(PathBuf),
    /// The file is not the database that is needed.
    #[error("{}: not a database of this kind, or of another version of clew", .0.display())]
    Other(PathBuf),
    /// The database refused.
    #[error("{}: {error}", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// Its reason.
        error: rusqlite::Error,
    },
    /// What was read does not fit together.
    #[error("{}: damaged: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        what: &'static str,
    },
}

impl StorageError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Io { path, error }
    }

    pub(crate) fn database(path: &Path) -> impl FnOnce(rusqlite::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Database { path, error }
    }

    pub(crate) fn damaged(path: &Path, what: &'static str) -> Self {
        let path = path.to_owned();
        Self::Damaged { path, what }
    }
}

/// Takes a directory for this process, until the file is closed. A killed process gives it up.
pub(crate) fn lock(dir: &Path) -> Result<File, StorageError> {
    check_owner(dir).map_err(StorageError::io(dir))?;
    let path = dir.join(LOCK);
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(false);
    let file = options.mode(MODE_SECRET).open(&path);
    let file = file.map_err(StorageError::io(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StorageError::InUse(dir.to_owned())),
        Err(TryLockError::Error(error)) => Err(StorageError::io(&path)(error)),
    }
}

/// Makes a new database.
pub(crate) fn create(path: &Path, kind: &Kind) -> Result<Connection, StorageError> {
    let mut options = OpenOptions::new();
    let options = options.write(true).create_new(true).mode(MODE_SECRET);
    match options.open(path) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(StorageError::Exists(path.to_owned()));
        }
        Err(error) => return Err(StorageError::io(path)(error)),
    }
    let made = || {
        let db = Connection::open(path)?;
        configure(&db)?;
        db.execute_batch(kind.schema)?;
        db.pragma_update(None, "user_version", kind.version)?;
        db.pragma_update(None, "application_id", kind.application)?;
        Ok(db)
    };
    made().map_err(StorageError::database(path))
}

/// Opens a database, which has to be there.
pub(crate) fn open(path: &Path, kind: &Kind) -> Result<Connection, StorageError> {
    let metadata = path.metadata().map_err(StorageError::io(path))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags).map_err(StorageError::database(path))?;
    let header = |name| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let is_ours = metadata.is_file()
        && matches!(header("application_id"), Ok(number) if number == kind.application)
        && matches!(header("user_version"), Ok(version) if version == kind.version);
    if !is_ours {
        return Err(StorageError::Other(path.to_owned()));
    }
    configure(&db).map_err(StorageError::database(path))?;
    Ok(db)
}

/// Every commit is on the disk before it is answered; readers go on beside the writer.
fn configure(db: &Connection) -> rusqlite::Result<()> {
    db.busy_timeout(BUSY_WAIT)?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "FULL")?;
    db.pragma_update(None, "foreign_keys", true)
}

/// Makes a directory (0700) and fills it; if that fails, it goes.
///
/// # Errors
/// It exists, or cannot be written.
pub(crate) fn make_dir(
    dir: &Path,
    fill: impl FnOnce() -> Result<(), StorageError>,
) -> Result<(), StorageError> {
    make_empty(dir)?;
    fill().inspect_err(|_| {
        // It was made just now: nothing of anybody else is in it.
        let _ = fs::remove_dir_all(dir);
    })
}

/// Makes a directory that there is none of.
fn make_empty(dir: &Path) -> Result<(), StorageError> {
    use std::os::unix::fs::DirBuilderExt;
    match fs::DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(StorageError::Exists(dir.to_owned()))
        }
        Err(error) => Err(StorageError::io(dir)(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A full disk leaves nothing that a repeated command would refuse.
    #[test]
    fn a_directory_that_cannot_be_filled_goes() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("log");
        let full = || {
            fs::write(dir.join("log.key"), b"half").unwrap();
            Err(StorageError::io(&dir)(io::ErrorKind::StorageFull.into()))
        };
        assert!(make_dir(&dir, full).is_err());
        assert!(!dir.exists());
        make_dir(&dir, || Ok(())).unwrap();
        // One that was there before stays.
        assert!(matches!(
            make_dir(&dir, || Ok(())),
            Err(StorageError::Exists(_))
        ));
        assert!(dir.exists());
    }
}
