//! Why a host cannot be set up.

use super::EXCHANGE;
use crate::config::plain;
use ipnet::IpNet;
use std::io;
use std::path::PathBuf;

/// Most bytes of a program's complaint that are repeated.
const SAID_MAX: usize = 300;

/// Complaints of a program, in one line.
pub(super) fn in_short(said: &[String]) -> String {
    let mut said = said.join("; ");
    let end = (0..=SAID_MAX.min(said.len())).rfind(|at| said.is_char_boundary(*at));
    said.truncate(end.unwrap_or(0));
    said
}

/// Why a host cannot be set up, or a set-up not undone.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A program is missing.
    #[error("{0}: no such program in /usr/sbin, /usr/bin, /sbin or /bin")]
    NoProgram(&'static str),
    /// A program is there, and nobody may run it.
    #[error("{}: not executable", .0.display())]
    NotExecutable(PathBuf),
    /// A program failed.
    #[error("{what}: {}", in_short(said))]
    Failed {
        /// The command.
        what: String,
        /// What it wrote to standard error: in one line, or for a list of commands each complaint once.
        said: Vec<String>,
    },
    /// The system refused a file.
    #[error("{}: {}", path.display(), plain(error))]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Another daemon of this name runs.
    #[error("{name} runs already, as process {process}")]
    Runs {
        /// The daemon.
        name: String,
        /// The process that holds its lock.
        process: i32,
    },
    /// A set-up that ended half-way was not undone.
    #[error("{0} is set up in part, and no daemon runs")]
    Left(String),
    /// A program of another version set up.
    #[error(
        "{name} was set up by another clew, with version {version} of what supervisor and data plane \
         exchange: this one has version {EXCHANGE}"
    )]
    OtherVersion {
        /// The daemon.
        name: String,
        /// The other version.
        version: u32,
    },
    /// The set-up is another one.
    #[error("{name} has another set-up: {keys} {}", if keys.contains(',') { "differ" } else { "differs" })]
    OtherKeys {
        /// The daemon.
        name: String,
        /// Keys of the configuration, with commas between.
        keys: String,
    },
    /// Another daemon has a prefix.
    #[error("prefix {one} belongs to another daemon: {other} has {its}")]
    Shared {
        /// The prefix.
        one: IpNet,
        /// The other daemon's.
        its: IpNet,
        /// Its name.
        other: String,
    },
    /// Something of this name is there, and is not ours.
    #[error("{what} exists already: choose another `{key}` in the configuration")]
    Exists {
        /// The object.
        what: String,
        /// The key of the configuration that names it.
        key: &'static str,
    },
    /// The kernel has no TUN.
    #[error("/dev/net/tun: {}", plain(_0))]
    NoTun(io::Error),
    /// There is no such user.
    #[error("user {0:?}: no such user")]
    NoUser(String),
    /// The user is root.
    #[error("user {0:?} is root: the data plane runs without privileges")]
    RootUser(String),
    /// An end point cannot be reached.
    #[error("endpoint {0}: no route to it")]
    NoRoute(std::net::SocketAddr),
    /// The kernel does not take the table of nftables.
    #[error("nft: the kernel refuses the filter: {0}")]
    NoFilter(String),
    /// The kernel cannot hand packets to a process.
    #[error("NFQUEUE: {0}: needed by carrier = \"trailer\"")]
    NoQueue(String),
    /// The undo file holds something else.
    #[error("{}:{line}: not an undo step", path.display())]
    Journal {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
}
