//! Rekeys and moves: `spec/tunnel.md` sections 8 and 9.

use alloc::vec::Vec;
use clew_wire::Instant;

use super::attempt::NEXT_TID_BYTES;
use super::sends::{FirstRpcs, Sends, initiation_room};
use super::state::State;
use super::tunnel::Tunnel;
use super::{Client, Shared};
use crate::engine::channel::Now;
use crate::engine::event::TunnelId;
use crate::engine::outgoing::Outgoing;
use crate::engine::packet_keys::PacketKeys;
use crate::engine::party::Party;
use crate::keys::{self, Nonce};
use crate::reason::Reason;
use crate::wire::packet::{Side, Tid};
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
        if self.tunnels.get(tunnel).is_none() {
            return;
        }
        let (instant, packet) = (now.instant, self.shared.config.packet);
        self.change(instant, tunnel.index, |tunnel, _| {
            tunnel.from = from;
            // What could not arrive before says nothing of the server.
            tunnel.heard = instant;
            tunnel.channel.sending.restart(packet, instant);
            match &mut tunnel.state {
                State::First(attempt) => attempt.moved(instant),
                State::Rekey(keyed, rekeying) => {
                    rekeying.sends.anew(instant);
                    // Nothing of the old key comes to the new address.
                    keyed.keys.draining = None;
                }
                State::Open(_) => return tunnel.rekey(&mut now, true),
                State::Closed(_) => return Err(Reason::WrongState),
            }
            Ok(())
        });
        self.touch(tunnel.index);
    }

    /// Rekeys a tunnel now, if it is open.
    pub fn rekey_now(&mut self, mut now: Now<'_>, tunnel: TunnelId) {
        let found = self.tunnels.get(tunnel);
        if found.is_some_and(|found| matches!(found.state, State::Open(_))) {
            self.change(now.instant, tunnel.index, |t, _| t.rekey(&mut now, false));
            self.touch(tunnel.index);
        }
    }
}

impl Tunnel {
    /// K, TID, t and C' anew.
    ///
    /// # Errors
    /// `wrong-state`: not OPEN.
    pub(super) fn rekey(&mut self, now: &mut Now<'_>, has_moved: bool) -> Result<(), Reason> {
        let keyed = self.state.keyed().ok_or(Reason::WrongState)?;
        let key = keys::next(&keyed.keys.current.key);
        let first = Nonce::new(0, Side::Client);
        let next = PacketKeys::new(self.announced, key, first);
        self.announced = Tid::from_random(now.random());
        let rekeying = Rekeying {
            client: keys::decoy(now.random()),
            sends: Sends::new(now),
            first: None,
            stale: None,
        };
        self.state.rekey(next, rekeying, now.instant, has_moved)
    }

    /// Sends the initiation packet of a rekey: M bytes, as of a new tunnel.
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
        let (keyed, rekeying) = self.state.rekeying()?;
        let first = rekeying.first.get_or_insert_with(|| {
            let mut rpcs = Vec::new();
            let room = initiation_room(m, NEXT_TID_BYTES);
            let events = &mut shared.common.events;
            let seq = self.channel.next(now.instant, room, &mut rpcs, events);
            FirstRpcs { seq, rpcs }
        });
        let rpcs = first.behind_next_tid(self.announced, rekeying.client)?;
        if rekeying.sends.count > 0 {
            self.channel.sending.mark_again();
        }
        let t = rekeying.sends.send(now.instant, now.wall);
        let keys = &mut keyed.keys.current;
        let header = keys.initiation(Nonce::new(t, Side::Client), rekeying.client, None);
        let numbers = (first.seq, ack);
        let sent = out.push(to, &header, numbers, &rpcs, m.into(), &keys.stream);
        self.channel.receiving.acknowledged();
        sent.map(|_| true).ok_or(Reason::TooLong)
    }
}
