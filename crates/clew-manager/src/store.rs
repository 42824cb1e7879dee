//! The store of one group: a directory with a database that is the truth, and files made from it.
//!
//! ```text
//! DIR/public/group.clew     the group file, rewritten from the database after every change
//! DIR/public/witnesses/E/B  after the rebase that made epoch E: the witnesses of 1,024 rows each
//! DIR/issuer/store.db       the database (0600)
//! DIR/issuer/issuer.key     the issuer's secrets (0600, sealed on request)
//! DIR/issuer/index/E       which row has which base in epoch E, for opening; made when asked for (0600)
//! DIR/issuer/witnesses/E/B  what the public witnesses are copied from, also before the rebase is committed
//! DIR/trustees/N.key        each trustee's share of a trusted dealer, to be moved away (0600)
//! ```
//! A change is one database transaction. The files are published afterwards from what the database
//! then holds, under its write lock, so that two processes cannot publish out of order; a crash in
//! between is repaired by the next [`Store::open`].

mod create;
mod enrol;
mod epochs;
mod join;
mod register;
mod reopen;
mod revoke;
mod search;
mod witnesses;

pub use create::{Created, NewGroup, Opening};
pub use enrol::PendingEnrolment;
pub use join::Invitation;
pub use register::Machine;
pub use revoke::{AHEAD_NS, FAR_NS, When};
pub use search::{INDEXES, keys_of};

use crate::error::StoreError;
use clew_evidence::{GroupFile, HEADER, root};
use clew_group::PublicKey;
use clew_keys::IssuerKeyFile;
use clew_keys::files::{self, MODE_PUBLIC};
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

const SCHEMA: &str = include_str!("schema.sql");
/// "clew" in the database's header.
const APPLICATION_ID: i64 = 0x636c_6577;
const LAYOUT_VERSION: i64 = 4;
/// How long one process waits for another's transaction.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// The group file within a store.
pub const GROUP_FILE: &str = "public/group.clew";
/// The witnesses of rebases within a store.
pub const WITNESSES: &str = "public/witnesses";
/// The issuer key within a store.
pub const ISSUER_KEY: &str = "issuer/issuer.key";
/// The dealt shares of the opening key within a store: `N.key` each.
pub const TRUSTEES: &str = "trustees";
const DATABASE: &str = "issuer/store.db";

/// One group's store, open.
pub struct Store {
    dir: PathBuf,
    db: Connection,
    group: GroupFile,
}

impl Store {
    /// Opens a store, and publishes what a crash kept from being published.
    ///
    /// # Errors
    /// [`StoreError`] if the directory is not a store of this layout, or does not fit together.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let db = open_database(&dir.join(DATABASE), dir)?;
        let group = read_group(&db)?;
        let store = Self {
            dir: dir.to_owned(),
            db,
            group,
        };
        // Whoever is making witnesses publishes all of it: opening a store does not wait for that.
        store.publish_unless(!witnesses::are_published(dir, &store.group))?;
        Ok(store)
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
    fn publish(&self) -> Result<(), StoreError> {
        self.publish_unless(false)
    }

    /// The same. With `busy`, nothing if another process has the lock.
    fn publish_unless(&self, busy: bool) -> Result<(), StoreError> {
        let path = self.group_file_path();
        let bytes = group_bytes(&self.db)?;
        let current = std::fs::read(&path).is_ok_and(|file| file == bytes);
        if current && witnesses::are_published(&self.dir, &self.group) {
            return Ok(());
        }
        let Some(lock) = self.lock(busy)? else {
            return Ok(());
        };
        let bytes = group_bytes(&lock)?;
        let group = group_of(&bytes)?;
        check_published(&path, &group, &lock)?;
        witnesses::settle(&self.dir, &group)?;
        files::write_atomically(&path, &bytes, MODE_PUBLIC, true).map_err(StoreError::io(&path))?;
        Ok(lock.commit()?)
    }

    /// The database's write lock. With `unless_busy`, `None` if another process has it.
    fn lock(&self, unless_busy: bool) -> Result<Option<Transaction<'_>>, StoreError> {
        if unless_busy {
            self.db.busy_timeout(Duration::ZERO)?;
        }
        let lock = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate);
        self.db.busy_timeout(LOCK_WAIT)?;
        match lock {
            Err(error) if unless_busy && is_busy(&error) => Ok(None),
            lock => Ok(Some(lock?)),
        }
    }

    /// Reads the group again and publishes it: the end of every change.
    ///
    /// # Errors
    /// [`StoreError::NotPublished`] if a file cannot be written.
    pub fn refresh(&mut self) -> Result<(), StoreError> {
        self.group = read_group(&self.db)?;
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

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
}

/// Opens an existing database; one that is not ours is refused before anything is read from it.
fn open_database(path: &Path, dir: &Path) -> Result<Connection, StoreError> {
    if !path.is_file() {
        return Err(StoreError::NotAStore(dir.to_owned()));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    let header = |name| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    match header("application_id") {
        Ok(APPLICATION_ID) => {}
        _ => return Err(StoreError::NotAStore(dir.to_owned())),
    }
    match header("user_version")? {
        LAYOUT_VERSION => {}
        version => {
            return Err(StoreError::OtherLayout {
                path: dir.to_owned(),
                version,
                known: LAYOUT_VERSION,
            });
        }
    }
    configure(&db)?;
    Ok(db)
}

fn configure(db: &Connection) -> Result<(), StoreError> {
    db.busy_timeout(LOCK_WAIT)?;
    // Every commit reaches the disk before it is answered, the directory entry included.
    db.pragma_update(None, "synchronous", "EXTRA")?;
    db.pragma_update(None, "foreign_keys", true)?;
    Ok(())
}

/// Refuses to replace a group file that is of another group, or has what this store lacks: the store
/// was restored from a backup, and would revive whoever was revoked since. A file that does not read
/// may be such a file: it is not replaced either.
fn check_published(path: &Path, ours: &GroupFile, db: &Connection) -> Result<(), StoreError> {
    let published = match std::fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        published => published.map_err(StoreError::io(path))?,
    };
    let damaged = |_| StoreError::PublishedIsDamaged(path.to_owned());
    let published = GroupFile::from_bytes(&published).map_err(damaged)?;
    let newest = ours.epoch_id(published.newest_epoch());
    let register = published.register();
    let same_rows = root(register.machines, register::nodes(db)) == Some(register.root);
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

/// The group file's bytes, as the database has them: one statement, hence one moment.
fn group_bytes(db: &Connection) -> Result<Vec<u8>, StoreError> {
    let mut parts = db.prepare(
        "SELECT bytes FROM (SELECT 0 AS kind, epoch AS place, bytes FROM part
                            UNION ALL SELECT 1, machines, bytes FROM checkpoint
                            UNION ALL SELECT 2, 0, bytes FROM register) ORDER BY kind, place",
    )?;
    let mut bytes = HEADER.to_vec();
    let mut rows = parts.query([])?;
    while let Some(row) = rows.next()? {
        bytes.extend_from_slice(row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?);
    }
    Ok(bytes)
}

fn group_of(bytes: &[u8]) -> Result<GroupFile, StoreError> {
    GroupFile::from_bytes(bytes).map_err(|error| StoreError::Damaged(error.to_string()))
}

fn read_group(db: &Connection) -> Result<GroupFile, StoreError> {
    group_of(&group_bytes(db)?)
}

fn key_of(group: &GroupFile, epoch: u32) -> Result<PublicKey, StoreError> {
    group
        .public_key(epoch)
        .ok_or_else(|| StoreError::no_epoch(epoch))?
        .map_err(|error| StoreError::Damaged(error.to_string()))
}

/// Begins a change: from here on no other process changes the store.
fn begin(db: &mut Connection) -> Result<Transaction<'_>, StoreError> {
    Ok(db.transaction_with_behavior(TransactionBehavior::Immediate)?)
}
