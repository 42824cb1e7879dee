//! Packets of tunnels: `spec/tunnel.md` sections 6.2, steps 1 and 2, and 6.3.

use alloc::vec::Vec;
use core::net::SocketAddr;

use super::tunnel::Tunnel;
use super::{Server, Shared};
use crate::engine::Datagram;
use crate::engine::channel::{self, Now};
use crate::engine::receive::{Decrypted, GROUP, Waiting};
use crate::engine::tids::Which;
use crate::engine::trace::Received;
use crate::reason::Reason;
use crate::wire::packet::{Packet, Side};
use crate::wire::plaintext::Plaintext;
use crate::wire::rpc::Rpc;

impl Server {
    /// Takes datagrams, in their order. What needs public-key work waits for [`Server::jobs`].
    pub fn receive<'a>(
        &mut self,
        mut now: Now<'_>,
        datagrams: impl IntoIterator<Item = Datagram<'a>>,
    ) {
        self.shared.wall = self.shared.wall.max(now.wall);
        let mut group: Vec<Waiting<'a>> = Vec::with_capacity(GROUP);
        for Datagram { peer, bytes } in datagrams {
            let length = bytes.len();
            match Packet::parse(bytes, self.shared.config.m) {
                Err(reason) => self.count(reason),
                Ok(Packet::Tunnel(Side::Client, boxed)) => {
                    // A rekey of the same batch may be what makes it known.
                    match self.tids.get(boxed.tid) {
                        None | Some((_, Which::Initiation)) => self.count(Reason::UnknownTid),
                        Some((index, which)) => group.push(Waiting {
                            index,
                            which,
                            source: peer,
                            boxed,
                        }),
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
}

impl Tunnel {
    /// Does what a packet has, from "the nonce is recorded" on.
    ///
    /// # Errors
    /// A reason that closes the tunnel.
    pub(super) fn take_packet(
        &mut self,
        shared: &mut Shared,
        now: &mut Now<'_>,
        decrypted: &Decrypted<'_>,
    ) -> Result<(), Reason> {
        let Decrypted {
            packet,
            which,
            source,
            plaintext,
        } = decrypted;
        let Plaintext { seq, ack, .. } = *plaintext;
        let keys = self
            .state
            .open_mut()
            .and_then(|open| open.keys.of_mut(*which));
        let is_newest = keys.ok_or(Reason::WrongState)?.seen.note(packet.nonce);
        self.heard = now.instant;
        let acknowledged = self
            .channel
            .sending
            .acknowledge(ack, seq == 0, now.instant)?;
        if *which == Which::Current && is_newest && *source != self.path.address() {
            self.moved(shared, now, *source, packet.is_initiation);
        }
        self.path.received(*source, packet.bytes);
        if *source == self.path.address() {
            self.pose_for_path(now);
        }
        if acknowledged.packets > 0 {
            self.path.acknowledged();
        }
        shared.common.trace.note(|| Received {
            at: now.instant,
            packet: *packet,
            status: self.channel.status(self.path.address()),
        });
        let (urgent, counted) = plaintext.split()?;
        for call in urgent {
            match Rpc::of(&call, Side::Client)? {
                Rpc::PuzzSoln { r, nonce } => {
                    if let Err(reason) = self.solved(shared, r, nonce) {
                        shared.common.counters.count(reason);
                    }
                }
                // Of an initiation packet, which has looked at it.
                Rpc::NextTid { .. } if packet.is_initiation => {}
                _ => return Err(Reason::Order),
            }
        }
        if packet.is_initiation {
            self.channel.receiving.owe_at_once();
        }
        channel::receive(self, shared, now, seq, counted)
    }

    /// The client is at another address.
    fn moved(
        &mut self,
        shared: &mut Shared,
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
