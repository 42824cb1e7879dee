//! clew's services over HTTP, and the clients that talk to them.
//!
//! [`http`] is what all of them share: a server that strangers cannot exhaust, a certificate of its
//! own, and a client that knows the server by the fingerprint of its key. [`log`] is a group's
//! transparency log, [`witness`] cosigns the checkpoints of logs, [`manager`] is a group's
//! manager, and [`board`] where its trustees and requesters post. [`trustee`] has a trustee's own pages,
//! and how its operator is told of work.
//! [`pages`] is what their pages for people share.

pub mod board;
mod database;
pub mod http;
pub mod log;
pub mod manager;
mod metrics;
pub mod pages;
pub mod trustee;
mod vital;
pub mod witness;

pub use database::StorageError;
