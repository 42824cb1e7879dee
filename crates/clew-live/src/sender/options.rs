//! What the administrator chooses.

use crate::config::EmptyPool;
use clew_group::Scheme;
use clew_packet::{CODED_BUDGET, CODED_MAX, CODED_MIN, COOKIE_BYTES, Carrier, Policy};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// What one signature covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cover {
    /// One packet.
    Each,
    /// A packet and some before it in its flow.
    Window(WindowSize),
    /// A block of up to so many packets of a flow.
    Tree(u16),
}

/// How many packets a window has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowSize {
    /// So many.
    Fixed(u16),
    /// As many as the packet's TCP connection has in flight, up to so many; one for other packets.
    /// [`Outbound::hear`](super::Outbound::hear) learns what has arrived. Clue's senders take their
    /// congestion window: it is an experiment.
    Adaptive(u16),
}

/// How packets are signed and queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutboundOptions {
    /// What one signature covers.
    pub cover: Cover,
    /// What happens if no precursor is ready.
    pub when_empty: EmptyPool,
    /// Packets of fewer bytes are small.
    pub small_bytes: usize,
    /// How long small packets wait for each other, if their flow sent a block in as long.
    pub small_wait: Duration,
    /// Most bytes that wait, each packet with [`PACKET_OVERHEAD`](super::PACKET_OVERHEAD) more.
    pub queue_bytes: usize,
    /// How long packets wait at most: an older one is dropped.
    pub queue_time: Duration,
}

impl OutboundOptions {
    /// Returns whether windows follow what is in flight.
    pub(super) const fn is_adaptive(&self) -> bool {
        matches!(self.cover, Cover::Window(WindowSize::Adaptive(_)))
    }
}

impl Default for OutboundOptions {
    fn default() -> Self {
        Self {
            cover: Cover::Tree(64),
            when_empty: EmptyPool::SignOnline,
            small_bytes: 256,
            small_wait: Duration::from_millis(1),
            queue_bytes: 8 << 20,
            queue_time: Duration::from_millis(100),
        }
    }
}

/// Returns the policy of live packets: the signature of larger blocks is spread over their packets. XR's
/// is in the incremental form, so that forged ones cost a verifier no more than a hash; BBS04's would
/// be so long in that form that most packets needed fragments.
pub fn live_policy(scheme: Scheme) -> Policy {
    Policy {
        coded: true,
        incremental: scheme == Scheme::Xr,
        ..Policy::default()
    }
}

/// How a peer is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// Where datagrams go.
    pub remote: SocketAddr,
    /// Where they come from, if that is known: `udp-transport` is only for packets between these two.
    pub local: Option<IpAddr>,
    /// The longest outer IP datagram in bytes.
    pub mtu: u16,
    /// How they travel. Over [`Carrier::Trailer`] a datagram is an IP packet, which goes to its own
    /// destination; nobody looks at `remote`.
    pub carrier: Carrier,
}

/// Lengths of headers in bytes.
mod header {
    pub(super) const IPV4: usize = 20;
    pub(super) const IPV6: usize = 40;
    pub(super) const UDP: usize = 8;
    pub(super) const TCP: usize = 20;
    /// Shim and head of a datagram.
    pub(super) const CARRIER: usize = 6 + 26;
    /// What a trailer has that a datagram's tail has not: head and foot.
    pub(super) const TRAILER: usize = 22 + 9;
    /// k and h of a window.
    pub(super) const WINDOW: usize = 34;
    /// A block section without its path.
    pub(super) const TREE: usize = 22;
    /// A digest in a path, as [`Policy`](clew_packet::Policy) has it by default.
    pub(super) const DIGEST: usize = 16;
    /// Checksums and the UDP length of an original that were wrong.
    pub(super) const SAVED: usize = 6;
}

/// Slack for blocks whose packets need more than [`CODED_BUDGET`].
const CODED_SLACK: usize = 6;
/// XR in its incremental form, or BBS04 in its plain one.
const SIGNATURE_BYTES: usize = 336;
/// Nobody lowers a segment below this (RFC 9293, 3.7.1).
const MSS_MIN: u16 = 536;

/// Returns the length of the longest trailer in bytes, of either scheme. Blocks have up to `block`
/// packets.
///
/// Blocks of few packets carry the whole signature in each, as the spread one needs 9 packets. Which
/// block a packet comes to lie in is not known before, so a path must have room for this one.
pub fn trailer_max(cover: Cover) -> usize {
    let tail = match cover {
        Cover::Each => SIGNATURE_BYTES,
        Cover::Window(_) => header::WINDOW + SIGNATURE_BYTES,
        Cover::Tree(block) => {
            let whole = match usize::from(block) {
                block if block > usize::from(CODED_MAX) => block,
                block => block.min(usize::from(CODED_MIN) - 1),
            };
            let depth = whole.max(1).next_power_of_two().ilog2() as usize;
            header::TREE + depth * header::DIGEST + SIGNATURE_BYTES
        }
    };
    header::TRAILER + header::SAVED + tail
}

impl Path {
    /// Returns the longest UDP payload in bytes.
    pub fn payload_max(&self) -> usize {
        let ip = match self.remote.ip().to_canonical() {
            IpAddr::V4(_) => header::IPV4,
            IpAddr::V6(_) => header::IPV6,
        };
        usize::from(self.mtu).saturating_sub(ip + header::UDP)
    }

    /// Returns the largest TCP segment over IPv4 that needs no fragment with its signature and a
    /// cookie.
    pub(super) fn mss(&self, cover: Cover) -> u16 {
        let ip_tcp = header::IPV4 + header::TCP;
        let least = |room: usize| u16::try_from(room).unwrap_or(u16::MAX).max(MSS_MIN);
        if self.carrier == Carrier::Trailer {
            return least(usize::from(self.mtu).saturating_sub(trailer_max(cover) + ip_tcp));
        }
        let tail = match cover {
            Cover::Each => SIGNATURE_BYTES,
            Cover::Window(_) => header::WINDOW + SIGNATURE_BYTES,
            Cover::Tree(_) => CODED_BUDGET + CODED_SLACK - header::TRAILER,
        };
        let besides = header::CARRIER + COOKIE_BYTES + tail + ip_tcp;
        least(self.payload_max().saturating_sub(besides))
    }
}
