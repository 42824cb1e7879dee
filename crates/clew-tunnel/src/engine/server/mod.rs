//! The server: it accepts tunnels (`spec/tunnel.md` sections 6 to 13).
//!
//! A driver gives it datagrams in batches ([`Server::receive`]), takes public-key work from it and gives it
//! back computed ([`Server::jobs`], [`Server::complete`]), hears what happened ([`Server::event`]), sends what
//! there is to be sent ([`Server::transmit`]) and comes back at [`Server::due`] ([`Server::tick`]).

mod config;
mod creates;
mod first;
mod jobs;
mod keys;
mod load;
mod path;
mod puzzles;
mod receive;
mod requests;
mod tids;
mod timers;
mod transmit;
mod tunnel;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use clew_wire::{Instant, WallTime};
use core::net::SocketAddr;

pub use config::{Config, Limits};
pub use jobs::Jobs;
use jobs::{Decryption, Verify};
use keys::ServerKeys;
pub use load::Load;
use tids::Tids;
pub use tids::{Shard, ShardMessage};
use tunnel::Tunnel;

use super::agenda::Agenda;
use super::channel::{Channel, Common, Now};
use super::event::{ConnectionId, Event, Reply, Status, TunnelId};
use super::hash::Hasher;
use super::rate::{Bucket, Prefixes};
use super::replay::ReplaySet;
use super::trace::Received;
use super::tunnels::Tunnels;
use crate::keys::Nonce;
use crate::limits;
use crate::reason::{Counters, Reason};
use crate::record::{Record, ServerSecret};
use crate::wire::packet::Tid;
use crate::wire::values::{Call, CallWriter};
use crate::x25519::Public;

/// What all tunnels of a server share.
#[derive(Debug)]
pub struct Shared {
    common: Common,
    config: Config,
    keys: ServerKeys,
    verify: Vec<Verify>,
    auth_rate: Prefixes,
}

impl AsMut<Common> for Shared {
    fn as_mut(&mut self) -> &mut Common {
        &mut self.common
    }
}

/// A server. See the module.
#[derive(Debug)]
pub struct Server {
    shared: Shared,
    tunnels: Tunnels<Tunnel>,
    tids: Tids,
    replays: ReplaySet,
    /// The n' of solutions that made room for a tunnel.
    solutions: ReplaySet,
    /// First packets whose boxes are closed, and their bytes.
    decrypt: Vec<Decryption>,
    packets: Vec<u8>,
    /// Those that a driver computes at.
    taken: usize,
    rates: Rates,
    agenda: Agenda,
    /// Datagrams that are of no tunnel (any more).
    plain: VecDeque<(SocketAddr, Box<[u8]>)>,
    /// Tunnels by when they were heard, at the latest: the longest silent first.
    silent: VecDeque<(TunnelId, Instant)>,
    /// The server's time, which never goes back.
    wall: WallTime,
}

#[derive(Debug)]
struct Rates {
    first: Prefixes,
    first_solved: Prefixes,
    stale: Prefixes,
    stale_all: Bucket,
}

/// Datagrams of no tunnel that wait to be sent at most; more are dropped, as any network may, and
/// counted (`busy`).
const PLAIN_MAX: usize = 4_096;

impl Server {
    /// A server at its start: it has a new S', and knows no tunnel. `seed` is what its ephemeral keys are made
    /// of: random, never stored, and never used again but for parts of this server on other cores, which
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
        let (chosen, part) = (config.limits, config.shard);
        let mut common = Common::default();
        common
            .events
            .push_back(Event::Record(Box::new(keys.record())));
        Ok(Self {
            shared: Shared {
                common,
                config,
                keys,
                verify: Vec::new(),
                auth_rate: Prefixes::new(hasher, chosen.auth),
            },
            tunnels: Tunnels::default(),
            tids: Tids::new(hasher, part),
            replays: ReplaySet::new(hasher, chosen.replay, limits::WINDOW),
            solutions: ReplaySet::new(hasher, limits::SOLUTIONS_MAX, limits::PUZZLE_LIFE),
            decrypt: Vec::new(),
            packets: Vec::new(),
            taken: 0,
            rates: Rates {
                first: Prefixes::new(hasher, chosen.first),
                first_solved: Prefixes::new(hasher, chosen.first),
                stale: Prefixes::new(hasher, chosen.stale),
                stale_all: Bucket::default(),
            },
            agenda: Agenda::default(),
            plain: VecDeque::new(),
            silent: VecDeque::new(),
            wall: now.wall,
        })
    }

    /// The newest record.
    pub fn record(&self) -> Record {
        self.shared.keys.record()
    }

    /// Whether a TID is of a tunnel of this part.
    pub fn has_tid(&self, tid: Tid) -> bool {
        self.tids.has(tid)
    }

    /// What other parts of the server have to know.
    pub fn shard_messages(&mut self) -> Vec<ShardMessage> {
        self.tids.messages()
    }

    /// Another part has accepted an initiation packet that would come here if it came again.
    pub fn remember(&mut self, client: &Public, nonce: Nonce) {
        self.replays.insert(&client.0, nonce.t(), self.wall);
    }

    /// What happened next. To be asked until there is nothing more.
    pub fn event(&mut self) -> Option<Event> {
        self.shared.common.events.pop_front()
    }

    /// Keeps the last packets that are decrypted, `most` of them, for [`Self::traced`].
    pub fn trace(&mut self, most: usize) {
        self.shared.common.trace.keep(most);
    }

    /// The next packet that was decrypted, if these are kept.
    pub fn traced(&mut self) -> Option<Received> {
        self.shared.common.trace.take()
    }

    /// How often each reason was met.
    pub const fn counters(&self) -> &Counters {
        &self.shared.common.counters
    }

    /// How many tunnels there are.
    pub fn tunnels(&self) -> usize {
        self.tunnels.len()
    }

    /// How many initiation packets are remembered.
    pub fn remembered(&self) -> usize {
        self.replays.len()
    }

    /// Whether public-key work waits.
    pub fn has_jobs(&self) -> bool {
        !(self.decrypt.is_empty() && self.shared.verify.is_empty())
    }

    /// The public-key work that waits. Until it is given back, it counts.
    pub fn jobs(&mut self) -> Jobs {
        self.taken += self.decrypt.len();
        Jobs {
            live: self.shared.keys.live().clone(),
            decrypt: core::mem::take(&mut self.decrypt),
            packets: core::mem::take(&mut self.packets),
            verify: core::mem::take(&mut self.shared.verify),
        }
    }

    /// Public-key work that was computed.
    pub fn complete(&mut self, mut now: Now<'_>, mut jobs: Jobs) {
        self.taken -= jobs.decrypt.len();
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
        if self.packets.is_empty() {
            // The memory serves again.
            jobs.packets.clear();
            self.packets = jobs.packets;
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

    /// Gives the next RPC of a connection to `read`. False if there is none now.
    pub fn read(&mut self, connection: ConnectionId, mut read: impl FnMut(Call<'_>)) -> bool {
        self.tunnels.read(connection, &mut read)
    }

    /// Sends an RPC on a connection. False if it has to wait for [`Event::Writable`].
    ///
    /// # Errors
    /// `closed-connection` if it is gone; `too-long` if no packet has room for it; what a reader would
    /// refuse it for.
    pub fn write(
        &mut self,
        connection: ConnectionId,
        name: &str,
        arguments: impl FnOnce(CallWriter<'_>) -> CallWriter<'_>,
    ) -> Result<bool, Reason> {
        let number = connection.number;
        let write = |channel: &mut Channel| channel.write(number, name, arguments);
        self.tunnels.write(connection, write)
    }

    /// How a tunnel is. None if it is gone.
    pub fn status(&mut self, tunnel: TunnelId) -> Option<Status> {
        let tunnel = self.tunnels.get(tunnel)?;
        Some(tunnel.channel.status(tunnel.path.address()))
    }

    /// Sends a whole RPC value on a connection, as [`Self::write`] does.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn forward(&mut self, connection: ConnectionId, value: &[u8]) -> Result<bool, Reason> {
        let number = connection.number;
        let write = |channel: &mut Channel| channel.forward(number, value);
        self.tunnels.write(connection, write)
    }

    /// Ends a connection, when what was written is sent.
    pub fn close(&mut self, connection: ConnectionId) {
        self.tunnels.close(connection);
    }

    /// Ends a tunnel at once.
    pub fn close_tunnel(&mut self, now: Now<'_>, tunnel: TunnelId) {
        if self.tunnels.get(tunnel).is_some() {
            self.end(now.instant, tunnel.index, None);
        }
    }

    /// A tunnel is gone: nothing of it remains but what is said to the other side, once.
    fn end(&mut self, now: Instant, index: u32, reason: Option<Reason>) {
        let Some(mut tunnel) = self.tunnels.remove(index) else {
            return;
        };
        if let Some(reason) = reason {
            self.shared.common.counters.count(reason);
        }
        if !tunnel.is_closed
            && !tunnel.is_dormant
            && let Some(last) = tunnel.last_word(&self.shared, now)
        {
            self.say(tunnel.path.address(), last);
        }
        self.agenda.move_to(index, &mut tunnel.due, None);
        let held = &mut self.shared.common.held;
        tunnel.channel.receiving.release(held);
        let old = tunnel.old.as_ref().map(|old| old.0.tid);
        let tids = [Some(tunnel.keys.tid), Some(tunnel.announced), old];
        for tid in tids.into_iter().flatten() {
            self.tids.remove(tid);
        }
        let gone = Event::Gone(tunnel.channel.id, reason);
        self.shared.common.events.push_back(gone);
    }

    fn say(&mut self, to: SocketAddr, datagram: Box<[u8]>) {
        if self.plain.len() >= PLAIN_MAX {
            return self.count(Reason::Busy);
        }
        self.plain.push_back((to, datagram));
    }

    fn touch(&mut self, index: u32) {
        self.tunnels.touch(index);
    }

    /// Counts a packet that its program has discarded.
    pub fn count(&mut self, reason: Reason) {
        self.shared.common.counters.count(reason);
    }
}
