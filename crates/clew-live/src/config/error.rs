//! What can be wrong with a configuration.

use super::{EXCLUDES_MAX, FILE_MAX, PEERS_MAX, PREFIXES_MAX};
use crate::visible::visible;
use ipnet::IpNet;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::{error, fmt, io};

/// A mistake in a configuration, and where it stands.
#[derive(Debug)]
pub struct ConfigError {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1. `None` if it is not at one place.
    pub line: Option<usize>,
    /// The rule that is broken.
    pub rule: Rule,
}

/// Returns what the system says, without the number of its error.
pub(crate) fn plain(error: &io::Error) -> String {
    let words = match error.kind() {
        ErrorKind::NotFound => "does not exist",
        ErrorKind::PermissionDenied => "permission denied",
        _ => {
            let text = error.to_string();
            let words = text.split(" (os error").next();
            return words.unwrap_or_default().to_lowercase();
        }
    };
    words.to_owned()
}

/// The rules of a configuration.
#[derive(Debug, thiserror::Error)]
pub enum Rule {
    /// It can be read.
    #[error("{}", plain(_0))]
    Read(io::Error),
    /// It is a file, whose end comes.
    #[error("need a file, have a pipe or a device")]
    NotAFile,
    /// It has a size that a person wrote.
    #[error("longer than {FILE_MAX} bytes")]
    Size,
    /// It is TOML with the known keys.
    #[error("{0}")]
    Toml(String),
    /// The name fits into names of interfaces.
    #[error("name {0:?}: need 1 to 10 of a-z, 0-9 and -, the first one not -")]
    Name(String),
    /// The interface has a name that Linux takes.
    #[error("interface {0:?}: need 1 to 15 of a-z, A-Z, 0-9, -, _ and .")]
    Interface(String),
    /// There is somebody to talk to.
    #[error("need at least one [[peer]]")]
    NoPeer,
    /// Peers are not too many.
    #[error("more than {PEERS_MAX} peers")]
    Peers,
    /// Prefixes are not too many.
    #[error("more than {PREFIXES_MAX} prefixes")]
    Prefixes,
    /// A peer has addresses.
    #[error("prefixes is empty: a peer needs at least one")]
    NoPrefix,
    /// A prefix is written as one.
    #[error("prefix {0:?}: write a network as 10.0.0.0/24, fd00::/64 or 10.0.0.2/32")]
    PrefixText(String),
    /// A prefix is written as one, and not as an address.
    #[error("prefix \"{0}\": an address needs a length: write {1}")]
    Address(IpAddr, IpNet),
    /// Prometheus asks at an address.
    #[error("metrics {0:?}: write an IP address with a port, as 127.0.0.1:9909")]
    Metrics(String),
    /// A prefix has no host bits.
    #[error("prefix {is}: bits behind the prefix are set, write {wanted}")]
    HostBits {
        /// What stands there.
        is: IpNet,
        /// What is meant.
        wanted: IpNet,
    },
    /// A prefix is of a version that packets have.
    #[error(
        "prefix {0}: no packet has IPv4 within IPv6: write the prefix as IPv4, like 10.0.0.2/32"
    )]
    Mapped(IpNet),
    /// A prefix has hosts' addresses.
    #[error("prefix {0}: multicast, loopback and link-local addresses are never captured")]
    NotHosts(IpNet),
    /// Each address belongs to one peer.
    #[error("prefix {one} overlaps {other}: an address belongs to one peer")]
    Overlap {
        /// The later one.
        one: IpNet,
        /// The earlier one.
        other: IpNet,
    },
    /// An end point can be reached.
    #[error("endpoint {0}: need a unicast address and a port")]
    Endpoint(SocketAddr),
    /// An end point is written as an address.
    #[error(
        "endpoint {0:?}: write an IP address with or without port, as 192.0.2.1:4909 or [fd00::1]:4909"
    )]
    EndpointText(String),
    /// Each daemon is one peer.
    #[error("endpoint {0} is given twice: give one peer all prefixes of this daemon")]
    EndpointTwice(SocketAddr),
    /// A rule of `exclude` has its form.
    #[error("exclude {0:?}: write tcp/22, udp/53, icmp or any, alone or with \"from 10.0.0.0/8\"")]
    Exclude(String),
    /// Rules of `exclude` are not too many.
    #[error("more than {EXCLUDES_MAX} rules in exclude")]
    Excludes,
    /// Only windows have a k.
    #[error("k requires mode = \"window\"")]
    KWithoutWindow,
    /// Something is verified, so that trailers are taken off.
    #[error(
        "inbound = \"off\": carrier = \"trailer\" needs monitor or enforce, which take trailers off"
    )]
    TrailersStay,
    /// A daemon that puts trailers on packets has no end point.
    #[error("endpoint: with carrier = \"trailer\" packets go to their own destinations; remove it")]
    EndpointUnused,
    /// A daemon that puts trailers on packets has no entry in a translator's table.
    #[error("keepalive: carrier = \"trailer\" sends nothing of its own; remove it")]
    KeepaliveUnused,
    /// The interface leaves room for trailers.
    #[error(
        "mtu {is}: with carrier = \"trailer\" at most {most}, which is path-mtu less the longest trailer"
    )]
    NoRoom {
        /// What stands there.
        is: u16,
        /// The largest value.
        most: u16,
    },
    /// IPv6 has the packets that it needs.
    #[error(
        "carrier = \"trailer\" with IPv6 prefixes: packets of 1280 bytes need path-mtu {needed} or more, \
         and it is {is}; choose udp-tunnel, or remove these prefixes"
    )]
    TrailerIpv6 {
        /// The path MTU.
        is: u16,
        /// The smallest one that would do.
        needed: u16,
    },
    /// The port is a table's number, unless another one is given.
    #[error("port {port} cannot number the routing table: add `table`, from {least} to {most}")]
    TableOfPort {
        /// The port.
        port: u64,
        /// The smallest table.
        least: u64,
        /// The largest table.
        most: u64,
    },
    /// A number is in its range.
    #[error("{key} {is}: need {least} to {most}")]
    Range {
        /// The key.
        key: &'static str,
        /// What stands there.
        is: u64,
        /// The smallest value.
        least: u64,
        /// The largest value.
        most: u64,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", visible(&self.path.to_string_lossy()))?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        write!(f, " {}", self.rule)
    }
}

impl error::Error for ConfigError {}
