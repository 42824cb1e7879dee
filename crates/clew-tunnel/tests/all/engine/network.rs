//! A network in virtual time between one server and some clients.

use clew_wire::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::SocketAddr;

use clew_tunnel::Reason;
use clew_tunnel::engine::client::Client;
use clew_tunnel::engine::event::Event;
use clew_tunnel::engine::server::{Config, Server};
use clew_tunnel::engine::{Datagram, Now, Outgoing};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng as _, SeedableRng as _};

use crate::engine::node::{self, Clock, Echo, Engine, MS};
use crate::engine::watch::Watch;

/// How a network treats datagrams.
#[derive(Clone, Copy, Debug)]
pub struct Weather {
    /// One way, in nanoseconds.
    pub delay: u64,
    /// Added to it, at random up to this.
    pub jitter: u64,
    /// Lost, of 1,000.
    pub loss: u32,
    /// Delivered twice, of 1,000.
    pub twice: u32,
}

impl Weather {
    pub const CALM: Self = Self {
        delay: MS,
        jitter: 0,
        loss: 0,
        twice: 0,
    };
}

/// A datagram under way.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flying {
    pub at: u64,
    order: u64,
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub bytes: Vec<u8>,
}

/// The server's address in all simulations.
pub fn server_address() -> SocketAddr {
    "192.0.2.1:4433".parse().expect("an address")
}

/// A client's address by its socket's number.
pub fn client_address(socket: u32) -> SocketAddr {
    let [_, b, c, d] = socket.to_be_bytes();
    SocketAddr::from(([10, b, c, d], 5_000))
}

/// One server, one client engine with any number of sockets, and the network between them.
pub struct Pair {
    pub now: u64,
    pub weather: Weather,
    pub server: Server,
    pub server_clock: Clock,
    pub client: Client,
    pub client_clock: Clock,
    pub client_events: Vec<Event>,
    pub server_events: Vec<Event>,
    /// Everything that was sent, for who listens.
    pub wire: Vec<(SocketAddr, SocketAddr, Vec<u8>)>,
    /// And when.
    pub sent_at: Vec<u64>,
    pub watch: Watch,
    /// Nothing gets through until then.
    pub silence_until: u64,
    /// The server's program takes its time.
    pub reads_late: bool,
    /// How often the client's NAT has forgotten: its packets come from other ports, and what is for others is
    /// lost.
    rebound: u16,
    later: Vec<(u64, Event)>,
    /// Bytes that reached the server from each address, and that it sent there.
    pub traffic: std::collections::HashMap<SocketAddr, (usize, usize)>,
    pub echo: Echo,
    flying: BinaryHeap<Reverse<Flying>>,
    order: u64,
    rng: ChaCha20Rng,
}

impl Pair {
    pub fn new(seed: u64, weather: Weather) -> Self {
        Self::with(Config::new(vec![server_address()]), seed, weather)
    }

    pub fn with(config: Config, seed: u64, weather: Weather) -> Self {
        println!("seed {seed}, {weather:?}");
        let (server, server_clock) = node::server(config, seed ^ 1);
        let (client, client_clock) = node::client(seed ^ 2);
        Self {
            now: 1_000,
            weather,
            server,
            server_clock,
            client,
            client_clock,
            client_events: Vec::new(),
            server_events: Vec::new(),
            wire: Vec::new(),
            sent_at: Vec::new(),
            watch: Watch::default(),
            silence_until: 0,
            reads_late: false,
            rebound: 0,
            later: Vec::new(),
            traffic: std::collections::HashMap::new(),
            echo: Echo::default(),
            flying: BinaryHeap::new(),
            order: 0,
            rng: ChaCha20Rng::seed_from_u64(seed),
        }
    }

    /// Puts a datagram on the way.
    pub fn send(&mut self, from: SocketAddr, to: SocketAddr, bytes: &[u8]) {
        if std::env::var_os("CLEW_TRACE").is_some() {
            let (flags, tid, nonce) = crate::engine::watch::clear(bytes);
            let at = self.now / MS;
            println!(
                "{at} {from} > {to}: {} {flags:x} {tid:?} {nonce}",
                bytes.len()
            );
        }
        self.wire.push((from, to, bytes.to_vec()));
        self.sent_at.push(self.now);
        let copies = if self.chance(self.weather.twice) {
            2
        } else {
            1
        };
        for _ in 0..copies {
            if self.chance(self.weather.loss) || self.now < self.silence_until {
                continue;
            }
            let jitter = self.rng.next_u64() % (self.weather.jitter + 1);
            self.order += 1;
            self.flying.push(Reverse(Flying {
                at: self.now + self.weather.delay + jitter,
                order: self.order,
                from,
                to,
                bytes: bytes.to_vec(),
            }));
        }
    }

    /// Which tunnels ended, and how the reasons were counted.
    pub fn all_ends(&self) -> (Vec<&Event>, Vec<(Reason, u64, u64)>) {
        let events = self.client_events.iter().chain(&self.server_events);
        let ends = events.filter(|event| matches!(event, Event::Gone(..)));
        let (client, server) = (self.client.counters(), self.server.counters());
        let counts = Reason::ALL.map(|reason| (reason, client.of(reason), server.of(reason)));
        let counts = counts.into_iter().filter(|(_, a, b)| a + b > 0);
        (ends.collect(), counts.collect())
    }

    /// The client's NAT forgets.
    pub const fn rebind(&mut self) {
        self.rebound += 1;
    }

    fn chance(&mut self, of_thousand: u32) -> bool {
        self.rng.next_u32() % 1_000 < of_thousand
    }

    /// Lets both engines do what they have to do now.
    pub fn settle(&mut self) {
        loop {
            let computed = self.server.compute(self.server_clock.at(self.now))
                | self.client.compute(self.client_clock.at(self.now));
            while let Some(event) = self.server.event() {
                if self.reads_late && matches!(event, Event::Readable(_)) {
                    self.later.push((self.now + 100 * MS, event.clone()));
                } else {
                    self.echo.hear(&mut self.server, &event);
                }
                self.server_events.push(event);
            }
            while let Some(event) = self.client.event() {
                self.client_events.push(event);
            }
            let sent = self.transmit();
            if !computed && !sent {
                Watch::settled(&self.server, &self.client);
                return;
            }
        }
    }

    fn transmit(&mut self) -> bool {
        let server = self.server_clock.at(self.now);
        let mut sent = transmit(&mut self.server, server, |_| server_address());
        let client = self.client_clock.at(self.now);
        sent.extend(transmit(&mut self.client, client, client_address));
        let any = !sent.is_empty();
        for (mut from, to, bytes) in sent {
            if from != server_address() {
                from.set_port(5_000 + self.rebound);
            }
            self.watch.see(from, &bytes);
            if from == server_address() {
                self.traffic.entry(to).or_default().1 += bytes.len();
            }
            self.send(from, to, &bytes);
        }
        any
    }

    /// Goes on to the next thing that happens, up to `until`. False if nothing does.
    pub fn step(&mut self, until: u64) -> bool {
        self.settle();
        let arrival = self.flying.peek().map(|flying| flying.0.at);
        let server = self.server.due(&self.server_clock.at(self.now)).as_nanos();
        let client = self.client.due().map(Instant::as_nanos);
        let late = self.later.first().map(|(at, _)| *at);
        let next = [arrival, Some(server), client, late];
        let next = next.into_iter().flatten().min();
        let Some(next) = next.filter(|next| *next <= until) else {
            self.now = until;
            return false;
        };
        self.now = self.now.max(next);
        self.arrive();
        while self.later.first().is_some_and(|(at, _)| *at <= self.now) {
            let (_, event) = self.later.remove(0);
            self.echo.hear(&mut self.server, &event);
        }
        self.server.tick(self.server_clock.at(self.now));
        self.client.tick(self.client_clock.at(self.now));
        true
    }

    fn arrive(&mut self) {
        let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
        while let Some(Reverse(flying)) = self.flying.peek()
            && flying.at <= self.now
        {
            let Some(Reverse(flying)) = self.flying.pop() else {
                break;
            };
            if flying.to == server_address() {
                self.traffic.entry(flying.from).or_default().0 += flying.bytes.len();
                to_server.push((flying.from, flying.bytes));
            } else if flying.to.port() == 5_000 + self.rebound {
                to_client.push((flying.from, flying.bytes));
            }
        }
        self.deliver(true, to_server);
        self.deliver(false, to_client);
    }

    fn deliver(&mut self, to_server: bool, mut datagrams: Vec<(SocketAddr, Vec<u8>)>) {
        let datagrams = datagrams
            .iter_mut()
            .map(|(peer, bytes)| Datagram { peer: *peer, bytes });
        let datagrams = datagrams.collect();
        if to_server {
            Engine::receive(&mut self.server, self.server_clock.at(self.now), datagrams);
        } else {
            Engine::receive(&mut self.client, self.client_clock.at(self.now), datagrams);
        }
    }

    /// Runs for so long.
    pub fn run(&mut self, time: u64) {
        let until = self.now + time;
        let (mut at, mut steps) = (self.now, 0_u64);
        while self.step(until) {
            steps = if self.now > at { 0 } else { steps + 1 };
            at = self.now;
            assert!(steps < 1_000, "time does not go on at {at}");
        }
        self.settle();
    }
}

/// All that an engine has to send.
fn transmit(
    engine: &mut impl Engine,
    mut now: Now<'_>,
    from: impl Fn(u32) -> SocketAddr,
) -> Vec<(SocketAddr, SocketAddr, Vec<u8>)> {
    let mut sent = Vec::new();
    let mut out = Outgoing::new(64);
    let mut has_more = true;
    while has_more {
        out.clear();
        has_more = engine.transmit(now.again(), &mut out);
        for run in out.runs() {
            let datagrams = run.bytes.chunks(run.segment);
            sent.extend(datagrams.map(|bytes| (from(run.from), run.to, bytes.to_vec())));
        }
    }
    sent
}
