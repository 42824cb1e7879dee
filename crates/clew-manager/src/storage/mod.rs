//! The database of one group: the one interface to it, and [`sqlite`], which implements it.
//!
//! [`Database`] begins transactions, [`Tables`] reads, [`Transaction`] writes. Nothing else in this
//! crate knows which database it is.

mod board;
mod sqlite;

pub(crate) use board::{BoardChanges, BoardTables, NewPost};
pub(crate) use sqlite::{create, open};

use crate::error::StoreError;
use crate::store::{Factory, Invitation, Machine, OutboxEntry};
use clew_evidence::Name;

pub(crate) type Result<T> = std::result::Result<T, StoreError>;

/// An open database.
pub(crate) trait Database: Tables + Send {
    /// Begins a change: until it ends no other process changes the store. Waits for others, 10 s at
    /// most.
    fn begin(&self) -> Result<Box<dyn Transaction + '_>>;

    /// The same without waiting. Returns `None` if another process is changing the store.
    fn begin_unless_busy(&self) -> Result<Option<Box<dyn Transaction + '_>>>;
}

/// What can be read.
pub(crate) trait Tables: BoardTables + ListTables {
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

    /// The size of the register at its last checkpoint.
    fn last_checkpoint(&self) -> Result<Option<u32>>;

    /// The invitations by which nobody has joined yet, oldest first.
    fn invitations(&self) -> Result<Vec<Invitation>>;

    /// How often what the group file is made of has changed.
    fn version(&self) -> Result<u64>;

    /// The entries that wait for the log, oldest first, at most so many.
    fn outbox(&self, most: u32) -> Result<Vec<OutboxEntry>>;

    /// The rows that wait for the next epoch to be revoked, in the order of their machines.
    fn queued(&self) -> Result<Vec<u32>>;

    /// The rights of factories, oldest first.
    fn factories(&self) -> Result<Vec<Factory>>;

    /// The right with that id.
    fn factory(&self, id: &[u8; 16]) -> Result<Option<Factory>>;

    /// The join with that nonce.
    fn join(&self, nonce: &[u8; 32]) -> Result<Option<Join>>;
}

/// Parts of the list of machines, as people page through it.
pub(crate) trait ListTables {
    /// The machines before a place, the newest first.
    fn machines_before(&self, before: u32, most: u32) -> Result<Vec<Machine>>;

    /// The machines whose names begin with a prefix, by name and place: those behind that name and
    /// place.
    fn machines_named(&self, prefix: &str, after: (&str, i64), most: u32) -> Result<Vec<Machine>>;
}

/// A change under way. Dropped, it never happened.
pub(crate) trait Transaction: Tables + BoardChanges {
    /// Makes the change durable: it is on disk when this returns.
    fn commit(self: Box<Self>) -> Result<()>;

    /// Adds the signed record of an epoch.
    fn add_record(&self, epoch: u32, part: &[u8]) -> Result<()>;

    /// Adds a signed checkpoint of the register.
    fn add_checkpoint(&self, machines: u32, root: &[u8; 32], part: &[u8]) -> Result<()>;

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

    /// Says that the log has an entry, and where. Entries before it have to be there.
    fn set_sent(&self, seq: u64, place: u64) -> Result<()>;

    /// Queues a row to be revoked. Returns `false` if it is queued already.
    fn queue(&self, index: u32, now: u64) -> Result<bool>;

    /// Takes a row from the queue, if it is there.
    fn unqueue(&self, index: u32) -> Result<()>;

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
