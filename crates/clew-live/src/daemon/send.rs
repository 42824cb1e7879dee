//! From the TUN to the network: read, sign, send.

use super::drops::DroppedOut;
use super::peers::is_own;
use super::shared::{Shared, lock};
use super::wake::writable;
use crate::carrier::{Refusal, TunReader};
use crate::packet::{Burst, Clear, destination};
use crate::pool::PoolHandle;
use clew_packet::Carrier;
use clew_packet::KeySource;
use clew_wire::Instant;
use rand_core::CryptoRng;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Most reads before their packets are signed: more would make the first wait.
const READS_MAX: usize = 8;

/// How long all bursts of one flush wait in all for a socket that is full, with the TUN unread
/// meanwhile. Then each is tried once, and what does not leave is dropped.
const BUSY_MAX: Duration = Duration::from_millis(20);

/// The longest wait before a burst is tried again.
const BUSY_WAIT: Duration = Duration::from_millis(5);

/// What each wait counts at least.
const BUSY_STEP: Duration = Duration::from_micros(500);

/// How often datagrams are forgotten that no cookie answers any more.
const FORGET: Duration = Duration::from_secs(1);

/// Runs until the daemon stops, or the interface is gone.
pub(super) fn run<K: KeySource>(shared: &Shared<K>, rng: &mut impl CryptoRng) -> io::Result<()> {
    let mut plane = Plane {
        shared,
        reader: shared.tun.reader(),
        packets: Vec::new(),
        bursts: Vec::new(),
        forgot: Instant::default(),
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
    /// When echoes were last forgotten.
    forgot: Instant,
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
                    self.shared.drop_leaving(DroppedOut::Unreadable, 1);
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
        let config = self.shared.config();
        let (port, is_trailer) = (config.port, config.carrier == Carrier::Trailer);
        let table = lock(&self.shared.peers);
        let mut outbound = lock(&self.shared.outbound);
        let mut inbound = is_trailer.then(|| lock(&self.shared.inbound));
        for bytes in self.packets.drain(..) {
            let peer = destination(&bytes).and_then(|to| table.peers.find(to));
            let dropped = match peer {
                None => Some(DroppedOut::NoPeer),
                Some(_) if is_own(&bytes, port) => Some(DroppedOut::OwnCarrier),
                Some(_) => None,
            };
            match (dropped, peer) {
                (None, Some(peer)) => {
                    if let Some(inbound) = &mut inbound {
                        inbound.expect_answers(&bytes, now.instant);
                    }
                    // A refusal is counted there.
                    let _ = outbound.push(Clear { peer, bytes }, now);
                }
                (reason, _) => {
                    self.shared
                        .drop_leaving(reason.unwrap_or(DroppedOut::NoPeer), 1);
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
        let mut handle = PoolHandle { pool, generation };
        let now = self.shared.clock.now();
        let mut outbound = lock(&self.shared.outbound);
        outbound.set_cost(self.shared.signature_cost());
        if now.instant - self.forgot >= FORGET {
            self.forgot = now.instant;
            outbound.forget_echoes(now.instant);
        }
        outbound.flush(now, &mut handle, rng, &mut self.bursts)
    }

    fn send(&mut self) {
        if self.bursts.is_empty() {
            return;
        }
        let mut patience = Patience::new(BUSY_MAX);
        let mut is_too_long = false;
        for burst in &mut self.bursts {
            is_too_long |= send_burst(self.shared, burst, &mut patience);
        }
        let mut outbound = lock(&self.shared.outbound);
        self.bursts
            .drain(..)
            .for_each(|burst| outbound.recycle(burst.bytes));
        // Those of the packets, which are signed now.
        while self.reader.wants_buffer()
            && let Some(buffer) = outbound.spare()
        {
            self.reader.recycle(buffer);
        }
        drop(outbound);
        if is_too_long {
            self.shared.hear_errors();
        }
    }
}

/// How long may still be waited for a socket.
struct Patience {
    left: Duration,
}

impl Patience {
    const fn new(left: Duration) -> Self {
        Self { left }
    }

    /// Tries until the socket is not full any more, or the time is over. `wait` waits at most as long
    /// as it is told, and returns how long it did. Returns the last refusal.
    fn send(
        &mut self,
        mut attempt: impl FnMut() -> Option<Refusal>,
        mut wait: impl FnMut(Duration) -> Duration,
    ) -> Option<Refusal> {
        loop {
            let refused = attempt();
            if refused != Some(Refusal::Full) || self.left.is_zero() {
                return refused;
            }
            let waited = wait(self.left.min(BUSY_WAIT));
            self.left = self.left.saturating_sub(waited);
        }
    }
}

/// Sends a burst. Returns whether it was too long for the path.
fn send_burst<K: KeySource>(
    shared: &Shared<K>,
    burst: &mut Burst,
    patience: &mut Patience,
) -> bool {
    let now = shared.clock.now().instant;
    let reach = lock(&shared.peers).peers.sends(burst.peer, now);
    let (remote, local) = reach.map_or((None, None), |reach| (reach.remote, reach.local));
    let attempt = || {
        let (sent, refusal) = shared.network.send(remote, local, burst);
        let bytes = (sent * burst.segment).min(burst.bytes.len());
        burst.bytes.drain(..bytes);
        refusal
    };
    let wait = |most: Duration| {
        let begin = std::time::Instant::now();
        writable(shared.network.senders().into_iter(), most);
        // A socket that says it has room and takes nothing must not be asked for ever.
        begin.elapsed().max(BUSY_STEP)
    };
    let refused = patience.send(attempt, wait);
    let reason = match refused {
        None => return false,
        Some(Refusal::Full) => DroppedOut::SendBusy,
        Some(Refusal::TooLong) => DroppedOut::TooLong,
        Some(Refusal::NoAddress) => DroppedOut::NoAddress,
        // An address that the host has no more is "no route" to some kernels. The routes say the next one.
        Some(Refusal::Source | Refusal::Other(_)) => {
            lock(&shared.peers).peers.forget_local(burst.peer);
            DroppedOut::SendFailed
        }
    };
    shared.drop_leaving(reason, count(burst));
    reason == DroppedOut::TooLong
}

fn count(burst: &Burst) -> usize {
    burst.bytes.len().div_ceil(burst.segment.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However many bursts there are, a socket that is full holds the reader up for one span of time.
    #[test]
    fn a_full_socket_is_waited_for_once() {
        let mut patience = Patience::new(BUSY_MAX);
        let (mut waited, mut attempts) = (Duration::ZERO, 0);
        for _ in 0..1_000 {
            let attempt = || {
                attempts += 1;
                Some(Refusal::Full)
            };
            let refused = patience.send(attempt, |most| {
                waited += most;
                most
            });
            assert_eq!(refused, Some(Refusal::Full));
        }
        assert_eq!(waited, BUSY_MAX);
        assert_eq!(attempts, 1_000 + 4, "each is tried once all the same");
    }

    #[test]
    fn a_socket_that_takes_more_is_not_waited_for() {
        let mut patience = Patience::new(BUSY_MAX);
        let mut answers = [Some(Refusal::Full), None].into_iter();
        let refused = patience.send(|| answers.next().flatten(), |_| BUSY_STEP);
        assert_eq!((refused, patience.left), (None, BUSY_MAX - BUSY_STEP));
        let other = patience.send(|| Some(Refusal::TooLong), |_| unreachable!());
        assert_eq!(other, Some(Refusal::TooLong));
    }
}
