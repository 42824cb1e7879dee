//! A client or a server of a simulation, with its clock and its randomness.

use std::time::Duration;

use clew_wire::{Instant, WallTime};
use std::collections::HashMap;

use clew_tunnel::engine::client::{self, Client, Target};
use clew_tunnel::engine::event::{ConnectionId, Event};
use clew_tunnel::engine::server::{self, Server};
use clew_tunnel::engine::{Datagram, Now, Outgoing};
use clew_tunnel::keys;
use clew_tunnel::record::{Cert, CertBody, Record, ServerSecret, SigningSecret};
use clew_tunnel::wire::values::Value;
use clew_tunnel::x25519::Secret;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng as _;

/// When every simulation begins, in nanoseconds since 1970.
pub const START: u64 = 1_800_000_000_000_000_000;

/// A millisecond, in nanoseconds.
pub const MS: u64 = 1_000_000;
/// A second, in nanoseconds.
pub const SECOND: u64 = 1_000_000_000;

/// Nanoseconds of a limit.
pub fn ns(limit: Duration) -> u64 {
    limit.as_nanos() as u64
}

/// Time and randomness of one node.
pub struct Clock {
    pub rng: ChaCha20Rng,
    /// How far its time of day is off, in nanoseconds.
    pub skew: i64,
}

impl Clock {
    pub fn new(seed: u64, skew: i64) -> Self {
        Self {
            rng: ChaCha20Rng::seed_from_u64(seed),
            skew,
        }
    }

    pub fn at(&mut self, instant: u64) -> Now<'_> {
        Now {
            instant: Instant::from_nanos(instant),
            wall: WallTime::from_nanos((START + instant).saturating_add_signed(self.skew)),
            rng: &mut self.rng,
        }
    }
}

/// The secret of a server of this name.
pub fn secret(hostname: &str, seed: u8) -> ServerSecret {
    let signing = SigningSecret::from_seed(&[seed; 32]);
    let boxing = Secret::from_bytes([seed ^ 0x55; 32]);
    let body = CertBody {
        issuer: signing.public(),
        signing: signing.public(),
        boxing: keys::public(&boxing),
        start: START / MS - 1_000,
        end: START / MS + 365 * 86_400_000,
        hostname: hostname.into(),
    };
    ServerSecret {
        cert: Cert::sign(body, &signing).expect("a good certificate"),
        signing,
        boxing,
    }
}

/// What a client and a server have alike.
pub trait Engine {
    fn receive(&mut self, now: Now<'_>, datagrams: Vec<Datagram<'_>>);
    fn compute(&mut self, now: Now<'_>) -> bool;
    fn transmit(&mut self, now: Now<'_>, out: &mut Outgoing) -> bool;
}

impl Engine for Server {
    fn receive(&mut self, now: Now<'_>, datagrams: Vec<Datagram<'_>>) {
        Self::receive(self, now, datagrams);
    }

    fn compute(&mut self, now: Now<'_>) -> bool {
        let mut jobs = self.jobs();
        let has_some = !jobs.is_empty();
        jobs.run();
        self.complete(now, jobs);
        has_some
    }

    fn transmit(&mut self, now: Now<'_>, out: &mut Outgoing) -> bool {
        Self::transmit(self, now, out)
    }
}

impl Engine for Client {
    fn receive(&mut self, now: Now<'_>, datagrams: Vec<Datagram<'_>>) {
        Self::receive(self, now, datagrams);
    }

    fn compute(&mut self, now: Now<'_>) -> bool {
        let mut jobs = self.jobs();
        let has_some = !jobs.is_empty();
        jobs.run();
        self.complete(now, jobs);
        has_some
    }

    fn transmit(&mut self, now: Now<'_>, out: &mut Outgoing) -> bool {
        Self::transmit(self, now, out)
    }
}

/// A server with its clock.
pub fn server(config: server::Config, seed: u64) -> (Server, Clock) {
    let mut clock = Clock::new(seed, 0);
    let secret = secret("files.example", 1);
    let server =
        Server::new(secret, config, [seed as u8; 32], clock.at(0)).expect("a good configuration");
    (server, clock)
}

/// A client with its clock.
pub fn client(seed: u64) -> (Client, Clock) {
    let mut clock = Clock::new(seed, 0);
    let client = Client::new(client::Config::default(), clock.at(0));
    (client, clock)
}

/// The server's record as a target.
pub fn target(record: Record) -> Target {
    Target::Host(Box::new(record))
}

/// The service of all simulations' servers: it accepts every connection, and answers each RPC by `echo` with
/// the same bytes. Whatever finds no room waits.
#[derive(Default)]
pub struct Echo(HashMap<ConnectionId, Vec<u8>>);

impl Echo {
    pub fn hear(&mut self, server: &mut Server, event: &Event) {
        match event {
            Event::Create(create) => {
                assert!(server.decide(create.connection, Ok(())));
            }
            Event::Readable(connection) => self.answer(server, *connection),
            Event::Writable(connection) => {
                if let Some(bytes) = self.0.remove(connection)
                    && self.say(server, *connection, bytes)
                {
                    self.answer(server, *connection);
                }
            }
            _ => {}
        }
    }

    fn answer(&mut self, server: &mut Server, connection: ConnectionId) {
        while !self.0.contains_key(&connection) {
            let mut bytes = None;
            let was_read = server.read(connection, |mut call| {
                bytes = match call.arguments.next() {
                    Some(Value::Bytes(bytes)) => Some(bytes.to_vec()),
                    _ => Some(Vec::new()),
                };
            });
            let Some(bytes) = bytes.filter(|_| was_read) else {
                return;
            };
            self.say(server, connection, bytes);
        }
    }

    fn say(&mut self, server: &mut Server, connection: ConnectionId, bytes: Vec<u8>) -> bool {
        let written = server.write(connection, "echo", |call| call.bytes(&bytes));
        let is_full = written == Ok(false);
        if is_full {
            self.0.insert(connection, bytes);
        }
        !is_full
    }
}
