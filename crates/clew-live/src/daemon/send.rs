//! From the TUN to the network: read, sign, send.

use super::peers::is_own;
use super::shared::{Dropped, Shared, lock};
use super::wake::writable;
use crate::carrier::{Refusal, TunReader};
use crate::packet::{Burst, Clear, destination};
use crate::pool::Tap;
use clew_packet::KeySource;
use clew_wire::Instant;
use rand_core::CryptoRng;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Most reads before their packets are signed: more would make the first wait.
const READS_MAX: usize = 8;

/// How long the socket may take nothing, with the TUN unread meanwhile, before packets are dropped.
const BUSY_MAX: Duration = Duration::from_millis(20);

/// How often a burst is tried again within that time.
const BUSY_TRIES: usize = 4;

/// Runs until the daemon stops, or the interface is gone.
pub(super) fn run<K: KeySource>(shared: &Shared<K>, rng: &mut impl CryptoRng) -> io::Result<()> {
    let mut plane = Plane {
        shared,
        reader: shared.tun.reader(),
        packets: Vec::new(),
        bursts: Vec::new(),
    };
    while !shared.is_stopping() {
        shared.turns[0].fetch_add(1, Ordering::Relaxed);
        let is_drained = plane.read()?;
        plane.push();
        let next = plane.flush(rng);
        plane.send();
        if is_drained && next.is_none() && shared.is_sender_ending() {
            break;
        }
        if is_drained {
            let now = shared.clock.now().instant;
            let descriptors = [shared.tun.as_fd()].into_iter();
            shared.wake_sender.wait(descriptors, next, now)?;
        }
    }
    // What comes now goes to the next data plane, if it is there already.
    shared.tun.detach();
    Ok(())
}

struct Plane<'a, K> {
    shared: &'a Shared<K>,
    reader: TunReader,
    packets: Vec<Vec<u8>>,
    bursts: Vec<Burst>,
}

impl<K: KeySource> Plane<'_, K> {
    /// Reads what is there. Returns whether that was all.
    fn read(&mut self) -> io::Result<bool> {
        for _ in 0..READS_MAX {
            match self.reader.read(&mut self.packets) {
                Ok(()) => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(true),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.raw_os_error().is_none() => {
                    self.shared.drop_many(Dropped::Unreadable, 1);
                }
                Err(other) => return Err(other),
            }
        }
        Ok(false)
    }

    fn push(&mut self) {
        if self.packets.is_empty() {
            return;
        }
        let now = self.shared.clock.now();
        let port = self.shared.config().port;
        let table = lock(&self.shared.peers);
        let mut outbound = lock(&self.shared.outbound);
        for bytes in self.packets.drain(..) {
            let peer = destination(&bytes).and_then(|to| table.peers.find(to));
            let dropped = match peer {
                None => Some(Dropped::NoPeer),
                Some(_) if is_own(&bytes, port) => Some(Dropped::OwnCarrier),
                Some(_) => None,
            };
            match (dropped, peer) {
                (None, Some(peer)) => {
                    // A refusal is counted there.
                    let _ = outbound.push(Clear { peer, bytes }, now);
                }
                (reason, _) => {
                    self.shared.drop_many(reason.unwrap_or(Dropped::NoPeer), 1);
                    self.reader.recycle(bytes);
                }
            }
        }
    }

    fn flush(&mut self, rng: &mut impl CryptoRng) -> Option<Instant> {
        let generation = crate::pool::Generation {
            process: std::process::id(),
            ..self.shared.generation
        };
        let pool = &self.shared.pool;
        let mut tap = Tap { pool, generation };
        let now = self.shared.clock.now();
        let mut outbound = lock(&self.shared.outbound);
        outbound.set_cost(self.shared.signature_cost());
        outbound.flush(now, &mut tap, rng, &mut self.bursts)
    }

    fn send(&mut self) {
        if self.bursts.is_empty() {
            return;
        }
        let mut is_too_long = false;
        for burst in &mut self.bursts {
            is_too_long |= send_burst(self.shared, burst);
        }
        let mut outbound = lock(&self.shared.outbound);
        self.bursts
            .drain(..)
            .for_each(|burst| outbound.recycle(burst.bytes));
        drop(outbound);
        if is_too_long {
            self.shared.hear_errors();
        }
    }
}

/// Sends a burst. Returns whether it was too long for the path.
fn send_burst<K: KeySource>(shared: &Shared<K>, burst: &mut Burst) -> bool {
    let now = shared.clock.now().instant;
    let reach = lock(&shared.peers).peers.sends(burst.peer, now);
    let (remote, local) = reach.map_or((None, None), |reach| (reach.remote, reach.local));
    let mut refused = None;
    for _ in 0..BUSY_TRIES {
        let (sent, refusal) = shared.network.send(remote, local, burst);
        let bytes = (sent * burst.segment).min(burst.bytes.len());
        burst.bytes.drain(..bytes);
        refused = refusal;
        if refused != Some(Refusal::Full) {
            break;
        }
        writable(
            shared.network.senders().into_iter(),
            BUSY_MAX / BUSY_TRIES as u32,
        );
    }
    let reason = match refused {
        None => return false,
        Some(Refusal::Full) => Dropped::SendBusy,
        Some(Refusal::TooLong) => Dropped::TooLong,
        Some(Refusal::NoAddress) => Dropped::NoAddress,
        Some(Refusal::Source) => {
            lock(&shared.peers).peers.forget_local(burst.peer);
            Dropped::SendFailed
        }
        Some(Refusal::Other(_)) => Dropped::SendFailed,
    };
    shared.drop_many(reason, count(burst));
    reason == Dropped::TooLong
}

fn count(burst: &Burst) -> usize {
    burst.bytes.len().div_ceil(burst.segment.max(1))
}
