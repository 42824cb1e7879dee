//! Packets of tunnels: `spec/tunnel.md` sections 6.2, steps 1 and 2, and 6.3.

use alloc::vec::Vec;
use core::net::SocketAddr;

use super::Server;
use super::tunnel::{Tunnel, Which};
use crate::engine::Datagram;
use crate::engine::channel::{self, Now};
use crate::engine::opening::{self, GROUP};
use crate::engine::time::Instant;
use crate::engine::trace::{Received, Seen};
use crate::keys::Nonce;
use crate::reason::Reason;
use crate::wire::packet::{Boxed, Packet, Side};
use crate::wire::plaintext::Plaintext;
use crate::wire::rpc::Rpc;

/// A packet of a tunnel that is to be opened.
struct Waiting {
    index: u32,
    which: Which,
    source: SocketAddr,
    bytes: usize,
}

/// A packet of a tunnel that was opened.
pub(super) struct Opened<'a> {
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
                        self.open_group(&mut now, &mut group);
                    }
                }
                Ok(Packet::Initiation(initiation)) => {
                    if self.tids.has(initiation.boxed.tid) {
                        self.open_group(&mut now, &mut group);
                    }
                    self.initiation(&mut now, peer, length, initiation);
                }
                // What servers send is for the client of the same socket.
                Ok(_) => self.count(Reason::BadFlags),
            }
        }
        self.open_group(&mut now, &mut group);
    }

    /// Opens some packets, and does what is in them.
    fn open_group(&mut self, now: &mut Now<'_>, group: &mut Vec<(Waiting, Boxed<'_>)>) {
        let Self {
            tunnels, shared, ..
        } = self;
        let line = |waiting: &Waiting| {
            let tunnel = tunnels.peek(waiting.index);
            tunnel.and_then(|tunnel| line(tunnel, waiting.which))
        };
        let are_good = opening::open(group, line, &mut shared.common.counters);
        for ((waiting, boxed), is_good) in group.drain(..).zip(are_good) {
            if is_good {
                self.opened(now, waiting, boxed);
            } else {
                self.count(Reason::BadBox);
            }
        }
    }

    fn opened(&mut self, now: &mut Now<'_>, waiting: Waiting, boxed: Boxed<'_>) {
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
        let line = line_mut(tunnel, which).ok_or(Reason::UnknownTid);
        if let Err(reason) = line.and_then(|line| line.seen.check(nonce)) {
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
            Opened {
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
    pub(super) fn take(&mut self, now: &mut Now<'_>, index: u32, opened: Opened<'_>) {
        let Some(tunnel) = self.tunnels.at(index) else {
            return;
        };
        let done = tunnel.take(&mut self.shared, now, &opened);
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
        opened: &Opened<'_>,
    ) -> Result<(), Reason> {
        let Plaintext { seq, ack, .. } = opened.plaintext;
        let line = line_mut(self, opened.which).ok_or(Reason::UnknownTid)?;
        let is_newest = line.seen.note(opened.nonce);
        self.heard = now.instant;
        let acknowledged = self
            .channel
            .sending
            .acknowledge(ack, seq == 0, now.instant)?;
        if opened.which == Which::Current && is_newest && opened.source != self.path.address() {
            self.moved(shared, now, opened.source, opened.is_initiation);
        }
        self.path.received(opened.source, opened.bytes);
        if opened.source == self.path.address() {
            self.pose_for_path(now);
        }
        if acknowledged.packets > 0 {
            self.path.acknowledged();
        }
        self.trace(shared, now.instant, opened);
        let (urgent, counted) = opened.plaintext.split()?;
        for call in urgent {
            match Rpc::of(&call, Side::Client)? {
                Rpc::PuzzSoln { r, nonce } => {
                    if let Err(reason) = self.solved(shared, r, nonce) {
                        shared.common.counters.count(reason);
                    }
                }
                // Of an initiation packet, which has looked at it.
                Rpc::NextTid { .. } if opened.is_initiation => {}
                _ => return Err(Reason::Order),
            }
        }
        if opened.is_initiation {
            self.channel.receiving.owe_at_once();
        }
        channel::receive(self, shared, now, seq, counted)
    }

    fn trace(&self, shared: &mut super::Shared, at: Instant, opened: &Opened<'_>) {
        let tid = line(self, opened.which).map(|line| line.tid);
        shared.common.trace.note(|| Received {
            at,
            packet: Seen {
                tid: tid.unwrap_or(self.line.tid),
                nonce: opened.nonce,
                seq: opened.plaintext.seq,
                ack: opened.plaintext.ack,
                bytes: opened.bytes,
                is_initiation: opened.is_initiation,
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

fn line(tunnel: &Tunnel, which: Which) -> Option<&crate::engine::line::Line> {
    match which {
        Which::Current => Some(&tunnel.line),
        Which::Draining => tunnel.old.as_ref().map(|old| &old.0),
        Which::Announced => None,
    }
}

fn line_mut(tunnel: &mut Tunnel, which: Which) -> Option<&mut crate::engine::line::Line> {
    match which {
        Which::Current => Some(&mut tunnel.line),
        Which::Draining => tunnel.old.as_mut().map(|old| &mut old.0),
        Which::Announced => None,
    }
}
