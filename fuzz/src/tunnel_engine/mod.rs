//! Fuzzing of the engine of tunnels: bytes are a script of what a client with a tunnel does to a server, a server
//! to a client, strangers to both, their programs, and time.

mod hosting;
mod visiting;

use clew_tunnel::engine::{Instant, WallTime};
use std::net::SocketAddr;

use clew_tunnel::boxes::Key;
use clew_tunnel::engine::Now;
use clew_tunnel::keys::{self, Nonce};
use clew_tunnel::record::{Cert, CertBody, ServerSecret, SigningSecret};
use clew_tunnel::wire::packet::{Header, Packet, Side, Tid};
use clew_tunnel::wire::plaintext::Plaintext;
use clew_tunnel::x25519::{Public, Secret};
use hosting::Hosting;
use rand_chacha::ChaCha20Rng;
use visiting::Visiting;

/// When every script begins, in nanoseconds since 1970.
const START: u64 = 1_800_000_000_000_000_000;

const MILLISECOND: u64 = 1_000_000;

/// Steps of one script.
const STEPS: usize = 200;

/// What one script does.
pub fn tunnel_engine(data: &[u8]) {
    let Some((kind, mut script)) = data.split_first() else {
        return;
    };
    if kind & 1 == 0 {
        let mut stage = Hosting::new(*kind);
        for _ in 0..STEPS {
            let Some(step) = Step::read(&mut script) else {
                break;
            };
            stage.step(&step);
        }
        stage.wait(2_000 * 1_000 * MILLISECOND);
    } else {
        let mut stage = Visiting::new(*kind);
        for _ in 0..STEPS {
            let Some(step) = Step::read(&mut script) else {
                break;
            };
            stage.step(&step);
        }
        stage.wait(1_000 * 1_000 * MILLISECOND);
    }
}

/// One step: what to do, two small numbers, and bytes.
struct Step<'a> {
    what: u8,
    a: u8,
    b: u8,
    bytes: &'a [u8],
}

impl<'a> Step<'a> {
    fn read(script: &mut &'a [u8]) -> Option<Self> {
        let ([what, a, b, length], rest) = script.split_first_chunk()?;
        let (bytes, rest) = rest.split_at(rest.len().min(usize::from(*length) * 4));
        *script = rest;
        let (what, a, b) = (*what, *a, *b);
        Some(Self { what, a, b, bytes })
    }

    /// A length of time: from a millisecond to some minutes.
    fn time(&self) -> u64 {
        MILLISECOND << (self.a % 20)
    }

    /// seq and ack near those that are right.
    fn numbers(&self, next: u32, acked: u32) -> (u32, u32) {
        let seq = match self.a {
            0 => 0,
            200.. => next.wrapping_add(u32::from(self.a - 200) * 97),
            near => next.wrapping_add(u32::from(near)).wrapping_sub(1),
        };
        let ack = match self.b {
            0 => 0,
            1..=8 => acked.wrapping_sub(u32::from(self.b)),
            far @ 240.. => acked.wrapping_add(u32::from(far - 239)),
            _ => acked,
        };
        (seq, ack)
    }
}

fn address(n: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, n], 4_321))
}

fn secret() -> ServerSecret {
    let signing = SigningSecret::from_seed(&[1; 32]);
    let boxing = Secret::from_bytes([2; 32]);
    let body = CertBody {
        issuer: signing.public(),
        signing: signing.public(),
        boxing: keys::public(&boxing),
        start: START / MILLISECOND - 1,
        end: START / MILLISECOND + 1_000_000_000,
        hostname: b"files.example".into(),
    };
    let cert = Cert::sign(body, &signing).expect("a good certificate");
    ServerSecret {
        signing,
        boxing,
        cert,
    }
}

/// A key with its TID, at who plays by no rules.
struct Line {
    tid: Tid,
    key: Key,
    nonce: u64,
    side: Side,
    /// The other side's highest seq, and this one's next.
    acked: u32,
    next: u32,
}

impl Line {
    fn seal(
        &mut self,
        initiation: Option<Public>,
        numbers: (u32, u32),
        rpcs: &[u8],
        length: usize,
    ) -> Vec<u8> {
        self.nonce += 1;
        let header = Header {
            tid: self.tid,
            nonce: Nonce::new(self.nonce, self.side),
            initiation: initiation.map(|key| (key, None)),
        };
        let stream = keys::stream(&self.key, self.tid);
        let mut out = Vec::new();
        let sealed = header.seal(numbers, rpcs, length, &stream, &mut out);
        sealed.expect("RPCs of a script are short");
        out
    }

    /// Reads what the other side said, for its seq.
    fn hear(&mut self, packet: &mut [u8]) {
        let Ok(Packet::Tunnel(_, mut boxed)) = Packet::parse(packet, 0) else {
            return;
        };
        if boxed.tid == self.tid && boxed.decrypt(&keys::stream(&self.key, self.tid)) {
            let plaintext = Plaintext::parse(boxed.into_text()).expect("engines write what parses");
            self.acked = self.acked.max(plaintext.seq);
        }
    }
}

fn now(instant: u64, rng: &mut ChaCha20Rng) -> Now<'_> {
    Now {
        instant: Instant::from_nanos(instant),
        wall: WallTime::from_nanos(START + instant),
        rng,
    }
}
