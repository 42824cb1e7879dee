//! The one configuration file of a daemon, in TOML: peers, policies, carrier.
//!
//! [`Config::read`] takes it through all rules that need no system. A mistake is one sentence with
//! the file's line.

mod carrier;
mod error;
mod exclude;
mod file;
mod keys;

pub(crate) use error::plain;
pub use error::{ConfigError, Rule};
pub use exclude::{Exclude, Protocol};
pub use file::is_name;
pub use keys::SetupKeys;

use crate::sender::{Cover, WindowSize};
use clew_packet::Carrier;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The UDP port that daemons use unless told otherwise (`spec/carriers.md` section 1).
pub const PORT: u16 = 4909;

/// Most peers of a daemon.
pub const PEERS_MAX: usize = 1_024;

/// Most prefixes of all peers.
pub const PREFIXES_MAX: usize = 4_096;

/// Most rules of `exclude`.
pub const EXCLUDES_MAX: usize = 64;

/// Largest configuration file, in bytes.
pub const FILE_MAX: u64 = 1 << 20;

/// What is done to packets that come from a peer's prefix without a valid signature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InboundMode {
    /// Those that come beside the carrier pass, and are counted.
    #[default]
    Monitor,
    /// They are dropped, also while no daemon runs.
    Enforce,
    /// Those that come beside the carrier pass uncounted. Datagrams of the carrier are dropped.
    Off,
}

/// What is done to packets for a peer that cannot be signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutboundMode {
    /// They leave unsigned while no daemon runs.
    #[default]
    Prefer,
    /// They are dropped, also while no daemon runs.
    Require,
}

/// What is done to packets between this host and others that are not peers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OthersMode {
    /// They pass unsigned, uncounted.
    #[default]
    Pass,
    /// They do not leave. Those that arrive are counted, and dropped where the host enforces.
    Refuse,
}

/// What a signature covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoverMode {
    /// One packet.
    Each,
    /// A packet and those before it in its flow.
    Window,
    /// A block of packets of one flow, under a hash tree.
    #[default]
    Tree,
}

/// How many packets a window has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowMode {
    /// As many as a block.
    #[default]
    Fixed,
    /// As many as its TCP connection has in flight, up to a block's.
    Adaptive,
}

/// What happens to packets when no precursor is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EmptyPool {
    /// They are signed slowly.
    #[default]
    SignOnline,
    /// They are dropped.
    Drop,
}

/// How packets are signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signing {
    /// What a signature covers.
    pub cover: CoverMode,
    /// Largest block or window, in packets.
    pub block: u16,
    /// How many packets a window has.
    pub k: WindowMode,
    /// Precursors that are kept ready.
    pub pool: usize,
    /// What happens when there are none.
    pub when_empty: EmptyPool,
}

impl Signing {
    /// Returns what one signature covers, as a sender takes it.
    pub fn sender_cover(&self) -> Cover {
        match self.cover {
            CoverMode::Each => Cover::Each,
            CoverMode::Window => {
                let most = self.block.min(clew_packet::WINDOW_MAX);
                Cover::Window(match self.k {
                    WindowMode::Fixed => WindowSize::Fixed(most),
                    WindowMode::Adaptive => WindowSize::Adaptive(most),
                })
            }
            CoverMode::Tree => Cover::Tree(self.block),
        }
    }
}

/// A host or network that signed packets are exchanged with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The addresses of the peer, and of the networks behind it.
    pub prefixes: Vec<IpNet>,
    /// Where its daemon is. `None` if it is learned from the peer's first valid packet.
    pub endpoint: Option<SocketAddr>,
    /// After how long without a datagram to it one is sent. `None` if none is.
    pub keepalive: Option<Duration>,
    /// Its group's file.
    pub group: PathBuf,
}

/// A checked configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The daemon's name: files in `/run/clew/NAME`, the interface, the table of nftables.
    pub name: String,
    /// The machine's key file.
    pub key: PathBuf,
    /// What decrypts the key file.
    pub unlock_with: Option<PathBuf>,
    /// Who runs the data plane. `None` is `clew`, or `nobody` where there is no such user.
    pub user: Option<String>,
    /// The policy for packets that arrive.
    pub inbound: InboundMode,
    /// The policy for packets that leave.
    pub outbound: OutboundMode,
    /// The policy for packets from and to addresses of no peer.
    pub others: OthersMode,
    /// How signed packets travel (`spec/carriers.md`).
    pub carrier: Carrier,
    /// The UDP port of this host's carrier; with `trailer` the number of the kernel's queue.
    pub port: u16,
    /// The number of the routing table, of the first of three routing rules, and of the mark on
    /// packets with trailers.
    pub table: u32,
    /// The name of the TUN interface.
    pub interface: String,
    /// The MTU of the TUN interface, in bytes.
    pub mtu: u16,
    /// The largest outer packet that is tried, in bytes.
    pub path_mtu: u16,
    /// Whether the offloads of TUN and UDP are used where the kernel has them.
    pub offload: bool,
    /// Whether a complete window is verified by its last signature only.
    pub whole_windows: bool,
    /// Whether NTP is signed as other traffic is.
    pub sign_ntp: bool,
    /// How long an epoch is accepted after its successor started.
    pub grace: Duration,
    /// Whether packets that a peer signed for another peer's prefix are signed anew.
    pub relay: bool,
    /// What is never captured.
    pub exclude: Vec<Exclude>,
    /// How packets are signed.
    pub signing: Signing,
    /// Where Prometheus reads metrics.
    pub metrics: Option<SocketAddr>,
    /// The peers, in the order of their [`PeerIndex`](crate::packet::PeerIndex).
    pub peers: Vec<Peer>,
}

impl Config {
    /// Reads and checks a file. Relative paths in it start from its folder.
    ///
    /// # Errors
    /// It cannot be read, or breaks a rule.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        file::read(path)
    }

    /// Returns all prefixes of peers.
    pub fn prefixes(&self) -> impl Iterator<Item = &IpNet> {
        self.peers.iter().flat_map(|peer| &peer.prefixes)
    }

    /// Returns whether packets stay away while no daemon runs.
    pub fn fails_closed(&self) -> bool {
        self.inbound == InboundMode::Enforce
            || self.outbound == OutboundMode::Require
            || self.others == OthersMode::Refuse
    }
}
