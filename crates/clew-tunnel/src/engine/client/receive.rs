//! Packets from servers: `spec/tunnel.md` sections 6.3 and 6.4.

use alloc::vec::Vec;

use super::tunnel::{State, Tunnel};
use super::{Client, Shared, Which};
use crate::boxes::TAG;
use crate::engine::Datagram;
use crate::engine::channel::{self, Now};
use crate::engine::decryption::{self, GROUP};
use crate::engine::event::Event;
use crate::engine::packet_keys::PacketKeys;
use crate::engine::trace::{Received, Seen};
use crate::puzzle::Search;
use crate::reason::Reason;
use crate::wire::packet::{Boxed, HEADER_BYTES, Packet, Side, StaleKey, Tid};
use crate::wire::plaintext::Plaintext;
use crate::wire::rpc::Rpc;

/// A packet of a tunnel that is to be opened.
struct Waiting {
    index: u32,
    which: Which,
}

impl Client {
    /// Takes datagrams, in their order.
    pub fn receive<'a>(
        &mut self,
        mut now: Now<'_>,
        datagrams: impl IntoIterator<Item = Datagram<'a>>,
    ) {
        let mut group: Vec<(Waiting, Boxed<'a>)> = Vec::with_capacity(GROUP);
        for Datagram { bytes, .. } in datagrams {
            match Packet::parse(bytes, 0) {
                Err(reason) => self.count(reason),
                Ok(Packet::Tunnel(Side::Server, boxed)) => match self.tids.get(&boxed.tid) {
                    None => self.count(Reason::UnknownTid),
                    Some(&(index, Which::First)) => self.decrypted_first(&mut now, index, boxed),
                    Some(&(index, which)) => {
                        group.push((Waiting { index, which }, boxed));
                        if group.len() == GROUP {
                            self.decrypt_group(&mut now, &mut group);
                        }
                    }
                },
                Ok(Packet::Interrogation(asked)) => {
                    self.unboxed(asked.tid, |tunnel, shared| {
                        tunnel.interrogated(shared, &asked)
                    });
                }
                Ok(Packet::StaleKey(answer)) => self.stale(&mut now, &answer),
                // What clients send is for the server of the same socket.
                Ok(_) => self.count(Reason::BadFlags),
            }
        }
        self.decrypt_group(&mut now, &mut group);
    }

    fn unboxed(
        &mut self,
        tid: Tid,
        take: impl FnOnce(&mut Tunnel, &mut Shared) -> Result<(), Reason>,
    ) {
        let Self {
            tunnels,
            shared,
            tids,
            ..
        } = self;
        let index = tids.get(&tid).map(|(index, _)| *index);
        let tunnel = index.and_then(|index| tunnels.at(index));
        let taken = tunnel.map_or(Err(Reason::UnexpectedAnswer), |tunnel| take(tunnel, shared));
        if let Err(reason) = taken {
            self.count(reason);
        }
        if let Some(index) = index {
            self.touch(index);
        }
    }

    fn stale(&mut self, now: &mut Now<'_>, answer: &StaleKey<'_>) {
        let index = self.tids.get(&answer.tid).map(|(index, _)| *index);
        let shared = &mut self.shared;
        let tunnel = index.and_then(|index| self.tunnels.at(index));
        let taken = match tunnel {
            None => Err(Reason::UnexpectedAnswer),
            Some(tunnel) => match &tunnel.state {
                State::First(_) => tunnel.stale(shared, now, answer),
                State::Rekey(_) => tunnel.stale_rekey(shared, now, answer),
                State::Open => Err(Reason::UnexpectedAnswer),
            },
        };
        match (taken, index) {
            (Err(Reason::TooLong), Some(index)) => {
                self.end(now, index, Some(Reason::TooLong));
            }
            (Err(reason), _) => self.count(reason),
            (Ok(()), Some(index)) => self.touch(index),
            (Ok(()), None) => {}
        }
    }

    /// The server's first packet, perhaps.
    fn decrypted_first(&mut self, now: &mut Now<'_>, index: u32, mut boxed: Boxed<'_>) {
        let Some(tunnel) = self.tunnels.at(index) else {
            return;
        };
        let State::First(attempt) = &tunnel.state else {
            return;
        };
        let Some(place) = attempt.decrypt(&mut boxed) else {
            return self.count(Reason::BadBox);
        };
        let State::First(attempt) = core::mem::replace(&mut tunnel.state, State::Open) else {
            return;
        };
        let (keys, binder, sends) = attempt.into_keys(place);
        if sends > 1 {
            tunnel.channel.sending.mark_again();
        }
        self.tids.insert(keys.tid, (index, Which::Current));
        (tunnel.keys, tunnel.binder) = (Some(keys), Some(binder));
        let opened = Event::Opened(tunnel.channel.id);
        self.shared.common.events.push_back(opened);
        self.decrypted(now, index, Which::Current, boxed);
    }

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
                self.decrypted(now, waiting.index, waiting.which, boxed);
            } else {
                self.count(Reason::BadBox);
            }
        }
    }

    fn decrypted(&mut self, now: &mut Now<'_>, index: u32, which: Which, boxed: Boxed<'_>) {
        let (tid, nonce) = (boxed.tid, boxed.nonce);
        let text = boxed.into_text();
        let Some(tunnel) = self.tunnels.at(index) else {
            return self.count(Reason::UnknownTid);
        };
        let keys = packet_keys_mut(tunnel, which).ok_or(Reason::UnknownTid);
        if let Err(reason) = keys.and_then(|keys| keys.seen.check(nonce)) {
            return self.count(reason);
        }
        let plaintext = match Plaintext::parse(text) {
            Ok(plaintext) => plaintext,
            Err(reason) => return self.end(now, index, Some(reason)),
        };
        if plaintext.has_next_tid() {
            return self.count(Reason::Misplaced);
        }
        let packet = Seen {
            tid,
            nonce,
            seq: plaintext.seq,
            ack: plaintext.ack,
            bytes: HEADER_BYTES + TAG + text.len(),
            is_initiation: false,
        };
        let done = tunnel.take(&mut self.shared, now, (packet, which), &plaintext);
        match done {
            Ok(()) if !tunnel.is_closed => self.touch(index),
            Ok(()) => self.end(now, index, None),
            Err(reason) => self.end(now, index, Some(reason)),
        }
    }
}

impl Tunnel {
    fn take(
        &mut self,
        shared: &mut Shared,
        now: &mut Now<'_>,
        (packet, which): (Seen, Which),
        plaintext: &Plaintext<'_>,
    ) -> Result<(), Reason> {
        let Plaintext { seq, ack, .. } = *plaintext;
        let keys = packet_keys_mut(self, which).ok_or(Reason::UnknownTid)?;
        keys.seen.note(packet.nonce);
        self.heard = now.instant;
        self.is_silent = false;
        if which == Which::Current && matches!(self.state, State::Rekey(_)) {
            self.rekeyed(now);
        }
        self.channel
            .sending
            .acknowledge(ack, seq == 0, now.instant)?;
        shared.common.trace.note(|| Received {
            at: now.instant,
            packet,
            status: self.channel.status(self.address()),
        });
        let (urgent, counted) = plaintext.split()?;
        for call in urgent {
            let Rpc::Puzz { q, hash, w, nonce } = Rpc::of(&call, Side::Server)? else {
                return Err(Reason::Order);
            };
            let search = Search::new(q, hash, w, shared.config.w);
            self.posed(shared, search, nonce)?;
        }
        channel::receive(self, shared, now, seq, counted)?;
        self.note_connections(now.instant);
        Ok(())
    }
}

fn packet_keys(tunnel: &Tunnel, which: Which) -> Option<&PacketKeys> {
    match which {
        Which::Current => tunnel.keys.as_ref(),
        Which::Old => tunnel.old.as_ref().map(|old| &old.0),
        Which::First => None,
    }
}

fn packet_keys_mut(tunnel: &mut Tunnel, which: Which) -> Option<&mut PacketKeys> {
    match which {
        Which::Current => tunnel.keys.as_mut(),
        Which::Old => tunnel.old.as_mut().map(|old| &mut old.0),
        Which::First => None,
    }
}
