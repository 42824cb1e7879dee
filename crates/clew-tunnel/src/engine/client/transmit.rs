//! What a client sends.

use alloc::vec::Vec;
use clew_wire::Instant;

use super::tunnel::{State, Tunnel};
use super::{Client, Shared, Which};
use crate::engine::channel::Now;
use crate::engine::outgoing::Outgoing;
use crate::limits::{KEEPALIVE, KEEPALIVE_BYTES, PACKET_MIN};
use crate::reason::Reason;
use crate::wire::rpc::Rpc;

/// Packets of one tunnel before the next one has its turn.
const TURN: usize = 32;

impl Client {
    /// Writes what is to be sent, as far as there is room in the batch, and encrypts it. Whether there may be
    /// more.
    pub fn transmit(&mut self, mut now: Now<'_>, out: &mut Outgoing) -> bool {
        while out.has_room()
            && let Some((to, datagram)) = self.plain.pop_front()
        {
            out.push_plain(to, &datagram);
        }
        while out.has_room()
            && let Some(index) = self.tunnels.ready.pop_front()
        {
            let Some(tunnel) = self.tunnels.at(index) else {
                continue;
            };
            tunnel.channel.is_ready = false;
            match tunnel.send_turn(&mut self.shared, &mut now, out) {
                Err(reason) => self.end(&mut now, index, Some(reason)),
                Ok(true) => {
                    let due = tunnel.next_due();
                    self.agenda.move_to(index, &mut tunnel.due, due);
                }
                Ok(false) => {
                    tunnel.channel.is_ready = true;
                    self.tunnels.ready.push_back(index);
                }
            }
        }
        out.seal();
        !(self.tunnels.ready.is_empty() && self.plain.is_empty())
    }

    /// A TID that has a tunnel while its first packet is not answered.
    pub(super) fn note_first(&mut self, index: u32) {
        if let Some(Tunnel {
            state: State::First(attempt),
            ..
        }) = self.tunnels.at(index)
        {
            let tid = attempt.tid();
            self.tids.insert(tid, (index, Which::First));
        }
    }
}

impl Tunnel {
    /// Sends what there is to be sent now. Whether that was all of it.
    fn send_turn(
        &mut self,
        shared: &mut Shared,
        now: &mut Now<'_>,
        out: &mut Outgoing,
    ) -> Result<bool, Reason> {
        for _ in 0..TURN {
            if !out.has_room() {
                return Ok(false);
            }
            if matches!(self.state, State::First(_)) {
                self.send_first(shared, now, out)?;
                return Ok(true);
            }
            if !self.send_rekey(shared, now, out)? && !self.send(shared, now, out) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Sends one packet of the tunnel, if there is one to be sent now.
    pub(super) fn send(
        &mut self,
        shared: &mut Shared,
        now: &mut Now<'_>,
        out: &mut Outgoing,
    ) -> bool {
        self.ask_wishes(shared, now);
        let to = (self.from, self.address());
        let Some(keys) = &mut self.keys else {
            return false;
        };
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
        let receiving = &mut self.channel.receiving;
        let is_ack_due = receiving.due().is_some_and(|due| due <= now.instant);
        let is_sent = seq != 0 || has_solution || is_ack_due;
        if is_sent {
            let numbers = (seq, receiving.ack());
            // After a pause a NAT may have another address for it, which has to earn what comes back.
            let is_late = self.heard + KEEPALIVE <= now.instant;
            let least = if is_late { KEEPALIVE_BYTES } else { 0 };
            let header = keys.header();
            let sent = out.push(to, &header, numbers, &rpcs, least, &keys.stream);
            debug_assert!(sent.is_some(), "no longer than the longest");
            receiving.acknowledged();
        }
        shared.common.scratch = rpcs;
        self.note_connections(now.instant);
        is_sent
    }
}

impl Tunnel {
    /// Sends close(0), alone, whatever waits: it is not sent again, and nothing that waits will be.
    pub(crate) fn say_last(&mut self, now: Instant, out: &mut Outgoing) {
        let to = (self.from, self.address());
        let mut rpcs = Vec::new();
        let written = Rpc::Close { connection: 0 }.write(&mut rpcs);
        let (Ok(()), Some(keys)) = (written, &mut self.keys) else {
            return;
        };
        let seq = self.channel.sending.send(rpcs.as_slice().into(), now);
        let numbers = (seq.get(), self.channel.receiving.ack());
        let header = keys.header();
        out.push(to, &header, numbers, &rpcs, 0, &keys.stream);
    }
}

fn write_solution(r: &[u8; 80], nonce: [u8; 8], rpcs: &mut Vec<u8>) -> bool {
    Rpc::PuzzSoln { r, nonce }.write(rpcs).is_ok()
}
