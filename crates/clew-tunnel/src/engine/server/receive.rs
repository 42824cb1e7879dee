//! Packets of tunnels: `spec/tunnel.md` sections 6.2, steps 1 and 2, and 6.3.

use alloc::vec::Vec;

use super::Server;
use crate::engine::Datagram;
use crate::engine::channel::Now;
use crate::engine::receive::{GROUP, Waiting};
use crate::engine::tids::TidUse;
use crate::reason::Reason;
use crate::wire::packet::{Packet, Side};

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
                        None | Some((_, TidUse::Initiation)) => self.count(Reason::UnknownTid),
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
