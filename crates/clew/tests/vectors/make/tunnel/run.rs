//! Runs of real engines in virtual time, written down packet by packet.

use clew_tunnel::engine::Instant;
use std::net::SocketAddr;

use clew_tunnel::Reason;
use clew_tunnel::engine::client::{self, Client, Target};
use clew_tunnel::engine::event::{Answer, ConnectionId, Create, Event, Reply, TunnelId, User};
use clew_tunnel::engine::server::{Config, Server};
use clew_tunnel::engine::{Datagram, Outgoing};
use clew_tunnel::keys;
use clew_tunnel::wire::values::Value;
use clew_tunnel::x25519::{Public, Secret};

use crate::make::hash;
use crate::make::tunnel::bytes::NANOS;
use crate::make::tunnel::node::{Recorder, bounds, other_host, server_address, server_secret};
use crate::make::tunnel::rogue::Rogue;

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000 * MS;
/// One way.
const DELAY: u64 = 10 * MS;

/// Where who makes packets by hand is.
pub fn rogue_address() -> SocketAddr {
    "198.51.100.9:7000".parse().unwrap()
}

struct Flight {
    at: u64,
    packet: usize,
    from: SocketAddr,
    to: SocketAddr,
}

/// One server and one client engine, the network between them, and all that happens.
pub struct Run {
    pub(super) name: String,
    pub now: u64,
    pub server: Server,
    pub client: Client,
    server_rng: Recorder,
    pub(super) client_rng: Recorder,
    /// The client's address; what is for another of its own is lost.
    pub client_at: SocketAddr,
    /// So many of the next datagrams are lost.
    pub lose: usize,
    /// What the server's program says to connections.
    pub decision: Result<(), Reason>,
    /// It reads RPCs, and sends the beginning of each back.
    pub echoes: bool,
    pub packets: Vec<Vec<u8>>,
    pub(super) events: Vec<String>,
    flying: Vec<Flight>,
    pub(super) ecerts: Vec<Vec<u8>>,
    /// What the server's ephemeral keys are drawn from.
    pub(super) seed: [u8; 32],
    pub(super) bounds: Vec<(&'static str, u32)>,
    pub(super) expect: Option<String>,
    pub last_connection: Option<ConnectionId>,
}

impl Run {
    pub(super) fn new(name: &str, config: Config) -> Self {
        let seed = hash(format!("tunnel {name} seed").as_bytes());
        let mut server_rng = Recorder::new(&format!("tunnel {name} server"));
        let mut client_rng = Recorder::new(&format!("tunnel {name} client"));
        let bounds = bounds(&config);
        let server = Server::new(server_secret(), config, seed, server_rng.at(0)).unwrap();
        let client = Client::new(client::Config::default(), client_rng.at(0));
        let mut run = Self {
            name: name.to_owned(),
            now: MS,
            server,
            client,
            server_rng,
            client_rng,
            client_at: "10.0.0.1:5000".parse().unwrap(),
            lose: 0,
            decision: Ok(()),
            echoes: true,
            packets: Vec::new(),
            events: Vec::new(),
            flying: Vec::new(),
            ecerts: Vec::new(),
            seed,
            bounds,
            expect: None,
            last_connection: None,
        };
        run.settle();
        run
    }

    pub fn record(&self) -> Target {
        Target::Host(Box::new(self.server.record()))
    }

    /// A client's tunnel with one connection and an RPC on it, all in the first packet.
    pub fn open(&mut self) -> (TunnelId, ConnectionId) {
        let target = self.record();
        let tunnel = self.open_to(target);
        let connection = self.connect(tunnel, None);
        self.say(connection, b"first");
        (tunnel, connection)
    }

    pub fn open_to(&mut self, target: Target) -> TunnelId {
        self.client.open(self.client_rng.at(self.now), target, 1).unwrap()
    }

    pub fn connect(&mut self, tunnel: TunnelId, user: Option<client::UserId>) -> ConnectionId {
        let now = self.client_rng.at(self.now);
        self.client.connect(&now, tunnel, "echo", user).unwrap()
    }

    pub fn say(&mut self, connection: ConnectionId, bytes: &[u8]) {
        let written = self.client.write(connection, "say", |call| call.bytes(bytes));
        assert_eq!(written, Ok(true));
    }

    pub fn rekey(&mut self, tunnel: TunnelId) {
        self.client.rekey_now(self.client_rng.at(self.now), tunnel);
    }

    /// The client's program has another socket.
    pub fn move_to(&mut self, tunnel: TunnelId, address: &str) {
        self.client_at = address.parse().unwrap();
        self.client.moved(self.client_rng.at(self.now), tunnel, 2);
    }

    pub fn close(&mut self, tunnel: TunnelId) {
        let now = self.client_rng.at(self.now);
        self.client.close_tunnel(now, tunnel);
    }

    /// The server's program ends the tunnel that it heard last.
    pub fn server_closes(&mut self) {
        let tunnel = self.last_connection.unwrap().tunnel;
        let now = self.server_rng.at(self.now);
        self.server.close_tunnel(now, tunnel);
    }

    /// The server's program says something on the connection that it heard last.
    pub fn server_says(&mut self, bytes: &[u8]) {
        let connection = self.last_connection.unwrap();
        let written = self.server.write(connection, "say", |call| call.bytes(bytes));
        assert_eq!(written, Ok(true));
        self.settle();
    }

    /// A rogue under the server's newest S'.
    pub fn rogue(&mut self, n: u8) -> Rogue {
        // As it draws its own secret.
        self.client_rng.drawn.push([n | 1; 32]);
        Rogue::new(&self.ephemeral(), n, NANOS + self.now)
    }

    /// A rogue rekeys: its C' is known to this run. The one with the key before.
    pub fn rekeyed(&mut self, rogue: &mut Rogue) -> Rogue {
        let before = rogue.rekey(NANOS + self.now);
        let drawn = (0..=255).map(|byte| [byte; 32]);
        let mut drawn = drawn.filter(|drawn| keys::decoy(*drawn) == rogue.client);
        self.client_rng.drawn.extend(drawn.next());
        before
    }

    /// The secret of the server's first S'.
    pub fn ephemeral_secret(&self) -> Secret {
        Secret::from_bytes(hash(&[&b"clew-mlt-seed-s'"[..], &self.seed].concat()))
    }

    pub fn ephemeral(&self) -> Public {
        self.server.record().ecert.body.ephemeral
    }

    /// The newest of all datagrams.
    pub fn last_sent(&self) -> Vec<u8> {
        self.packets.last().unwrap().clone()
    }

    fn note(&mut self, side: &str, what: &str) {
        self.events.push(format!("{} {side} {what}", self.now));
    }

    fn number(&mut self, bytes: &[u8]) -> usize {
        let found = self.packets.iter().position(|packet| packet == bytes);
        found.unwrap_or_else(|| {
            self.packets.push(bytes.to_vec());
            self.packets.len() - 1
        })
    }

    /// Hands the server a packet; what it says.
    pub fn hand(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        self.hand_from(rogue_address(), bytes)
    }

    pub fn hand_from(&mut self, from: SocketAddr, bytes: &[u8]) -> Vec<Vec<u8>> {
        self.hand_all(from, &[bytes])
    }

    /// Several in one call: the reasons that are counted are of the last.
    pub fn hand_all(&mut self, from: SocketAddr, all: &[&[u8]]) -> Vec<Vec<u8>> {
        self.settle();
        self.get(true, from, all);
        let begin = self.events.len();
        self.settle();
        let said = self.events[begin..].iter();
        let said = said.filter_map(|event| event.split_once(" server sends "));
        let numbers = said.filter_map(|(_, rest)| rest.split(' ').next()?.parse::<usize>().ok());
        numbers.map(|n| self.packets[n].clone()).collect()
    }

    /// Hands the client a packet of the server's address.
    pub fn hand_client(&mut self, bytes: &[u8]) {
        self.settle();
        self.get(false, server_address(), &[bytes]);
        self.settle();
    }

    fn get(&mut self, at_server: bool, from: SocketAddr, all: &[&[u8]]) {
        let numbers: Vec<usize> = all.iter().map(|bytes| self.number(bytes)).collect();
        let mut copies: Vec<Vec<u8>> = all.iter().map(|bytes| bytes.to_vec()).collect();
        let datagrams = copies.iter_mut().map(|bytes| Datagram { peer: from, bytes });
        let before = self.counted(at_server);
        if at_server {
            self.server.receive(self.server_rng.at(self.now), datagrams);
        } else {
            self.client.receive(self.client_rng.at(self.now), datagrams);
        }
        while self.compute() {}
        let after = self.counted(at_server);
        let changed = Reason::ALL.iter().zip(before.iter().zip(after));
        let counted = changed.flat_map(|(r, (a, b))| vec![r.as_str(); (b - a) as usize]);
        let counted: Vec<&str> = counted.collect();
        let side = if at_server { "server" } else { "client" };
        for (place, number) in numbers.iter().enumerate() {
            let verb = if place == 0 { "gets" } else { "gets-also" };
            let reasons = if place + 1 == numbers.len() && !counted.is_empty() {
                self.expect.get_or_insert(counted[0].to_owned());
                counted.join(" ")
            } else {
                "taken".to_owned()
            };
            self.note(side, &format!("{verb} {number} {from} {reasons}"));
        }
    }

    fn counted(&self, at_server: bool) -> Vec<u64> {
        let counters = if at_server { self.server.counters() } else { self.client.counters() };
        Reason::ALL.iter().map(|reason| counters.of(*reason)).collect()
    }

    fn compute(&mut self) -> bool {
        let had = self.server.has_jobs() || self.client.has_jobs();
        let mut jobs = self.server.jobs();
        jobs.run();
        self.server.complete(self.server_rng.at(self.now), jobs);
        let mut jobs = self.client.jobs();
        jobs.run();
        self.client.complete(self.client_rng.at(self.now), jobs);
        had
    }

    /// Both do what they have to do now.
    pub fn settle(&mut self) {
        loop {
            let mut goes_on = self.compute();
            while let Some(event) = self.server.event() {
                self.server_hears(&event);
            }
            while let Some(event) = self.client.event() {
                self.client_hears(event);
            }
            let mut out = Outgoing::new(16);
            goes_on |= self.server.transmit(self.server_rng.at(self.now), &mut out);
            goes_on |= self.sent(true, &out);
            out.clear();
            goes_on |= self.client.transmit(self.client_rng.at(self.now), &mut out);
            goes_on |= self.sent(false, &out);
            if !goes_on {
                return;
            }
        }
    }

    fn sent(&mut self, by_server: bool, out: &Outgoing) -> bool {
        let mut any = false;
        for run in out.runs() {
            for bytes in run.bytes.chunks(run.segment) {
                any = true;
                let packet = self.number(bytes);
                let (side, from) = if by_server { ("server", server_address()) } else { ("client", self.client_at) };
                let to = run.to;
                self.note(side, &format!("sends {packet} {from} {to}"));
                if self.lose > 0 {
                    self.lose -= 1;
                } else {
                    let at = self.now + DELAY;
                    self.flying.push(Flight { at, packet, from, to });
                }
            }
        }
        any
    }

    fn server_hears(&mut self, event: &Event) {
        match event {
            Event::Record(record) => self.ecerts.push(record.ecert.to_bytes()),
            Event::Create(create) => self.decide(create),
            Event::Request { tunnel, number, .. } => {
                self.note("server", "hears request");
                let own = Reply::Record(Box::new(other_host()));
                assert!(self.server.reply(*tunnel, *number, own));
            }
            Event::Readable(connection) if self.echoes => {
                while let Some(bytes) = self.read(true, *connection) {
                    let begin = &bytes[..bytes.len().min(64)];
                    let written = self.server.write(*connection, "echo", |call| call.bytes(begin));
                    assert!(written.is_ok());
                }
            }
            Event::Readable(_) | Event::Writable(_) => {}
            event => self.hears("server", event),
        }
    }

    fn decide(&mut self, create: &Create) {
        let ConnectionId { number, .. } = create.connection;
        let who = match create.user {
            User::Anonymous => "anonymous".to_owned(),
            User::Key { key, .. } => hex::encode(key.0),
        };
        let what = format!("hears create {number} {} {who}", create.service);
        self.note("server", &what);
        let verb = if self.decision.is_ok() { "accepts" } else { "refuses" };
        self.note("server", &format!("{verb} {number}"));
        assert!(self.server.decide(create.connection, self.decision));
        self.last_connection = Some(create.connection);
    }

    fn client_hears(&mut self, event: Event) {
        match event {
            Event::Readable(connection) => while self.read(false, connection).is_some() {},
            Event::Writable(_) => {}
            event => self.hears("client", &event),
        }
    }

    /// Reads one RPC: what it has behind its name.
    fn read(&mut self, at_server: bool, connection: ConnectionId) -> Option<Vec<u8>> {
        let mut found = None;
        let read = |mut call: clew_tunnel::wire::values::Call<'_>| {
            let bytes = match call.arguments.next() {
                Some(Value::Bytes(bytes)) => bytes.to_vec(),
                _ => Vec::new(),
            };
            found = Some((call.name.to_owned(), bytes));
        };
        let (side, _) = if at_server {
            ("server", self.server.read(connection, read))
        } else {
            ("client", self.client.read(connection, read))
        };
        let (name, bytes) = found?;
        let what = format!("rpc {} {name} {}", connection.number, hex::encode(&bytes));
        self.note(side, format!("hears {what}").trim_end());
        Some(bytes)
    }

    fn hears(&mut self, side: &str, event: &Event) {
        let what = match event {
            Event::Opened(_) => "opened".to_owned(),
            Event::Accepted(c) => format!("accepted {}", c.number),
            Event::Refused(c) => format!("refused {}", c.number),
            Event::Closed(c) => format!("closed {}", c.number),
            Event::Newer { .. } => "newer".to_owned(),
            Event::Reply { reply, .. } => match reply {
                Answer::Given(..) => "given".to_owned(),
                Answer::Taken => "ok".to_owned(),
                Answer::Refused => "refused 0".to_owned(),
            },
            Event::Gone(_, Some(reason)) => format!("gone {reason}"),
            Event::Gone(_, None) => "gone".to_owned(),
            Event::Silent(_) => return,
            event => unreachable!("nobody hears {event:?}"),
        };
        self.note(side, &format!("hears {what}"));
    }

    /// Lets time pass, and arrive what arrives.
    pub fn wait(&mut self, time: u64) {
        let until = self.now + time;
        self.settle();
        loop {
            let server = self.server.due(&self.server_rng.at(self.now)).as_nanos();
            let arrival = self.flying.iter().map(|flight| flight.at).min();
            let next = [Some(server), self.client.due().map(Instant::as_nanos), arrival];
            let next = next.into_iter().flatten().min().filter(|at| *at <= until);
            let Some(next) = next else {
                break;
            };
            self.now = self.now.max(next);
            self.arrive();
            self.server.tick(self.server_rng.at(self.now));
            self.client.tick(self.client_rng.at(self.now));
            self.settle();
        }
        self.now = until;
    }

    fn arrive(&mut self) {
        while let Some(place) = self.flying.iter().position(|f| f.at <= self.now) {
            let flight = self.flying.remove(place);
            let bytes = self.packets[flight.packet].clone();
            if flight.to == server_address() {
                let _ = self.hand_from(flight.from, &bytes);
            } else if flight.to == self.client_at {
                self.hand_client(&bytes);
            }
        }
    }
}
