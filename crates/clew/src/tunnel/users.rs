//! Who may connect.

use super::files::open_regular;
use super::keys::{self, PublicKey, parse_key};
use crate::failure::Failure;
use clew_tunnel::engine::event::User;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::watch;

/// Longest file of users, in bytes: some 100,000 of them.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Which file was read, its length, and when it was last changed: contents, name or permissions.
type Stamp = (u64, u64, (i64, i64));

/// Users by their keys, from a file that may change.
#[derive(Debug)]
pub struct Users {
    file: Option<PathBuf>,
    /// `None` if the file could not be opened.
    stamp: Option<Stamp>,
    /// Nobody while the file is bad.
    known: Arc<HashSet<PublicKey>>,
    /// Those of the last file that was good: whoever is not among them any more loses its connections.
    admitted: watch::Sender<Arc<HashSet<PublicKey>>>,
    anonymous: bool,
    /// What is wrong with the file, as it was said last.
    complaint: Option<String>,
}

impl Users {
    /// Those of this file, and whoever has no key if `anonymous`.
    ///
    /// # Errors
    /// The file's.
    pub fn new(file: Option<&Path>, anonymous: bool) -> Result<Self, Failure> {
        let mut users = Self {
            file: file.map(Path::to_owned),
            stamp: None,
            known: Arc::default(),
            admitted: watch::Sender::default(),
            anonymous,
            complaint: None,
        };
        users.refresh()?;
        Ok(users)
    }

    /// Reads the file again if it changed. While it cannot be read or has a bad line, no key is known.
    ///
    /// # Errors
    /// The file's, once.
    pub fn refresh(&mut self) -> Result<(), Failure> {
        let Some(path) = &self.file else {
            return Ok(());
        };
        let stamp = fs::metadata(path).ok().map(|metadata| {
            let changed = (metadata.ctime(), metadata.ctime_nsec());
            (metadata.ino(), metadata.len(), changed)
        });
        if stamp.is_some() && stamp == self.stamp {
            return Ok(());
        }
        self.stamp = stamp;
        self.known = Arc::default();
        let opened = open_regular(path).map_err(|e| Failure::io(path, &e));
        if opened.is_err() {
            self.stamp = None; // tried again: it may be for want of file descriptors only
        }
        match opened.and_then(|file| read(path, file)) {
            Ok(known) => {
                (self.known, self.complaint) = (Arc::new(known), None);
                self.admitted.send_replace(Arc::clone(&self.known));
                Ok(())
            }
            Err(failure) if self.complaint.as_ref() == Some(&failure.message) => Ok(()),
            Err(failure) => {
                self.complaint = Some(failure.message.clone());
                Err(failure)
            }
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Waits for the removal of a user. Returns `None` for whoever has no key.
    pub fn removal(&self, user: &User) -> Option<Removal> {
        match user {
            User::Anonymous => None,
            User::Key { key, .. } => Some(Removal {
                user: PublicKey(key.0),
                admitted: self.admitted.subscribe(),
            }),
        }
    }

    /// Whether this one may connect.
    pub fn may(&self, user: &User) -> bool {
        match user {
            User::Anonymous => self.anonymous,
            User::Key { key, .. } => self.known.contains(&PublicKey(key.0)),
        }
    }
}

/// What ends the connections of a user who is removed.
#[derive(Debug)]
pub struct Removal {
    user: PublicKey,
    admitted: watch::Receiver<Arc<HashSet<PublicKey>>>,
}

impl Removal {
    /// Waits until a good file is read that does not have the user.
    pub async fn removed(mut self) {
        let user = self.user;
        let is_removed = |known: &Arc<HashSet<PublicKey>>| !known.contains(&user);
        if self.admitted.wait_for(is_removed).await.is_err() {
            // Nobody reads the file any more: the server ends.
            std::future::pending().await
        }
    }
}

fn read(path: &Path, file: File) -> Result<HashSet<PublicKey>, Failure> {
    let mut text = String::new();
    let read = file.take(FILE_BYTES_MAX).read_to_string(&mut text);
    read.map_err(|e| Failure::io(path, &e))?;
    parse(&text).map_err(|line| {
        Failure::file(path, format!("line {line}: not the key of a user")).hint(
            "write one key per line, as clew tunnel keygen user prints it, optionally followed by a \
             name",
        )
    })
}

/// Users by their keys, or the number of the first line that is none.
fn parse(text: &str) -> Result<HashSet<PublicKey>, usize> {
    let mut known = HashSet::new();
    for (line, number) in text.lines().zip(1_usize..) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        // What stands behind the key is its name, for people.
        let key = line.split_whitespace().next().unwrap_or_default();
        let key = parse_key(key).ok().filter(|key| keys::is_users(*key));
        known.insert(key.ok_or(number)?);
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_keys_and_names() {
        let one = "09".repeat(32);
        let two = "0a".repeat(32);
        let text = format!("# staff\n\n{one} alice at work\r\n{two}\n");
        let known = parse(&text).unwrap();
        assert_eq!(known.len(), 2);
        assert!(known.contains(&PublicKey([9; 32])));
        assert_eq!(parse("\nalice\n"), Err(2));
        // Not below 2^255 - 19.
        assert_eq!(parse(&"ff".repeat(32)), Err(1));
    }

    #[test]
    fn a_file_that_changes_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users");
        let user = |byte| User::Key {
            key: clew_tunnel::x25519::Public([byte; 32]),
            by: clew_tunnel::record::Authenticators::BOUND,
        };
        fs::write(&path, "09".repeat(32)).unwrap();
        let mut users = Users::new(Some(&path), false).unwrap();
        assert!(users.may(&user(9)) && !users.may(&user(10)) && !users.may(&User::Anonymous));
        fs::write(&path, format!("{} new\n", "0a".repeat(32))).unwrap();
        users.refresh().unwrap();
        assert!(!users.may(&user(9)) && users.may(&user(10)));
        assert!(Users::new(None, true).unwrap().may(&User::Anonymous));
        assert!(Users::new(Some(&folder.path().join("none")), false).is_err());
    }

    #[tokio::test]
    async fn a_good_file_without_a_user_removes_it_and_a_bad_one_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users");
        fs::write(&path, "09".repeat(32)).unwrap();
        let mut users = Users::new(Some(&path), true).unwrap();
        let user = User::Key {
            key: clew_tunnel::x25519::Public([9; 32]),
            by: clew_tunnel::record::Authenticators::BOUND,
        };
        assert!(users.removal(&User::Anonymous).is_none());
        let mut removed = Box::pin(users.removal(&user).unwrap().removed());
        let wait = std::time::Duration::from_millis(20);
        fs::write(&path, "nobody").unwrap();
        assert!(users.refresh().is_err());
        assert!(tokio::time::timeout(wait, &mut removed).await.is_err());
        fs::write(&path, "0a".repeat(32)).unwrap();
        assert!(users.refresh().is_ok());
        let long = std::time::Duration::from_secs(20);
        assert!(tokio::time::timeout(long, removed).await.is_ok());
    }

    #[test]
    fn a_file_that_is_bad_or_gone_admits_nobody_and_is_complained_of_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users");
        let good = "09".repeat(32);
        let user = User::Key {
            key: clew_tunnel::x25519::Public([9; 32]),
            by: clew_tunnel::record::Authenticators::BOUND,
        };
        fs::write(&path, &good).unwrap();
        let mut users = Users::new(Some(&path), true).unwrap();
        let mut complains_once = |what: &str| {
            let failure = users.refresh().unwrap_err();
            assert!(failure.message.ends_with(what), "{}", failure.message);
            assert!(!users.may(&user) && users.may(&User::Anonymous));
            assert!(users.refresh().is_ok() && !users.may(&user));
            fs::remove_file(&path)
                .or_else(|_| fs::remove_dir(&path))
                .ok();
            fs::write(&path, &good).unwrap();
            assert!(users.refresh().is_ok() && users.may(&user));
        };
        fs::write(&path, format!("{good}\nnobody")).unwrap();
        complains_once("line 2: not the key of a user");
        fs::remove_file(&path).unwrap();
        complains_once("file does not exist");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        complains_once("need a file, have a folder");
    }
}
