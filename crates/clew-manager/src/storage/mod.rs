//! The database of one group: a file of SQLite within its directory, or a database of PostgreSQL that
//! `issuer/database` names.
//!
//! [`Database`] begins transactions, [`Tables`] reads, [`Transaction`] writes. Nothing else in this
//! crate knows which database it is. Both databases get the same statements: [`tables`] and [`changes`]
//! have them, on [`Sql`], which [`sqlite`] and [`postgres`] implement.

mod board;
mod changes;
mod founding;
mod lists;
mod postgres;
mod retention;
mod sqlite;
mod tables;
mod value;

pub(crate) use board::{BoardChanges, BoardTables, NewPost};
pub(crate) use founding::{create, fill_outbox};
pub(crate) use lists::ListTables;
pub(crate) use retention::{OldTopic, RetentionChanges, RetentionTables};

use crate::error::StoreError;
use crate::store::{Factory, Invitation, Machine, OutboxEntry};
use clew_evidence::Name;
use std::io::ErrorKind;
use std::path::Path;
pub(crate) use value::{Row, Value};
use zeroize::Zeroizing;

pub(crate) type Result<T> = std::result::Result<T, StoreError>;

/// Names a database of PostgreSQL within a group's directory; without this file it is one of SQLite.
pub(crate) const SERVER: &str = "issuer/database";

/// The tables, in the words of SQLite.
const SCHEMA: &str = include_str!("schema.sql");

/// The version of their layout.
pub(crate) const LAYOUT_VERSION: i64 = 7;

/// Opens the database of a group's directory; one that is not ours is refused before anything is read
/// from it.
pub(crate) fn open(dir: &Path) -> Result<Box<dyn Database>> {
    match server(dir)? {
        Some(url) => postgres::open(&url),
        None => sqlite::open(dir),
    }
}

/// Takes a server's database for one service, as long as what is returned lives. `None` for a file, whose
/// directory is locked.
pub(crate) fn lock_service(dir: &Path) -> Result<Option<Box<dyn Send>>> {
    match server(dir)? {
        Some(url) => Ok(Some(postgres::lock_service(&url)?)),
        None => Ok(None),
    }
}

/// Whether a database's server itself refused a connection.
pub(crate) fn is_refusal(error: &(dyn std::error::Error + 'static)) -> bool {
    postgres::is_refusal(error)
}

/// Whether a database refused because its disk is full.
pub(crate) fn is_disk_full(error: &(dyn std::error::Error + 'static)) -> bool {
    sqlite::is_disk_full(error) || postgres::is_disk_full(error)
}

/// The URL of the database that a directory names, if it names one.
fn server(dir: &Path) -> Result<Option<Zeroizing<String>>> {
    let path = dir.join(SERVER);
    match std::fs::read_to_string(&path) {
        Ok(url) => Ok(Some(Zeroizing::new(url.trim().to_owned()))),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(StoreError::io(&path)(error)),
    }
}

/// Takes a row, and its table's name.
pub(crate) type DumpedRow<'e> = &'e mut (dyn FnMut(&'static str, Row) -> Result<()> + Send);

/// The names of all tables, in the order of the schema.
pub(crate) fn tables() -> impl Iterator<Item = &'static str> {
    let names = SCHEMA
        .lines()
        .filter_map(|line| line.strip_prefix("CREATE TABLE "));
    names.filter_map(|rest| rest.split(' ').next())
}

/// A connection that runs statements. Parameters are `?1`, `?2`, ....
pub(crate) trait Sql {
    /// The rows of a query.
    fn query(&self, query: &str, values: &[Value<'_>]) -> Result<Vec<Row>>;

    /// The rows of one query for each of these values, as if asked one after the other: in one round trip,
    /// where there is one.
    fn query_each(&self, query: &str, values: &[Vec<Value<'_>>]) -> Result<Vec<Vec<Row>>> {
        let each = values.iter();
        each.map(|values| self.query(query, values)).collect()
    }

    /// Runs a statement, and returns how many rows it changed.
    fn change(&self, command: &str, values: &[Value<'_>]) -> Result<usize>;
}

/// A transaction that can write. Dropped, it never happened.
pub(crate) trait Begun: Sql {
    /// Makes it durable.
    fn commit(self) -> Result<()>;
}

/// An open database.
pub(crate) trait Database: Tables + Send {
    /// Begins a change: until it ends no other process changes the store. Waits for others, 10 s at
    /// most.
    fn begin(&self) -> Result<Box<dyn Transaction + '_>>;

    /// The same without waiting. Returns `None` if another process is changing the store.
    fn begin_unless_busy(&self) -> Result<Option<Box<dyn Transaction + '_>>>;

    /// The store as it is now, whatever others change from now on.
    fn moment(&self) -> Result<Box<dyn Moment + '_>>;

    /// Takes what was deleted out of the database's own log of changes, as far as it can.
    fn purge(&self) -> Result<()>;

    /// Has the database check its own pages and indexes, as far as it can.
    fn check(&self) -> Result<()>;
}

/// A database as of one moment.
pub(crate) trait Moment: Tables {
    /// Calls `each` for every row of every table, in the order of the tables: rows that refer to others
    /// come after them. `each` does not use the database.
    fn dump(&self, each: DumpedRow<'_>) -> Result<()>;
}

/// What can be read.
pub(crate) trait Tables: BoardTables + ListTables + RetentionTables {
    /// The parts of the group file in its order, as of one moment: records, checkpoints, the head.
    fn parts(&self) -> Result<Vec<u8>>;

    /// Calls `each` for every row of the register in its order, until it answers `false`.
    fn each_machine(&self, each: &mut dyn FnMut(Machine) -> bool) -> Result<()>;

    /// The row in that place of the register.
    fn machine(&self, index: u32) -> Result<Option<Machine>>;

    /// The last row with that name.
    fn last_machine(&self, name: &str) -> Result<Option<Machine>>;

    /// All revoked rows, in no order.
    fn revoked(&self) -> Result<Vec<Revoked>>;

    /// A node of the register's tree: the root of a complete subtree of 2^level rows.
    fn node(&self, level: u32, index: u32) -> Result<Option<[u8; 32]>>;

    /// Several nodes of the tree, by level and index; those that are not there are missing.
    fn nodes(&self, places: &[(u32, u32)]) -> Result<Vec<Option<[u8; 32]>>>;

    /// The size of the register at its last checkpoint.
    fn last_checkpoint(&self) -> Result<Option<u32>>;

    /// The invitations by which nobody has joined yet, oldest first.
    fn invitations(&self) -> Result<Vec<Invitation>>;

    /// How many invitations are open, and how many of these have an offer.
    fn count_invitations(&self) -> Result<(u64, u64)>;

    /// The names of open invitations that begin with a prefix.
    fn invited(&self, prefix: &str) -> Result<Vec<Name>>;

    /// Whether an invitation of that name is open.
    fn is_invited(&self, name: &str) -> Result<bool>;

    /// How often what the group file is made of has changed.
    fn version(&self) -> Result<u64>;

    /// The entries that wait for the log, oldest first, at most so many.
    fn outbox(&self, most: u32) -> Result<Vec<OutboxEntry>>;

    /// The last place in the log that an entry has.
    fn last_place(&self) -> Result<Option<u64>>;

    /// The entries of a kind that the log has: each body with its place.
    fn sent(&self, kind: u8) -> Result<Vec<(Vec<u8>, u64)>>;

    /// The rows that wait for the next epoch to be revoked, in the order of their machines.
    fn queued(&self) -> Result<Vec<u32>>;

    /// The rights of factories, oldest first.
    fn factories(&self) -> Result<Vec<Factory>>;

    /// The right with that id.
    fn factory(&self, id: &[u8; 16]) -> Result<Option<Factory>>;

    /// The join with that nonce.
    fn join(&self, nonce: &[u8; 32]) -> Result<Option<Join>>;
}

/// A change under way. Dropped, it never happened.
pub(crate) trait Transaction: Tables + BoardChanges + RetentionChanges {
    /// Makes the change durable: it is on disk when this returns.
    fn commit(self: Box<Self>) -> Result<()>;

    /// Adds the signed record of an epoch.
    fn add_record(&self, epoch: u32, part: &[u8]) -> Result<()>;

    /// Adds a signed checkpoint of the register.
    fn add_checkpoint(&self, machines: u32, root: &[u8; 32], part: &[u8]) -> Result<()>;

    /// Adds the register's first signed head.
    fn add_head(&self, part: &[u8]) -> Result<()>;

    /// Replaces the register's signed head, which ends every change of the group file.
    fn set_head(&self, part: &[u8]) -> Result<()>;

    /// Adds a row to the register.
    fn add_machine(&self, machine: &Machine) -> Result<()>;

    /// Adds a node to the register's tree.
    fn add_node(&self, level: u32, index: u32, hash: &[u8; 32]) -> Result<()>;

    /// Says in a row which epoch locks it out, unless it says so already.
    fn revoke(&self, index: u32, epoch: u32) -> Result<()>;

    /// Adds an invitation, made at `now` (nanoseconds since 1970).
    fn invite(&self, nonce: &[u8; 32], name: &Name, now: u64) -> Result<()>;

    /// Removes the open invitations of a name, and returns how many there were.
    fn withdraw(&self, name: &Name) -> Result<usize>;

    /// Removes the open invitation with that nonce, if there is one.
    fn withdraw_nonce(&self, nonce: &[u8; 32]) -> Result<()>;

    /// Keeps the offer of a join, unless it has one.
    fn keep_offer(&self, nonce: &[u8; 32], offered: &Offered) -> Result<()>;

    /// Says in a join which row the machine has.
    fn keep_joined(&self, nonce: &[u8; 32], index: u32) -> Result<()>;

    /// Adds an entry for the log.
    fn send(&self, kind: u8, body: &[u8]) -> Result<()>;

    /// Adds an entry that the log has already, in that place.
    fn add_sent(&self, kind: u8, body: &[u8], place: u64) -> Result<()>;

    /// Says that the log has an entry, and where. Entries before it have to be there.
    fn set_sent(&self, seq: u64, place: u64) -> Result<()>;

    /// Says that the log has no entry: it is a new one.
    fn set_unsent(&self) -> Result<()>;

    /// Queues a row to be revoked. Returns `false` if it is queued already.
    fn queue(&self, index: u32, now: u64) -> Result<bool>;

    /// Takes a row from the queue, if it is there.
    fn unqueue(&self, index: u32) -> Result<()>;

    /// Adds a row as another database has it. `table` is one of [`tables`].
    fn insert(&self, table: &'static str, row: Row) -> Result<()>;

    /// Adds the right of a factory, made at `now` (nanoseconds since 1970).
    fn add_factory(&self, factory: &Factory, now: u64) -> Result<()>;

    /// Counts one more name that a factory invited.
    fn use_factory(&self, id: &[u8; 16]) -> Result<()>;

    /// Removes the rights of factories with that prefix, and returns how many there were.
    fn remove_factories(&self, prefix: &str) -> Result<usize>;
}

/// What the x of a revoked row derives from.
pub(crate) struct Revoked {
    pub index: u32,
    pub epoch: u32,
    pub salt: Vec<u8>,
    pub name: String,
}

/// A join from a device's own host.
pub(crate) struct Join {
    pub name: Name,
    /// `None` until a device has asked.
    pub offered: Option<Offered>,
}

/// What was offered to a device.
pub(crate) struct Offered {
    /// The payload of the request that the offer answers.
    pub request: Vec<u8>,
    pub salt: [u8; 16],
    /// The epoch of the offer.
    pub joined: u32,
    pub replaces: Option<u32>,
    /// The machine's row, once the device has accepted.
    pub machine: Option<u32>,
}
