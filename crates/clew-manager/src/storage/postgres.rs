//! The database as tables in a schema of PostgreSQL.
//!
//! A change locks the row of the register's head before it reads anything: whoever comes second waits,
//! and then reads what the first one left. A connection that is lost is made again by the next statement
//! outside of a change. If it is lost while a change commits, the server is asked what came of it.

mod connection;
mod url;

use super::value::{Row, Value};
use super::{
    Begun, Database, DumpedRow, LAYOUT_VERSION, Moment, Result, SCHEMA, Sql, Transaction, tables,
};
use crate::error::StoreError;
use connection::{Connection, Failed};
use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tokio_postgres::error::SqlState;
use url::Server;

/// "clew", in the table that says which tables these are.
const APPLICATION: i64 = 0x636c_6577;

const LAYOUT: &str = "CREATE TABLE layout (
    id          BIGINT PRIMARY KEY CHECK (id = 0),
    application BIGINT NOT NULL,
    version     BIGINT NOT NULL
)";

const BEGIN: &str = "BEGIN";
/// All of it sees the same moment.
const BEGIN_MOMENT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
/// What every change locks.
const LOCK: &str = "SELECT txid_current() FROM register FOR UPDATE";
/// Rows that are dumped at once.
const DUMPED_AT_ONCE: u32 = 1_024;

/// For how long a server is asked what came of a change, and the pause between two questions. The last
/// question may take as long as a connection does.
const OUTCOME_TIME: Duration = Duration::from_secs(10);
const OUTCOME_WAIT: Duration = Duration::from_millis(500);

/// Makes the tables in a database that has none of a group, and fills them. Commits after `place`.
pub(super) fn create(
    url: &str,
    fill: &mut dyn FnMut(&dyn Transaction) -> Result<()>,
    place: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    let db = Postgres::new(url)?;
    let change = db.start(BEGIN, "SELECT txid_current()")?;
    let made = db.with(|on| {
        on.batch(LAYOUT)?;
        on.batch(&schema())
    });
    made.map_err(|error| match error {
        StoreError::Database { error, .. } if is_state(&*error, &SqlState::DUPLICATE_TABLE) => {
            StoreError::HasGroup(db.name.clone())
        }
        error => error,
    })?;
    let layout = [APPLICATION.into(), LAYOUT_VERSION.into()];
    change.change("INSERT INTO layout VALUES (0, ?1, ?2)", &layout)?;
    fill(&change)?;
    place()?;
    Begun::commit(change)
}

/// Opens the database of a group.
pub(super) fn open(url: &str) -> Result<Box<dyn Database>> {
    let db = Postgres::new(url)?;
    let layout = db.query("SELECT application, version FROM layout", &[]);
    let rows = layout.map_err(|error| match error {
        StoreError::Database { error, .. } if is_state(&*error, &SqlState::UNDEFINED_TABLE) => {
            StoreError::NoGroup(db.name.clone())
        }
        error => error,
    })?;
    let mut row = rows.into_iter().next().unwrap_or(Row::new(Vec::new()));
    match (row.take::<i64>(), row.take::<i64>()) {
        (Ok(APPLICATION), Ok(LAYOUT_VERSION)) => Ok(Box::new(db)),
        (Ok(APPLICATION), Ok(version)) => Err(StoreError::OtherLayout {
            path: db.name.clone(),
            version,
            known: LAYOUT_VERSION,
        }),
        _ => Err(StoreError::OtherDatabase(db.name.clone())),
    }
}

/// Takes the database for one service, on a connection of its own.
pub(super) fn lock_service(url: &str) -> Result<Box<dyn Send>> {
    let db = Postgres::new(url)?;
    let lock =
        "SELECT pg_try_advisory_lock(hashtextextended('clew ' || current_schema(), 0))::int::int8";
    let taken = db.query(lock, &[])?;
    let taken = taken.into_iter().next().map(|mut row| row.take::<i64>());
    match taken {
        Some(Ok(1)) => Ok(Box::new(db)),
        _ => Err(StoreError::Served(db.name.clone())),
    }
}

/// The tables in the words of PostgreSQL. Text has the order of its bytes, as in SQLite.
fn schema() -> String {
    let words = [
        (") STRICT, WITHOUT ROWID;", ");"),
        (") STRICT;", ");"),
        (" INTEGER", " BIGINT"),
        (" BLOB", " BYTEA"),
        (" TEXT", " TEXT COLLATE \"C\""),
    ];
    words.iter().fold(SCHEMA.to_owned(), |all, (sqlite, ours)| {
        all.replace(sqlite, ours)
    })
}

fn is_state(error: &(dyn std::error::Error + 'static), state: &SqlState) -> bool {
    let error = error.downcast_ref::<tokio_postgres::Error>();
    error.and_then(tokio_postgres::Error::code) == Some(state)
}

/// Whether the server itself said no.
pub(super) fn is_refusal(error: &(dyn std::error::Error + 'static)) -> bool {
    let error = error.downcast_ref::<tokio_postgres::Error>();
    error.is_some_and(|error| error.as_db_error().is_some())
}

pub(super) fn is_disk_full(error: &(dyn std::error::Error + 'static)) -> bool {
    is_state(error, &SqlState::DISK_FULL)
}

struct Postgres {
    server: Server,
    /// How it is named in messages: without a password.
    name: PathBuf,
    /// `None` before the first statement, and after it was lost.
    connection: RefCell<Option<Connection>>,
    /// A change is under way: its connection is not replaced.
    is_changing: Cell<bool>,
}

impl Postgres {
    fn new(url: &str) -> Result<Self> {
        let server = Server::parse(url)?;
        Ok(Self {
            name: server.name().into(),
            server,
            connection: RefCell::new(None),
            is_changing: Cell::new(false),
        })
    }

    /// Runs something on the connection, which is made if there is none.
    fn with<T: Send>(
        &self,
        work: impl FnOnce(&mut Connection) -> std::result::Result<T, Failed> + Send,
    ) -> Result<T> {
        let lost = || StoreError::Lost(self.name.clone());
        let mut slot = self.connection.borrow_mut();
        if slot.is_none() {
            if self.is_changing.get() {
                return Err(lost()); // the change is gone with its connection
            }
            *slot = Some(Connection::new(&self.server, &self.name)?);
        }
        let connection = slot.as_mut().ok_or_else(lost)?;
        let done = connection::outside(|| work(connection));
        done.map_err(|failed| {
            let is_closed = slot.as_ref().is_none_or(Connection::is_closed);
            let (is_lost, error) = match failed {
                Failed::Silent => (true, StoreError::Silent(self.name.clone())),
                Failed::Refused(error) => {
                    let is_lost = is_closed || error.code().is_none_or(is_end);
                    (is_lost, refused(&self.name, error, is_lost))
                }
            };
            if is_lost {
                connection::end(slot.take());
            }
            error
        })
    }

    /// Begins a transaction. `lock` is its first query: that of a change locks what all changes lock, and
    /// returns the change's number.
    fn start(&self, begin: &str, lock: &str) -> Result<Change<'_>> {
        if self.is_changing.get() {
            return Err(StoreError::Busy(self.name.clone()));
        }
        let number = self.with(|on| {
            on.batch(begin)?;
            on.lock(lock)
        });
        let change = Change {
            db: self,
            number: number.as_ref().map_or(0, |number: &i64| *number),
            is_committed: false,
            has_failed: Cell::new(false),
        };
        self.is_changing.set(true);
        number.map(|_| change) // dropped otherwise, which ends what was begun
    }

    /// What came of a change whose commit was not answered.
    fn outcome(&self, number: i64) -> Result<()> {
        let since = Instant::now();
        while since.elapsed() < OUTCOME_TIME {
            let asked = self.query("SELECT txid_status(?1)", &[number.into()]);
            let status = asked.map(|rows| rows.into_iter().next().map(|mut row| row.take()));
            match status {
                Ok(Some(Ok(Some(status)))) => match String::as_str(&status) {
                    "committed" => return Ok(()),
                    "aborted" => return Err(StoreError::Lost(self.name.clone())),
                    _ => {} // the server has not seen yet that the connection is gone
                },
                Ok(_) | Err(StoreError::Silent(_)) => break,
                Err(_) => {}
            }
            sleep(OUTCOME_WAIT);
        }
        Err(StoreError::Unanswered(self.name.clone()))
    }
}

/// Whether the server ended the connection: classes 08 (connection) and 57P (shutdown), 25P03 (idle for
/// too long).
fn is_end(state: &SqlState) -> bool {
    let code = state.code();
    code.starts_with("08") || code.starts_with("57P") || code == "25P03"
}

fn refused(name: &Path, error: tokio_postgres::Error, is_lost: bool) -> StoreError {
    let path = name.to_owned();
    match error.code() {
        Some(&SqlState::LOCK_NOT_AVAILABLE) => StoreError::Busy(path),
        Some(&SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED) => {
            StoreError::DamagedDatabase(path)
        }
        _ if is_lost => StoreError::Lost(path),
        _ => StoreError::Database {
            path,
            error: error.into(),
        },
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        connection::end(self.connection.take());
    }
}

impl Sql for Postgres {
    fn query(&self, query: &str, values: &[Value<'_>]) -> Result<Vec<Row>> {
        let rows = self.with(|on| on.query(query, values))?;
        rows.into_iter().map(|row| connection::read(&row)).collect()
    }

    fn query_each(&self, query: &str, values: &[Vec<Value<'_>>]) -> Result<Vec<Vec<Row>>> {
        let each = self.with(|on| on.query_each(query, values))?.into_iter();
        each.map(|rows| rows.iter().map(connection::read).collect())
            .collect()
    }

    fn change(&self, command: &str, values: &[Value<'_>]) -> Result<usize> {
        let changed = self.with(|on| on.execute(command, values))?;
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }
}

impl Database for Postgres {
    fn begin(&self) -> Result<Box<dyn Transaction + '_>> {
        Ok(Box::new(self.start(BEGIN, LOCK)?))
    }

    fn begin_unless_busy(&self) -> Result<Option<Box<dyn Transaction + '_>>> {
        match self.start(BEGIN, &format!("{LOCK} NOWAIT")) {
            Ok(change) => Ok(Some(Box::new(change))),
            Err(StoreError::Busy(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn moment(&self) -> Result<Box<dyn Moment + '_>> {
        Ok(Box::new(self.start(BEGIN_MOMENT, "SELECT 0::int8")?))
    }

    /// The server checks what it reads, if its cluster has checksums.
    fn purge(&self) -> Result<()> {
        Ok(()) // the server vacuums by itself, later
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }
}

impl Moment for Change<'_> {
    fn dump(&self, each: DumpedRow<'_>) -> Result<()> {
        for table in tables() {
            let declare =
                format!("DECLARE dump_{table} NO SCROLL CURSOR FOR SELECT * FROM {table}");
            self.db.with(|on| on.batch(&declare))?;
            let fetch = format!("FETCH {DUMPED_AT_ONCE} FROM dump_{table}");
            loop {
                let rows = self.query(&fetch, &[])?;
                if rows.is_empty() {
                    break;
                }
                rows.into_iter().try_for_each(|row| each(table, row))?;
            }
        }
        Ok(())
    }
}

/// A transaction: of a change, or to read what one moment has.
struct Change<'d> {
    db: &'d Postgres,
    number: i64,
    is_committed: bool,
    /// A statement failed: the server would answer COMMIT, and roll back.
    has_failed: Cell<bool>,
}

impl Change<'_> {
    fn noting<T>(&self, done: Result<T>) -> Result<T> {
        self.has_failed.set(self.has_failed.get() || done.is_err());
        done
    }
}

impl Sql for Change<'_> {
    fn query(&self, query: &str, values: &[Value<'_>]) -> Result<Vec<Row>> {
        self.noting(self.db.query(query, values))
    }

    fn query_each(&self, query: &str, values: &[Vec<Value<'_>>]) -> Result<Vec<Vec<Row>>> {
        self.noting(self.db.query_each(query, values))
    }

    fn change(&self, command: &str, values: &[Value<'_>]) -> Result<usize> {
        self.noting(self.db.change(command, values))
    }
}

impl Begun for Change<'_> {
    fn commit(mut self) -> Result<()> {
        if self.has_failed.get() {
            let why = "a statement of this change failed".into();
            return Err(StoreError::Database {
                path: self.db.name.clone(),
                error: why,
            });
        }
        let done = self.db.with(|on| on.batch("COMMIT"));
        self.is_committed = true;
        self.db.is_changing.set(false);
        match done {
            Err(StoreError::Lost(_) | StoreError::Silent(_)) => self.db.outcome(self.number),
            done => done,
        }
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        if self.is_committed {
            return;
        }
        // Without an answer the connection goes, and the change with it.
        if self.db.with(|on| on.batch("ROLLBACK")).is_err() {
            connection::end(self.db.connection.take());
        }
        self.db.is_changing.set(false);
    }
}
