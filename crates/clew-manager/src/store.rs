//! The store of one group: a directory with a database that is the truth, and files made from it.
//!
//! ```text
//! DIR/public/group.clew     the group file, rewritten from the database after every change
//! DIR/issuer/store.db       the database (0600)
//! DIR/issuer/issuer.key     the issuer's secrets (0600, sealed on request)
//! DIR/trustees/1.key        the dealt opening key, to be moved away (0600, sealed on request)
//! ```
//! A change is one database transaction. The group file is published afterwards from what the
//! database then holds, under its write lock, so that two processes cannot publish out of order; a
//! crash in between is repaired by the next [`Store::open`].

mod create;
mod enrol;
mod revoke;

pub use create::Created;
pub use enrol::PendingEnrolment;

use crate::error::StoreError;
use crate::files::{self, MODE_PUBLIC};
use crate::keys::IssuerKeyFile;
use clew_evidence::{EpochRecord, GroupFile, HEADER, RegisterHead, seal};
use clew_group::Tag;
use hkdf::Hkdf;
use rusqlite::{
    Connection, OpenFlags, OptionalExtension, Row, Transaction, TransactionBehavior, params,
};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::time::Duration;
use zeroize::Zeroizing;

const SCHEMA: &str = include_str!("schema.sql");
/// "clew" in the database's header.
const APPLICATION_ID: i64 = 0x636c_6577;
const LAYOUT_VERSION: i64 = 1;
/// How long one process waits for another's transaction.
const LOCK_WAIT: Duration = Duration::from_secs(10);
const X_INFO: &[u8] = b"clew-bbs04-x-1";

/// The group file within a store.
pub const GROUP_FILE: &str = "public/group.clew";
/// The issuer key within a store.
pub const ISSUER_KEY: &str = "issuer/issuer.key";
/// The dealt opening key within a store.
pub const TRUSTEE_KEY: &str = "trustees/1.key";
const DATABASE: &str = "issuer/store.db";

/// One group's store, open.
pub struct Store {
    dir: PathBuf,
    db: Connection,
    group: GroupFile,
}

/// A machine's row in the register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// Epoch of its enrolment.
    pub joined: u32,
    /// Nanoseconds since 1970.
    pub enrolled_at: u64,
    /// The epoch that locked it out, if it was revoked.
    pub revoked_in: Option<u32>,
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

    /// Calls `each` for every machine in the order of enrolment.
    pub fn machines(&self, mut each: impl FnMut(Machine)) -> Result<(), StoreError> {
        let mut statement = self.db.prepare(&format!("{SELECT_MACHINE} ORDER BY idx"))?;
        let rows = statement.query_map([], machine)?;
        for row in rows {
            each(row?);
        }
        Ok(())
    }

    /// The machine of that name.
    pub fn machine(&self, name: &str) -> Result<Option<Machine>, StoreError> {
        let query = format!("{SELECT_MACHINE} WHERE name = ?1");
        Ok(self.db.query_row(&query, [name], machine).optional()?)
    }

    /// The machine whose credential has that tag: what opening a packet asks.
    pub fn find(&self, tag: &Tag) -> Result<Option<Machine>, StoreError> {
        let query = format!("{SELECT_MACHINE} WHERE tag = ?1");
        Ok(self
            .db
            .query_row(&query, [tag.as_slice()], machine)
            .optional()?)
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

const SELECT_MACHINE: &str = "SELECT name, joined, enrolled_at, revoked_in FROM machine";

fn machine(row: &Row<'_>) -> rusqlite::Result<Machine> {
    Ok(Machine {
        name: row.get(0)?,
        joined: row.get(1)?,
        enrolled_at: row.get::<_, i64>(2)?.cast_unsigned(),
        revoked_in: row.get(3)?,
    })
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
        LAYOUT_VERSION => Ok(db),
        version => Err(StoreError::Newer {
            path: dir.to_owned(),
            version,
        }),
    }
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

/// SHA-256 of the last record's body: what the next record and the register name.
fn last_hash(group: &GroupFile) -> [u8; 32] {
    let body = match group.epochs().last() {
        Some(record) => EpochRecord::encode(record),
        None => group.genesis().encode(),
    };
    Sha256::digest(body).into()
}

fn write_register(
    db: &Connection,
    head: &RegisterHead,
    peaks: &[u8],
    key: &IssuerKeyFile,
) -> Result<(), StoreError> {
    let sealed = seal(&head.encode(), &key.manager);
    db.execute(
        "UPDATE register SET bytes = ?1, peaks = ?2",
        params![sealed, peaks],
    )?;
    Ok(())
}

/// x of the member with this salt and name, from the issuer's seed.
fn derive_x(key: &IssuerKeyFile, salt: &[u8], name: &str) -> clew_group::curve::Scalar {
    let mut wide = Zeroizing::new([0; 64]);
    Hkdf::<Sha256>::new(Some(salt), key.seed.as_slice())
        .expand_multi_info(&[X_INFO, name.as_bytes()], wide.as_mut_slice())
        .expect("64 bytes are within HKDF's limit");
    clew_group::curve::Scalar::from_wide(&wide)
}

/// Begins a change: from here on no other process changes the store.
fn begin(db: &mut Connection) -> Result<Transaction<'_>, StoreError> {
    Ok(db.transaction_with_behavior(TransactionBehavior::Immediate)?)
}
