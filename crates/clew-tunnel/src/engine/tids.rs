//! Which tunnel a TID is of, and which shard of a server that tunnel is at.

use alloc::vec::Vec;

use hashbrown::HashMap;

use super::hash::Hasher;
use crate::keys::Nonce;
use crate::wire::packet::Tid;
use crate::x25519::Public;

/// Which packets of a tunnel have a TID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TidUse {
    /// Those under the key that it sends under.
    Current,
    /// Those under the key before, which only receives.
    Draining,
    /// An initiation packet: the announced one at a server, that of the attempt at a client.
    Initiation,
}

/// The TIDs of one tunnel.
pub(super) type TidList = [Option<(Tid, TidUse)>; 3];

/// One of some engines of a server, which are at the same address and have the same S'. Packets come to a shard
/// by their TID; new tunnels are where they come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which one, from 0.
    pub number: u32,
    /// How many there are: at least one.
    pub of: u32,
}

impl Shard {
    /// All of a server.
    pub const WHOLE: Self = Self { number: 0, of: 1 };

    /// The shard that packets with this TID come to.
    pub fn home(self, tid: Tid) -> u32 {
        let [.., a, b, c, d] = *tid.as_bytes();
        u32::from_be_bytes([a, b, c, d]) % self.of.max(1)
    }

    fn is_home(self, tid: Tid) -> bool {
        self.home(tid) == self.number
    }
}

/// What other shards have to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardMessage {
    /// A tunnel of this shard has this TID, whose packets come to another.
    Here(Tid),
    /// It has it no more.
    Gone(Tid),
    /// This initiation packet was accepted, and would come there if it came again.
    Accepted(Tid, Public, Nonce),
}

/// The TIDs of all tunnels of a client, or of a server's shard.
#[derive(Debug)]
pub(super) struct Tids {
    shard: Shard,
    map: HashMap<Tid, (u32, TidUse), Hasher>,
    messages: Vec<ShardMessage>,
}

impl Tids {
    /// None.
    pub(super) fn new(hasher: Hasher, shard: Shard) -> Self {
        Self {
            shard,
            map: HashMap::with_hasher(hasher),
            messages: Vec::new(),
        }
    }

    /// The tunnel of a TID.
    pub(super) fn get(&self, tid: Tid) -> Option<(u32, TidUse)> {
        self.map.get(&tid).copied()
    }

    /// Whether it is a tunnel's.
    pub(super) fn has(&self, tid: Tid) -> bool {
        self.map.contains_key(&tid)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.map.len()
    }

    /// It is this tunnel's.
    fn insert(&mut self, tid: Tid, tunnel: u32, which: TidUse) {
        let before = self.map.insert(tid, (tunnel, which));
        if before.is_none() && !self.shard.is_home(tid) {
            self.messages.push(ShardMessage::Here(tid));
        }
    }

    /// A tunnel had these TIDs before, and has those now.
    pub(super) fn change(&mut self, tunnel: u32, before: TidList, after: TidList) {
        if before == after {
            return;
        }
        for (tid, _) in before.into_iter().flatten() {
            if !after.iter().flatten().any(|(kept, _)| *kept == tid) {
                self.remove(tid);
            }
        }
        for (tid, which) in after.into_iter().flatten() {
            self.insert(tid, tunnel, which);
        }
    }

    /// It is no tunnel's any more.
    fn remove(&mut self, tid: Tid) {
        if self.map.remove(&tid).is_some() && !self.shard.is_home(tid) {
            self.messages.push(ShardMessage::Gone(tid));
        }
    }

    /// An initiation packet was accepted.
    pub(super) fn accepted(&mut self, tid: Tid, client: Public, nonce: Nonce) {
        if !self.shard.is_home(tid) {
            self.messages
                .push(ShardMessage::Accepted(tid, client, nonce));
        }
    }

    /// What other shards have to know since the last time.
    pub(super) fn messages(&mut self) -> Vec<ShardMessage> {
        core::mem::take(&mut self.messages)
    }
}
