//! What a driver counts, for who watches it.

use std::time::Duration;

use clew_tunnel::Counters;
use clew_tunnel::engine::Now;
use clew_tunnel::engine::event::{Event, Traffic};
use clew_wire::Instant;
use tokio::sync::watch;

use crate::engine::Engine;

/// Least time between two reports to watchers.
const EVERY: Duration = Duration::from_millis(200);

/// What a driver has counted.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    /// Tunnels that there are.
    pub tunnels: usize,
    /// Connections that were asked for, taken (of a client) and closed.
    pub connections: u64,
    /// Tunnels that ended.
    pub ended: u64,
    /// Places of tunnels from addresses that are not proven: taken, and free.
    pub unproven: (usize, usize),
    /// What was sent in sequence.
    pub traffic: Traffic,
    /// Discarded packets, RPCs and records, by reason.
    pub reasons: Counters,
}

/// The counts of a driver, or of all shards of a server, as they go on.
#[derive(Clone, Debug)]
pub struct MetricsWatch(pub(crate) Vec<watch::Receiver<Metrics>>);

impl MetricsWatch {
    /// Returns the numbers of a fraction of a second ago.
    pub fn read(&self) -> Metrics {
        let all = self.0.iter();
        all.fold(Metrics::default(), |sum, part| sum.and(&part.borrow()))
    }
}

impl Metrics {
    /// The sum of the shards of a server.
    fn and(mut self, other: &Self) -> Self {
        self.tunnels += other.tunnels;
        self.connections += other.connections;
        self.ended += other.ended;
        self.unproven.0 += other.unproven.0;
        self.unproven.1 += other.unproven.1;
        self.traffic += other.traffic;
        self.reasons += &other.reasons;
        self
    }
}

/// Where a driver counts.
#[derive(Debug)]
pub(crate) struct Watched {
    told: watch::Sender<Metrics>,
    at: Instant,
    /// Something was not told yet.
    is_late: bool,
    connections: u64,
    ended: u64,
}

impl Watched {
    /// Creates metrics of zeros, and what shows them.
    pub(crate) fn new() -> (Self, watch::Receiver<Metrics>) {
        let (told, metrics) = watch::channel(Metrics::default());
        let watched = Self {
            told,
            at: Instant::default(),
            is_late: false,
            connections: 0,
            ended: 0,
        };
        (watched, metrics)
    }

    /// Counts an event.
    pub(crate) fn event(&mut self, event: &Event) {
        match event {
            Event::Create(_) | Event::Accepted(_) => self.connections += 1,
            Event::Gone(..) => self.ended += 1,
            _ => {}
        }
    }

    /// Returns when watchers are to be told the rest. Returns `None` if they know all.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.is_late.then_some(self.at)
    }

    /// Watchers are to be told the next time, however soon that is.
    pub(crate) const fn hurry(&mut self) {
        self.at = Instant::from_nanos(0);
    }

    /// Tells watchers, before the driver waits; at most once in a while.
    pub(crate) fn settled(&mut self, engine: &impl Engine, now: &Now<'_>) {
        self.is_late = now.instant < self.at;
        if self.is_late || self.told.receiver_count() == 0 {
            return;
        }
        self.at = now.instant + EVERY;
        self.told.send_replace(Metrics {
            tunnels: engine.tunnels(),
            connections: self.connections,
            ended: self.ended,
            unproven: engine.unproven(),
            traffic: engine.traffic(),
            reasons: engine.counters().clone(),
        });
    }
}
