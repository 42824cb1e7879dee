//! `clew up`, `clew down`, `clew status`, `clew confirm`, `clew reload`

mod absent;
mod child;
mod down;
mod endpoint;
mod exchange;
mod failing;
mod firewall;
mod guard;
mod lines;
mod material;
mod memory;
mod own;
mod plane;
mod probe;
mod queue;
mod readable;
mod reasons;
mod replace;
mod starter;
mod status;
mod supervise;
mod teller;
mod up;
mod writable;

pub use down::{confirm, down};
pub use status::{reload, status};
pub use up::up;

use crate::failure::Failure;
use crate::metrics::refusal;
use clew_live::config::{Config, ConfigError, Rule, is_name};
use clew_live::setup::{Place, SetupError};
use clew_live::visible::visible;
use nix::unistd::geteuid;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        match &error.rule {
            Rule::Read(io) => Self::io(&error.path, io),
            _ => Self::new(error),
        }
    }
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Self {
        let failure = Self::new(&error);
        match &error {
            SetupError::NoProgram("nft") => failure.hint(
                "install the package nftables: only inbound = \"monitor\" with outbound = \"prefer\" and \
                 others = \"pass\" do without",
            ),
            SetupError::NoProgram(_) => failure.hint("install the package iproute2"),
            SetupError::NotExecutable(path) => failure.hint(format!(
                "chmod 755 {}; what is set up stays until clew down works",
                path.display()
            )),
            SetupError::Runs { name, .. } => failure.hint(format!(
                "clew status {name}; clew up --replace CONFIG hands it over to another program"
            )),
            SetupError::Left(name) => failure.hint(format!("clew down {name}")),
            SetupError::OtherVersion { name, .. } | SetupError::OtherKeys { name, .. } => {
                failure.hint(format!("clew down {name}, then clew up CONFIG"))
            }
            SetupError::Shared { other, .. } => failure.hint(format!(
                "clew down {other}, or take the prefix out of one of both configurations"
            )),
            SetupError::Exists { key: "table", .. } => {
                failure.hint("a second daemon needs another `name`, `port` and `table`")
            }
            SetupError::NoTun(_) => failure.hint("modprobe tun"),
            SetupError::NoUser(name) => failure.hint(format!("useradd --system {name}")),
            SetupError::RootUser(_) => failure.hint("set `user` to another user"),
            SetupError::NoRoute(at) => failure.hint(format!("ip route get {}", at.ip())),
            SetupError::NoQueue(_) => failure.hint(
                "modprobe -a nfnetlink_queue nft_queue xt_NFQUEUE, or carrier = \"udp-tunnel\"",
            ),
            SetupError::NoFilter(_) => failure.hint(
                "modprobe -a nf_tables nft_fib_inet, or use a kernel with what nft names; only \
                 inbound = \"off\" with outbound = \"prefer\" and others = \"pass\" do without",
            ),
            SetupError::Io { path, error } if error.kind() == ErrorKind::PermissionDenied => {
                Self::io(path, error).hint("run the command as root")
            }
            _ => failure,
        }
    }
}

/// The word for so many peers.
fn plural(peers: usize) -> &'static str {
    if peers == 1 { "peer" } else { "peers" }
}

/// The failure to bind the carrier's port.
fn port_failed(port: u16, error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::AddrInUse => Failure::new(format!("UDP port {port}: another program has it"))
            .hint(format!(
                "ss -Hulnp 'sport = {port}' names it; `port` sets another one, on both hosts"
            )),
        _ => Failure::new(format!("UDP port {port}: {error}")),
    }
}

/// Listens at the address for metrics.
fn bind_metrics(at: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(at).map_err(|error| {
        let (what, hint) = refusal(at, &error, "`metrics`");
        Failure::new(format!("metrics = \"{at}\": {what}")).hint(hint)
    })
}

/// Refuses to go on without root.
fn need_root(command: &str) -> Result<(), Failure> {
    match geteuid().is_root() {
        true => Ok(()),
        false => Err(Failure::new(format!("clew {command}: need root")).hint("use sudo")),
    }
}

/// The place of the daemon that is named, or else of the only one.
fn place(name: Option<&str>) -> Result<Place, Failure> {
    if let Some(name) = name {
        if name.ends_with(".toml") {
            return Ok(Place::of(&Config::read(Path::new(name))?.name));
        }
        return match is_name(name) {
            true => Ok(Place::of(name)),
            false => Err(
                Failure::new(format!("{}: not a name of a daemon", visible(name)))
                    .hint("use the `name` of its configuration, or the configuration file"),
            ),
        };
    }
    match Place::names().as_slice() {
        [one] => Ok(Place::of(one)),
        [] => Err(Failure::new("no daemon is set up")
            .no()
            .hint("clew up CONFIG")),
        several => Err(Failure::new(format!(
            "several daemons are set up: {}",
            several.join(", ")
        ))
        .hint("name one")),
    }
}

/// Locks, also behind a thread that panicked: what these locks guard is whole after each step.
fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_executable_needs_no_root() {
        let failure = Failure::from(SetupError::NotExecutable("/usr/sbin/nft".into()));
        let hint = failure.hint.unwrap_or_default();
        assert!(hint.starts_with("chmod 755 /usr/sbin/nft; what"), "{hint}");
    }

    /// Whoever has `nft` need not install it.
    #[test]
    fn only_a_missing_program_is_to_be_installed() {
        let hint = |error: SetupError| Failure::from(error).hint.unwrap_or_default();
        assert!(hint(SetupError::NoProgram("nft")).starts_with("install the package nftables"));
        assert!(hint(SetupError::NoProgram("ip")).ends_with("iproute2"));
        let refused = hint(SetupError::NoFilter("Operation not supported".into()));
        assert!(!refused.contains("install"), "{refused}");
        assert!(refused.contains("nf_tables"), "{refused}");
    }
}
