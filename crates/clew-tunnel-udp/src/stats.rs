//! What a driver counts, for who watches it.

use clew_tunnel::Counters;
use clew_tunnel::engine::Now;
use clew_tunnel::engine::event::Event;
use tokio::sync::watch;

use crate::engine::Engine;

/// How often watchers are told at most, in nanoseconds.
const EVERY: u64 = 200_000_000;

/// What a driver has counted.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Tunnels that there are.
    pub tunnels: usize,
    /// Connections that were asked for, taken (of a client) and closed.
    pub connections: u64,
    /// Tunnels that ended.
    pub ended: u64,
    /// Discarded packets, RPCs and records, by reason.
    pub reasons: Counters,
}

impl Stats {
    /// The sum of the parts of a server.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.tunnels += other.tunnels;
        self.connections += other.connections;
        self.ended += other.ended;
        self.reasons.add(&other.reasons);
        self
    }
}

/// Where a driver counts.
#[derive(Debug)]
pub struct Watched {
    told: watch::Sender<Stats>,
    at: u64,
    connections: u64,
    ended: u64,
}

impl Watched {
    /// Nothing was counted.
    pub fn new() -> (Self, watch::Receiver<Stats>) {
        let (told, stats) = watch::channel(Stats::default());
        let watched = Self {
            told,
            at: 0,
            connections: 0,
            ended: 0,
        };
        (watched, stats)
    }

    /// Something happened.
    pub fn event(&mut self, _: &Now<'_>, event: &Event) {
        match event {
            Event::Create(_) | Event::Accepted(_) => self.connections += 1,
            Event::Gone(..) => self.ended += 1,
            _ => {}
        }
    }

    /// The driver is about to wait.
    pub fn settled(&mut self, engine: &impl Engine, now: &Now<'_>) {
        if now.instant < self.at || self.told.receiver_count() == 0 {
            return;
        }
        self.at = now.instant + EVERY;
        self.told.send_replace(Stats {
            tunnels: engine.tunnels(),
            connections: self.connections,
            ended: self.ended,
            reasons: engine.counters().clone(),
        });
    }
}
