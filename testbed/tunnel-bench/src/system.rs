//! What is measured: a system under test, and what one must provide to get a row.
//!
//! # Adding a row (clew-tunnel's, for one)
//!
//! Implement [`System`] and [`Client`] and add the system to [`crate::systems::all`]. If both sides
//! run on tokio, [`crate::systems::on_tokio::Peer`] is less work. An engine with threads or batches of its
//! own implements the two traits directly; nothing in them mentions a runtime.
//!
//! - **The server is one thread.** [`System::serve`] gets a thread of its own that is pinned already, does everything there
//!   (so that the CPU time of that thread is all the server takes), calls `ready` once it
//!   listens, and blocks when it has nothing to do: it runs until the program ends, beside the idle servers of
//!   all other rows.
//! - **The client is one thread**, the one that calls [`System::client`] and all of [`Client`]. Between
//!   two calls it gets no time. What it must have before its first connection (tickets, service records)
//!   it fetches in [`System::client`], unmeasured.
//! - **A connection is new each time.** [`Client::exchange`] and [`Client::exchanges`] open a connection with fresh keys, send
//!   [`Request`]'s 28 bytes, wait for all of the answer's 58, and close. A row that sends its request over an
//!   existing tunnel is another row with another name, and says so in its `about`.
//! - **The request says how long its answer is.** A server answers with as many bytes as [`Request::answer`] says, of any
//!   contents. That is the whole application: 58 for an exchange, gigabytes for [`Client::fetch`].
//! - **Nothing is skipped**: the client authenticates the server, both use the default settings that the row's users would
//!   have, and the bytes of the answer reach the application.
//! - **Secrets of the server** come from [`crate::systems::identity::Identity`], as server and clients of `memory` are
//!   different processes: whatever a client must know beforehand has to be derived from there.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// The sizes of the paper's section 6.2.
pub const REQUEST: usize = 28;
/// The same for the answer.
pub const ANSWER: u64 = 58;

/// What a client asks for: an answer of so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request(u64);

impl Request {
    /// The request of the paper's exchange.
    pub const EXCHANGE: Self = Self(ANSWER);

    /// A request for so many bytes.
    pub fn of(bytes: u64) -> Self {
        Self(bytes)
    }

    /// How many bytes are asked for.
    pub fn answer(self) -> u64 {
        self.0
    }

    /// As it is sent.
    pub fn to_bytes(self) -> [u8; REQUEST] {
        let mut bytes = [0x55; REQUEST];
        bytes[..8].copy_from_slice(&self.0.to_be_bytes());
        bytes
    }

    /// As it was received.
    pub fn from_bytes(bytes: &[u8; REQUEST]) -> Self {
        let mut length = [0; 8];
        length.copy_from_slice(&bytes[..8]);
        Self(u64::from_be_bytes(length))
    }
}

/// The programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    Connect,
    Bulk,
    Latency,
    Memory,
    Loss,
}

/// A system under test: a row of a table.
pub trait System: Send + Sync {
    /// By which the row is found; without spaces.
    fn name(&self) -> &str;

    /// What a reader must know of it, in a line.
    fn about(&self) -> &str;

    /// Whether it is a row of that program.
    fn does(&self, work: Work) -> bool;

    /// Serves on a free port of `host`, for ever, on this thread. Says where.
    fn serve(&self, host: IpAddr, ready: &dyn Fn(SocketAddr)) -> io::Result<()>;

    /// A client with so many loops, on this thread, ready for its first connection.
    fn client(&self, server: SocketAddr, parallel: usize) -> io::Result<Box<dyn Client + '_>>;
}

/// The client's side of a system.
pub trait Client {
    /// One exchange on a new connection: how long until the whole answer was there.
    fn exchange(&mut self) -> io::Result<Duration>;

    /// Exchanges in all loops until the time is over; counts those that were finished, with the time until the
    /// last was. Returns when what is left to do in the background (closing) is done too.
    fn exchanges(&mut self, time: Duration) -> io::Result<Exchanged>;

    /// A new connection, and an answer of so many bytes on it.
    fn fetch(&mut self, bytes: u64) -> io::Result<Fetched>;

    /// Opens so many connections more, with an exchange on each, and keeps them as long as this client lives.
    fn hold(&mut self, connections: usize) -> io::Result<()>;

    /// What else a reader should know of this run: the share of accepted early data, for instance.
    fn note(&self) -> Option<String> {
        None
    }
}

/// What [`Client::exchanges`] did.
#[derive(Clone, Copy, Debug)]
pub struct Exchanged {
    pub exchanges: u64,
    pub time: Duration,
}

/// How long [`Client::fetch`] took.
#[derive(Clone, Copy, Debug)]
pub struct Fetched {
    /// From before the connection to the last byte.
    pub whole: Duration,
    /// From the first piece of the answer to the last.
    pub stream: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_as_they_were_sent() {
        for bytes in [0, ANSWER, u64::MAX] {
            let request = Request::of(bytes);
            assert_eq!(Request::from_bytes(&request.to_bytes()), request);
        }
    }
}
