//! MinimaLT's tunnels over UDP, for tokio (`spec/tunnel.md`): encrypted data is in the first packet,
//! users are known by their keys, and addresses may change.
//!
//! A [`Server`] accepts connections of users to services. A [`Client`] opens tunnels to servers by
//! their records, and connections in them. On a connection both sides send [`Message`]s: RPCs with a
//! name and arguments. A [`driver::Program`] does without tasks and channels: the loop itself calls it.
#![deny(unreachable_pub)]

mod client;
mod client_program;
mod clock;
mod connection;
pub mod driver;
mod ends;
pub mod engine;
mod error;
mod message;
mod metrics;
mod qlog;
mod random;
mod registry;
mod server;
mod shards;
pub mod sockets;

pub use clew_tunnel as tunnel;
pub use client::{Client, First, State, Tunnel};
pub use clock::{Clock, wall};
pub use connection::{Connection, Receiving, Sending};
pub use error::Error;
pub use message::Message;
pub use metrics::{Metrics, MetricsWatch};
pub use qlog::Trace;
pub use random::Random;
pub use registry::{Answer, Registry};
pub use server::{Incoming, Options, Server};
