//! The first half of a datagram's way: everything up to its signature.

use super::gate::Gate;
use super::order::{Arrived, FlowKey, Token};
use super::queue::Source;
use super::standing::Class;
use super::trailed_flow::TrailedFlow;
use super::work::{Job, Task};
use super::{Inbound, REPLIES_MAX, Refused};
use crate::ecn;
use crate::packet::{CookieMessage, Delivery, Moment, Outer, Reply};
use clew_packet::datagram::{self, COOKIE_DATAGRAM_BYTES, Rest};
use clew_packet::fragment::{Fragment, Taken};
use clew_packet::{
    Block, Carrier, Checked, Frame, KeySource, LinkType, OuterAddresses, Pending, Reason, Received,
    Screened, SignedPacket, Ticket, Verdict, read,
};
use clew_wire::Instant;
use std::net::SocketAddr;

/// Where a datagram comes from.
pub(super) struct Origin<'a> {
    outer: &'a Outer,
    /// Whether a bad signature counts against its source: a good cookie proves the address, or the carrier has
    /// no cookies.
    counts_against_source: bool,
    /// It was put together from fragments.
    is_in_parts: bool,
    /// The packet with its trailer, if anybody may have written its address: its flow pays for it.
    trailed: Option<&'a [u8]>,
}

impl Origin<'_> {
    /// Returns the address that the datagram names.
    fn source(&self) -> Source {
        self.outer.source.ip().into()
    }
}

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
            let (echo, cookie) = (*echo, *cookie);
            self.metrics.cookies += 1;
            return Some(CookieMessage { echo, cookie });
        }
        let is_good = |cookie| self.jar.is_good(cookie, outer.source, now.instant);
        // Nobody looks while the gate is open.
        let has_cookie = self.gatekeeper.gate() != Gate::Open && parsed.cookie.is_some_and(is_good);
        if !has_cookie && !self.passes_gate(payload, outer, now.instant) {
            self.metrics.refused.count(Refused::NoCookie);
            return None;
        }
        let from = Origin {
            outer,
            counts_against_source: has_cookie,
            is_in_parts: false,
            trailed: None,
        };
        match parsed.rest {
            Rest::Fragment(fragment) => self.arrive_in_part(&fragment, &from, now),
            Rest::Packet { .. } | Rest::Cookie { .. } => self.arrive_whole(payload, &from, now),
        }
        None
    }

    /// Returns whether a datagram without a good cookie passes.
    fn passes_gate(&mut self, payload: &[u8], outer: &Outer, now: Instant) -> bool {
        let gate = self.gatekeeper.gate();
        if gate == Gate::Open {
            return true;
        }
        self.reply(payload, outer, now);
        if gate == Gate::Shut {
            self.gatekeeper.dropped(now);
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

    fn arrive_in_part(&mut self, fragment: &Fragment<'_>, from: &Origin<'_>, now: Moment) {
        match self.fragments.take(fragment, now.instant, from.outer.ecn) {
            Taken::Waits => {}
            Taken::Whole { datagram, tokens } => {
                self.metrics.fragments_joined += tokens.len() as u64;
                let ecn = tokens.into_iter().fold(from.outer.ecn, ecn::of_parts);
                let whole = Origin {
                    outer: &Outer { ecn, ..*from.outer },
                    is_in_parts: true,
                    ..*from
                };
                self.arrive_whole(&datagram, &whole, now);
            }
            // It waits, too, and has what the others get.
            Taken::Again { of: None, .. } => {}
            Taken::Again {
                is_second: true, ..
            } => self.metrics.fragments_again += 1,
            Taken::Again { .. } => self.count(Reason::Duplicate),
            Taken::Bad { tokens } => {
                (0..=tokens.len()).for_each(|_| self.count(Reason::BadFragment));
            }
        }
    }

    /// Takes a packet with its trailer in.
    pub(super) fn arrive_trailed(&mut self, bytes: &[u8], now: Moment) {
        let is_trailed = |packet: &SignedPacket<'_>| packet.trailer().carrier == Carrier::Trailer;
        let packet = match read(&Frame::whole(LinkType::RAW, bytes)) {
            Ok(packet) if is_trailed(&packet) => packet,
            // A datagram of another carrier, whose last bytes look like a trailer's.
            Ok(_) => return self.count(Reason::NoTrailer),
            Err(reason) => return self.count(reason),
        };
        let flow = packet.flow();
        let [source, destination] =
            [flow.source, flow.destination].map(|address| SocketAddr::new(address, 0));
        // The packet's own header has arrived: there is no other to combine its congestion bits with.
        let outer = Outer {
            source,
            destination,
            ecn: 0,
        };
        let from = Origin {
            outer: &outer,
            counts_against_source: true,
            is_in_parts: false,
            trailed: Some(bytes),
        };
        self.arrive_packet(packet, &from, now);
    }

    fn arrive_whole(&mut self, payload: &[u8], from: &Origin<'_>, now: Moment) {
        let addresses = OuterAddresses {
            source: from.outer.source.ip().to_canonical(),
            destination: from.outer.destination.ip().to_canonical(),
        };
        let packet = match SignedPacket::of_datagram(payload, &addresses) {
            Ok(packet) => packet,
            Err(reason) => return self.count(reason),
        };
        self.arrive_packet(packet, from, now);
    }

    /// Judges a well-formed packet up to its signature.
    fn arrive_packet(&mut self, packet: SignedPacket<'_>, from: &Origin<'_>, now: Moment) {
        let outer = from.outer;
        let Some(peer) = self.peers.find(packet.trailer().group, packet.source()) else {
            return self.metrics.refused.count(Refused::NotPeer);
        };
        // Before anything takes note of the packet: whoever marks a copy of it spends nothing.
        let Some(ecn) = ecn_of(&packet, from) else {
            return self.metrics.refused.count(Refused::BadEcn);
        };
        // Before anything takes note of it: it has this reason alone, and a copy counts later.
        if !self.may_hold(packet.length_max(), from, now.instant) {
            return self.metrics.refused.count(Refused::HoldFull);
        }
        let looked = self.receiver.look_packet(Ok(packet), Some(now.wall));
        let taken = self.receiver.take(looked);
        // What it brought to packets that wait comes first: they arrived earlier.
        self.settle(now.instant);
        let ticket = match &taken {
            Received::Done(conclusion) if conclusion.verdict != Verdict::Valid => return,
            Received::Done(_) | Received::Pending(_) => None,
            Received::Waiting(ticket) => Some(*ticket),
        };
        let taken = match taken {
            Received::Pending(pending) => match pending.screen() {
                Screened::MayHold(pending) => Received::Pending(pending),
                Screened::Refused(checked) => return self.screened(checked, now.instant),
            },
            taken => taken,
        };
        let mut bytes = self.buffers.take();
        packet.write_packet(&mut bytes);
        if ecn != ecn::of(&bytes) {
            ecn::set(&mut bytes, ecn);
        }
        let flow = from.trailed.and_then(TrailedFlow::of);
        let source = from.source();
        let judged = self.judged(source, flow.as_ref());
        let class = self.queue.standings.class(judged, now.instant);
        let line = (source, packet.flow().key());
        let delivery = Delivery {
            peer,
            bytes,
            from: outer.source,
        };
        let is_valid = matches!(taken, Received::Done(_));
        let Some(token) = self.hold(line, class, (delivery, is_valid), ticket, now.instant) else {
            return;
        };
        match taken {
            Received::Done(_) => self.release(token, now.instant),
            Received::Waiting(_) => {}
            Received::Pending(pending) => {
                let (k, is_of_block) = match packet.trailer().block {
                    Block::Tree { block, .. } => (block.count(), true),
                    Block::Each | Block::Window { .. } => (1, false),
                };
                let address = self.payer(&pending, judged, now.instant);
                let job = Job {
                    token,
                    source: self.queue.standings.payer(address),
                    address,
                    flow,
                    block: pending.affinity().filter(|_| is_of_block),
                    k,
                    counts_against_source: from.counts_against_source,
                };
                self.enqueue(pending, job, now.instant);
            }
        }
    }

    /// Returns who is judged by a packet's signature: its address, or its flow if one of that flow held
    /// before, or if this host opened it. Whoever writes the address of a peer, and sees none of its
    /// packets, does not know its flows, and takes only from the share of new ones.
    fn judged(&self, address: Source, flow: Option<&TrailedFlow>) -> Source {
        let is_good = |flow: &Source| self.queue.standings.is_good(*flow);
        let of_flow = flow.and_then(|flow| {
            let own = Some(flow.own()).filter(is_good);
            own.or_else(|| Some(flow.opened()).filter(is_good))
        });
        of_flow.unwrap_or(address)
    }

    /// Returns the address that a signature is verified for. Who copies packets may bring the last share
    /// that a block needs: the block is of the known source that brought others.
    fn payer(&self, pending: &Pending, source: Source, now: Instant) -> Source {
        let standings = &self.queue.standings;
        let is_known = |source: &Source| standings.class(*source, now) == Class::Known;
        if is_known(&source) {
            return source;
        }
        let waiting = self.receiver.waiting_for(pending);
        let mut sources = waiting.filter_map(|ticket| self.order.source_of(ticket));
        sources.find(is_known).unwrap_or(source)
    }

    /// Refuses a packet whose signature costs no more than a hash to refuse. That says nothing of its
    /// source: anybody can write such a packet under any address.
    fn screened(&mut self, checked: Checked, now: Instant) {
        self.metrics.screened += 1;
        self.receiver.conclude(checked);
        self.settle(now);
    }

    /// Returns whether a packet of so many bytes at most has room, or another one can make some.
    fn may_hold(&self, bytes: usize, from: &Origin<'_>, now: Instant) -> bool {
        // Who pays is looked up where it decides: that costs hashes.
        let makes_room = || {
            let flow = from.trailed.and_then(TrailedFlow::of);
            let judged = self.judged(from.source(), flow.as_ref());
            let class = self.queue.standings.class(judged, now);
            self.order.oldest(class).is_some()
        };
        self.order.has_room(bytes) || makes_room()
    }

    /// Holds a packet. The oldest one makes room, and a known source's for no unknown one. Returns `None`
    /// if there is no room. A packet that is valid already was counted: it takes the place of at least one,
    /// so that it exceeds the bounds by its own length at most.
    fn hold(
        &mut self,
        line: FlowKey,
        class: Class,
        (delivery, is_valid): (Delivery, bool),
        ticket: Option<Ticket>,
        now: Instant,
    ) -> Option<Token> {
        while !self.order.has_room(delivery.bytes.len()) {
            let Some((oldest, of)) = self.order.oldest(class) else {
                if is_valid {
                    break;
                }
                match ticket {
                    // It is counted as `too-few-shares`.
                    Some(ticket) => drop(self.receiver.give_up(ticket)),
                    None => self.metrics.refused.count(Refused::HoldFull),
                }
                self.buffers.recycle(delivery.bytes);
                return None;
            };
            self.drop_held(oldest, of, Refused::HoldFull, now);
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
        let leads = match job.block {
            Some(block) => self.followers.add((job.address, block), pending, job.token),
            None => Some(pending),
        };
        let Some(pending) = leads else {
            return;
        };
        let task = Task { pending, job };
        if let Some(refused) = self.queue.push(job.source, task, now) {
            self.give_up(refused, Refused::Busy, now);
        }
    }
}

/// Returns the congestion bits that a packet is delivered with. `None` if it may not be delivered.
fn ecn_of(packet: &SignedPacket<'_>, from: &Origin<'_>) -> Option<u8> {
    let outer = from.outer.ecn;
    let Some(header) = packet.header() else {
        return Some(outer);
    };
    let inner = ecn::of(header);
    // Its fragments do not come again: a mark on a copy of one of them would spend it.
    let unmarked = from.is_in_parts.then_some(inner);
    ecn::combined(inner, outer).or(unmarked)
}
