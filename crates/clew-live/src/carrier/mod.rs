//! How clear packets leave and enter the host, and signed ones the network: a TUN, and UDP sockets or
//! raw ones, each many packets per system call where the kernel can.

mod kernel;
mod network;
mod path;
mod queue;
mod raw;
mod tun;
mod udp;

pub use network::{Arrived, Network};
pub use path::{PATH_MTU_LEAST, PathMtu};
pub use queue::{QueueError, QueueProcess, copies_socket};
pub use raw::Raw;
pub use tun::{Tun, TunReader, TunWriter};
pub use udp::{Datagrams, Refusal, Udp, UdpError};

/// What the kernel does for the carrier, for `clew status`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Offloads {
    /// The TUN gives and takes TCP super-packets.
    pub tun_tcp: bool,
    /// The TUN gives and takes UDP super-packets.
    pub tun_udp: bool,
    /// Several datagrams leave in one system call.
    pub udp_gso: bool,
    /// Several datagrams arrive in one buffer.
    pub udp_gro: bool,
}
