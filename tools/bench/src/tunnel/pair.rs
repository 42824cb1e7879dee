//! A server's engine and clients' engines, in virtual time and without a network.

use super::BULK;
use clew_tunnel::engine::client::{self, Client, Target, UserId};
use clew_tunnel::engine::event::{ConnectionId, Event, TunnelId};
use clew_tunnel::engine::rate::Rate;
use clew_tunnel::engine::server::{Config, Server};
use clew_tunnel::engine::{Datagram, Now, Outgoing};
use clew_tunnel::engine::{Instant, WallTime};
use clew_tunnel::keys;
use clew_tunnel::record::{
    Authenticators, Cert, CertBody, ServerSecret, SigningSecret, UserSecret,
};
use clew_tunnel::x25519::Secret;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng as _;
use std::net::SocketAddr;
use std::time::Duration;

const START: u64 = 1_800_000_000_000_000_000;
const SECOND: u64 = 1_000_000_000;

/// Tunnels of a server before another takes its place.
const TUNNELS: usize = 30_000;

/// Connections that are made at once.
const CONNECTIONS: usize = 16;

/// Interrogations at once.
const PUZZLES: usize = 32;

/// Bulk packets of one sample.
const PACKETS: usize = 256;

/// Whose connections are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Anonymous,
    Box,
    Bound,
}

impl Kind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anonymous => "anonymous",
            Self::Box => "box",
            Self::Bound => "bound",
        }
    }
}

/// One server and one client, whose tunnels are of many addresses.
pub struct Pair {
    kind: Kind,
    server: Server,
    client: Client,
    user: Option<UserId>,
    instant: u64,
    rng: ChaCha20Rng,
    out: Outgoing,
    address: u32,
    /// The last connection that the server took.
    served: Option<ConnectionId>,
}

type Packets = Vec<(SocketAddr, Vec<u8>)>;

fn secret() -> ServerSecret {
    let signing = SigningSecret::from_seed(&[1; 32]);
    let boxing = Secret::from_bytes([2; 32]);
    let body = CertBody {
        issuer: signing.public(),
        signing: signing.public(),
        boxing: keys::public(&boxing),
        start: START / 1_000_000,
        end: START / 1_000_000 + 86_400_000,
        hostname: b"bench.example".to_vec(),
    };
    let cert = Cert::sign(body, &signing).expect("a certificate");
    ServerSecret {
        signing,
        boxing,
        cert,
    }
}

impl Pair {
    pub fn new(kind: Kind) -> Self {
        let mut config = Config::new(vec![SocketAddr::from(([192, 0, 2, 1], 443))]);
        config.authenticators = match kind {
            Kind::Box => Authenticators::BOX,
            _ => Authenticators::BOUND,
        };
        Self::with(kind, config)
    }

    /// A server that asks everybody for a solution.
    pub fn asking() -> Self {
        let mut config = Config::new(vec![SocketAddr::from(([192, 0, 2, 1], 443))]);
        config.w = 0;
        // What has no solution is always too much.
        config.limits.tunnels = 0;
        Self::with(Kind::Anonymous, config)
    }

    fn with(kind: Kind, mut config: Config) -> Self {
        let many = Rate::per_second(1_000_000);
        // All newcomers are of one prefix, and in flight at once.
        config.limits.unproven = 10_000_000;
        config.limits.tunnels *= 100;
        (
            config.limits.first,
            config.limits.auth,
            config.limits.creates,
        ) = (many, many, many);
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let now = Now {
            instant: Instant::default(),
            wall: WallTime::from_nanos(START),
            rng: &mut rng,
        };
        let server = Server::new(secret(), config, [3; 32], now).expect("a configuration");
        let now = Now {
            instant: Instant::default(),
            wall: WallTime::from_nanos(START),
            rng: &mut rng,
        };
        let client = Client::new(client::Config::default(), now);
        let mut pair = Self {
            kind,
            server,
            client,
            user: None,
            instant: 0,
            rng,
            out: Outgoing::new(4_096),
            address: 0,
            served: None,
        };
        pair.renew_client();
        pair
    }

    /// Another client in the place of this one, whose tunnels nobody needs.
    fn renew_client(&mut self) {
        self.client = Client::new(client::Config::default(), now(self.instant, &mut self.rng));
        let secret = UserSecret(Secret::from_bytes([9; 32]));
        self.user = (self.kind != Kind::Anonymous).then(|| self.client.add_user(secret));
    }

    pub fn is_full(&self) -> bool {
        self.server.tunnels() > TUNNELS
    }

    /// Opens so many tunnels: what that took at the server.
    pub fn open(&mut self, count: usize) -> (Duration, usize) {
        self.renew_client();
        for _ in 0..count {
            self.begin();
        }
        let packets = self.client_packets();
        (self.serve(packets), count)
    }

    /// A client's tunnel with a connection and an RPC on it.
    fn begin(&mut self) -> ConnectionId {
        let target = Target::Host(Box::new(self.server.record()));
        let opened = self
            .client
            .open(now(self.instant, &mut self.rng), target, 0);
        let tunnel = opened.expect("a target");
        self.connect(tunnel)
    }

    fn connect(&mut self, tunnel: TunnelId) -> ConnectionId {
        let now = now(self.instant, &mut self.rng);
        let connection = self.client.connect(&now, tunnel, "bench", self.user);
        let connection = connection.expect("a connection");
        let said = self
            .client
            .write(connection, "ask", |call| call.bytes(&[1; 28]));
        assert_eq!(said, Ok(true));
        connection
    }

    /// What the client has to send, each datagram from another prefix.
    fn client_packets(&mut self) -> Packets {
        let mut packets = Vec::new();
        while self.client.has_jobs() {
            let mut jobs = self.client.jobs();
            jobs.run();
            self.client.complete(now(self.instant, &mut self.rng), jobs);
        }
        while self.client.event().is_some() {}
        self.out.clear();
        while self
            .client
            .transmit(now(self.instant, &mut self.rng), &mut self.out)
        {}
        for run in self.out.runs() {
            for bytes in run.bytes.chunks(run.segment) {
                self.address = (self.address + 1) % (1 << 16);
                let [_, _, a, b] = self.address.to_be_bytes();
                packets.push((SocketAddr::from(([10, a, b, 1], 5_000)), bytes.to_vec()));
            }
        }
        packets
    }

    /// Gives packets to the server, which answers them: how long that took.
    fn serve(&mut self, mut packets: Packets) -> Duration {
        self.out.clear();
        let start = std::time::Instant::now();
        let datagrams = packets.iter_mut();
        let datagrams = datagrams.map(|(peer, bytes)| Datagram { peer: *peer, bytes });
        self.server
            .receive(now(self.instant, &mut self.rng), datagrams);
        self.settle();
        start.elapsed()
    }

    fn settle(&mut self) {
        while self.server.has_jobs() {
            let mut jobs = self.server.jobs();
            jobs.run();
            self.server.complete(now(self.instant, &mut self.rng), jobs);
        }
        while let Some(event) = self.server.event() {
            match event {
                Event::Create(create) => {
                    self.served = Some(create.connection);
                    self.server.decide(create.connection, Ok(()));
                }
                Event::Readable(connection) => {
                    while self.server.read(connection, |_| {}) {
                        let said = self
                            .server
                            .write(connection, "say", |call| call.bytes(&[2; 58]));
                        debug_assert_eq!(said, Ok(true));
                    }
                }
                _ => {}
            }
        }
        while self
            .server
            .transmit(now(self.instant, &mut self.rng), &mut self.out)
        {}
    }

    /// Gives what the server has sent to the client.
    fn answer(&mut self) {
        let mut answers: Vec<Vec<u8>> = Vec::new();
        for run in self.out.runs() {
            answers.extend(run.bytes.chunks(run.segment).map(<[u8]>::to_vec));
        }
        let peer = SocketAddr::from(([192, 0, 2, 1], 443));
        let datagrams = answers.iter_mut().map(|bytes| Datagram { peer, bytes });
        self.client
            .receive(now(self.instant, &mut self.rng), datagrams);
    }

    /// A tunnel that is open.
    pub fn tunnel(&mut self) -> TunnelId {
        let connection = self.begin();
        self.exchange();
        self.client.close(connection);
        self.exchange();
        connection.tunnel
    }

    /// A round trip: what it took at the server.
    fn exchange(&mut self) -> Duration {
        self.instant += SECOND / 10_000;
        let packets = self.one_address();
        let took = self.serve(packets);
        self.answer();
        self.client.tick(now(self.instant, &mut self.rng));
        self.server.tick(now(self.instant, &mut self.rng));
        took
    }

    /// What the client has to send, from one address.
    fn one_address(&mut self) -> Packets {
        let mut packets = self.client_packets();
        for (peer, _) in &mut packets {
            *peer = SocketAddr::from(([10, 0, 0, 1], 5_000));
        }
        packets
    }

    /// Connections of one tunnel, from create to close.
    pub fn connections(&mut self, tunnel: TunnelId) -> (Duration, usize) {
        let all: Vec<ConnectionId> = (0..CONNECTIONS).map(|_| self.connect(tunnel)).collect();
        let mut took = Duration::ZERO;
        let mut answered = 0;
        // More than the first windows have room for.
        while answered < CONNECTIONS {
            took += self.exchange();
            for connection in &all {
                if self.client.read(*connection, |_| {}) {
                    answered += 1;
                    self.client.close(*connection);
                }
            }
        }
        took += self.exchange();
        (took, CONNECTIONS)
    }

    /// Interrogations, and the checks of their solutions.
    pub fn puzzles(&mut self) -> (Duration, usize) {
        self.instant += SECOND;
        self.renew_client();
        for _ in 0..PUZZLES {
            self.begin();
        }
        let packets = self.client_packets();
        let sources: Vec<SocketAddr> = packets.iter().map(|(peer, _)| *peer).collect();
        let mut took = self.serve(packets);
        assert_eq!(self.out.len(), PUZZLES, "an interrogation each");
        self.answer();
        let mut packets = self.client_packets();
        for ((peer, _), source) in packets.iter_mut().zip(sources) {
            *peer = source;
        }
        took += self.serve(packets);
        (took, PUZZLES)
    }

    /// A connection for bulk.
    pub fn bulk_connection(&mut self) -> ConnectionId {
        let connection = self.begin();
        for _ in 0..4 {
            self.exchange();
        }
        while self.client.read(connection, |_| {}) {}
        connection
    }

    /// Bulk in one direction.
    pub fn bulk(&mut self, connection: ConnectionId, is_sent: bool) -> (Duration, usize) {
        let bulk = [7; BULK];
        let mut took = Duration::ZERO;
        let (mut written, mut read) = (0, 0);
        while read < PACKETS {
            let start = std::time::Instant::now();
            while written < PACKETS && self.say(connection, is_sent, &bulk) {
                written += 1;
            }
            if is_sent {
                took += start.elapsed();
            }
            took += self.bulk_round(connection, is_sent, &mut read);
        }
        (took, PACKETS)
    }

    fn say(&mut self, connection: ConnectionId, is_sent: bool, bulk: &[u8]) -> bool {
        let said = if is_sent {
            let connection = self.server_side(connection);
            self.server
                .write(connection, "bulk", |call| call.bytes(bulk))
        } else {
            self.client
                .write(connection, "bulk", |call| call.bytes(bulk))
        };
        said == Ok(true)
    }

    /// The server's name of the only connection.
    fn server_side(&self, connection: ConnectionId) -> ConnectionId {
        let tunnel = self.served.expect("a connection was asked for").tunnel;
        ConnectionId {
            tunnel,
            ..connection
        }
    }

    fn bulk_round(
        &mut self,
        connection: ConnectionId,
        is_sent: bool,
        read: &mut usize,
    ) -> Duration {
        self.instant += SECOND / 1_000;
        let mut packets = self.one_address();
        self.out.clear();
        let start = std::time::Instant::now();
        let datagrams = packets.iter_mut();
        let datagrams = datagrams.map(|(peer, bytes)| Datagram { peer: *peer, bytes });
        self.server
            .receive(now(self.instant, &mut self.rng), datagrams);
        while self.server.event().is_some() {}
        if !is_sent {
            let connection = self.server_side(connection);
            while self.server.read(connection, |_| {}) {
                *read += 1;
            }
        }
        while self
            .server
            .transmit(now(self.instant, &mut self.rng), &mut self.out)
        {}
        self.server.tick(now(self.instant, &mut self.rng));
        let took = start.elapsed();
        self.answer();
        while is_sent && self.client.read(connection, |_| {}) {
            *read += 1;
        }
        self.client.tick(now(self.instant, &mut self.rng));
        took
    }
}

fn now(instant: u64, rng: &mut ChaCha20Rng) -> Now<'_> {
    Now {
        instant: Instant::from_nanos(instant),
        wall: WallTime::from_nanos(START + instant),
        rng,
    }
}

/// Bytes of memory of a tunnel with a connection on which nothing happens.
pub fn memory_of_idle(count: usize) -> usize {
    let mut pair = Pair::new(Kind::Anonymous);
    pair.open(1);
    let before = resident();
    for _ in 0..count / 64 {
        pair.open(64);
        pair.instant += SECOND / 1_000;
    }
    pair.renew_client();
    (resident().saturating_sub(before)) / (count / 64 * 64)
}

/// Bytes of memory of this process (Linux: pages of 4 KiB).
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0) * 4_096
}
