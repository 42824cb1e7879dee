//! The log of a group as a service, and its clients (`spec/log.md`).
//!
//! - A [`Log`] is a directory with a key and a database; an entry is on the disk before it is answered.
//! - [`LogService`] serves it: it adds entries, many in one commit, asks witnesses for cosignatures,
//!   and publishes the checkpoints that enough of them cosigned.
//! - [`LogClient`] adds entries to a log, reads it, and makes proofs from its tiles.
//! - [`Mirror`] is an auditor's copy of a log, which grows by entries that keep all rules.

mod adding;
mod backup;
mod client;
mod cosigning;
mod mirror;
mod pages;
mod recent;
pub(crate) mod routes;
mod service;
mod storage;
mod store;
mod witnesses;

pub use backup::LogBackup;
pub use client::{LogClient, LogClientError, check};
pub use cosigning::{COSIGN_AGAIN, Status};
pub use mirror::{AuditError, Audited, Mirror};
pub use pages::{LogPages, SmallestQuorum};
pub use recent::{BYTES_PER_HOUR_MAX, ENTRIES_PER_HOUR_MAX};
pub use service::{LogOptions, LogService, Metrics};
pub use store::{Log, NotAdded, Placed, Signed, clear_key, group_file_of, read_state};
pub use witnesses::WitnessAddress;
