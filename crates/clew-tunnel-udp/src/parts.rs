//! The parts of a server on several cores: who has which tunnel.
//!
//! All parts are bound to one address, and have one S'. The system gives each datagram to a part by the last
//! four bytes of its TID. New tunnels are where they come in. Later TIDs of a tunnel are random: those that
//! come to another part are in the one table that all share, and that part hands their packets on.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use clew_tunnel::engine::server::{Notice, Part};
use clew_tunnel::keys::Nonce;
use clew_tunnel::wire::packet::Tid;
use clew_tunnel::x25519::Public;
use tokio::sync::mpsc;

/// Datagrams that wait for another part; more are dropped (`busy`).
const MAIL: usize = 4_096;

/// What one part sends to another.
pub enum Mail {
    /// A datagram of a tunnel there.
    Datagram(SocketAddr, Vec<u8>),
    /// An initiation packet that would come there if it came again.
    Accepted(Public, Nonce),
}

/// All parts of a server.
pub struct Parts<C> {
    elsewhere: RwLock<HashMap<Tid, u32>>,
    boxes: Vec<Mailbox<C>>,
}

struct Mailbox<C> {
    to: mpsc::WeakUnboundedSender<C>,
    waiting: AtomicUsize,
}

/// One part's view of all.
pub struct Here<C> {
    part: Part,
    parts: Arc<Parts<C>>,
}

impl<C: From<Mail>> Here<C> {
    /// The parts behind these channels, in their order.
    pub fn all(channels: &[mpsc::UnboundedSender<C>]) -> Vec<Self> {
        let boxes = channels.iter().map(|to| Mailbox {
            to: to.downgrade(),
            waiting: AtomicUsize::new(0),
        });
        let parts = Arc::new(Parts {
            elsewhere: RwLock::new(HashMap::new()),
            boxes: boxes.collect(),
        });
        let of = channels.len() as u32;
        let here = |number| Self {
            part: Part { number, of },
            parts: Arc::clone(&parts),
        };
        (0..of).map(here).collect()
    }

    /// Which part this is.
    pub const fn part(&self) -> Part {
        self.part
    }

    /// The part that has a tunnel with this TID, if it is not the one that its packets come to.
    pub fn owner(&self, tid: Tid) -> Option<u32> {
        let elsewhere = self.parts.elsewhere.read();
        let elsewhere = elsewhere.unwrap_or_else(PoisonError::into_inner);
        elsewhere.get(&tid).copied()
    }

    /// Hands something to a part. False if it has too much.
    pub fn send(&self, to: u32, mail: Mail) -> bool {
        let Some(mailbox) = self.parts.boxes.get(to as usize) else {
            return false;
        };
        if mailbox.waiting.fetch_add(1, Ordering::AcqRel) >= MAIL {
            mailbox.waiting.fetch_sub(1, Ordering::AcqRel);
            return false;
        }
        let channel = mailbox.to.upgrade();
        channel.is_some_and(|channel| channel.send(mail.into()).is_ok())
    }

    /// A mail to this part was taken.
    pub fn taken(&self) {
        let mailbox = &self.parts.boxes[self.part.number as usize];
        mailbox.waiting.fetch_sub(1, Ordering::AcqRel);
    }

    /// What this part's engine says to the others.
    pub fn tell(&self, notices: Vec<Notice>) {
        if notices.is_empty() {
            return;
        }
        let elsewhere = self.parts.elsewhere.write();
        let mut elsewhere = elsewhere.unwrap_or_else(PoisonError::into_inner);
        for notice in notices {
            match notice {
                Notice::Here(tid) => {
                    elsewhere.insert(tid, self.part.number);
                }
                Notice::Gone(tid) => {
                    elsewhere.remove(&tid);
                }
                Notice::Accepted(tid, client, nonce) => {
                    self.send(self.part.home(tid), Mail::Accepted(client, nonce));
                }
            }
        }
    }
}
