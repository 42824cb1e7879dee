//! The database as a file of SQLite within the group's directory.

mod upgrade;

use super::value::{Row, Value};
use super::{
    Begun, Database, DumpedRow, LAYOUT_VERSION, Moment, Result, SCHEMA, Sql, Tables, Transaction,
    tables,
};
use crate::error::StoreError;
use clew_keys::files::MODE_SECRET;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, ToSql, TransactionBehavior, params_from_iter};
use std::fs::OpenOptions;
use std::io;
use std::ops::Deref;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const FILE: &str = "issuer/store.db";
/// "clew" in the database's header.
const APPLICATION_ID: i64 = 0x636c_6577;
/// How long one process waits for another's transaction.
const LOCK_WAIT: Duration = Duration::from_secs(10);
/// Statements that are kept prepared: more than there are.
const STATEMENTS: usize = 128;

/// Makes the database of a new group's directory, and fills it.
pub(super) fn create(
    dir: &Path,
    fill: &mut dyn FnMut(&dyn Transaction) -> Result<()>,
) -> Result<()> {
    let path = dir.join(FILE);
    let mut secret = OpenOptions::new();
    let secret = secret.write(true).create_new(true).mode(MODE_SECRET);
    secret.open(&path).map_err(StoreError::io(&path))?;
    let open = || {
        let db = Box::new(Connection::open(&path)?);
        configure(&db)?;
        Ok(Sqlite {
            db,
            path: path.clone(),
        })
    };
    let db = open().map_err(refused(&path))?;
    let begun = db.lock().map_err(refused(&path))?;
    begun.db.execute_batch(SCHEMA).map_err(refused(&path))?;
    fill(&begun)?;
    let mark = || {
        begun
            .db
            .pragma_update(None, "user_version", LAYOUT_VERSION)?;
        begun
            .db
            .pragma_update(None, "application_id", APPLICATION_ID)
    };
    mark().map_err(refused(&path))?;
    Begun::commit(begun)
}

/// Opens the database of a group's directory.
pub(super) fn open(dir: &Path) -> Result<Box<dyn Database>> {
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
    if version != LAYOUT_VERSION && !upgrade::FROM.contains(&version) {
        return Err(StoreError::OtherLayout {
            path: dir.to_owned(),
            version,
            known: LAYOUT_VERSION,
        });
    }
    configure(&db).map_err(refused(&path))?;
    let db = Sqlite {
        db: Box::new(db),
        path,
    };
    if version != LAYOUT_VERSION {
        upgrade::upgrade(&db, version)?;
    }
    Ok(Box::new(db))
}

fn is_missing(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

/// Copies a database to a new file (0600), and syncs it.
fn copy(db: &Connection, path: &Path, to: &Path) -> Result<()> {
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
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    // Every commit reaches the disk before it is answered; readers, and a backup, go on beside it.
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "FULL")?;
    // What is deleted is overwritten.
    db.pragma_update(None, "secure_delete", true)?;
    db.pragma_update(None, "foreign_keys", true)
}

fn refused(path: &Path) -> impl FnOnce(rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    move |error| match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy) => StoreError::Busy(path),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::DamagedDatabase(path)
        }
        _ => StoreError::Database {
            path,
            error: error.into(),
        },
    }
}

pub(super) fn is_disk_full(error: &(dyn std::error::Error + 'static)) -> bool {
    let error = error.downcast_ref::<rusqlite::Error>();
    error.and_then(rusqlite::Error::sqlite_error_code) == Some(ErrorCode::DiskFull)
}

/// The connection, or a transaction on it.
struct Sqlite<C> {
    db: C,
    path: PathBuf,
}

/// A transaction.
type Locked<'d> = Sqlite<rusqlite::Transaction<'d>>;

impl Sqlite<Box<Connection>> {
    fn lock(&self) -> rusqlite::Result<Locked<'_>> {
        let immediate = TransactionBehavior::Immediate;
        let db = rusqlite::Transaction::new_unchecked(&self.db, immediate)?;
        let path = self.path.clone();
        Ok(Sqlite { db, path })
    }
}

impl Database for Sqlite<Box<Connection>> {
    fn begin(&self) -> Result<Box<dyn Transaction + '_>> {
        Ok(Box::new(self.lock().map_err(refused(&self.path))?))
    }

    fn begin_unless_busy(&self) -> Result<Option<Box<dyn Transaction + '_>>> {
        let wait = |time| self.db.busy_timeout(time).map_err(refused(&self.path));
        wait(Duration::ZERO)?;
        let lock = self.lock();
        wait(LOCK_WAIT)?;
        match lock {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(None),
            lock => Ok(Some(Box::new(lock.map_err(refused(&self.path))?))),
        }
    }

    fn moment(&self) -> Result<Box<dyn Moment + '_>> {
        let deferred = TransactionBehavior::Deferred;
        let db = rusqlite::Transaction::new_unchecked(&self.db, deferred);
        let db = db.map_err(refused(&self.path))?;
        let path = self.path.clone();
        let moment = Sqlite { db, path };
        moment.version()?; // the moment is that of the first statement
        Ok(Box::new(moment))
    }

    fn purge(&self) -> Result<()> {
        let done = self.query("PRAGMA wal_checkpoint(TRUNCATE)", &[])?;
        let is_busy = match done.into_iter().next() {
            Some(mut row) => row.take::<i64>()? != 0,
            None => false,
        };
        match is_busy {
            true => Err(StoreError::Busy(self.path.clone())),
            false => Ok(()),
        }
    }

    fn check(&self) -> Result<()> {
        let found = self
            .query("PRAGMA integrity_check(1)", &[])?
            .into_iter()
            .next();
        let found = found.map_or(Ok(String::new()), |mut row| row.take())?;
        let strangers = self.query("PRAGMA foreign_key_check", &[])?;
        match found == "ok" && strangers.is_empty() {
            true => Ok(()),
            false => Err(StoreError::DamagedDatabase(self.path.clone())),
        }
    }
}

impl Moment for Locked<'_> {
    fn dump(&self, each: DumpedRow<'_>) -> Result<()> {
        let path = &self.path;
        for table in tables() {
            let query = format!("SELECT * FROM {table}");
            let mut statement = self.db.prepare(&query).map_err(refused(path))?;
            let width = statement.column_count();
            let mut rows = statement.query([]).map_err(refused(path))?;
            while let Some(row) = rows.next().map_err(refused(path))? {
                each(table, read(row, width).map_err(refused(path))?)?;
            }
        }
        Ok(())
    }
}

impl Begun for Locked<'_> {
    fn commit(self) -> Result<()> {
        self.db.commit().map_err(refused(&self.path))
    }
}

impl<C: Deref<Target = Connection>> Sql for Sqlite<C> {
    fn query(&self, query: &str, values: &[Value<'_>]) -> Result<Vec<Row>> {
        rows(&self.db, query, values).map_err(refused(&self.path))
    }

    fn change(&self, command: &str, values: &[Value<'_>]) -> Result<usize> {
        changed(&self.db, command, values).map_err(refused(&self.path))
    }
}

fn rows(db: &Connection, query: &str, values: &[Value<'_>]) -> rusqlite::Result<Vec<Row>> {
    let mut statement = db.prepare_cached(query)?;
    let width = statement.column_count();
    let mut found = statement.query(params_from_iter(values))?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        rows.push(read(row, width)?);
    }
    Ok(rows)
}

fn read(row: &rusqlite::Row<'_>, width: usize) -> rusqlite::Result<Row> {
    let values = (0..width).map(|column| row.get_ref(column).map(value));
    Ok(Row::new(values.collect::<rusqlite::Result<_>>()?))
}

fn changed(db: &Connection, command: &str, values: &[Value<'_>]) -> rusqlite::Result<usize> {
    db.prepare_cached(command)?
        .execute(params_from_iter(values))
}

fn value(value: ValueRef<'_>) -> Value<'static> {
    match value {
        ValueRef::Integer(value) => Value::Integer(value),
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec().into()),
        // Text that is not UTF-8 becomes another one: the rules of names refuse it.
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned().into()),
        ValueRef::Null | ValueRef::Real(_) => Value::Null,
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let value = match self {
            Value::Null => ValueRef::Null,
            Value::Integer(value) => ValueRef::Integer(*value),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Blob(bytes) => ValueRef::Blob(bytes),
        };
        Ok(ToSqlOutput::Borrowed(value))
    }
}

#[cfg(test)]
mod tests {
    use super::SCHEMA;
    use crate::storage::retention::OLD_TOPICS;
    use crate::storage::tables::{INVITED, OPEN};

    /// Tables may have 10^6 rows: a page, a command or a write lock does not wait for all of them.
    #[test]
    fn large_tables_are_not_read_to_the_end() {
        let database = rusqlite::Connection::open_in_memory().unwrap();
        database.execute_batch(SCHEMA).unwrap();
        let small = "SELECT name FROM joining WHERE request IS NULL";
        for (query, values, is_good) in [
            (OLD_TOPICS, 2, true),
            (OPEN, 0, true),
            (INVITED, 2, true),
            (small, 0, false),
        ] {
            let explain = format!("EXPLAIN QUERY PLAN {query}");
            let mut plan = database.prepare(&explain).unwrap();
            let values = rusqlite::params_from_iter((0..values).map(i64::from));
            let steps = plan.query_map(values, |row| row.get::<_, String>(3));
            let steps: Vec<String> = steps.unwrap().map(|step| step.unwrap()).collect();
            // What it says of reading all of a table, not of an index that has a part of it.
            let reads_all =
                |step: &String| step.starts_with("SCAN") && !step.contains("INDEX joining_open");
            assert_eq!(!steps.iter().any(reads_all), is_good, "{query}: {steps:?}");
        }
    }
}
