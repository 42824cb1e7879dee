//! The server's keys: S, S' and k (`spec/tunnel.md` section 2).

use alloc::sync::Arc;
use alloc::vec::Vec;
use clew_wire::WallTime;
use core::time::Duration;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::Config;
use crate::keys;
use crate::limits::{LIFETIME_MAX, SKEW};
use crate::puzzle::{Asked, Interrogation, PuzzleSecret};
use crate::reason::Reason;
use crate::record::{Ecert, EcertBody, Record, ServerSecret};
use crate::wire::packet::Tid;
use crate::x25519::{Public, Secret};

/// A pair of keys for boxes.
#[derive(Debug)]
pub(super) struct Pair {
    /// The secret.
    pub secret: Secret,
    /// Its public key.
    pub public: Public,
}

/// What opens first packets and authenticators, for whoever computes with it.
#[derive(Clone, Debug)]
pub(super) struct Live {
    /// S', the newest first: two at most.
    pub ephemerals: Vec<Arc<Pair>>,
    /// The boxing key of S.
    pub boxing: Arc<Pair>,
    /// The signing key of S.
    pub signing: [u8; 32],
}

impl Live {
    /// The keys that may decrypt a first packet, in the order in which they are tried: the boxing key, of who
    /// asks for this server's record (12.1), is the last.
    pub(super) fn pairs(&self) -> impl Iterator<Item = &Arc<Pair>> {
        self.ephemerals.iter().chain([&self.boxing])
    }
}

/// All keys of a server.
#[derive(Debug)]
pub(super) struct ServerKeys {
    secret: ServerSecret,
    live: Live,
    ecert: Ecert,
    ecert_bytes: Vec<u8>,
    /// k, and the one before it.
    puzzles: [PuzzleSecret; 2],
    puzzle_time: WallTime,
    /// What the next S' and k are made of; never what they were.
    seed: Seed,
    /// When the next S' is due.
    due: WallTime,
}

/// A secret that goes on by its hash, so that shards of a server that began with the same one have the same
/// S' at any time, and who gets hold of it learns none that was before.
#[derive(Zeroize, ZeroizeOnDrop)]
struct Seed([u8; 32]);

impl Seed {
    fn part(&self, label: &[u8; 16]) -> [u8; 32] {
        keys::hashed(&[label, &self.0]).to_bytes()
    }

    /// The next S' and k.
    fn draw(&mut self) -> (Pair, PuzzleSecret) {
        let secret = Secret::from_bytes(self.part(b"clew-mlt-seed-s'"));
        let pair = Pair {
            public: keys::public(&secret),
            secret,
        };
        let puzzle = PuzzleSecret::from_bytes(self.part(b"clew-mlt-seed-k0"));
        self.0 = self.part(b"clew-mlt-seed-go");
        (pair, puzzle)
    }
}

impl core::fmt::Debug for Seed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Seed(..)")
    }
}

impl ServerKeys {
    /// The keys of a start: a new S', a new k.
    ///
    /// # Errors
    /// Those of [`Ecert::sign`]: the configuration is not one that could be signed.
    pub(super) fn new(
        secret: ServerSecret,
        config: &Config,
        seed: [u8; 32],
        wall: WallTime,
    ) -> Result<Self, Reason> {
        let boxing = Arc::new(Pair {
            secret: Secret::from_bytes(*secret.boxing.as_bytes()),
            public: secret.cert.body.boxing,
        });
        let live = Live {
            ephemerals: Vec::new(),
            boxing,
            signing: secret.cert.body.signing,
        };
        let mut seed = Seed(seed);
        let (pair, puzzle) = seed.draw();
        let ecert = certify(&secret, config, pair.public, wall)?;
        let mut keys = Self {
            secret,
            live,
            ecert_bytes: ecert.to_bytes(),
            ecert,
            puzzles: [puzzle.clone(), puzzle],
            puzzle_time: WallTime::default(),
            seed,
            due: wall + config.rotation,
        };
        keys.live.ephemerals.push(Arc::new(pair));
        Ok(keys)
    }

    /// When [`Self::rotate`] is due.
    pub(super) const fn due(&self) -> WallTime {
        self.due
    }

    /// A new S', and a new k; of the old ones the last remain.
    pub(crate) fn rotate(&mut self, config: &Config, wall: WallTime) {
        let missed = (wall - self.due).as_nanos() / config.rotation.as_nanos();
        if missed > 0 {
            // The machine slept: what it had is too old.
            self.live.ephemerals.clear();
            self.due = self.due + config.rotation.saturating_mul(missed as u32);
        }
        let (pair, puzzle) = self.seed.draw();
        // The configuration was signed before, and has not changed.
        if let Ok(ecert) = certify(&self.secret, config, pair.public, self.due) {
            self.live.ephemerals.insert(0, Arc::new(pair));
            self.live.ephemerals.truncate(2);
            self.ecert_bytes = ecert.to_bytes();
            self.ecert = ecert;
        }
        self.puzzles.swap(0, 1);
        self.puzzles[0] = puzzle;
        self.due = self.due + config.rotation;
    }

    /// What computes with the secrets, on any thread. It is erased with the last copy.
    pub(super) const fn live(&self) -> &Live {
        &self.live
    }

    /// The S' that are live.
    pub(crate) fn live_public(&self) -> Vec<Public> {
        let all = self.live.ephemerals.iter();
        all.map(|pair| pair.public).collect()
    }

    /// The newest record.
    pub(super) fn record(&self) -> Record {
        Record {
            cert: self.secret.cert.clone(),
            ecert: self.ecert.clone(),
        }
    }

    /// The newest ephemeral certificate.
    pub(crate) fn ecert_bytes(&self) -> &[u8] {
        &self.ecert_bytes
    }

    /// Whether this is what the server is called.
    pub(crate) fn is_own(&self, signing: Option<[u8; 32]>, hostname: &str) -> bool {
        let cert = &self.secret.cert.body;
        signing.is_none_or(|key| key == cert.signing) && cert.hostname == hostname.as_bytes()
    }

    /// An interrogation for an initiation packet. No two have the same time.
    pub(super) fn interrogation(
        &mut self,
        (tid, client, source): (Tid, &Public, core::net::SocketAddr),
        wall: WallTime,
        w: u8,
    ) -> Option<Interrogation> {
        self.puzzle_time = wall.max(self.puzzle_time + Duration::from_nanos(1));
        let newest = self.live.ephemerals.first()?.public;
        let for_whom = (tid, client, source);
        Some(self.puzzles[0].interrogation(for_whom, &newest, self.puzzle_time, w))
    }

    /// Checks a solution.
    ///
    /// # Errors
    /// `bad-solution`, `old-solution`.
    pub(super) fn verify(&self, asked: &Asked<'_>, solution: &[u8; 148]) -> Result<(), Reason> {
        let [newest, before] = &self.puzzles;
        asked.verify(solution, &[newest, before])
    }
}

/// An ephemeral certificate from now on.
fn certify(
    secret: &ServerSecret,
    config: &Config,
    ephemeral: Public,
    wall: WallTime,
) -> Result<Ecert, Reason> {
    let start = wall.as_millis();
    let life = (config.rotation * 2).saturating_sub(SKEW).min(LIFETIME_MAX);
    let body = EcertBody {
        authenticators: config.authenticators,
        w: config.w,
        m: config.m,
        signing: secret.signing.public(),
        boxing: secret.cert.body.boxing,
        ephemeral,
        start,
        end: start + life.as_millis() as u64,
        addresses: config.addresses.clone(),
    };
    Ecert::sign(body, &secret.signing)
}
