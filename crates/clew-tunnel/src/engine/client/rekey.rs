//! Rekeys and moves: `spec/tunnel.md` sections 8 and 9.

use alloc::boxed::Box;
use alloc::vec::Vec;
use clew_wire::Instant;

use super::attempt::NEXT_TID_BYTES;
use super::tunnel::{FirstRpcs, Sends, State, Tunnel, initiation_room, next_rekey};
use super::{Client, Shared, Which};
use crate::engine::channel::Now;
use crate::engine::event::TunnelId;
use crate::engine::outgoing::Outgoing;
use crate::engine::packet_keys::PacketKeys;
use crate::keys::{self, Nonce};
use crate::limits::DRAIN;
use crate::reason::Reason;
use crate::wire::packet::{Side, Tid};
use crate::wire::rpc::Rpc;
use crate::x25519::Public;

/// The initiation packet of a rekey.
#[derive(Debug)]
pub(super) struct Rekeying {
    /// C': nobody has its secret.
    client: Public,
    /// When it is sent.
    pub sends: Sends,
    first: Option<FirstRpcs>,
    /// A stale-key answer came: the server may have begun anew.
    pub stale: Option<Instant>,
}

impl Client {
    /// The program's socket for this tunnel is another one: the client moved, or woke up.
    pub fn moved(&mut self, mut now: Now<'_>, tunnel: TunnelId, from: u32) {
        let Some(found) = self.tunnels.get(tunnel) else {
            return;
        };
        found.from = from;
        // What could not arrive before says nothing of the server.
        found.heard = now.instant;
        match &mut found.state {
            State::First(attempt) => attempt.moved(now.instant),
            State::Rekey(rekeying) => {
                rekeying.sends.anew(now.instant);
                // Nothing of the old key comes to the new address.
                if let Some(old) = found.old.take() {
                    self.tids.remove(&old.0.tid);
                }
            }
            State::Open => self.rekey(&mut now, tunnel.index, true),
        }
        if let Some(found) = self.tunnels.get(tunnel) {
            let packet = self.shared.config.packet;
            found.channel.sending.restart(packet, now.instant);
        }
        self.touch(tunnel.index);
    }

    /// Rekeys a tunnel now, if it is open.
    pub fn rekey_now(&mut self, mut now: Now<'_>, tunnel: TunnelId) {
        if self.tunnels.get(tunnel).is_some() {
            self.rekey(&mut now, tunnel.index, false);
            self.touch(tunnel.index);
        }
    }

    /// K, TID and t anew.
    pub(super) fn rekey(&mut self, now: &mut Now<'_>, index: u32, has_moved: bool) {
        let Some(tunnel) = self.tunnels.at(index) else {
            return;
        };
        if !matches!(tunnel.state, State::Open) {
            return;
        }
        let erased = tunnel.old.take().map(|old| old.0.tid);
        let Some(before) = tunnel.rekey(now, has_moved) else {
            return;
        };
        let current = tunnel.keys.as_ref().map(|keys| keys.tid);
        erased.map(|tid| self.tids.remove(&tid));
        if has_moved {
            self.tids.remove(&before);
        } else {
            self.tids.insert(before, (index, Which::Old));
        }
        if let Some(tid) = current {
            self.tids.insert(tid, (index, Which::Current));
        }
    }
}

impl Tunnel {
    /// The next key of an open tunnel. The TID that was current; none if there is no key.
    fn rekey(&mut self, now: &mut Now<'_>, has_moved: bool) -> Option<Tid> {
        let before = self.keys.take()?;
        let first = Nonce::new(0, Side::Client);
        self.keys = Some(PacketKeys::new(
            self.announced,
            keys::next(&before.key),
            first,
        ));
        self.announced = Tid::from_random(now.random());
        let tid = before.tid;
        // Nothing of it comes to the new address.
        self.old = (!has_moved).then(|| Box::new((before, now.instant + DRAIN)));
        self.state = State::Rekey(Box::new(Rekeying {
            client: keys::decoy(now.random()),
            sends: Sends::new(now),
            first: None,
            stale: None,
        }));
        Some(tid)
    }

    /// A packet under the new key was opened.
    pub(super) fn rekeyed(&mut self, now: &mut Now<'_>) {
        self.state = State::Open;
        self.rekey_at = next_rekey(now);
    }

    /// Sends the initiation packet of a rekey, if it is due: M bytes, as of a new tunnel.
    ///
    /// # Errors
    /// A reason that ends the tunnel.
    pub(crate) fn send_rekey(
        &mut self,
        shared: &mut Shared,
        now: &Now<'_>,
        out: &mut Outgoing,
    ) -> Result<bool, Reason> {
        let to = (self.from, self.address());
        let m = self.target.m();
        let ack = self.channel.receiving.ack();
        let (State::Rekey(rekeying), Some(keys)) = (&mut self.state, &mut self.keys) else {
            return Ok(false);
        };
        if rekeying.sends.next_due() > now.instant {
            return Ok(false);
        }
        let first = rekeying.first.get_or_insert_with(|| {
            let mut rpcs = Vec::new();
            let room = initiation_room(m, NEXT_TID_BYTES);
            let events = &mut shared.common.events;
            let seq = self.channel.next(now.instant, room, &mut rpcs, events);
            FirstRpcs { seq, rpcs }
        });
        let mut rpcs = Vec::new();
        let next_tid = Rpc::NextTid {
            tid: *self.announced.as_bytes(),
            key: rekeying.client,
        };
        next_tid.write(&mut rpcs)?;
        rpcs.extend_from_slice(&first.rpcs);
        if rekeying.sends.count > 0 {
            self.channel.sending.mark_again();
        }
        let t = rekeying.sends.send(now.instant, now.wall);
        let header = keys.initiation(Nonce::new(t, Side::Client), rekeying.client, None);
        let numbers = (first.seq, ack);
        let sent = out.push(to, &header, numbers, &rpcs, m.into(), &keys.stream);
        self.channel.receiving.acknowledged();
        sent.map(|_| true).ok_or(Reason::TooLong)
    }
}
