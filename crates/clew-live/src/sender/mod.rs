//! The sending side: clear packets in, signed datagrams out.
//!
//! A block is what one read of the host returned of a flow. Packets are pushed, and
//! [`Outbound::flush`] is called when the read is drained. Small packets of a flow that sent a block
//! a moment ago wait for each other, because a signature costs the same for one as for many. If there
//! is little time for signatures, all packets of such a flow do (`load.rs`).

mod bursts;
mod cookies;
mod flight;
mod flows;
mod load;
mod metrics;
mod options;
mod sign;

pub use bursts::{BURST_BYTES_MAX, BURST_SEGMENTS_MAX};
pub use cookies::{COOKIE_ANSWER_MAX, COOKIE_USE, COOKIES_MAX, ECHOES_MAX};
pub use flows::{FLOWS_MAX, PACKET_OVERHEAD};
pub use load::{BLOCK_WAIT_MAX, FLOW_WAIT_MAX, SignatureCost};
pub use metrics::{Counters, OutboundMetrics, Unsent};
pub use options::{Cover, OutboundOptions, Path, WindowSize, live_policy, trailer_max};

use crate::buffers::Buffers;
use crate::identity::{EpochKey, Identity, Unready};
use crate::ip_fragments::{Defragmenter, Taken};
use crate::mss;
use crate::packet::{Burst, Clear, CookieMessage, Moment, PeerIndex};
use crate::pool::PrecursorSource;
use clew_packet::{Frame, LinkType, Timestamp, flow};
use clew_wire::Instant;
use cookies::Cookies;
use flows::{FlowId, Flows, Queued};
use load::Load;
use rand_core::CryptoRng;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Most signatures of one flush whose precursors are computed at once: packets that come meanwhile are
/// read before the next ones.
pub const ONLINE_MAX: u64 = 8;

/// Signs the packets of a host.
#[derive(Debug)]
pub struct Outbound {
    identity: Option<Arc<Identity>>,
    options: OutboundOptions,
    peers: BTreeMap<PeerIndex, Peer>,
    /// Packets that came in IP fragments.
    fragments: Defragmenter,
    flows: Flows,
    cost: SignatureCost,
    load: Load,
    buffers: Buffers,
    metrics: OutboundMetrics,
}

/// A peer that packets go to.
#[derive(Debug)]
struct Peer {
    path: Path,
    cookies: Cookies,
}

impl Outbound {
    /// Returns a sender without peers.
    pub fn new(identity: Option<Arc<Identity>>, options: OutboundOptions) -> Self {
        Self {
            identity,
            options,
            peers: BTreeMap::new(),
            fragments: Defragmenter::default(),
            flows: Flows::new(),
            cost: SignatureCost::default(),
            load: Load::default(),
            buffers: Buffers::default(),
            metrics: OutboundMetrics::default(),
        }
    }

    /// Signs with another key from the next block on. Packets that wait are signed with it.
    pub fn set_identity(&mut self, identity: Option<Arc<Identity>>) {
        self.identity = identity;
    }

    /// Changes the options from the next packet on.
    pub const fn set_options(&mut self, options: OutboundOptions) {
        self.options = options;
    }

    /// Says how a peer is reached. Cookies of another address are forgotten.
    pub fn set_path(&mut self, peer: PeerIndex, path: Path) {
        match self.peers.get_mut(&peer) {
            Some(known) => {
                if known.path.remote != path.remote {
                    known.cookies = Cookies::default();
                }
                known.path = path;
            }
            None => {
                let new = Peer {
                    path,
                    cookies: Cookies::default(),
                };
                self.peers.insert(peer, new);
            }
        }
    }

    /// Says what signatures have cost the machine so far, with those that others made and it verified.
    pub const fn set_cost(&mut self, cost: SignatureCost) {
        self.cost = cost;
    }

    /// Reads the acknowledgement of a packet that a peer sent: what it names is no longer in flight.
    /// Only [`WindowSize::Adaptive`] needs it.
    pub fn hear(&mut self, peer: PeerIndex, packet: &[u8]) {
        let Some(ack) = flight::acknowledged(packet).filter(|_| self.options.is_adaptive()) else {
            return;
        };
        if let Ok(flow) = flow(&Frame::whole(LinkType::RAW, packet)) {
            let flow = flight::reversed(flow.key());
            self.flows.hear(&FlowId { peer, flow }, ack);
        }
    }

    /// Returns the largest TCP segment over IPv4 that a peer's path takes with a signature and
    /// without fragments; over IPv6 it is 20 bytes less. Returns `None` if the peer is unknown.
    pub fn mss(&self, peer: PeerIndex) -> Option<u16> {
        let path = self.peers.get(&peer)?.path;
        Some(path.mss(self.options.cover))
    }

    /// Takes a packet, which leaves with a later [`flush`](Self::flush). An IP fragment waits for the
    /// others of its packet, which is signed as a whole.
    ///
    /// # Errors
    /// Why it is dropped. It is counted already.
    pub fn push(&mut self, packet: Clear, now: Moment) -> Result<(), Unsent> {
        let mut packet = match self.fragments.take(packet, now.instant) {
            Taken::Whole(packet) => packet,
            Taken::Waits => return Ok(()),
            Taken::Bad(count) => {
                self.metrics.unsent.add(Unsent::BadIpFragment, count as u64);
                return Err(Unsent::BadIpFragment);
            }
        };
        let Some(mss) = self.mss(packet.peer) else {
            return Err(self.refuse(packet.bytes, Unsent::NoPath));
        };
        let mss = mss::of_version(mss, &packet.bytes);
        if mss::clamp(&mut packet.bytes, mss) {
            self.metrics.clamped += 1;
        }
        let frame = Frame::whole(LinkType::RAW, &packet.bytes);
        let Ok(flow) = flow(&frame) else {
            return Err(self.refuse(packet.bytes, Unsent::NotSignable));
        };
        if self.flows.bytes() + packet.bytes.len() + PACKET_OVERHEAD > self.options.queue_bytes {
            return Err(self.refuse(packet.bytes, Unsent::QueueFull));
        }
        let id = FlowId {
            peer: packet.peer,
            flow: flow.key(),
        };
        let (bytes, at) = (packet.bytes, now.instant);
        if self.options.is_adaptive() {
            self.flows.sends(id, &bytes);
        }
        self.flows.push(id, Queued { bytes, at }, &self.options);
        Ok(())
    }

    /// Signs the packets that are due, and appends their datagrams to `out`. Call it when a read is
    /// drained. Returns when to call it again, if packets wait.
    pub fn flush(
        &mut self,
        now: Moment,
        precursors: &mut impl PrecursorSource,
        rng: &mut impl CryptoRng,
        out: &mut Vec<Burst>,
    ) -> Option<Instant> {
        self.load
            .see(&self.cost, self.metrics.signatures, now.instant);
        self.flows.is_scarce = precursors.is_low();
        let fragments_due = self.fragments.expire(now.instant);
        let missing = self.fragments.missing() as u64;
        self.metrics.unsent.add(Unsent::MissingIpFragment, missing);
        // Whoever waited as long as packets may would be dropped.
        let wait = self.load.block_wait(self.flows.active(now.instant));
        self.flows.block_wait = wait.min(self.options.queue_time / 2);
        let online = self.metrics.online;
        let left = |metrics: &OutboundMetrics| ONLINE_MAX.saturating_sub(metrics.online - online);
        while let signatures @ 1.. = left(&self.metrics) as usize
            && let Some((id, packets)) = self.flows.pop_due(now.instant, &self.options, signatures)
        {
            let packets = self.drop_late(packets, now.instant);
            if packets.is_empty() {
                continue;
            }
            match self.ready(now.wall) {
                Ok(key) => self.sign_flow(&key, id, packets, now, (precursors, rng), out),
                Err(_) => self.refuse_all(packets, Unsent::NoKey),
            }
        }
        let packets_due = self.flows.next_due();
        [packets_due, fragments_due].into_iter().flatten().min()
    }

    /// Takes a buffer back that is no longer needed: of a burst, or of a packet.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        self.buffers.recycle(buffer);
    }

    /// Returns the buffer of a packet that was signed or dropped, for the next one.
    pub fn spare(&mut self) -> Option<Vec<u8>> {
        self.buffers.take_packet()
    }

    /// Takes a cookie that came from an address. Returns whether it is one that was asked for.
    pub fn cookie(&mut self, from: SocketAddr, message: &CookieMessage, now: Moment) -> bool {
        let mut peers = self.peers.values_mut();
        let canonical = |address: SocketAddr| (address.ip().to_canonical(), address.port());
        let is_good = peers.any(|peer| {
            let is_from = canonical(peer.path.remote) == canonical(from);
            is_from && peer.cookies.accept(message, now.instant)
        });
        match is_good {
            true => self.metrics.cookies += 1,
            false => self.metrics.foreign_cookies += 1,
        }
        is_good
    }

    /// Returns the number of the epoch that packets are signed in.
    ///
    /// # Errors
    /// Why the machine does not sign.
    pub fn state(&self, now: Timestamp) -> Result<u32, Unready> {
        self.ready(now).map(|key| key.number())
    }

    /// Returns what was counted.
    pub fn metrics(&self) -> &OutboundMetrics {
        &self.metrics
    }

    /// Returns the least time between two blocks of a flow that are not full: none while there is time for
    /// more signatures.
    pub fn block_wait(&self) -> Duration {
        self.flows.block_wait
    }

    /// Returns how many packets wait, and how many bytes they count.
    pub fn queued(&self) -> (usize, usize) {
        (self.flows.packets(), self.flows.bytes())
    }

    fn ready(&self, now: Timestamp) -> Result<Arc<EpochKey>, Unready> {
        let identity = self.identity.as_ref().ok_or(Unready::NoKey)?;
        identity.at(now).cloned()
    }

    /// Drops packets that waited too long.
    fn drop_late(&mut self, mut packets: Vec<Queued>, now: Instant) -> Vec<Queued> {
        let is_late = |packet: &Queued| now - packet.at > self.options.queue_time;
        let late = packets.iter().take_while(|packet| is_late(packet)).count();
        for packet in packets.drain(..late) {
            self.refuse(packet.bytes, Unsent::TooLate);
        }
        packets
    }

    fn refuse_all(&mut self, packets: Vec<Queued>, reason: Unsent) {
        for packet in packets {
            self.refuse(packet.bytes, reason);
        }
    }

    /// Counts a packet that is not signed, and returns why.
    fn refuse(&mut self, bytes: Vec<u8>, reason: Unsent) -> Unsent {
        self.metrics.unsent.count(reason);
        self.buffers.recycle_packet(bytes);
        reason
    }
}
