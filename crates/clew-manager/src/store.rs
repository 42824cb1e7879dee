//! The store of one group: a directory with a database that is the truth, and files made from it.
//!
//! ```text
//! DIR/public/group.clew     the group file, rewritten from the database after every change
//! DIR/public/witnesses/E/B  after the rebase that made epoch E: the witnesses of 1,024 rows each
//! DIR/issuer/store.db       the database (0600)
//! DIR/issuer/issuer.key     the issuer's secrets (0600, encrypted on request)
//! DIR/issuer/index/E       which row has which base in epoch E, for opening; made when asked for (0600)
//! DIR/issuer/witnesses/E/B  what the public witnesses are copied from, also before the rebase is committed
//! DIR/issuer/tls/tls.{key,crt} the service's own certificate (0600), and its lock, serve.lock
//! DIR/issuer/clock          the last time that was believed
//! DIR/issuer/halted         there while the log has another history of the group
//! DIR/issuer/rebase         witnesses of a rebase while they are made, and rebase.lock
//! DIR/issuer/retention      for how long what is about persons is kept
//! DIR/issuer/log.url        where the group's log is, if it is elsewhere
//! DIR/log                   the group's own log, if `clew group create --with-log` made one
//! DIR/trustees/N.key        each trustee's share of a trusted dealer, to be moved away (0600)
//! ```
//! A change is one database transaction. The files are published afterwards from what the database
//! then holds, under its write lock, so that two processes cannot publish out of order; a crash in
//! between is repaired by the next [`Store::open`].

mod author;
mod backup;
mod batch;
mod catch_up;
mod check;
mod clock;
mod create;
mod end;
mod enrol;
mod epochs;
mod factory;
mod halted;
mod join;
mod lists;
mod outbox;
mod queue;
mod rebase;
mod register;
mod reopen;
mod retention;
mod revoke;
mod search;
mod witnesses;

pub use author::AdmittedAuthor;
pub use backup::{Backup, Beside};
pub use batch::{JoinAnswer, JoinRound, ROUNDS_MAX};
pub use catch_up::{CaughtUp, LoggedBody};
pub use clock::{IDLE_NS, STEP_NS, Uptime, judge_clocks_by};
pub use create::{Created, NewGroup, Opening};
pub use enrol::PendingEnrolment;
pub use factory::Factory;
pub use join::Invitation;
pub use lists::LISTED_MAX;
pub use outbox::OutboxEntry;
pub(crate) use outbox::{LOG_ENROLLED, LOG_EPOCH, LOG_GROUP, enrolled_body, epoch_body};
pub use register::Machine;
pub(crate) use register::holes;
pub use retention::{Pruned, Retention};
pub use revoke::{AHEAD_NS, EpochStart, FAR_NS};
pub use search::{INDEXES, keys_of};

use crate::error::StoreError;
use crate::storage::{self, Database, Tables, Transaction};
use clew_evidence::{GroupFile, HEADER, root};
use clew_group::{EpochId, EpochIssuer, PublicKey};
use clew_keys::IssuerKeyFile;
use clew_keys::files::{self, MODE_PUBLIC, MODE_SECRET};
use clock::ClockJudge;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The group file within a store.
pub const GROUP_FILE: &str = "public/group.clew";
/// The witnesses of rebases within a store.
pub const WITNESSES: &str = "public/witnesses";
/// The issuer key within a store.
pub const ISSUER_KEY: &str = "issuer/issuer.key";
/// The certificate of the service, and its key.
pub const SERVICE_TLS: &str = "issuer/tls";
/// The group's own log, if it has one: a directory of `clew log`.
pub const LOG: &str = "log";
/// Where the group's log is, if it is elsewhere: an address.
pub const LOG_URL: &str = "issuer/log.url";
/// Locked while a service works with the store.
const SERVICE_LOCK: &str = "issuer/serve.lock";
/// The dealt shares of the opening key within a store: `N.key` each.
const TRUSTEES: &str = "trustees";

/// One group's store, open.
pub struct Store {
    dir: PathBuf,
    db: Box<dyn Database>,
    group: GroupFile,
    /// The database's version of which `group` is.
    version: u64,
    clock: ClockJudge,
    /// The group file as this store wrote it last, or found it: made from this database.
    published: Option<Vec<u8>>,
    /// The issuer in epochs that joins needed, for a group with this newest epoch.
    epochs: (EpochId, Vec<(u32, EpochIssuer)>),
}

/// A store that this process serves, until it is dropped.
pub struct ServiceLock {
    _server: Option<Box<dyn Send>>,
    _file: File,
}

/// The database locked for a change, with the group as it is.
struct Locked<'s> {
    transaction: Box<dyn Transaction + 's>,
    group: &'s mut GroupFile,
    version: &'s mut u64,
    clock: &'s ClockJudge,
}

impl Store {
    /// Opens a store, and publishes what a crash kept from being published.
    ///
    /// # Errors
    /// [`StoreError`] if the directory is not a store of this layout, or does not fit together.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let mut store = Self::opened(dir)?;
        // Whoever is making witnesses publishes all of it: opening a store does not wait for that.
        store.publish_unless(!witnesses::are_published(dir, &store.group))?;
        Ok(store)
    }

    /// The same without publishing.
    fn opened(dir: &Path) -> Result<Self, StoreError> {
        let db = storage::open(dir)?;
        files::check_owner(dir).map_err(StoreError::io(dir))?;
        let version = db.version()?; // before the group: at worst it is read once more
        let group = read_group(&*db)?;
        Ok(Self {
            dir: dir.to_owned(),
            db,
            version,
            clock: ClockJudge::of(dir),
            published: None,
            epochs: (group.last_id(), Vec::new()),
            group,
        })
    }

    /// The group file, as the database has it.
    pub fn group(&self) -> &GroupFile {
        &self.group
    }

    /// Where the published group file is.
    pub fn group_file_path(&self) -> PathBuf {
        self.dir.join(GROUP_FILE)
    }

    /// Where the witnesses of rebases are published.
    pub fn witnesses_path(&self) -> PathBuf {
        self.dir.join(WITNESSES)
    }

    /// Where the issuer key is.
    pub fn issuer_key_path(&self) -> PathBuf {
        self.dir.join(ISSUER_KEY)
    }

    /// Publishes what the database says and the files do not, under the database's write lock: first
    /// witnesses, then the group file that announces their epoch.
    fn publish(&mut self) -> Result<(), StoreError> {
        self.publish_unless(false)
    }

    /// The same. With `busy`, nothing if another process has the lock.
    fn publish_unless(&mut self, busy: bool) -> Result<(), StoreError> {
        let path = self.group_file_path();
        let bytes = group_bytes(&*self.db)?;
        let current = std::fs::read(&path).is_ok_and(|file| file == bytes);
        if current && witnesses::are_published(&self.dir, &self.group) {
            self.published = Some(bytes); // the next publication need not read it again
            return Ok(());
        }
        let lock = match busy {
            true => self.db.begin_unless_busy()?,
            false => Some(self.db.begin()?),
        };
        let Some(lock) = lock else {
            return Ok(());
        };
        let bytes = group_bytes(&*lock)?;
        let version = lock.version()?;
        if version != self.version {
            self.group = group_of(&bytes)?; // another process has changed it
            self.version = version;
        }
        check_published(&path, self.published.as_deref(), &self.group, &*lock)?;
        witnesses::settle(&self.dir, &self.group)?;
        files::write_atomically(&path, &bytes, MODE_PUBLIC, files::IfExists::Replace)
            .map_err(StoreError::io(&path))?;
        lock.commit()?;
        self.published = Some(bytes);
        Ok(())
    }

    /// Locks the database, and reads the group again if another process has changed it.
    fn lock(&mut self) -> Result<Locked<'_>, StoreError> {
        let transaction = self.db.begin()?;
        let version = transaction.version()?;
        if version != self.version {
            self.group = read_group(&*transaction)?;
            self.version = version;
        }
        Ok(Locked {
            transaction,
            group: &mut self.group,
            version: &mut self.version,
            clock: &self.clock,
        })
    }

    /// Reads the group again if another process has changed it, and returns whether one has.
    ///
    /// # Errors
    /// [`StoreError`] if the database cannot be read, or does not fit together.
    pub fn follow(&mut self) -> Result<bool, StoreError> {
        let version = self.db.version()?;
        if version == self.version {
            return Ok(false);
        }
        self.group = read_group(&*self.db)?;
        self.version = version;
        Ok(true)
    }

    /// The bytes of the group file, as the database has them now.
    ///
    /// # Errors
    /// [`StoreError`] if the database cannot be read.
    pub fn group_bytes(&self) -> Result<Vec<u8>, StoreError> {
        group_bytes(&*self.db)
    }

    /// Locks a group's directory for one service, and its database if that is a server's: two hosts may
    /// name one. The lock ends with the process, however that ends. The server's part ends also if the
    /// server restarts; two services would then take turns.
    ///
    /// # Errors
    /// [`StoreError::Served`] if another process has it; what the database says.
    pub fn lock_service(dir: &Path) -> Result<ServiceLock, StoreError> {
        let path = dir.join(SERVICE_LOCK);
        match lock_file(&path)? {
            Some(file) => Ok(ServiceLock {
                _server: storage::lock_service(dir)?,
                _file: file,
            }),
            None => Err(StoreError::Served(dir.to_owned())),
        }
    }

    /// Reads the group again and publishes it: the end of every change.
    ///
    /// # Errors
    /// [`StoreError::NotPublished`] if a file cannot be written.
    pub fn refresh(&mut self) -> Result<(), StoreError> {
        self.follow()?;
        self.publish().map_err(StoreError::not_published)
    }

    fn check_key(&self, key: &IssuerKeyFile) -> Result<(), StoreError> {
        let genesis = self.group.genesis();
        let fits = key.group == self.group.id()
            && key.manager.verifying_key().to_bytes() == genesis.manager;
        if fits {
            Ok(())
        } else {
            Err(StoreError::OtherGroupsKey)
        }
    }
}

/// Locks a file (0600), which is made if there is none, until it is closed. Returns `None` if another
/// process has the lock.
fn lock_file(path: &Path) -> Result<Option<File>, StoreError> {
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(false);
    let file = options.mode(MODE_SECRET).open(path);
    let file = file.map_err(StoreError::io(path))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(StoreError::io(path)(error)),
    }
}

/// Refuses to replace a group file that is of another group, or has what this store lacks: the store
/// was restored from a backup, and would revive whoever was revoked since. A file that does not read
/// may be such a file: it is not replaced either.
///
/// `last` is what this store wrote there last: it needs no check.
fn check_published(
    path: &Path,
    last: Option<&[u8]>,
    ours: &GroupFile,
    db: &dyn Tables,
) -> Result<(), StoreError> {
    let published = match std::fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        published => published.map_err(StoreError::io(path))?,
    };
    if last == Some(&published[..]) {
        return Ok(());
    }
    let damaged = |_| StoreError::PublishedIsDamaged(path.to_owned());
    let published = GroupFile::from_bytes(&published).map_err(damaged)?;
    let newest = ours.epoch_id(published.newest_epoch());
    let register = published.register();
    let our_root = register::from_nodes(db, |nodes| root(register.machines, nodes))?;
    let same_rows = our_root == Some(register.root);
    let mut checkpoints = published.checkpoints().iter();
    let same_checkpoints = checkpoints.all(|theirs| {
        let mut ours = ours.checkpoints().iter();
        ours.any(|ours| (ours.machines, ours.root) == (theirs.machines, theirs.root))
    });
    if newest == Some(published.last_id()) && same_rows && same_checkpoints {
        Ok(())
    } else {
        Err(StoreError::PublishedIsNewer(path.to_owned()))
    }
}

/// The group file's bytes, as the database has them.
fn group_bytes(db: &dyn Tables) -> Result<Vec<u8>, StoreError> {
    Ok([&HEADER[..], &db.parts()?].concat())
}

fn group_of(bytes: &[u8]) -> Result<GroupFile, StoreError> {
    GroupFile::from_bytes(bytes).map_err(|error| StoreError::Damaged(error.to_string()))
}

pub(crate) fn read_group(db: &dyn Tables) -> Result<GroupFile, StoreError> {
    group_of(&group_bytes(db)?)
}

fn key_of(group: &GroupFile, epoch: u32) -> Result<PublicKey, StoreError> {
    group
        .public_key(epoch)
        .ok_or_else(|| StoreError::no_epoch(epoch))?
        .map_err(|error| StoreError::Damaged(error.to_string()))
}
