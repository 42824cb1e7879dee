//! The server's keys: S, S' and k (`spec/tunnel.md` section 2).

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::Config;
use crate::engine::channel::Now;
use crate::keys;
use crate::limits::{LIFETIME_MAX, SKEW};
use crate::puzzle::{Asked, Interrogation, PuzzleSecret};
use crate::reason::Reason;
use crate::record::{Ecert, EcertBody, Record, ServerSecret};
use crate::wire::packet::Tid;
use crate::x25519::{Public, Secret};

const MILLISECOND: u64 = 1_000_000;

/// A pair of keys for boxes.
#[derive(Debug)]
pub struct Pair {
    /// The secret.
    pub secret: Secret,
    /// Its public key.
    pub public: Public,
}

/// What opens first packets and authenticators, for whoever computes with it.
#[derive(Clone, Debug)]
pub struct Live {
    /// S', the newest first: two at most.
    pub ephemerals: Vec<Arc<Pair>>,
    /// The boxing key of S.
    pub boxing: Arc<Pair>,
    /// Whether the boxing key opens first packets, too (12.1).
    pub is_directory: bool,
}

impl Live {
    /// The keys that may open a first packet, in the order in which they are tried.
    pub fn openers(&self) -> impl Iterator<Item = &Arc<Pair>> {
        let boxing = self.is_directory.then_some(&self.boxing);
        self.ephemerals.iter().chain(boxing)
    }
}

/// All keys of a server.
#[derive(Debug)]
pub struct ServerKeys {
    secret: ServerSecret,
    live: Live,
    ecert: Ecert,
    ecert_bytes: Vec<u8>,
    /// k, and the one before it.
    puzzles: [PuzzleSecret; 2],
    puzzle_time: u64,
    /// When the next S' is due, in nanoseconds since 1970.
    due: u64,
}

impl ServerKeys {
    /// The keys of a start: a new S', a new k.
    ///
    /// # Errors
    /// Those of [`Ecert::sign`]: the configuration is not one that could be signed.
    pub fn new(secret: ServerSecret, config: &Config, now: &mut Now<'_>) -> Result<Self, Reason> {
        let boxing = Arc::new(Pair {
            secret: Secret::from_bytes(*secret.boxing.as_bytes()),
            public: secret.cert.body.boxing,
        });
        let live = Live {
            ephemerals: Vec::new(),
            boxing,
            is_directory: config.is_directory,
        };
        let puzzles = [0; 2].map(|_| PuzzleSecret::from_bytes(now.random()));
        let pair = draw(now);
        let ecert = certify(&secret, config, pair.public, now.wall)?;
        let mut keys = Self {
            secret,
            live,
            ecert_bytes: ecert.to_bytes(),
            ecert,
            puzzles,
            puzzle_time: 0,
            due: now.wall + config.rotation * MILLISECOND,
        };
        keys.live.ephemerals.push(Arc::new(pair));
        Ok(keys)
    }

    /// When [`Self::rotate`] is due, in nanoseconds since 1970.
    pub const fn due(&self) -> u64 {
        self.due
    }

    /// A new S', and a new k; of the old ones the last remain.
    pub fn rotate(&mut self, config: &Config, now: &mut Now<'_>) {
        let pair = draw(now);
        // The configuration was signed before, and has not changed.
        if let Ok(ecert) = certify(&self.secret, config, pair.public, now.wall) {
            self.live.ephemerals.insert(0, Arc::new(pair));
            self.live.ephemerals.truncate(2);
            self.ecert_bytes = ecert.to_bytes();
            self.ecert = ecert;
        }
        self.puzzles.swap(0, 1);
        self.puzzles[0] = PuzzleSecret::from_bytes(now.random());
        self.due = now.wall + config.rotation * MILLISECOND;
    }

    /// What computes with the secrets, on any thread. It is erased with the last copy.
    pub const fn live(&self) -> &Live {
        &self.live
    }

    /// The S' that are live.
    pub fn live_public(&self) -> Vec<Public> {
        let all = self.live.ephemerals.iter();
        all.map(|pair| pair.public).collect()
    }

    /// The newest record.
    pub fn record(&self) -> Record {
        Record {
            cert: self.secret.cert.clone(),
            ecert: self.ecert.clone(),
        }
    }

    /// The newest ephemeral certificate.
    pub fn ecert_bytes(&self) -> &[u8] {
        &self.ecert_bytes
    }

    /// Whether this is what the server is called.
    pub fn is_own(&self, signing: Option<[u8; 32]>, hostname: &str) -> bool {
        let cert = &self.secret.cert.body;
        signing.is_none_or(|key| key == cert.signing) && cert.hostname == hostname.as_bytes()
    }

    /// An interrogation for an initiation packet. No two have the same time.
    pub fn interrogation(
        &mut self,
        (tid, client, source): (Tid, &Public, core::net::SocketAddr),
        wall: u64,
        w: u8,
    ) -> Option<Interrogation> {
        self.puzzle_time = wall.max(self.puzzle_time + 1);
        let newest = self.live.ephemerals.first()?.public;
        let for_whom = (tid, client, source);
        Some(self.puzzles[0].interrogation(for_whom, &newest, self.puzzle_time, w))
    }

    /// Checks a solution.
    ///
    /// # Errors
    /// `bad-solution`, `old-solution`.
    pub fn verify(&self, asked: &Asked<'_>, solution: &[u8; 148]) -> Result<(), Reason> {
        let [newest, before] = &self.puzzles;
        asked.verify(solution, &[newest, before])
    }
}

fn draw(now: &mut Now<'_>) -> Pair {
    let secret = Secret::from_bytes(now.random());
    Pair {
        public: keys::public(&secret),
        secret,
    }
}

/// An ephemeral certificate from now on.
fn certify(
    secret: &ServerSecret,
    config: &Config,
    ephemeral: Public,
    wall: u64,
) -> Result<Ecert, Reason> {
    let start = wall / MILLISECOND;
    let life = (2 * config.rotation).saturating_sub(SKEW).min(LIFETIME_MAX);
    let body = EcertBody {
        authenticators: config.authenticators,
        w: config.w,
        m: config.m,
        signing: secret.signing.public(),
        boxing: secret.cert.body.boxing,
        ephemeral,
        start,
        end: start + life,
        addresses: config.addresses.clone(),
    };
    Ecert::sign(body, &secret.signing)
}
