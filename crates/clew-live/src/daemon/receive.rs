//! From the network to the TUN: receive, verify, deliver in order.

use super::drops::DroppedOut;
use super::shared::{Shared, lock, thread_time};
use crate::carrier::{Arrived, Datagrams};
use crate::packet::{Burst, CookieMessage, PeerIndex};
use clew_packet::KeySource;
use clew_wire::{Instant, nanos};
use rand_core::CryptoRng;
use std::io;
use std::net::SocketAddr;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long a verifier sleeps at most: somebody wakes it when there is work.
const IDLE: Duration = Duration::from_secs(1);

/// How long the sockets are read at the end, so that blocks which are half there become whole.
const LAST_READS: Duration = Duration::from_millis(150);

/// How long what was read may take to be verified and delivered at the end.
const LAST_DELIVERIES: Duration = Duration::from_millis(300);

/// How often to look then.
const LAST_TURN: Duration = Duration::from_millis(2);

/// The end of a receiver: it begins when somebody asks for it.
#[derive(Default)]
struct End(Option<std::time::Instant>);

impl End {
    /// Returns for how long the receiver has been ending.
    fn elapsed<K: KeySource>(&mut self, shared: &Shared<K>) -> Option<Duration> {
        let is_ending = shared.is_receiver_ending();
        is_ending.then(|| self.0.get_or_insert_with(std::time::Instant::now).elapsed())
    }
}

/// Reads the sockets until the daemon stops.
pub(super) fn run<K: KeySource>(shared: &Shared<K>) -> io::Result<()> {
    let mut room = Datagrams::default();
    let mut cookies = Vec::new();
    let mut end = End::default();
    while !shared.is_stopping() {
        shared.turns[1].fetch_add(1, Ordering::Relaxed);
        let ending = end.elapsed(shared);
        if ending.is_some_and(|time| time > LAST_DELIVERIES || lock(&shared.inbound).is_idle()) {
            break;
        }
        let may_read = ending.is_none_or(|time| time < LAST_READS);
        let any = may_read && receive(shared, &mut room, &mut cookies)?;
        take_cookies(shared, &mut cookies);
        send_replies(shared);
        let next = shared.deliver();
        if room.had_reports() || !any {
            shared.hear_errors();
        }
        if !any {
            let now = shared.clock.now().instant;
            let last = ending.map(|_| now + LAST_TURN);
            let next = next.into_iter().chain(last).min();
            let due = next.map_or(u64::MAX, Instant::as_nanos);
            shared.receiver_due.store(due, Ordering::Release);
            shared
                .wake_receiver
                .wait(shared.network.arrivals().into_iter(), next, now)?;
        }
    }
    Ok(())
}

fn receive<K: KeySource>(
    shared: &Shared<K>,
    room: &mut Datagrams,
    cookies: &mut Vec<(SocketAddr, CookieMessage)>,
) -> io::Result<bool> {
    let mut held = None;
    let take = |arrived: Arrived<'_>| {
        let (inbound, now) =
            held.get_or_insert_with(|| (lock(&shared.inbound), shared.clock.now()));
        match arrived {
            Arrived::Datagram(datagram, outer) => {
                let cookie = inbound.receive(datagram, outer, *now);
                cookies.extend(cookie.map(|cookie| (outer.source, cookie)));
            }
            Arrived::Trailed(packet) => inbound.receive_trailed(packet, *now),
        }
    };
    shared.network.receive(room, take)
}

fn take_cookies<K: KeySource>(shared: &Shared<K>, cookies: &mut Vec<(SocketAddr, CookieMessage)>) {
    if cookies.is_empty() {
        return;
    }
    let now = shared.clock.now();
    let mut outbound = lock(&shared.outbound);
    for (from, message) in cookies.drain(..) {
        outbound.cookie(from, &message, now);
    }
}

fn send_replies<K: KeySource>(shared: &Shared<K>) {
    let mut replies = Vec::new();
    lock(&shared.inbound).replies(&mut replies);
    for reply in replies {
        let burst = Burst {
            peer: PeerIndex(0),
            ecn: 0,
            segment: reply.bytes.len(),
            bytes: reply.bytes,
        };
        let from = Some(reply.from.ip()).filter(|ip| !ip.is_unspecified());
        if shared
            .network
            .send(Some(reply.to), from, &burst)
            .1
            .is_some()
        {
            shared.drop_leaving(DroppedOut::CookieUnsent, 1);
        }
    }
}

/// Verifies signatures until the daemon stops. It takes what has queued since it was last free.
pub(super) fn verify<K: KeySource>(
    shared: &Shared<K>,
    since: &AtomicU64,
    rng: &mut impl CryptoRng,
) {
    let mut inbound = lock(&shared.inbound);
    while !shared.is_stopping() {
        let Some(work) = inbound.take_work(shared.clock.now()) else {
            let waited = shared.work.wait_timeout(inbound, IDLE);
            inbound = waited.unwrap_or_else(PoisonError::into_inner).0;
            continue;
        };
        drop(inbound);
        let start = shared.clock.now().instant;
        since.store(start.as_nanos().max(1), Ordering::Relaxed);
        let begin = thread_time();
        let done = work.run(rng);
        let spent = thread_time().saturating_sub(begin);
        lock(&shared.inbound).finish(done, spent, shared.clock.now());
        let next = shared.deliver();
        let due = shared.receiver_due.load(Ordering::Acquire);
        if next.is_some_and(|next| next.as_nanos() < due) {
            shared.wake_receiver.wake();
        }
        since.store(0, Ordering::Relaxed);
        inbound = lock(&shared.inbound);
        let worked = nanos(shared.clock.now().instant - start);
        shared.verifying.fetch_add(worked, Ordering::Relaxed);
    }
}
