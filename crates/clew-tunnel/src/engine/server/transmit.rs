//! What a server sends.

use alloc::boxed::Box;
use alloc::vec::Vec;
use clew_wire::Instant;

use super::tunnel::Tunnel;
use super::{Server, Shared};
use crate::engine::channel::Now;
use crate::engine::outgoing::Outgoing;
use crate::limits::{ANSWER, PACKET_MIN};
use crate::wire::rpc::Rpc;

/// Packets of one tunnel before the next one has its turn.
const TURN: usize = 32;

impl Server {
    /// Writes what is to be sent, as far as there is room in the batch, and encrypts it. Whether there may be
    /// more.
    pub fn transmit(&mut self, now: Now<'_>, out: &mut Outgoing) -> bool {
        while out.has_room()
            && let Some((to, datagram)) = self.plain.pop_front()
        {
            out.push_plain((0, to), &datagram);
        }
        while out.has_room()
            && let Some(index) = self.tunnels.ready.pop_front()
        {
            let Some(tunnel) = self.tunnels.at(index) else {
                continue;
            };
            tunnel.channel.is_ready = false;
            let mut turns = TURN;
            let mut is_done = false;
            while turns > 0 && out.has_room() && !is_done {
                is_done = !tunnel.send(&mut self.shared, now.instant, out);
                turns -= 1;
            }
            if is_done {
                let due = tunnel.next_due();
                self.agenda.move_to(index, &mut tunnel.due, Some(due));
            } else {
                tunnel.channel.is_ready = true;
                self.tunnels.ready.push_back(index);
            }
        }
        out.seal();
        !(self.tunnels.ready.is_empty() && self.plain.is_empty())
    }
}

impl Tunnel {
    /// Sends one packet, if there is one to be sent now.
    fn send(&mut self, shared: &mut Shared, now: Instant, out: &mut Outgoing) -> bool {
        if self.is_dormant {
            return false;
        }
        self.requests.flush(&mut self.channel);
        if !self.can_send() && !self.can_pose() {
            return false;
        }
        let room = self.longest(shared).saturating_sub(PACKET_MIN);
        let mut rpcs = core::mem::take(&mut shared.common.scratch);
        rpcs.clear();
        if self.can_pose() {
            self.write_puzzle(now, &mut rpcs);
        }
        let has_puzzle = !rpcs.is_empty();
        let events = &mut shared.common.events;
        let left = room.saturating_sub(rpcs.len());
        let seq = self.channel.next(now, left, &mut rpcs, events);
        let is_ack_due = self.channel.receiving.due().is_some_and(|due| due <= now);
        let is_sent = seq != 0 || has_puzzle || (is_ack_due && self.can_send());
        if is_sent {
            self.write(shared, seq, &rpcs, out);
        }
        shared.common.scratch = rpcs;
        is_sent
    }

    /// The longest packet now without a puzzle, if any may be sent.
    fn longest(&self, shared: &Shared) -> usize {
        let room = self.room();
        let m = usize::from(shared.config.m);
        match self.is_first {
            false => shared.config.packet.min(room),
            true if room < m => ANSWER,
            true => m,
        }
    }

    fn write(&mut self, shared: &Shared, seq: u32, rpcs: &[u8], out: &mut Outgoing) {
        let length = match (self.is_first, PACKET_MIN + rpcs.len() > ANSWER) {
            (false, _) => 0,
            (true, false) => ANSWER,
            (true, true) => usize::from(shared.config.m),
        };
        let header = self.keys.header();
        let numbers = (seq, self.channel.receiving.ack());
        let to = (0, self.path.address());
        let sent = out.push(to, &header, numbers, rpcs, length, &self.keys.stream);
        debug_assert!(sent.is_some(), "no longer than the longest");
        self.path.sent(sent.unwrap_or(0));
        self.is_first = false;
        self.channel.receiving.acknowledged();
    }

    /// The packet with close(0), if the address has room for it. It stands alone, whatever waits: it is not
    /// sent again, and nothing that waits will be.
    pub(crate) fn last_word(&mut self, shared: &Shared, now: Instant) -> Option<Box<[u8]>> {
        let mut rpcs = Vec::new();
        Rpc::Close { connection: 0 }.write(&mut rpcs).ok()?;
        // What is kept back is of no use any more.
        let least = if self.is_first {
            ANSWER
        } else {
            PACKET_MIN + rpcs.len()
        };
        if self.is_dormant || self.path.room() < least {
            return None;
        }
        let mut last = Outgoing::new(1);
        let seq = self.channel.sending.send(rpcs.as_slice().into(), now);
        self.write(shared, seq.get(), &rpcs, &mut last);
        last.seal();
        last.runs().next().map(|run| run.bytes.into())
    }
}
