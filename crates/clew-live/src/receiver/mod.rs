//! The receiving side: datagrams in, verified packets out, the cheapest checks first.
//!
//! A datagram is parsed; under load its cookie is checked; fragments are put together. Then group,
//! epoch, freshness and duplicates are judged, the peer, and the hashes to known roots. What is left
//! is a signature, which waits in a fair queue for a verifier. Packets are held until their verdicts,
//! and leave in the order of their arrival, each flow by itself.

mod arrive;
mod budget;
mod cookie;
mod followers;
mod gate;
mod metrics;
mod options;
mod order;
mod peers;
mod queue;
mod standing;
mod trailed_flow;
mod verdict;
mod work;

pub use followers::FOLLOWERS_MAX;
pub use gate::{Gate, OVERLOAD_WAIT};
pub use metrics::{Counters, InboundMetrics, Refused};
pub use options::InboundOptions;
pub use order::{HELD_BYTES_MAX, HELD_MAX, TURN_WAIT_MAX, VERDICT_WAIT_MAX};
pub use peers::PeerRule;
pub use queue::{
    BATCH_MAX, SIGNATURE_WAIT_MAX, SIGNATURES_MAX, SIGNATURES_OF_SOURCE_MAX, Source,
    VerificationBudget,
};
pub use standing::SOURCES_MAX;
pub use work::{Done, Work};

use crate::buffers::Buffers;
use crate::clock::{ClockState, ClockWatch};
use crate::config::InboundMode;
use crate::packet::{CookieMessage, Delivery, Moment, Outer, PeerIndex, Reply};
use budget::EventRate;
use clew_packet::fragment::Reassembler;
use clew_packet::{AcceptedSeconds, BadMemory, KeySource, Receiver, Timestamp, Windows};
use clew_wire::{Instant, nanos};
use cookie::CookieJar;
use followers::Followers;
use gate::Gatekeeper;
use order::Order;
use peers::Peers;
use queue::FairQueue;
use std::time::Duration;
use trailed_flow::TrailedFlow;
use work::Task;

/// Most cookies that are given in a second: a half each for sources that are known and others.
pub const REPLIES_PER_SECOND: u32 = 1_000;
/// Most cookies that wait to be sent.
pub const REPLIES_MAX: usize = 256;
/// How soon to ask for work again, if the budget is spent.
const BUDGET_WAIT: Duration = Duration::from_millis(5);

/// Verifies the packets that come to a host.
#[derive(Debug)]
pub struct Inbound<K> {
    receiver: Receiver<K>,
    policy: InboundMode,
    windows: Windows,
    peers: Peers,
    jar: CookieJar,
    gatekeeper: Gatekeeper,
    reply_rates: [EventRate; 2],
    replies: Vec<Reply>,
    /// Each fragment is known by its congestion bits.
    fragments: Reassembler<u8>,
    queue: FairQueue<Task>,
    followers: Followers,
    order: Order,
    clock: ClockWatch,
    buffers: Buffers,
    metrics: InboundMetrics,
}

/// What an administrator should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InboundState {
    /// What datagrams without a cookie get.
    pub gate: Gate,
    /// Steps of the wall clock.
    pub clock: ClockState,
    /// For how long the signature that came first waits for a verifier.
    pub wait: Duration,
}

impl<K: KeySource> Inbound<K> {
    /// Returns a receiver that accepts what is signed from `start` on. `secret` are 32 random bytes,
    /// drawn for this receiver.
    pub fn new(
        keys: K,
        options: InboundOptions,
        peers: Vec<PeerRule>,
        start: Moment,
        secret: [u8; 32],
    ) -> Self {
        let now = start.instant;
        let mut inbound = Self {
            receiver: Receiver::new(keys, options.acceptance(start.wall)),
            policy: options.policy,
            windows: options.windows,
            peers: Peers::default(),
            jar: CookieJar::new(secret, start),
            gatekeeper: Gatekeeper::new(now),
            reply_rates: [EventRate::new(REPLIES_PER_SECOND / 2, now); 2],
            replies: Vec::new(),
            fragments: Reassembler::new(),
            queue: FairQueue::new(options.budget, now),
            followers: Followers::default(),
            order: Order::default(),
            clock: ClockWatch::new(start),
            buffers: Buffers::default(),
            metrics: InboundMetrics::default(),
        };
        inbound.set_peers(peers);
        inbound
    }

    /// Verifies by these keys from now on: a newer group file. What waits is not lost.
    pub fn set_keys(&mut self, keys: K) {
        *self.receiver.keys_mut() = keys;
    }

    /// Changes how long an epoch is accepted after its successor started.
    pub fn set_grace(&mut self, grace: Duration) {
        self.receiver.set_grace(nanos(grace));
    }

    /// Returns what was accepted, for a process that takes over from this one.
    pub fn replay_memory(&self) -> Vec<u8> {
        self.receiver.replay_memory()
    }

    /// Takes over at `now` what another receiver accepted, which accepts nothing any more.
    ///
    /// # Errors
    /// The bytes are not what [`replay_memory`](Self::replay_memory) returned.
    pub fn restore_replay_memory(&mut self, bytes: &[u8], now: Timestamp) -> Result<(), BadMemory> {
        self.receiver.restore_replay_memory(bytes, now)
    }

    /// Returns the seconds whose timestamps this receiver accepted, and a number that is another one
    /// whenever they became more.
    pub const fn accepted_seconds(&self) -> (&AcceptedSeconds, u64) {
        self.receiver.accepted_seconds()
    }

    /// Takes note of what receivers before this one accepted, whose memory is lost: in those seconds all
    /// packets of a group are refused, whatever the clock says.
    pub fn forgot(&mut self, seconds: AcceptedSeconds) {
        self.receiver.forgot(seconds);
    }

    /// Returns the seconds in which packets are refused because of [`forgot`](Self::forgot), now or in an
    /// earlier process.
    pub const fn forgotten(&self) -> &AcceptedSeconds {
        self.receiver.forgotten()
    }

    /// Returns whether nothing waits: no packet, and no part of one.
    pub fn is_idle(&self) -> bool {
        self.queue.count() == 0 && self.order.size().0 == 0 && !self.fragments.is_waiting()
    }

    /// Replaces the peers. What waits keeps the place that its peer had.
    pub fn set_peers(&mut self, peers: Vec<PeerRule>) {
        self.peers = Peers::new(peers);
        let addresses = self.peers.addresses().map(Source::from);
        self.queue.standings.expect(addresses);
    }

    /// Takes the largest TCP segments towards all peers, in their order.
    pub fn set_mss(&mut self, mss: &[Option<u16>]) {
        self.peers.set_mss(mss);
    }

    /// Takes the payload of a UDP datagram. Returns the cookie that it holds, if it is one.
    pub fn receive(
        &mut self,
        datagram: &[u8],
        outer: &Outer,
        now: Moment,
    ) -> Option<CookieMessage> {
        self.metrics.datagrams += 1;
        self.metrics.datagram_bytes += datagram.len() as u64;
        self.see_clock(now);
        if self.policy == InboundMode::Off {
            self.metrics.refused.count(Refused::Off);
            return None;
        }
        self.see_overload(now.instant);
        self.arrive(datagram, outer, now)
    }

    /// Takes an IP packet with a trailer at its end, as it came. It is delivered as it was before its
    /// sender appended the trailer.
    ///
    /// There are no cookies in this carrier: floods are met by the budgets of their sources.
    pub fn receive_trailed(&mut self, packet: &[u8], now: Moment) {
        self.metrics.datagrams += 1;
        self.metrics.datagram_bytes += packet.len() as u64;
        self.see_clock(now);
        if self.policy == InboundMode::Off {
            return self.metrics.refused.count(Refused::Off);
        }
        self.see_overload(now.instant);
        self.arrive_trailed(packet, now);
    }

    /// Takes note of a packet that this host sends in the carrier `trailer`: answers to it are expected.
    pub fn expect_answers(&mut self, packet: &[u8], now: Instant) {
        if let Some(flow) = TrailedFlow::answers(packet) {
            self.queue.standings.expect_flow(flow, now);
        }
    }

    /// Takes signatures for a verifier. Returns `None` if none waits, or the budget is spent.
    pub fn take_work(&mut self, now: Moment) -> Option<Work> {
        let (batch, stale) = self.queue.take(now.instant);
        for task in stale {
            self.give_up(task, Refused::Busy, now.instant);
        }
        self.see_overload(now.instant);
        if batch.items.is_empty() {
            return None;
        }
        self.metrics.batches.count(batch.items.len() as u64);
        let charged = batch.charged();
        let tasks = batch.items.into_iter().map(|(_, task)| task).collect();
        let windows = self.windows;
        Some(Work {
            tasks,
            charged,
            windows,
        })
    }

    /// Returns whether signatures wait for a verifier.
    pub const fn has_work(&self) -> bool {
        self.queue.count() > 0
    }

    /// Takes verified signatures back. `spent` is the CPU time that they took.
    pub fn finish(&mut self, done: Done, spent: Duration, now: Moment) {
        self.metrics.verification_ns += nanos(spent);
        let sources = done.checked.iter().map(|(job, _)| job.source);
        let sources: Vec<Source> = sources.collect();
        self.queue
            .charge(&sources, done.charged, spent, now.instant);
        for (job, checked) in done.checked {
            self.conclude(job, checked, now.instant);
        }
    }

    /// Appends the packets that leave now to `out`. Returns when to ask again, for packets and for
    /// work.
    pub fn deliver(&mut self, now: Moment, out: &mut Vec<Delivery>) -> Option<Instant> {
        self.see_clock(now);
        self.expire(now);
        let first = out.len();
        let next = self.order.deliver(now.instant, out);
        let bytes = out[first..].iter().map(|d| d.bytes.len() as u64);
        self.metrics.bytes += bytes.sum::<u64>();
        self.metrics.packets += (out.len() - first) as u64;
        let is_waiting = self.queue.count() > 0;
        let work = is_waiting.then(|| now.instant + BUDGET_WAIT);
        [next, work].into_iter().flatten().min()
    }

    /// Moves the cookies that are to be sent to `out`.
    pub fn replies(&mut self, out: &mut Vec<Reply>) {
        out.append(&mut self.replies);
    }

    /// Takes the buffer of a delivered packet back.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        self.buffers.recycle(buffer);
    }

    /// Returns what an administrator should know.
    pub fn state(&self, now: Moment) -> InboundState {
        InboundState {
            gate: self.gatekeeper.gate(),
            clock: self.clock.state(),
            wait: self.queue.wait(now.instant),
        }
    }

    /// Returns what was counted.
    pub fn metrics(&self) -> InboundMetrics {
        let (held, held_bytes) = self.order.size();
        InboundMetrics {
            verdicts: self.receiver.counters().clone(),
            late: self.order.late,
            waits: self.order.waits,
            forgotten: self.receiver.evictions(),
            held,
            held_bytes,
            waiting_signatures: self.queue.count(),
            followers: self.followers.count(),
            ..self.metrics.clone()
        }
    }

    /// Returns the largest TCP segment over IPv4 towards a peer.
    fn mss(&self, peer: PeerIndex) -> Option<u16> {
        self.peers.rule(peer)?.mss
    }

    fn see_overload(&mut self, now: Instant) {
        let waits = self.queue.wait(now) > OVERLOAD_WAIT;
        let is_busy = waits || (self.queue.count() > 0 && self.queue.is_spent(now));
        if self.gatekeeper.see(is_busy, now) {
            self.drop_unproven(now);
        }
    }

    fn see_clock(&mut self, now: Moment) {
        if let Some(step) = self.clock.see(now)
            && step.is_back
        {
            self.receiver.clock_went_back(now.wall);
        }
    }
}
