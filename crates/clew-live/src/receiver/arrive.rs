//! The first half of a datagram's way: everything up to its signature.

use super::cookie::COOKIE_BYTES;
use super::load::Gate;
use super::order::{Arrived, Line, Token};
use super::queue::SourcePrefix;
use super::standing::Class;
use super::work::{Job, Task};
use super::{Inbound, REPLIES_MAX, Refused};
use crate::ecn;
use crate::packet::{CookieMessage, Delivery, Moment, Outer, Reply};
use clew_packet::datagram::{self, COOKIE_DATAGRAM_BYTES, Rest};
use clew_packet::fragment::{Fragment, Taken};
use clew_packet::{
    Block, Carrier, KeySource, OuterAddresses, Pending, Reason, Received, SignedPacket, Ticket,
    Verdict,
};
use clew_wire::Instant;

impl<K: KeySource> Inbound<K> {
    /// Takes a datagram in.
    pub(super) fn arrive(
        &mut self,
        payload: &[u8],
        outer: &Outer,
        now: Moment,
    ) -> Option<CookieMessage> {
        let parsed = match datagram::parse(payload) {
            Ok(parsed) => parsed,
            Err(reason) => {
                self.count(reason);
                return None;
            }
        };
        if let Rest::Cookie { echo, cookie } = parsed.rest {
            self.metrics.cookies += 1;
            let (echo, cookie) = (*echo, *cookie);
            return Some(CookieMessage { echo, cookie });
        }
        if !self.passes_gate(payload, parsed.cookie, outer, now.instant) {
            self.metrics.refused.count(Refused::NoCookie);
            return None;
        }
        match parsed.rest {
            Rest::Fragment(fragment) => self.arrive_in_part(&fragment, outer, now),
            Rest::Packet { .. } | Rest::Cookie { .. } => self.arrive_whole(payload, outer, now),
        }
        None
    }

    fn passes_gate(
        &mut self,
        payload: &[u8],
        cookie: Option<&[u8; COOKIE_BYTES]>,
        outer: &Outer,
        now: Instant,
    ) -> bool {
        let gate = self.load.gate();
        let is_good = |cookie| self.jar.is_good(cookie, outer.source, now);
        if gate == Gate::Open || cookie.is_some_and(is_good) {
            return true;
        }
        self.reply(payload, outer, now);
        if gate == Gate::Shut {
            self.load.dropped(now);
        }
        gate == Gate::Warning
    }

    /// Gives the source a cookie, if the rate allows it.
    fn reply(&mut self, payload: &[u8], outer: &Outer, now: Instant) {
        let class = self.queue.standings.class(outer.source.ip().into(), now);
        let is_long_enough = payload.len() >= COOKIE_DATAGRAM_BYTES;
        if !is_long_enough || self.replies.len() >= REPLIES_MAX {
            return;
        }
        let Some(echo) = datagram::echo(payload) else {
            return;
        };
        if !self.reply_rates[class as usize].allows(now) {
            return;
        }
        let cookie = self.jar.cookie(outer.source, now);
        let mut bytes = Vec::with_capacity(COOKIE_DATAGRAM_BYTES);
        datagram::write_cookie(&echo, &cookie, &mut bytes);
        self.metrics.replies += 1;
        self.replies.push(Reply {
            to: outer.source,
            from: outer.destination,
            bytes,
        });
    }

    fn arrive_in_part(&mut self, fragment: &Fragment<'_>, outer: &Outer, now: Moment) {
        match self.fragments.take(fragment, now.instant, ()) {
            Taken::Waits => {}
            Taken::Whole { datagram, .. } => self.arrive_whole(&datagram, outer, now),
            Taken::Again { .. } => self.count(Reason::Duplicate),
            Taken::Bad { tokens } => {
                (0..=tokens.len()).for_each(|_| self.count(Reason::BadFragment));
            }
        }
    }

    fn arrive_whole(&mut self, payload: &[u8], outer: &Outer, now: Moment) {
        let addresses = OuterAddresses {
            source: outer.source.ip().to_canonical(),
            destination: outer.destination.ip().to_canonical(),
        };
        let packet = match SignedPacket::of_datagram(payload, &addresses) {
            Ok(packet) => packet,
            Err(reason) => return self.count(reason),
        };
        let Some(peer) = self.peers.find(packet.trailer().group, packet.source()) else {
            return self.metrics.refused.count(Refused::NotPeer);
        };
        let looked = self.receiver.look_packet(Ok(packet), Some(now.wall));
        let taken = self.receiver.take(looked);
        // What it brought to packets that wait comes first: they arrived earlier.
        self.settle(now.instant);
        let ticket = match &taken {
            Received::Done(conclusion) if conclusion.verdict != Verdict::Valid => return,
            Received::Done(_) | Received::Pending(_) => None,
            Received::Waiting(ticket) => Some(*ticket),
        };
        let mut bytes = self.buffers.take();
        packet.write_packet(&mut bytes);
        let from = outer.source;
        let line = (SourcePrefix::from(from.ip()), packet.flow().key());
        if !set_ecn(&mut bytes, packet.trailer().carrier, outer.ecn) {
            // Decided by the outer header: it is dropped in any case, once it would be delivered.
            self.metrics.refused.count(Refused::BadEcn);
            return self.buffers.recycle(bytes);
        }
        let delivery = Delivery { peer, bytes, from };
        let Some(token) = self.hold(line, delivery, ticket, now.instant) else {
            return;
        };
        match taken {
            Received::Done(_) => self.release(token, now.instant),
            Received::Waiting(_) => {}
            Received::Pending(pending) => {
                let k = match packet.trailer().block {
                    Block::Tree { block, .. } => block.count(),
                    Block::Each | Block::Window { .. } => 1,
                };
                let is_of_block = matches!(packet.trailer().block, Block::Tree { .. });
                let block = pending.affinity().filter(|_| is_of_block);
                let job = Job {
                    token,
                    source: line.0,
                    block,
                    k,
                };
                self.enqueue(pending, job, now.instant);
            }
        }
    }

    /// Holds a packet. Whoever came first makes room. Returns `None` if there is none.
    fn hold(
        &mut self,
        line: Line,
        delivery: Delivery,
        ticket: Option<Ticket>,
        now: Instant,
    ) -> Option<Token> {
        let class = self.queue.standings.class(line.0, now);
        while !self.order.has_room(delivery.bytes.len()) {
            match self.order.oldest() {
                Some((oldest, of)) if class == Class::Known || of.is_some() => {
                    self.drop_held(oldest, of, Refused::HoldFull, now);
                }
                _ => {
                    ticket.map(|ticket| self.receiver.give_up(ticket));
                    self.metrics.refused.count(Refused::HoldFull);
                    self.buffers.recycle(delivery.bytes);
                    return None;
                }
            }
        }
        let arrived = Arrived {
            line,
            class,
            delivery,
            ticket,
        };
        Some(self.order.hold(arrived, now))
    }

    /// Queues a signature, or lets the packet wait for that of another one of its block.
    pub(super) fn enqueue(&mut self, pending: Pending, job: Job, now: Instant) {
        if let Some(block) = job.block {
            if let Some(followers) = self.followers.get_mut(&(job.source, block)) {
                return followers.push((pending, job.token));
            }
            self.followers.insert((job.source, block), Vec::new());
        }
        let task = Task { pending, job };
        if let Some(refused) = self.queue.push(job.source, task, now) {
            self.give_up(refused, now);
        }
    }
}

/// Combines the congestion bits of both headers. Returns whether the packet may be delivered.
fn set_ecn(packet: &mut [u8], carrier: Carrier, outer: u8) -> bool {
    let combined = match carrier {
        // There was no inner header.
        Carrier::UdpTransport => Some(outer),
        Carrier::Trailer | Carrier::UdpTunnel => ecn::combined(ecn::of(packet), outer),
    };
    if let Some(ecn) = combined
        && ecn != ecn::of(packet)
    {
        ecn::set(packet, ecn);
    }
    combined.is_some()
}
