//! Our engines in real time: datagrams go to the adapter instead of a socket.

use clew_tunnel::engine::WallTime;
use std::net::SocketAddr;
use std::time::{Duration, Instant, SystemTime};

use clew_tunnel::engine::client::Client;
use clew_tunnel::engine::event::Event;
use clew_tunnel::engine::server::Server;
use clew_tunnel::engine::{Datagram, Now, Outgoing};

use crate::adapter::Adapter;
use crate::keylog::Recorder;

/// Time and randomness of one engine.
pub struct Clock {
    start: Instant,
    /// By how much it was put forward.
    skipped: Duration,
    rng: Recorder,
}

impl Clock {
    pub fn new(rng: Recorder) -> Self {
        let start = Instant::now();
        let skipped = Duration::ZERO;
        Self {
            start,
            skipped,
            rng,
        }
    }

    /// Puts it forward, so that nobody has to wait for what is done once in ten minutes. The time of day is
    /// left alone.
    pub fn skip(&mut self, by: Duration) {
        self.skipped += by;
    }

    pub fn now(&mut self) -> Now<'_> {
        Now {
            instant: clew_tunnel::engine::Instant::default() + self.start.elapsed() + self.skipped,
            wall: wall(),
            rng: &mut self.rng,
        }
    }
}

/// The time of day.
pub fn wall() -> WallTime {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    WallTime::default() + since.unwrap_or_default()
}

/// What a client and a server have alike.
pub trait Engine {
    fn take(&mut self, now: Now<'_>, peer: SocketAddr, bytes: &mut [u8]);
    fn work(&mut self, now: Now<'_>);
    fn due(&mut self, now: Now<'_>);
    fn give(&mut self, now: Now<'_>, out: &mut Outgoing) -> bool;
    fn hear(&mut self) -> Option<Event>;
}

impl Engine for Client {
    fn take(&mut self, now: Now<'_>, peer: SocketAddr, bytes: &mut [u8]) {
        self.receive(now, [Datagram { peer, bytes }]);
    }

    fn work(&mut self, now: Now<'_>) {
        let mut jobs = self.jobs();
        jobs.run();
        self.complete(now, jobs);
    }

    fn due(&mut self, now: Now<'_>) {
        self.tick(now);
    }

    fn give(&mut self, now: Now<'_>, out: &mut Outgoing) -> bool {
        self.transmit(now, out)
    }

    fn hear(&mut self) -> Option<Event> {
        self.event()
    }
}

impl Engine for Server {
    fn take(&mut self, now: Now<'_>, peer: SocketAddr, bytes: &mut [u8]) {
        self.receive(now, [Datagram { peer, bytes }]);
    }

    fn work(&mut self, now: Now<'_>) {
        let mut jobs = self.jobs();
        jobs.run();
        self.complete(now, jobs);
    }

    fn due(&mut self, now: Now<'_>) {
        self.tick(now);
    }

    fn give(&mut self, now: Now<'_>, out: &mut Outgoing) -> bool {
        self.transmit(now, out)
    }

    fn hear(&mut self) -> Option<Event> {
        self.event()
    }
}

/// An engine of ours with its adapter.
pub struct Node<E> {
    pub engine: E,
    pub clock: Clock,
    pub adapter: Adapter,
}

impl<E: Engine> Node<E> {
    /// Does what there is to be done now, and gives what happened.
    pub fn step(&mut self) -> Vec<Event> {
        let Self {
            engine,
            clock,
            adapter,
        } = self;
        let Now { instant, wall, .. } = clock.now();
        for (peer, mut bytes) in adapter.poll(instant.as_nanos(), wall.as_nanos()) {
            engine.take(clock.now(), peer, &mut bytes);
        }
        engine.due(clock.now());
        let mut has_more = true;
        while has_more {
            engine.work(clock.now());
            let mut out = Outgoing::new(64);
            has_more = engine.give(clock.now(), &mut out);
            for run in out.runs() {
                for packet in run.bytes.chunks(run.segment) {
                    adapter.of_engine(
                        instant.as_nanos(),
                        wall.as_nanos(),
                        run.to,
                        &mut packet.to_vec(),
                    );
                }
            }
        }
        std::iter::from_fn(|| engine.hear()).collect()
    }
}
