//! How clear packets leave and enter the host, and datagrams the network: a TUN and UDP sockets,
//! each many packets per system call where the kernel can.

mod path;
mod tun;
mod udp;

pub use path::{PATH_MTU_LEAST, PathMtu};
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
