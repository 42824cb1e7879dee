//! The database as a file of SQLite within the group's directory: what is read of it. [`changes`]
//! writes.

mod board;
mod changes;
mod lists;
mod upgrade;

use super::{Database, Join, Offered, Result, Revoked, Tables, Transaction};
use crate::error::StoreError;
use crate::store::{Factory, Invitation, Machine, OutboxEntry};
use clew_evidence::{Name, RegisterEntry};
use clew_keys::files::MODE_SECRET;
use rusqlite::types::Type;
use rusqlite::{
    Connection, ErrorCode, OpenFlags, OptionalExtension, Params, Row, TransactionBehavior, params,
};
use std::fs::OpenOptions;
use std::io;
use std::ops::Deref;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const FILE: &str = "issuer/store.db";
pub(super) const SCHEMA: &str = include_str!("schema.sql");
/// Tables of authors and of the board.
pub(super) const BOARD: &str = include_str!("board.sql");
/// "clew" in the database's header.
const APPLICATION_ID: i64 = 0x636c_6577;
pub(super) const LAYOUT_VERSION: i64 = 6;
/// How long one process waits for another's transaction.
const LOCK_WAIT: Duration = Duration::from_secs(10);

const MACHINE: &str = "SELECT entry, enrolled_at, revoked_in, salt FROM machine";

const FACTORY: &str = "SELECT id, prefix, machines, used, until FROM factory";

/// Makes the database of a new group, with its first record and its register's head.
pub(crate) fn create(dir: &Path, record: &[u8], head: &[u8]) -> Result<()> {
    let path = dir.join(FILE);
    let mut secret = OpenOptions::new();
    let secret = secret.write(true).create_new(true).mode(MODE_SECRET);
    secret.open(&path).map_err(StoreError::io(&path))?;
    let create = || {
        let db = Connection::open(&path)?;
        configure(&db)?;
        db.execute_batch(SCHEMA)?;
        db.execute_batch(BOARD)?;
        db.execute("INSERT INTO part VALUES (0, ?1)", [record])?;
        db.execute("INSERT INTO register VALUES (0, ?1, 0)", [head])?;
        upgrade::fill_outbox(&db)?;
        db.pragma_update(None, "user_version", LAYOUT_VERSION)?;
        db.pragma_update(None, "application_id", APPLICATION_ID)
    };
    create().map_err(refused(&path))
}

/// Opens the database of a group's directory; one that is not ours is refused before anything is read
/// from it.
pub(crate) fn open(dir: &Path) -> Result<Box<dyn Database>> {
    let path = dir.join(FILE);
    match path.metadata() {
        Ok(metadata) if metadata.is_file() => {}
        Err(error) if !is_missing(&error) => return Err(StoreError::io(&path)(error)),
        _ => return Err(StoreError::NotAStore(dir.to_owned())),
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(&path, flags).map_err(refused(&path))?;
    let header = |name| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    if !matches!(header("application_id"), Ok(APPLICATION_ID)) {
        return Err(StoreError::OtherDatabase(path));
    }
    let version = header("user_version").map_err(refused(&path))?;
    if upgrade::FROM.contains(&version) {
        upgrade::upgrade(&db, &path, version)?;
    } else if version != LAYOUT_VERSION {
        return Err(StoreError::OtherLayout {
            path: dir.to_owned(),
            version,
            known: LAYOUT_VERSION,
        });
    }
    configure(&db).map_err(refused(&path))?;
    let db = Box::new(db);
    Ok(Box::new(Sqlite { db, path }))
}

fn is_missing(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

/// Copies a database to a new file (0600), and syncs it.
pub(super) fn copy(db: &Connection, path: &Path, to: &Path) -> Result<()> {
    let mut secret = OpenOptions::new();
    let secret = secret.write(true).create_new(true).mode(MODE_SECRET);
    let file = secret.open(to).map_err(StoreError::io(to))?;
    let name = to.to_string_lossy();
    db.execute("VACUUM INTO ?1", [&*name])
        .map_err(refused(path))?;
    file.sync_all().map_err(StoreError::io(to))
}

fn configure(db: &Connection) -> rusqlite::Result<()> {
    db.busy_timeout(LOCK_WAIT)?;
    // Every commit reaches the disk before it is answered, the directory entry included.
    db.pragma_update(None, "synchronous", "EXTRA")?;
    db.pragma_update(None, "foreign_keys", true)
}

pub(super) fn refused(path: &Path) -> impl FnOnce(rusqlite::Error) -> StoreError {
    move |error| match error {
        rusqlite::Error::FromSqlConversionFailure(_, _, what) => {
            StoreError::Damaged(what.to_string())
        }
        error if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
            StoreError::Busy(path.to_owned())
        }
        error => StoreError::Database {
            path: path.to_owned(),
            error: error.into(),
        },
    }
}

/// The connection, or a transaction on it.
pub(super) struct Sqlite<C> {
    pub(super) db: C,
    pub(super) path: PathBuf,
}

pub(super) type Begun<'d> = Sqlite<rusqlite::Transaction<'d>>;

impl Sqlite<Box<Connection>> {
    fn lock(&self) -> rusqlite::Result<Box<Begun<'_>>> {
        let immediate = TransactionBehavior::Immediate;
        let db = rusqlite::Transaction::new_unchecked(&self.db, immediate)?;
        let path = self.path.clone();
        Ok(Box::new(Sqlite { db, path }))
    }
}

impl Database for Sqlite<Box<Connection>> {
    fn begin(&self) -> Result<Box<dyn Transaction + '_>> {
        Ok(self.lock().map_err(refused(&self.path))?)
    }

    fn begin_unless_busy(&self) -> Result<Option<Box<dyn Transaction + '_>>> {
        let wait = |time| self.db.busy_timeout(time).map_err(refused(&self.path));
        wait(Duration::ZERO)?;
        let lock = self.lock();
        wait(LOCK_WAIT)?;
        match lock {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(None),
            lock => Ok(Some(lock.map_err(refused(&self.path))?)),
        }
    }
}

impl<C: Deref<Target = Connection>> Sqlite<C> {
    fn one<T>(
        &self,
        query: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        let found = || {
            let mut statement = self.db.prepare_cached(query)?;
            statement.query_row(params, read).optional()
        };
        found().map_err(refused(&self.path))
    }

    fn all<T>(
        &self,
        query: &str,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let found = || {
            let mut statement = self.db.prepare_cached(query)?;
            statement
                .query_map([], read)?
                .collect::<rusqlite::Result<_>>()
        };
        found().map_err(refused(&self.path))
    }

    /// Returns how many rows were changed.
    pub(super) fn change(&self, command: &str, params: impl Params) -> Result<usize> {
        let done = || self.db.prepare_cached(command)?.execute(params);
        done().map_err(refused(&self.path))
    }

    pub(super) fn execute(&self, command: &str, params: impl Params) -> Result<()> {
        self.change(command, params).map(drop)
    }
}

impl<C: Deref<Target = Connection>> Tables for Sqlite<C> {
    fn parts(&self) -> Result<Vec<u8>> {
        // One statement, hence one moment.
        let parts: Vec<Vec<u8>> = self.all(
            "SELECT bytes FROM (SELECT 0 AS kind, epoch AS place, bytes FROM part
                                UNION ALL SELECT 1, machines, bytes FROM checkpoint
                                UNION ALL SELECT 2, 0, bytes FROM register) ORDER BY kind, place",
            |row| row.get(0),
        )?;
        Ok(parts.concat())
    }

    fn each_machine(&self, each: &mut dyn FnMut(Machine) -> bool) -> Result<()> {
        let query = format!("{MACHINE} ORDER BY idx");
        let mut statement = self.db.prepare(&query).map_err(refused(&self.path))?;
        let mut rows = statement.query([]).map_err(refused(&self.path))?;
        while let Some(row) = rows.next().map_err(refused(&self.path))? {
            if !each(machine(row).map_err(refused(&self.path))?) {
                break;
            }
        }
        Ok(())
    }

    fn machine(&self, index: u32) -> Result<Option<Machine>> {
        let query = format!("{MACHINE} WHERE idx = ?1");
        self.one(&query, [index], machine)
    }

    fn last_machine(&self, name: &str) -> Result<Option<Machine>> {
        let query = format!("{MACHINE} WHERE name = ?1 ORDER BY idx DESC LIMIT 1");
        self.one(&query, [name], machine)
    }

    fn revoked(&self) -> Result<Vec<Revoked>> {
        let query = "SELECT idx, revoked_in, salt, name FROM machine
                     WHERE revoked_in IS NOT NULL";
        self.all(query, |row| {
            Ok(Revoked {
                index: row.get(0)?,
                epoch: row.get(1)?,
                salt: row.get(2)?,
                name: row.get(3)?,
            })
        })
    }

    fn node(&self, level: u32, index: u32) -> Result<Option<[u8; 32]>> {
        let query = "SELECT hash FROM node WHERE level = ?1 AND idx = ?2";
        self.one(query, params![level, index], |row| row.get(0))
    }

    fn last_checkpoint(&self) -> Result<Option<u32>> {
        let query = "SELECT max(machines) FROM checkpoint";
        Ok(self.one(query, [], |row| row.get(0))?.flatten())
    }

    fn invitations(&self) -> Result<Vec<Invitation>> {
        let query = "SELECT name, created_at, joined FROM joining
                     WHERE machine IS NULL ORDER BY created_at, name";
        self.all(query, |row| {
            Ok(Invitation {
                name: name(row)?,
                invited_at: row.get::<_, i64>(1)?.cast_unsigned(),
                offered: row.get(2)?,
            })
        })
    }

    fn version(&self) -> Result<u64> {
        let version = self.one("SELECT version FROM register", [], |row| row.get(0))?;
        Ok(version.map_or(0, i64::cast_unsigned))
    }

    fn outbox(&self, most: u32) -> Result<Vec<OutboxEntry>> {
        let query = format!(
            "SELECT seq, kind, body FROM outbox WHERE place IS NULL ORDER BY seq LIMIT {most}"
        );
        self.all(&query, |row| {
            Ok(OutboxEntry {
                seq: row.get::<_, i64>(0)?.cast_unsigned(),
                kind: row.get(1)?,
                body: row.get(2)?,
            })
        })
    }

    fn queued(&self) -> Result<Vec<u32>> {
        self.all("SELECT machine FROM queued ORDER BY machine", |row| {
            row.get(0)
        })
    }

    fn factories(&self) -> Result<Vec<Factory>> {
        self.all(&format!("{FACTORY} ORDER BY created_at, id"), factory)
    }

    fn factory(&self, id: &[u8; 16]) -> Result<Option<Factory>> {
        self.one(&format!("{FACTORY} WHERE id = ?1"), [id], factory)
    }

    fn join(&self, nonce: &[u8; 32]) -> Result<Option<Join>> {
        let query = "SELECT name, request, salt, joined, replaces, machine
                     FROM joining WHERE nonce = ?1";
        self.one(query, [nonce], |row| {
            let offered = |request| -> rusqlite::Result<Offered> {
                Ok(Offered {
                    request,
                    salt: row.get(2)?,
                    joined: row.get(3)?,
                    replaces: match row.get::<_, i64>(4)? {
                        -1 => None,
                        _ => Some(row.get(4)?),
                    },
                    machine: row.get(5)?,
                })
            };
            let request: Option<Vec<u8>> = row.get(1)?;
            Ok(Join {
                name: name(row)?,
                offered: request.map(offered).transpose()?,
            })
        })
    }
}

/// A row of [`MACHINE`].
fn machine(row: &Row<'_>) -> rusqlite::Result<Machine> {
    let entry: Vec<u8> = row.get(0)?;
    let decoded = RegisterEntry::decode(&entry);
    Ok(Machine {
        entry: decoded.ok_or_else(|| damaged("a register entry does not decode"))?,
        enrolled_at: row.get::<_, i64>(1)?.cast_unsigned(),
        revoked_in: row.get(2)?,
        salt: row.get(3)?,
    })
}

/// A row of [`FACTORY`].
fn factory(row: &Row<'_>) -> rusqlite::Result<Factory> {
    let prefix: String = row.get(1)?;
    let prefix = prefix.parse();
    Ok(Factory {
        id: row.get(0)?,
        prefix: prefix.map_err(|_| damaged("the prefix of a factory is not a name"))?,
        machines: row.get(2)?,
        used: row.get(3)?,
        until: row.get::<_, i64>(4)?.cast_unsigned(),
    })
}

/// The name of a join, which stands first in its row.
fn name(row: &Row<'_>) -> rusqlite::Result<Name> {
    let name: String = row.get(0)?;
    name.parse()
        .map_err(|_| damaged("the name of a join is not one"))
}

pub(super) fn damaged(what: &str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Null, what.into())
}
