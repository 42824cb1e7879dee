//! The shards of a server on several cores: who has which tunnel.
//!
//! All shards are bound to one address, and have one S'. The system gives each datagram to a shard by the last
//! four bytes of its TID, and a train of datagrams by those of the first. Later TIDs of a tunnel are random: those that
//! come to another shard are in the one table that all share, and that shard ends their packets on.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use clew_tunnel::engine::server::{Shard, ShardMessage};
use clew_tunnel::keys::Nonce;
use clew_tunnel::wire::packet::Tid;
use clew_tunnel::x25519::Public;
use tokio::sync::mpsc;

/// Datagrams that wait for another shard; more are dropped (`busy`).
const MAIL: usize = 4_096;

/// What one shard sends to another.
pub(crate) enum Mail {
    /// A datagram of a tunnel there.
    Datagram(SocketAddr, Vec<u8>),
    /// An initiation packet that would come there if it came again.
    Accepted(Public, Nonce),
}

/// All shards of a server.
pub(crate) struct Shards<C> {
    elsewhere: RwLock<HashMap<Tid, u32>>,
    boxes: Vec<Mailbox<C>>,
}

struct Mailbox<C> {
    to: mpsc::WeakUnboundedSender<C>,
    waiting: AtomicUsize,
}

/// One shard's view of all.
pub(crate) struct OwnShard<C> {
    shard: Shard,
    shards: Arc<Shards<C>>,
}

impl<C: From<Mail>> OwnShard<C> {
    /// The shards behind these channels, in their order.
    pub(crate) fn all(channels: &[mpsc::UnboundedSender<C>]) -> Vec<Self> {
        let boxes = channels.iter().map(|to| Mailbox {
            to: to.downgrade(),
            waiting: AtomicUsize::new(0),
        });
        let shards = Arc::new(Shards {
            elsewhere: RwLock::new(HashMap::new()),
            boxes: boxes.collect(),
        });
        let of = channels.len() as u32;
        let here = |number| Self {
            shard: Shard { number, of },
            shards: Arc::clone(&shards),
        };
        (0..of).map(here).collect()
    }

    /// Returns which shard this is.
    pub(crate) const fn shard(&self) -> Shard {
        self.shard
    }

    /// The shard that has a tunnel with this TID, or that a new one would be at: its packets should come there,
    /// but one client's packets for several tunnels come as one train, which goes where its first one belongs.
    pub(crate) fn owner(&self, tid: Tid) -> u32 {
        let elsewhere = self.shards.elsewhere.read();
        let elsewhere = elsewhere.unwrap_or_else(PoisonError::into_inner);
        let owner = elsewhere.get(&tid).copied();
        owner.unwrap_or_else(|| self.shard.home(tid))
    }

    /// Sends mail to a shard. Returns false if there is no such shard, or its mailbox is full.
    pub(crate) fn send(&self, to: u32, mail: Mail) -> bool {
        let Some(mailbox) = self.shards.boxes.get(to as usize) else {
            return false;
        };
        if mailbox.waiting.fetch_add(1, Ordering::AcqRel) >= MAIL {
            mailbox.waiting.fetch_sub(1, Ordering::AcqRel);
            return false;
        }
        let channel = mailbox.to.upgrade();
        channel.is_some_and(|channel| channel.send(mail.into()).is_ok())
    }

    /// Records that a mail to this shard was taken.
    pub(crate) fn taken(&self) {
        let mailbox = &self.shards.boxes[self.shard.number as usize];
        mailbox.waiting.fetch_sub(1, Ordering::AcqRel);
    }

    /// Passes what this shard's engine says to the others.
    pub(crate) fn tell(&self, messages: Vec<ShardMessage>) {
        if messages.is_empty() {
            return;
        }
        let elsewhere = self.shards.elsewhere.write();
        let mut elsewhere = elsewhere.unwrap_or_else(PoisonError::into_inner);
        for notice in messages {
            match notice {
                ShardMessage::Here(tid) => {
                    elsewhere.insert(tid, self.shard.number);
                }
                ShardMessage::Gone(tid) => {
                    elsewhere.remove(&tid);
                }
                ShardMessage::Accepted(tid, client, nonce) => {
                    self.send(self.shard.home(tid), Mail::Accepted(client, nonce));
                }
            }
        }
    }
}
