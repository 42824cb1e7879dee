//! Packets from servers: `spec/tunnel.md` sections 6.3 and 6.4.

use alloc::vec::Vec;
use clew_wire::Instant;

use super::state::State;
use super::tunnel::Tunnel;
use super::{Client, Shared};
use crate::engine::Datagram;
use crate::engine::channel::Now;
use crate::engine::event::Event;
use crate::engine::receive::{GROUP, Waiting};
use crate::engine::tids::TidUse;
use crate::reason::Reason;
use crate::wire::packet::{Packet, Side, Tid};

impl Client {
    /// Takes datagrams, in their order.
    pub fn receive<'a>(
        &mut self,
        mut now: Now<'_>,
        datagrams: impl IntoIterator<Item = Datagram<'a>>,
    ) {
        let mut group: Vec<Waiting<'a>> = Vec::with_capacity(GROUP);
        for Datagram { peer, bytes } in datagrams {
            match Packet::parse(bytes, 0) {
                Err(reason) => self.count(reason),
                Ok(Packet::Tunnel(Side::Server, boxed)) => {
                    let Some((index, which)) = self.tids.get(boxed.tid) else {
                        self.count(Reason::UnknownTid);
                        continue;
                    };
                    let waiting = Waiting {
                        index,
                        which,
                        source: peer,
                        boxed,
                    };
                    if which == TidUse::Initiation {
                        self.decrypted_first(&mut now, waiting);
                        continue;
                    }
                    group.push(waiting);
                    if group.len() == GROUP {
                        self.decrypt_group(&mut now, &mut group);
                    }
                }
                Ok(Packet::Interrogation(asked)) => {
                    self.unboxed(now.instant, asked.tid, |tunnel, shared| {
                        tunnel.interrogated(shared, &asked)
                    });
                }
                Ok(Packet::StaleKey(answer)) => {
                    self.unboxed(now.instant, answer.tid, |tunnel, shared| {
                        match &tunnel.state {
                            State::First(_) => tunnel.stale(shared, &mut now, &answer),
                            State::Rekey(..) => tunnel.stale_rekey(shared, &now, &answer),
                            State::Open(_) | State::Closed(_) => Err(Reason::UnexpectedAnswer),
                        }
                    });
                }
                // What clients send is for the server of the same socket.
                Ok(_) => self.count(Reason::BadFlags),
            }
        }
        self.decrypt_group(&mut now, &mut group);
    }

    /// An answer without a box, which only ends a tunnel that it leaves nothing to do for.
    fn unboxed(
        &mut self,
        now: Instant,
        tid: Tid,
        take: impl FnOnce(&mut Tunnel, &mut Shared) -> Result<(), Reason>,
    ) {
        let index = self.tids.get(tid).map(|(index, _)| index);
        let tunnel = index.and_then(|index| self.tunnels.at(index));
        let (Some(index), Some(tunnel)) = (index, tunnel) else {
            return self.count(Reason::UnexpectedAnswer);
        };
        match take(tunnel, &mut self.shared) {
            Err(reason @ (Reason::TooLong | Reason::WrongState)) => {
                return self.end(now, index, Some(reason));
            }
            Err(reason) => self.count(reason),
            Ok(()) => {}
        }
        self.touch(index);
    }

    /// The server's first packet, perhaps.
    fn decrypted_first(&mut self, now: &mut Now<'_>, mut waiting: Waiting<'_>) {
        let index = waiting.index;
        let attempt = self.tunnels.at(index).map(|tunnel| tunnel.state.attempt());
        let Some(Ok(attempt)) = attempt else {
            return self.count(Reason::UnknownTid);
        };
        let Some(key) = attempt.decrypt(&mut waiting.boxed) else {
            return self.count(Reason::BadBox);
        };
        self.change(now.instant, index, |tunnel, shared| {
            if tunnel.state.open(key)? > 1 {
                tunnel.channel.sending.mark_again();
            }
            let opened = Event::Opened(tunnel.channel.id);
            shared.common.events.push_back(opened);
            Ok(())
        });
        waiting.which = TidUse::Current;
        self.decrypted(now, waiting);
    }
}
