//! MinimaLT's tunnels over UDP, for tokio (`spec/tunnel.md`): encrypted data is in the first packet,
//! users are known by their keys, and addresses may change.
//!
//! A [`Server`] accepts connections of users to services. A [`Client`] opens tunnels to servers by
//! their records, and connections in them. On a connection both sides send [`Message`]s: RPCs with a
//! name and arguments. A [`driver::Program`] does without tasks and channels: the loop itself calls it.
//!
//! `examples/echo.rs` is a whole program, a service and its client:
//!
//! ```text
//! cargo run -p clew-tunnel-udp --example echo -- serve 127.0.0.1:4433 /tmp/echo.record
//! cargo run -p clew-tunnel-udp --example echo -- say /tmp/echo.record hello
//! ```
//!
//! # What to know
//!
//! - **Records.** A record tells a client a server's keys, addresses and rules, signed, for some
//!   minutes. It comes from a directory, from DNS, or as a file; [`Server::records`] gives each new
//!   one. The caller says whom to trust for a host ([`tunnel::record::Wanted::verify`]).
//! - **[`Client::open`]** returns at once: all that its closure asks for and sends is in the first
//!   packet. The server handles that packet at most once. Only an answer shows that it arrived.
//! - **[`Client::prepare`]** computes a tunnel's keys ahead of time and sends nothing.
//!   [`Tunnel::begin`] then opens it. Use both if the program knows the server, and will want the
//!   tunnel within 300 s.
//! - **A connection** carries messages in order, about 1,100 bytes each (`too-long` otherwise).
//!   Sending waits while more than 64 KiB wait to be sent. Messages that the program does not read
//!   fill the other side's window, not memory. A dropped connection sends what it has, then ends.
//! - **[`Tunnel::moved`]**, called after a change of networks, takes a new port, a new key and a new
//!   TID. An observer does not see that it is the same client.
//! - **[`State::Silent`]** says that the server does not answer: a tunnel lasts 300 s of that.
//! - **If a record has expired**, every server gives its newest record to a client that knows its
//!   long-term key: open a tunnel to `Target::Directory`, and call [`Tunnel::lookup`].
//! - **[`Registry`]** makes a server a directory or a name server; it may answer later.
//! - **[`Options::shards`]** is one for each core that the server may use, and
//!   [`Options::offload_handshakes`] moves public-key work to other threads under load.
//! - **[`Server::metrics`]** counts everything that is discarded, by reason. [`Options::traces`] and
//!   [`Client::traced`] write each packet's events as qlog, without the content of RPCs.
#![deny(unreachable_pub)]

mod client;
mod client_program;
mod clock;
mod connection;
pub mod driver;
mod ends;
pub mod engine;
mod error;
mod incoming;
mod message;
mod metrics;
mod qlog;
mod random;
mod registry;
mod server;
mod shards;
pub mod sockets;

pub use clew_tunnel as tunnel;
pub use client::{Client, FirstPacket, State, Tunnel};
pub use clock::{Clock, wall};
pub use connection::{Connection, Receiving, Sending};
pub use error::Error;
pub use incoming::Incoming;
pub use message::Message;
pub use metrics::{Metrics, MetricsWatch};
pub use qlog::Trace;
pub use random::Random;
pub use registry::{Answer, Registry};
pub use server::{Options, Server};
