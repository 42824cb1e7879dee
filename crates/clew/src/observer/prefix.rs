//! One observer for each prefix of evidence files.

use crate::failure::Failure;
use nix::libc::O_NOFOLLOW;
use nix::unistd::geteuid;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The lock of a prefix: the file `PREFIX.lock`. The kernel releases it when the process ends, whatever
/// ended it.
pub struct Lock {
    path: PathBuf,
    /// Open for as long as the lock is held.
    _file: File,
}

impl Lock {
    /// Takes the lock.
    ///
    /// # Errors
    /// Another observer has it, or the system refuses.
    pub fn take(prefix: &Path) -> Result<Self, Failure> {
        let mut path = prefix.as_os_str().to_owned();
        path.push(".lock");
        let path = PathBuf::from(path);
        let failed = |error| Failure::io(&path, &error);
        loop {
            let file = open(&path).map_err(|error| refused(&path, &error))?;
            // Where a file system has no locks, nobody is refused.
            if let Err(TryLockError::WouldBlock) = file.try_lock() {
                let prefix = prefix.display();
                let taken = format!("{prefix}: another observer writes files of this prefix");
                return Err(Failure::new(taken).hint("choose another prefix with --write"));
            }
            // The one before may have removed it meanwhile, and somebody else made it again.
            if is_at(&file, &path).map_err(failed)? {
                return Ok(Self { path, _file: file });
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A file that stays locks nobody out.
        let _ = fs::remove_file(&self.path);
    }
}

/// Another user's file that a killed observer left looks as one that is held: only that user can tell.
fn refused(path: &Path, error: &io::Error) -> Failure {
    let failure = Failure::io(path, error);
    let found = fs::symlink_metadata(path);
    match found.is_ok_and(|file| file.is_file() && file.uid() != geteuid().as_raw()) {
        true => {
            let path = path.display();
            failure.hint(format!(
                "rm {path}, unless an observer of another user runs with this prefix"
            ))
        }
        false => failure,
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(O_NOFOLLOW)
        .open(path)
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let held = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (held.dev(), held.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_has_one_observer() {
        let folder = tempfile::tempdir().unwrap();
        let tap = folder.path().join("tap");
        let held = Lock::take(&tap).unwrap();
        let failure = Lock::take(&tap).err().unwrap();
        assert_eq!(
            failure.message,
            format!(
                "{}: another observer writes files of this prefix",
                tap.display()
            )
        );
        let other = Lock::take(&folder.path().join("tap2")).unwrap();
        drop(held);
        drop(Lock::take(&tap).unwrap());
        drop(other);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "nothing is left");
        // What a killed one left.
        fs::write(folder.path().join("tap.lock"), "").unwrap();
        Lock::take(&tap).unwrap();
    }

    #[test]
    fn a_lock_that_was_removed_counts_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tap.lock");
        let file = open(&path).unwrap();
        assert!(is_at(&file, &path).unwrap());
        fs::remove_file(&path).unwrap();
        assert!(!is_at(&file, &path).unwrap());
        let _other = open(&path).unwrap();
        assert!(!is_at(&file, &path).unwrap());
    }

    /// Root, who may open any file, stands for the user who may not.
    #[test]
    fn another_user_s_lock_says_how_to_go_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tap.lock");
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let hint = || refused(&path, &denied).hint.unwrap();
        assert!(hint().starts_with("ls -ld "), "{}", hint());
        fs::write(&path, "").unwrap();
        assert!(hint().starts_with("ls -l "), "{}", hint());
        if std::os::unix::fs::chown(&path, Some(65_534), None).is_ok() {
            let said = format!("rm {}, unless an observer of", path.display());
            assert!(hint().starts_with(&said), "{}", hint());
        }
    }

    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        std::os::unix::fs::symlink(&target, folder.path().join("tap.lock")).unwrap();
        assert!(Lock::take(&folder.path().join("tap")).is_err());
        assert!(!target.exists());
    }
}
