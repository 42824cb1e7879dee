//! What the threads of a data plane share.
//!
//! A thread that holds a lock takes only those behind it in this order: `delivery`, `peers`, `outbound`,
//! that of `accepted`, `inbound`; then one of `config`, `identity` and `drops`, with no other behind it.
//! No lock is held while a signature is verified. `delivery` is held while a write of `accepted` is waited for,
//! 100 ms at most, and `outbound` while precursors are prepared that the pool lacks: 8 at a time.

use super::accepted::Accepted;
use super::drops::{DroppedIn, Drops};
use super::keepalive::is_empty;
use super::options::{inbound_options, marks, outbound_options};
use super::peers::Peers;
use super::quoted::{self, About};
use super::wake::Wake;
use super::{Devices, Material};
use crate::carrier::{Network, Tun, TunWriter, UdpError};
use crate::config::Config;
use crate::identity::Identity;
use crate::packet::{Delivery, Moment, PeerIndex};
use crate::pool::{Generation, Pool};
use crate::receiver::{Inbound, PeerRule};
use crate::sender::{Cover, Outbound, SignatureCost, WindowSize};
use clew_packet::Carrier;
use clew_packet::{GroupTag, KeySource, Timestamp};
use clew_wire::{Instant, nanos};
use nix::time::{ClockId, clock_gettime};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

/// Verifiers at most: more of them would not find work.
const VERIFIERS_MAX: usize = 16;

/// Returns how many threads verify: all cores but one.
fn verifiers() -> u32 {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    (cores - 1).clamp(1, VERIFIERS_MAX) as u32
}

/// Both clocks, read together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    begin: std::time::Instant,
}

impl Clock {
    pub fn new() -> Self {
        let begin = std::time::Instant::now();
        Self { begin }
    }

    pub fn now(&self) -> Moment {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Moment {
            instant: Instant::from_nanos(nanos(self.begin.elapsed())),
            // The program refuses to start before 1970.
            wall: Timestamp(nanos(wall.unwrap_or_default())),
        }
    }
}

/// What is delivered, in order: one thread at a time.
pub(super) struct Deliverer {
    writer: TunWriter,
    ready: Vec<Delivery>,
}

/// Peers, and what is counted of each.
pub(super) struct PeerTable {
    pub peers: Peers,
    pub groups: Vec<GroupTag>,
    /// Packets, and when the last one came.
    pub traffic: Vec<(u64, Option<Instant>)>,
}

pub(super) struct Shared<K> {
    pub clock: Clock,
    pub stop: AtomicBool,
    /// Receiver and sender finish what they have, one after the other, and end.
    pub ends: [AtomicBool; 2],
    pub config: Mutex<Arc<Config>>,
    pub identity: Mutex<Arc<Identity>>,
    pub tun: Tun,
    pub network: Network,
    pub pool: Pool,
    pub generation: Generation,
    pub outbound: Mutex<Outbound>,
    pub inbound: Mutex<Inbound<K>>,
    /// Signatures may wait.
    pub work: Condvar,
    pub delivery: Mutex<Deliverer>,
    pub peers: Mutex<PeerTable>,
    pub drops: Mutex<Drops>,
    pub accepted: Accepted,
    /// The state of `inbound` that is kept there: written by whoever delivers.
    pub accepted_number: AtomicU64,
    pub wake_sender: Wake,
    pub wake_receiver: Wake,
    /// When the receiver's wait ends, in nanoseconds.
    pub receiver_due: AtomicU64,
    /// How often the loops of sender and receiver turned.
    pub turns: [AtomicU64; 2],
    /// Threads that verify.
    pub verifiers: u32,
    /// How long they have worked, in nanoseconds by the clock, all together.
    pub verifying: AtomicU64,
    /// Since when each verifies what it took, in nanoseconds; 0 if it waits for work.
    pub verifying_since: Vec<AtomicU64>,
    /// CPU time of a precursor lately, in nanoseconds; 0 if none was prepared yet.
    pub precursor_cost: AtomicU64,
}

/// Locks. Nobody finds a lock whose holder panicked: the process ended with that thread.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<K: KeySource> Shared<K> {
    pub fn new(
        config: Config,
        devices: Devices,
        material: Material<K>,
        secret: [u8; 32],
        accepted: &Path,
    ) -> io::Result<Self> {
        let clock = Clock::new();
        let now = clock.now();
        let identity = Arc::new(material.identity);
        let Devices { tun, network } = devices;
        let generation = generation();
        let options = inbound_options(&config);
        let inbound = Inbound::new(material.keys, options, Vec::new(), now, secret);
        let outbound = Outbound::new(
            Some(Arc::clone(&identity)),
            outbound_options(&config.signing),
        );
        let peers = PeerTable {
            peers: Peers::new(&config),
            groups: material.groups,
            traffic: vec![(0, None); config.peers.len()],
        };
        let shared = Self {
            clock,
            stop: AtomicBool::new(false),
            ends: [AtomicBool::new(false), AtomicBool::new(false)],
            pool: Pool::new(marks(&config.signing), generation),
            generation,
            outbound: Mutex::new(outbound),
            inbound: Mutex::new(inbound),
            work: Condvar::new(),
            delivery: Mutex::new(Deliverer {
                writer: tun.writer(first_id(&secret)),
                ready: Vec::new(),
            }),
            peers: Mutex::new(peers),
            drops: Mutex::default(),
            accepted: Accepted::read(accepted, now.wall)?,
            accepted_number: AtomicU64::new(0),
            wake_sender: Wake::new()?,
            wake_receiver: Wake::new()?,
            receiver_due: AtomicU64::new(0),
            turns: [AtomicU64::new(0), AtomicU64::new(0)],
            verifiers: verifiers(),
            verifying: AtomicU64::new(0),
            verifying_since: (0..verifiers()).map(|_| AtomicU64::new(0)).collect(),
            precursor_cost: AtomicU64::new(0),
            identity: Mutex::new(identity),
            config: Mutex::new(Arc::new(config)),
            tun,
            network,
        };
        shared.apply_peers();
        Ok(shared)
    }

    pub fn config(&self) -> Arc<Config> {
        Arc::clone(&lock(&self.config))
    }

    pub fn identity(&self) -> Arc<Identity> {
        Arc::clone(&lock(&self.identity))
    }

    /// Returns what signatures have cost so far.
    pub fn signature_cost(&self) -> SignatureCost {
        let usual = SignatureCost::default();
        let precursor = match self.precursor_cost.load(Ordering::Relaxed) {
            0 => usual.precursor,
            nanos => Duration::from_nanos(nanos),
        };
        SignatureCost {
            verifying: Duration::from_nanos(self.verifying.load(Ordering::Relaxed)),
            verifiers: self.verifiers,
            precursor,
        }
    }

    pub fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Asks the receiver to finish what it has.
    pub fn end_receiver(&self) {
        self.ends[0].store(true, Ordering::Relaxed);
        self.wake_receiver.wake();
    }

    /// Asks the sender to finish what it has.
    pub fn end_sender(&self) {
        self.ends[1].store(true, Ordering::Relaxed);
        self.wake_sender.wake();
    }

    pub fn is_receiver_ending(&self) -> bool {
        self.ends[0].load(Ordering::Relaxed)
    }

    pub fn is_sender_ending(&self) -> bool {
        self.ends[1].load(Ordering::Relaxed)
    }

    /// Ends all threads.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.wake_sender.wake();
        self.wake_receiver.wake();
        // A verifier between its look at `stop` and its wait holds the lock.
        drop(lock(&self.inbound));
        self.work.notify_all();
    }

    /// Takes another configuration and other files. Packets that wait are not lost.
    pub fn replace(&self, config: Config, material: Material<K>) {
        let identity = Arc::new(material.identity);
        {
            let mut table = lock(&self.peers);
            let mut peers = Peers::new(&config);
            peers.keep_learned(&table.peers);
            (table.peers, table.groups) = (peers, material.groups);
        }
        let mut outbound = lock(&self.outbound);
        outbound.set_identity(Some(Arc::clone(&identity)));
        outbound.set_options(outbound_options(&config.signing));
        drop(outbound);
        self.pool.set_marks(marks(&config.signing));
        let mut inbound = lock(&self.inbound);
        inbound.set_keys(material.keys);
        inbound.set_grace(config.grace);
        drop(inbound);
        *lock(&self.identity) = identity;
        *lock(&self.config) = Arc::new(config);
        self.apply_peers();
    }

    /// Tells the core who peers are, and where.
    fn apply_peers(&self) {
        let config = self.config();
        let table = lock(&self.peers);
        let rule = |(peer, group): (&crate::config::Peer, &GroupTag)| PeerRule {
            group: *group,
            prefixes: peer.prefixes.clone(),
            address: peer.endpoint.map(|endpoint| endpoint.ip()),
            mss: None,
        };
        let rules: Vec<PeerRule> = config.peers.iter().zip(&table.groups).map(rule).collect();
        drop(table);
        lock(&self.inbound).set_peers(rules);
        self.apply_paths();
    }

    /// Tells the core where peers are, and how long packets to them may be.
    pub fn apply_paths(&self) {
        let now = self.clock.now().instant;
        let carrier = self.config().carrier;
        let mut table = lock(&self.peers);
        if carrier == Carrier::UdpTransport {
            table.peers.find_locals(own_address);
        }
        let count = u16::try_from(table.groups.len()).unwrap_or(u16::MAX);
        let mut outbound = lock(&self.outbound);
        for (peer, path) in table.peers.paths(now) {
            outbound.set_path(peer, path);
        }
        let mss = (0..count).map(|index| outbound.mss(PeerIndex(index)));
        let mss: Vec<Option<u16>> = mss.collect();
        drop(outbound);
        drop(table);
        lock(&self.inbound).set_mss(&mss);
    }

    /// Reads what the network said about datagrams.
    pub fn hear_errors(&self) {
        let now = self.clock.now().instant;
        let mut is_lower = false;
        self.network.errors(|UdpError { to, mtu }| {
            if let Some(mtu) = mtu {
                is_lower |= lock(&self.peers).peers.lower(to, mtu, now);
            }
        });
        if is_lower {
            self.apply_paths();
        }
    }

    /// Delivers what is verified, and wakes a verifier if there is work. Returns when to come again.
    pub fn deliver(&self) -> Option<Instant> {
        let mut delivery = lock(&self.delivery);
        let Deliverer { writer, ready } = &mut *delivery;
        let mut inbound = lock(&self.inbound);
        let next = inbound.deliver(self.clock.now(), ready);
        let has_work = inbound.has_work();
        self.keep_new(inbound);
        if has_work {
            self.work.notify_one();
        }
        if ready.is_empty() {
            return next;
        }
        let unwanted: Vec<_> = ready.iter().map(|of| self.unwanted(of)).collect();
        for reason in unwanted.iter().flatten() {
            self.drop_arriving(*reason, 1);
        }
        let wanted = { ready.iter().zip(&unwanted) }.filter(|(_, reason)| reason.is_none());
        let refused = writer.write(wanted.map(|(delivery, _)| delivery.bytes.as_slice()));
        if refused > 0 {
            self.drop_arriving(DroppedIn::TunRefused, refused);
        }
        let moves = self.note(ready);
        let mut inbound = lock(&self.inbound);
        ready
            .drain(..)
            .for_each(|delivery| inbound.recycle(delivery.bytes));
        drop(inbound);
        drop(delivery);
        self.learn(&moves);
        next
    }

    /// Why a verified packet is nothing for this host's kernel, if so.
    fn unwanted(&self, delivery: &Delivery) -> Option<DroppedIn> {
        if is_empty(&delivery.bytes) {
            return Some(DroppedIn::Empty);
        }
        let is_other = match quoted::about(&delivery.bytes)? {
            About::Routed => true,
            About::To(address) => {
                let peer = lock(&self.peers).peers.find(address);
                peer.is_some_and(|peer| peer != delivery.peer)
            }
        };
        is_other.then_some(DroppedIn::OtherPeer)
    }

    /// Tells the sender what peers acknowledge, if its windows follow that.
    pub(super) fn hear(&self, ready: &[Delivery]) {
        let signing = self.config().signing;
        if matches!(
            signing.sender_cover(),
            Cover::Window(WindowSize::Adaptive(_))
        ) {
            let mut outbound = lock(&self.outbound);
            for delivery in ready {
                outbound.hear(delivery.peer, &delivery.bytes);
            }
        }
    }
}

/// A number that nobody outside can guess.
fn first_id(secret: &[u8; 32]) -> u32 {
    let derived = blake3::derive_key("clew 2026-11 first identification of fragments", secret);
    let [a, b, c, d, ..] = derived;
    u32::from_be_bytes([a, b, c, d])
}

/// The own address for an end point: the one that the routes to it name.
pub(super) fn own_address(remote: SocketAddr) -> Option<IpAddr> {
    let any = match remote {
        SocketAddr::V4(_) => "0.0.0.0:0",
        SocketAddr::V6(_) => "[::]:0",
    };
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(remote).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// Returns the CPU time of the calling thread.
pub(super) fn thread_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// Where this process runs.
fn generation() -> Generation {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let mut boot = [0; 16];
    for (byte, pair) in boot.iter_mut().zip(digits.chunks(2)) {
        let pair = std::str::from_utf8(pair).unwrap_or_default();
        *byte = u8::from_str_radix(pair, 16).unwrap_or(0);
    }
    Generation {
        process: std::process::id(),
        boot,
    }
}
