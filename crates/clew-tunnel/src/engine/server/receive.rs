//! Packets of tunnels: `spec/tunnel.md` sections 6.2, steps 1 and 2, and 6.3.

use alloc::vec::Vec;
use clew_wire::Instant;
use core::net::SocketAddr;

use super::Server;
use super::tunnel::{Tunnel, Which};
use crate::engine::Datagram;
use crate::engine::channel::{self, Now};
use crate::engine::decryption::{self, GROUP};
use crate::engine::trace::{Received, Seen};
use crate::keys::Nonce;
use crate::reason::Reason;
use crate::wire::packet::{Boxed, Packet, Side};
use crate::wire::plaintext::Plaintext;
use crate::wire::rpc::Rpc;

/// A packet of a tunnel that is to be decrypted.
struct Waiting {
    index: u32,
    which: Which,
    source: SocketAddr,
    bytes: usize,
}

/// A packet of a tunnel that was decrypted.
pub(super) struct Decrypted<'a> {
    pub nonce: Nonce,
    pub which: Which,
    pub source: SocketAddr,
    /// Its length.
    pub bytes: usize,
    pub plaintext: Plaintext<'a>,
    /// It has a key: its first RPC is nextTid, which is done.
    pub is_initiation: bool,
}

impl Server {
    /// Takes datagrams, in their order. What needs public-key work waits for [`Server::jobs`].
    pub fn receive<'a>(
        &mut self,
        mut now: Now<'_>,
        datagrams: impl IntoIterator<Item = Datagram<'a>>,
    ) {
        self.wall = self.wall.max(now.wall);
        let mut group: Vec<(Waiting, Boxed<'a>)> = Vec::with_capacity(GROUP);
        for Datagram { peer, bytes } in datagrams {
            let length = bytes.len();
            match Packet::parse(bytes, self.shared.config.m) {
                Err(reason) => self.count(reason),
                Ok(Packet::Tunnel(Side::Client, boxed)) => {
                    // A rekey of the same batch may be what makes it known.
                    match self.tids.get(boxed.tid) {
                        Some((index, which)) if which != Which::Announced => {
                            let waiting = Waiting {
                                index,
                                which,
                                source: peer,
                                bytes: length,
                            };
                            group.push((waiting, boxed));
                        }
                        _ => self.count(Reason::UnknownTid),
                    }
                    if group.len() == GROUP {
                        self.decrypt_group(&mut now, &mut group);
                    }
                }
                Ok(Packet::Initiation(initiation)) => {
                    if self.tids.has(initiation.boxed.tid) {
                        self.decrypt_group(&mut now, &mut group);
                    }
                    self.initiation(&mut now, peer, length, initiation);
                }
                // What servers send is for the client of the same socket.
                Ok(_) => self.count(Reason::BadFlags),
            }
        }
        self.decrypt_group(&mut now, &mut group);
    }

    /// Opens some packets, and does what is in them.
    fn decrypt_group(&mut self, now: &mut Now<'_>, group: &mut Vec<(Waiting, Boxed<'_>)>) {
        let Self {
            tunnels, shared, ..
        } = self;
        let keys = |waiting: &Waiting| {
            let tunnel = tunnels.peek(waiting.index);
            tunnel.and_then(|tunnel| packet_keys(tunnel, waiting.which))
        };
        let are_good = decryption::decrypt(group, keys, &mut shared.common.counters);
        for ((waiting, boxed), is_good) in group.drain(..).zip(are_good) {
            if is_good {
                self.decrypted(now, waiting, boxed);
            } else {
                self.count(Reason::BadBox);
            }
        }
    }

    fn decrypted(&mut self, now: &mut Now<'_>, waiting: Waiting, boxed: Boxed<'_>) {
        let Waiting {
            index,
            which,
            source,
            bytes,
        } = waiting;
        let nonce = boxed.nonce;
        let text = boxed.into_text();
        let Some(tunnel) = self.tunnels.at(index) else {
            return self.count(Reason::UnknownTid);
        };
        // A rekey before it in the batch may have moved the key, or this nonce come twice.
        let keys = packet_keys_mut(tunnel, which).ok_or(Reason::UnknownTid);
        if let Err(reason) = keys.and_then(|keys| keys.seen.check(nonce)) {
            return self.count(reason);
        }
        let plaintext = match Plaintext::parse(text) {
            Ok(plaintext) => plaintext,
            Err(reason) => return self.end(now.instant, index, Some(reason)),
        };
        if plaintext.has_next_tid() {
            return self.count(Reason::Misplaced);
        }
        self.take(
            now,
            index,
            Decrypted {
                nonce,
                which,
                source,
                bytes,
                plaintext,
                is_initiation: false,
            },
        );
    }

    /// Does what a packet has: from "the nonce is written down" on.
    pub(super) fn take(&mut self, now: &mut Now<'_>, index: u32, decrypted: Decrypted<'_>) {
        let Some(tunnel) = self.tunnels.at(index) else {
            return;
        };
        let done = tunnel.take(&mut self.shared, now, &decrypted);
        let is_over = tunnel.is_over();
        match done {
            Ok(()) if !is_over => self.touch(index),
            Ok(()) => self.end(now.instant, index, None),
            Err(reason) => self.end(now.instant, index, Some(reason)),
        }
    }
}

impl Tunnel {
    fn take(
        &mut self,
        shared: &mut super::Shared,
        now: &mut Now<'_>,
        decrypted: &Decrypted<'_>,
    ) -> Result<(), Reason> {
        let Plaintext { seq, ack, .. } = decrypted.plaintext;
        let keys = packet_keys_mut(self, decrypted.which).ok_or(Reason::UnknownTid)?;
        let is_newest = keys.seen.note(decrypted.nonce);
        self.heard = now.instant;
        let acknowledged = self
            .channel
            .sending
            .acknowledge(ack, seq == 0, now.instant)?;
        if decrypted.which == Which::Current && is_newest && decrypted.source != self.path.address()
        {
            self.moved(shared, now, decrypted.source, decrypted.is_initiation);
        }
        self.path.received(decrypted.source, decrypted.bytes);
        if decrypted.source == self.path.address() {
            self.pose_for_path(now);
        }
        if acknowledged.packets > 0 {
            self.path.acknowledged();
        }
        self.trace(shared, now.instant, decrypted);
        let (urgent, counted) = decrypted.plaintext.split()?;
        for call in urgent {
            match Rpc::of(&call, Side::Client)? {
                Rpc::PuzzSoln { r, nonce } => {
                    if let Err(reason) = self.solved(shared, r, nonce) {
                        shared.common.counters.count(reason);
                    }
                }
                // Of an initiation packet, which has looked at it.
                Rpc::NextTid { .. } if decrypted.is_initiation => {}
                _ => return Err(Reason::Order),
            }
        }
        if decrypted.is_initiation {
            self.channel.receiving.owe_at_once();
        }
        channel::receive(self, shared, now, seq, counted)
    }

    fn trace(&self, shared: &mut super::Shared, at: Instant, decrypted: &Decrypted<'_>) {
        let tid = packet_keys(self, decrypted.which).map(|keys| keys.tid);
        shared.common.trace.note(|| Received {
            at,
            packet: Seen {
                tid: tid.unwrap_or(self.keys.tid),
                nonce: decrypted.nonce,
                seq: decrypted.plaintext.seq,
                ack: decrypted.plaintext.ack,
                bytes: decrypted.bytes,
                is_initiation: decrypted.is_initiation,
            },
            status: self.channel.status(self.path.address()),
        });
    }

    /// The client is at another address.
    fn moved(
        &mut self,
        shared: &mut super::Shared,
        now: &mut Now<'_>,
        source: SocketAddr,
        is_initiation: bool,
    ) {
        if !self.moves.take(shared.config.limits.moves, now.instant) {
            return shared.common.counters.count(Reason::TooManyMoves);
        }
        let learnt = self
            .channel
            .sending
            .restart(shared.config.packet, now.instant);
        self.path
            .move_to(source, learnt, is_initiation, now.instant);
        self.pose(0, now);
    }
}

fn packet_keys(tunnel: &Tunnel, which: Which) -> Option<&crate::engine::packet_keys::PacketKeys> {
    match which {
        Which::Current => Some(&tunnel.keys),
        Which::Draining => tunnel.old.as_ref().map(|old| &old.0),
        Which::Announced => None,
    }
}

fn packet_keys_mut(
    tunnel: &mut Tunnel,
    which: Which,
) -> Option<&mut crate::engine::packet_keys::PacketKeys> {
    match which {
        Which::Current => Some(&mut tunnel.keys),
        Which::Draining => tunnel.old.as_mut().map(|old| &mut old.0),
        Which::Announced => None,
    }
}
