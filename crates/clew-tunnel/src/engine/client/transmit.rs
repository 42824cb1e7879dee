//! What a client sends.

use alloc::vec::Vec;

use super::Shared;
use super::tunnel::Tunnel;
use crate::engine::channel::Now;
use crate::engine::outgoing::Outgoing;
use crate::engine::party::Party;
use crate::limits::{KEEPALIVE, KEEPALIVE_BYTES, PACKET_MIN};
use crate::wire::rpc::Rpc;

impl Tunnel {
    /// Sends one packet of the tunnel, if there is one to be sent now.
    pub(super) fn send_packet(
        &mut self,
        shared: &mut Shared,
        now: &mut Now<'_>,
        out: &mut Outgoing,
    ) -> bool {
        self.ask_wishes(shared, now);
        let room = shared.config.packet - PACKET_MIN;
        let mut rpcs = core::mem::take(&mut shared.common.scratch);
        rpcs.clear();
        if let Some(solved) = self.solved.as_mut().filter(|solved| solved.is_due) {
            solved.is_due = !write_solution(&solved.r, solved.nonce, &mut rpcs);
        }
        let has_solution = !rpcs.is_empty();
        let events = &mut shared.common.events;
        let left = room - rpcs.len();
        let seq = self.channel.next(now.instant, left, &mut rpcs, events);
        let is_ack_due = self
            .channel
            .receiving
            .due()
            .is_some_and(|due| due <= now.instant);
        let is_sent = seq != 0 || has_solution || is_ack_due;
        if is_sent {
            // After a pause a NAT may have another address for it, which has to earn what comes back.
            let is_late = self.heard + KEEPALIVE <= now.instant;
            let least = if is_late { KEEPALIVE_BYTES } else { 0 };
            self.write(seq, &rpcs, least, out);
        }
        shared.common.scratch = rpcs;
        self.note_connections(now.instant);
        is_sent
    }

    /// Writes a packet of at least so many bytes, if there is a key.
    pub(super) fn write(&mut self, seq: u32, rpcs: &[u8], least: usize, out: &mut Outgoing) {
        let to = (self.from, self.address());
        let Some(keyed) = self.state.keyed_mut() else {
            return;
        };
        let keys = &mut keyed.keys.current;
        let numbers = (seq, self.channel.receiving.ack());
        let header = keys.header();
        let sent = out.push(to, &header, numbers, rpcs, least, &keys.stream);
        debug_assert!(sent.is_some(), "no longer than the longest");
        self.channel.receiving.acknowledged();
    }
}

fn write_solution(r: &[u8; 80], nonce: [u8; 8], rpcs: &mut Vec<u8>) -> bool {
    Rpc::PuzzSoln { r, nonce }.write(rpcs).is_ok()
}
