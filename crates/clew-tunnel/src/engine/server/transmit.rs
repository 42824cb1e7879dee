//! What a server sends.

use clew_wire::Instant;

use super::Shared;
use super::tunnel::Tunnel;
use crate::engine::outgoing::Outgoing;
use crate::limits::{ANSWER, PACKET_MIN};

impl Tunnel {
    /// Sends one packet, if there is one to be sent now.
    pub(super) fn send_packet(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        out: &mut Outgoing,
    ) -> bool {
        if self.state.open().is_none() {
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
        match self.is_first() {
            false => shared.config.packet.min(room),
            true if room < m => ANSWER,
            true => m,
        }
    }

    /// Writes a packet, if the tunnel is open.
    pub(super) fn write(&mut self, shared: &Shared, seq: u32, rpcs: &[u8], out: &mut Outgoing) {
        let Some(open) = self.state.open_mut() else {
            return;
        };
        let is_first = core::mem::replace(&mut open.is_first, false);
        let length = match (is_first, PACKET_MIN + rpcs.len() > ANSWER) {
            (false, _) => 0,
            (true, false) => ANSWER,
            (true, true) => usize::from(shared.config.m),
        };
        let header = open.keys.current.header();
        let numbers = (seq, self.channel.receiving.ack());
        let to = (0, self.path.address());
        let stream = &open.keys.current.stream;
        let sent = out.push(to, &header, numbers, rpcs, length, stream);
        debug_assert!(sent.is_some(), "no longer than the longest");
        self.path.sent(sent.unwrap_or(0));
        self.channel.receiving.acknowledged();
    }
}
