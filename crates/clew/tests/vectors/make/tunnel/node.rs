//! The server of all runs, and randomness that remembers what it gave.

use clew_tunnel::engine::{Instant, WallTime};
use std::convert::Infallible;
use std::net::SocketAddr;

use clew_tunnel::engine::Now;
use clew_tunnel::engine::server::{Config, Server};
use clew_tunnel::keys;
use clew_tunnel::record::{Cert, CertBody, Record, ServerSecret, SigningSecret};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng as _, TryCryptoRng, TryRng};

use crate::make::tunnel::bytes::{NANOS, secret};
use crate::make::tunnel::run::MS;
use crate::make::{hash, rng};

pub fn server_address() -> SocketAddr {
    "192.0.2.1:4433".parse().unwrap()
}

pub fn config() -> Config {
    Config::new(vec![server_address()])
}

/// The server of all runs.
pub fn server_secret() -> ServerSecret {
    let signing = SigningSecret::from_seed(&hash(b"tunnel run signing"));
    let boxing = secret("run boxing");
    let body = CertBody {
        issuer: signing.public(),
        signing: signing.public(),
        boxing: keys::public(&boxing),
        start: NANOS / MS - 1_000,
        end: NANOS / MS + 365 * 86_400_000,
        hostname: "files.example".into(),
    };
    let cert = Cert::sign(body, &signing).unwrap();
    ServerSecret { signing, boxing, cert }
}

/// Randomness that remembers which keys it gave.
pub struct Recorder {
    rng: ChaCha20Rng,
    pub drawn: Vec<[u8; 32]>,
}

impl TryRng for Recorder {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.rng.next_u32())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.rng.next_u64())
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.rng.fill_bytes(out);
        self.drawn.extend(<[u8; 32]>::try_from(&*out));
        Ok(())
    }
}

impl TryCryptoRng for Recorder {}

impl Recorder {
    pub fn new(label: &str) -> Self {
        let (rng, drawn) = (rng(label), Vec::new());
        Self { rng, drawn }
    }

    pub fn at(&mut self, instant: u64) -> Now<'_> {
        let (instant, wall) = (Instant::from_nanos(instant), WallTime::from_nanos(NANOS + instant));
        Now { instant, wall, rng: self }
    }
}

/// What a server's configuration has beside section 14's.
pub fn bounds(config: &Config) -> Vec<(&'static str, u32)> {
    let usual = self::config();
    let mut bounds = Vec::new();
    if config.limits.first != usual.limits.first {
        bounds.push(("first-rate", config.limits.first.per_second));
    }
    if config.limits.replay != usual.limits.replay {
        bounds.push(("replay-max", config.limits.replay as u32));
    }
    if config.is_directory {
        bounds.push(("directory", 1));
    }
    bounds
}

/// A host that the directory knows.
pub fn other_host() -> Record {
    let signing = SigningSecret::from_seed(&hash(b"tunnel other host"));
    let secret = server_secret();
    let body =
        CertBody { issuer: signing.public(), signing: signing.public(), hostname: "other.example".into(), ..secret.cert.body };
    let cert = Cert::sign(body, &signing).unwrap();
    let server = ServerSecret { signing, boxing: secret.boxing, cert };
    let mut rng = Recorder::new("tunnel other host");
    let server = Server::new(server, config(), hash(b"other"), rng.at(0)).unwrap();
    server.record()
}
