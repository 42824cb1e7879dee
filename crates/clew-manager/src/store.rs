//! The store of one group: a directory with a database that is the truth, and files made from it.
//!
//! ```text
//! DIR/public/group.clew     the group file, rewritten from the database after every change
//! DIR/issuer/store.db       the database (0600)
//! DIR/issuer/issuer.key     the issuer's secrets (0600, sealed on request)
//! DIR/trustees/N.key        each trustee's dealt share, to be moved away (0600, sealed on request)
//! ```
//! A change is one database transaction. The group file is published afterwards from what the
//! database then holds, under its write lock, so that two processes cannot publish out of order; a
//! crash in between is repaired by the next [`Store::open`].

mod create;
mod enrol;
mod join;
mod register;
mod revoke;

pub use create::Created;
pub use enrol::PendingEnrolment;
pub use join::{Admitted, Join, Offered};
pub use register::{Machine, RegisterLines};

use crate::error::StoreError;
use crate::files::{self, MODE_PUBLIC};
use crate::keys::IssuerKeyFile;
use clew_evidence::{GroupFile, HEADER};
use clew_group::PublicKey;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::time::Duration;

const SCHEMA: &str = include_str!("schema.sql");
/// "clew" in the database's header.
const APPLICATION_ID: i64 = 0x636c_6577;
const LAYOUT_VERSION: i64 = 2;
/// How long one process waits for another's transaction.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// The group file within a store.
pub const GROUP_FILE: &str = "public/group.clew";
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
    /// Opens a store, and publishes the group file if a crash kept it from being.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let db = open_database(&dir.join(DATABASE), dir)?;
        let group = read_group(&db)?;
        let store = Self {
            dir: dir.to_owned(),
            db,
            group,
        };
        store.publish()?;
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

    /// Where the issuer key is.
    pub fn issuer_key_path(&self) -> PathBuf {
        self.dir.join(ISSUER_KEY)
    }

    /// Writes the group file if it is not what the database says, under the database's write lock.
    fn publish(&self) -> Result<(), StoreError> {
        let path = self.group_file_path();
        if std::fs::read(&path)
            .ok()
            .is_some_and(|file| group_bytes(&self.db).ok() == Some(file))
        {
            return Ok(());
        }
        let lock = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate)?;
        files::write_atomically(&path, &group_bytes(&lock)?, MODE_PUBLIC, true)
            .map_err(StoreError::io(&path))?;
        Ok(lock.commit()?)
    }

    /// Reads the group again and publishes it: the end of every change.
    pub fn refresh(&mut self) -> Result<(), StoreError> {
        self.group = read_group(&self.db)?;
        self.publish()
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

/// The group file's bytes, as the database has them: one statement, hence one moment.
fn group_bytes(db: &Connection) -> Result<Vec<u8>, StoreError> {
    let mut parts = db.prepare(
        "SELECT bytes FROM (SELECT 0 AS last, epoch, bytes FROM part
                            UNION ALL SELECT 1, 0, bytes FROM register) ORDER BY last, epoch",
    )?;
    let mut bytes = HEADER.to_vec();
    let mut rows = parts.query([])?;
    while let Some(row) = rows.next()? {
        bytes.extend_from_slice(row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?);
    }
    Ok(bytes)
}

fn read_group(db: &Connection) -> Result<GroupFile, StoreError> {
    GroupFile::from_bytes(&group_bytes(db)?).map_err(|e| StoreError::Damaged(e.to_string()))
}

fn key_of(group: &GroupFile, epoch: u32) -> Result<PublicKey, StoreError> {
    group
        .public_key(epoch)
        .ok_or_else(|| StoreError::Damaged(format!("epoch {epoch} is missing")))?
        .map_err(|error| StoreError::Damaged(error.to_string()))
}

/// Begins a change: from here on no other process changes the store.
fn begin(db: &mut Connection) -> Result<Transaction<'_>, StoreError> {
    Ok(db.transaction_with_behavior(TransactionBehavior::Immediate)?)
}
