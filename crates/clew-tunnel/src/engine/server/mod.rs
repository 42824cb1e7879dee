//! The server: it accepts tunnels (`spec/tunnel.md` sections 6 to 13).
//!
//! See [`Endpoint`] for how a driver uses it.

mod config;
mod creates;
mod first;
mod jobs;
mod keys;
mod path;
mod puzzles;
mod receive;
mod requests;
mod state;
mod timers;
mod trial;
mod tunnel;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use clew_wire::{Instant, WallTime};

pub use super::tids::{Shard, ShardMessage};
pub use config::{Config, Limits};
pub use jobs::Jobs;
use jobs::{Decryption, Verify};
use keys::ServerKeys;
pub use tunnel::Tunnel;

use super::channel::{Common, Now};
use super::endpoint::{Endpoint, Usage};
use super::event::{ConnectionId, Event, Reply, TunnelId};
use super::hash::Hasher;
use super::rate::{Bucket, Prefix, Prefixes};
use super::replay::ReplaySet;
use super::shares::Shares;
use super::tids::Tids;
use crate::keys::Nonce;
use crate::limits;
use crate::reason::Reason;
use crate::record::{Record, ServerSecret};
use crate::wire::packet::Tid;
use crate::x25519::Public;

/// A server.
pub type Server = Endpoint<Tunnel>;

/// What all tunnels of a server share.
#[derive(Debug)]
pub struct Shared {
    common: Common,
    config: Config,
    keys: ServerKeys,
    replays: ReplaySet,
    /// The n' of solutions that made room for a tunnel.
    solutions: ReplaySet,
    /// First packets whose boxes are closed, and their bytes.
    decrypt: Vec<Decryption>,
    packets: Vec<u8>,
    /// Those that a driver computes at.
    taken: usize,
    verify: Vec<Verify>,
    rates: Rates,
    /// Places for tunnels.
    places: Shares<Prefix>,
    /// Places for tunnels, and first packets, from addresses that are not proven.
    unproven: Shares<Prefix>,
    /// Tunnels by when they were heard, at the latest: the longest silent first.
    silent: VecDeque<(TunnelId, Instant)>,
    /// The server's time, which never goes back.
    wall: WallTime,
}

impl AsRef<Common> for Shared {
    fn as_ref(&self) -> &Common {
        &self.common
    }
}

impl AsMut<Common> for Shared {
    fn as_mut(&mut self) -> &mut Common {
        &mut self.common
    }
}

#[derive(Debug)]
struct Rates {
    first: Prefixes,
    first_solved: Prefixes,
    auth: Prefixes,
    stale: Prefixes,
    stale_all: Bucket,
}

impl Server {
    /// A server at its start: it has a new S', and knows no tunnel. `seed` is what its ephemeral keys are made
    /// of: random, never stored, and never used again but for shards of this server on other cores, which
    /// are given the same one at the same time of day.
    ///
    /// # Errors
    /// `reserved-bits`, `bad-limits`, `bad-address`: of the configuration.
    pub fn new(
        secret: ServerSecret,
        config: Config,
        seed: [u8; 32],
        mut now: Now<'_>,
    ) -> Result<Self, Reason> {
        let keys = ServerKeys::new(secret, &config, seed, now.wall)?;
        let hasher = Hasher::new(now.random());
        let (chosen, shard) = (config.limits, config.shard);
        let mut common = Common::default();
        common
            .events
            .push_back(Event::Record(Box::new(keys.record())));
        let shared = Shared {
            common,
            config,
            keys,
            replays: ReplaySet::new(hasher, chosen.replay, limits::ACCEPTANCE_WINDOW),
            solutions: ReplaySet::new(hasher, limits::SOLUTIONS_MAX, limits::PUZZLE_LIFE),
            decrypt: Vec::new(),
            packets: Vec::new(),
            taken: 0,
            verify: Vec::new(),
            rates: Rates {
                first: Prefixes::new(hasher, chosen.first),
                first_solved: Prefixes::new(hasher, chosen.first),
                auth: Prefixes::new(hasher, chosen.auth),
                stale: Prefixes::new(hasher, chosen.stale),
                stale_all: Bucket::default(),
            },
            places: Shares::new(chosen.tunnels),
            unproven: Shares::new(chosen.unproven.div_ceil(shard.of.max(1) as usize)),
            silent: VecDeque::new(),
            wall: now.wall,
        };
        Ok(Self::with(shared, Tids::new(hasher, shard)))
    }

    /// The newest record.
    pub fn record(&self) -> Record {
        self.shared.keys.record()
    }

    /// Whether a TID is of a tunnel of this shard.
    pub fn has_tid(&self, tid: Tid) -> bool {
        self.tids.has(tid)
    }

    /// What other shards of the server have to know.
    pub fn shard_messages(&mut self) -> Vec<ShardMessage> {
        self.tids.messages()
    }

    /// Another shard has accepted an initiation packet that would come here if it came again.
    pub fn remember(&mut self, client: &Public, nonce: Nonce) {
        self.shared
            .replays
            .insert(&client.0, nonce.t(), self.shared.wall);
    }

    /// Whether public-key work waits.
    pub fn has_jobs(&self) -> bool {
        !(self.shared.decrypt.is_empty() && self.shared.verify.is_empty())
    }

    /// The public-key work that waits. Until it is given back, it counts.
    pub fn jobs(&mut self) -> Jobs {
        let shared = &mut self.shared;
        shared.taken += shared.decrypt.len();
        Jobs {
            live: shared.keys.live().clone(),
            decrypt: core::mem::take(&mut shared.decrypt),
            packets: core::mem::take(&mut shared.packets),
            verify: core::mem::take(&mut shared.verify),
        }
    }

    /// Public-key work that was computed.
    pub fn complete(&mut self, mut now: Now<'_>, mut jobs: Jobs) {
        self.shared.taken -= jobs.decrypt.len();
        for job in jobs.decrypt.drain(..) {
            let packet = &mut jobs.packets[job.packet.clone()];
            self.decrypted_first(&mut now, &job, packet);
        }
        for verify in jobs.verify.drain(..) {
            if let Some(tunnel) = self.tunnels.get(verify.tunnel) {
                let index = verify.tunnel.index;
                tunnel.verified(&mut self.shared, verify);
                self.touch(index);
            }
        }
        if self.shared.packets.is_empty() {
            // The memory serves again.
            jobs.packets.clear();
            self.shared.packets = jobs.packets;
        }
    }

    /// Answers [`Event::Create`]: yes, or no for this reason (`unknown-service`, `not-authorised`). False if
    /// nobody waits for it (any more).
    pub fn decide(&mut self, connection: ConnectionId, decision: Result<(), Reason>) -> bool {
        let shared = &mut self.shared;
        let tunnel = self.tunnels.get(connection.tunnel);
        let done = tunnel.is_some_and(|t| t.decide(shared, connection.number, decision));
        self.touch(connection.tunnel.index);
        done
    }

    /// Answers [`Event::Request`]. False if nobody waits for it (any more).
    pub fn reply(&mut self, tunnel: TunnelId, number: u64, reply: Reply) -> bool {
        let shared = &mut self.shared;
        let found = self.tunnels.get(tunnel);
        let done = found.is_some_and(|t| t.reply(shared, number, reply));
        self.touch(tunnel.index);
        done
    }

    /// How many places of tunnels from addresses that are not proven are taken, and how many are free.
    pub const fn unproven(&self) -> (usize, usize) {
        let places = &self.shared.unproven;
        (places.taken(), places.free())
    }

    /// How much there is of everything. Looks at each tunnel.
    pub fn load(&self) -> Usage {
        let shared = &self.shared;
        let waiting = self.tunnels.iter().map(|tunnel| tunnel.waiting.len());
        let work = shared.decrypt.len() + shared.taken + shared.verify.len();
        Usage {
            remembered: shared.replays.len(),
            work: work + waiting.sum::<usize>(),
            silent: shared.silent.len(),
            unproven: shared.unproven.taken(),
            ..self.common_load()
        }
    }
}
