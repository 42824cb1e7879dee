//! A trustee's directory.
//!
//! ```text
//! DIR/manager.url       the manager's address, with the fingerprint of its certificate
//! DIR/log.url           the log's address, if it is not below the manager's
//! DIR/author.key        the key that signs and receives (0600, encrypted on request)
//! DIR/author.pub        what the manager admits
//! DIR/group.clew        the newest group file that the trustee saw
//! DIR/policy.toml       whose warrants and witnesses it believes
//! DIR/keys/E.key        its share of the opening key that epoch E brought
//! DIR/plans/ID/         a key generation: plan, answer, state, done, status.json
//! DIR/requests/ID/      a request: its packets, what was found, the answer, what was posted
//! DIR/filed/ID/         the same of one about which nothing is left to do, without its packets
//! DIR/board.at          the last post of the board that was looked at
//! DIR/notices.toml      where the operator is told of work, if it is
//! DIR/tls/              key and certificate of the trustee's page
//! DIR/page.url          the page's address
//! DIR/lock              locked while a process serves DIR
//! ```

use crate::failure::{Failure, Status};
use crate::groups::read_group_file;
use crate::secrets::{self, Unlock};
use clew_evidence::GroupFile;
use clew_keys::encryption::{self, Secret};
use clew_keys::files::{IfExists, MODE_PUBLIC, MODE_SECRET, check_owner, write_atomically};
use clew_keys::{AuthorKeyFile, TextFile, TrusteeKeyFile};
use clew_service::http::ServiceUrl;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Largest file of a plan that is read, in bytes.
const FILE_MAX: u64 = 1 << 20;

/// A trustee's directory, which `clew trustee init` made.
#[derive(Clone)]
pub struct Home {
    dir: PathBuf,
}

/// The trustee's author key, and what encrypts the secrets beside it.
pub struct Identity {
    pub key: AuthorKeyFile,
    pub secret: Option<Secret>,
}

impl Home {
    /// # Errors
    /// The directory is not a trustee's.
    pub fn open(dir: &Path) -> Result<Self, Failure> {
        let home = Self {
            dir: dir.to_owned(),
        };
        match home.path("manager.url").is_file() {
            // Files of another user would shut the trustee's own program out.
            true => match check_owner(dir) {
                Ok(()) => Ok(home),
                Err(error) => Err(Failure::io(dir, &error)),
            },
            false => Err(Failure::file(dir, "not a trustee's directory")
                .hint(format!("clew trustee init {}", dir.display()))),
        }
    }

    /// A directory that is being made: folders of mode 0700.
    pub fn make(dir: &Path) -> Result<Self, Failure> {
        let home = Self {
            dir: dir.to_owned(),
        };
        if home.path("manager.url").exists() {
            return Err(
                Failure::file(dir, "already a trustee's directory").hint("use a new directory")
            );
        }
        for folder in [dir.to_owned(), home.path("keys"), home.path("plans")] {
            make_folder(&folder)?;
        }
        Ok(home)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The manager's address.
    pub fn url(&self) -> Result<ServiceUrl, Failure> {
        let path = self.path("manager.url");
        let text = secrets::read_text(&path)?;
        let url = text.trim().parse::<ServiceUrl>();
        url.map_err(|error| Failure::file(&path, error))
    }

    /// The group file as the trustee saw it last.
    pub fn group(&self) -> Result<GroupFile, Failure> {
        read_group_file(&self.path("group.clew"))
    }

    /// The trustee's author key.
    pub fn identity(&self, unlock: &Unlock) -> Result<Identity, Failure> {
        let path = self.path("author.key");
        let (text, secret) = unlock.read(&path)?;
        let key = AuthorKeyFile::decode(&text).map_err(|e| secrets::undecoded(&path, &e))?;
        Ok(Identity { key, secret })
    }

    /// Takes the directory for this process, until the file is closed.
    pub fn lock(&self) -> Result<File, Failure> {
        let path = self.path("lock");
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(false);
        let file = options.mode(MODE_SECRET).open(&path);
        let file = file.map_err(|error| Failure::io(&path, &error))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => {
                let why = "another process serves this trustee";
                Err(Failure::file(&self.dir, why).hint("stop the other process first"))
            }
            Err(TryLockError::Error(error)) => Err(Failure::io(&path, &error)),
        }
    }

    /// The key since which epoch, if the trustee has it.
    pub fn key_path(&self, since: u32) -> PathBuf {
        self.path("keys").join(format!("{since}.key"))
    }

    /// The trustee's share of the opening key of an epoch, if it has one.
    pub fn key(&self, since: u32, identity: &Identity) -> Result<Option<TrusteeKeyFile>, Failure> {
        let path = self.key_path(since);
        match path.exists() {
            true => identity.load(&path).map(Some),
            false => Ok(None),
        }
    }
}

impl Identity {
    /// Reads a secret file that was written with this identity.
    pub fn load<T: TextFile>(&self, path: &Path) -> Result<T, Failure> {
        let text = secrets::read_text(path)?;
        let needs = encryption::needs(&text).map_err(|e| secrets::undecoded(path, &e))?;
        let text = match (needs, &self.secret) {
            (encryption::Needs::Nothing, _) => text,
            (_, Some(secret)) => {
                encryption::decrypt(&text, secret).map_err(|e| Failure::file(path, e))?
            }
            (_, None) => {
                let why = "encrypted, and author.key is not: need both with one secret";
                return Err(Failure::file(path, why));
            }
        };
        T::decode(&text).map_err(|e| secrets::undecoded(path, &e))
    }

    /// Writes a secret file, encrypted as the author key is.
    pub fn store<T: TextFile>(&self, path: &Path, file: &T) -> Result<(), Failure> {
        let (text, comment) = (file.encode(), file.comment());
        secrets::write(
            path,
            &text,
            &comment,
            self.secret.as_ref(),
            IfExists::Replace,
        )
    }
}

/// Makes a folder of mode 0700, and those above it, unless it is there.
pub fn make_folder(path: &Path) -> Result<(), Failure> {
    let mut secret = DirBuilder::new();
    let made = secret.recursive(true).mode(0o700).create(path);
    made.map_err(|error| Failure::io(path, &error))
}

/// Writes a public file whole, and syncs it.
pub fn put(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let written = write_atomically(path, bytes, MODE_PUBLIC, IfExists::Replace);
    written.map_err(|error| Failure::io(path, &error))
}

/// Reads a small file. Returns `None` if it is not there.
pub fn get(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    match path.metadata() {
        Ok(metadata) if metadata.len() > FILE_MAX => Err(Failure::file(path, "longer than 1 MiB")),
        _ => match fs::read(path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Failure::io(path, &error)),
        },
    }
}

/// Removes a file, if it is there.
pub fn remove(path: &Path) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Failure::io(path, &error)),
        _ => Ok(()),
    }
}

/// A failure that another turn may not have.
pub fn passing(failure: &Failure) -> bool {
    failure.status == Status::CouldNotTell
}
