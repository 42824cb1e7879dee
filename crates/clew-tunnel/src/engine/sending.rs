//! The sequence as it is sent: `spec/tunnel.md` sections 7.1 to 7.4.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use clew_wire::Instant;
use core::time::Duration;

use super::congestion::{Advice, Congestion};
use super::event::Traffic;
use super::retransmission::Timeout;
use super::seq::Seq;
use crate::limits::FIRST_PACKETS_MAX;
use crate::reason::Reason;

/// A counted packet that is not acknowledged.
#[derive(Debug)]
struct Sent {
    seq: Seq,
    rpcs: Box<[u8]>,
    at: Instant,
    is_again: bool,
}

/// One direction of a tunnel, at its sender.
#[derive(Debug)]
pub(super) struct Sending {
    next: Seq,
    flight: VecDeque<Sent>,
    /// How many of the first of `flight` are taken for lost, and how many of these were sent again.
    lost: usize,
    again: usize,
    /// The first one is to be sent again whatever the window allows.
    at_once: bool,
    /// Whether anything was acknowledged.
    is_known: bool,
    /// Whether the window was full when the last one was sent.
    was_full: bool,
    sent_at: Instant,
    /// Since when something is outstanding.
    waiting_since: Option<Instant>,
    /// When the timer runs out.
    expiry: Option<Instant>,
    congestion: Congestion,
    timeout: Timeout,
    /// What was sent since [`Self::counted`] was asked last.
    traffic: Traffic,
}

/// What an ack did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Acknowledged {
    /// Packets that were acknowledged.
    pub packets: usize,
}

impl Sending {
    /// A sequence from `start` on, of packets of at most so many bytes.
    pub(super) const fn new(start: Seq, packet: usize) -> Self {
        Self {
            next: start,
            flight: VecDeque::new(),
            lost: 0,
            again: 0,
            at_once: false,
            is_known: false,
            was_full: false,
            sent_at: Instant::from_nanos(0),
            waiting_since: None,
            expiry: None,
            congestion: Congestion::new(packet),
            timeout: Timeout::new(),
            traffic: Traffic::NONE,
        }
    }

    /// What was sent since the last call.
    pub(super) const fn counted(&mut self) -> Traffic {
        core::mem::replace(&mut self.traffic, Traffic::NONE)
    }

    /// How many packets an ack takes; none of an older one.
    ///
    /// # Errors
    /// `bad-ack`: of what was never sent.
    pub(super) fn check(&self, ack: u32) -> Result<Option<usize>, Reason> {
        let Some(ack) = Seq::new(ack) else {
            return Ok(None);
        };
        let first = self.flight.front().map_or(self.next, |sent| sent.seq);
        let before = first.before();
        let packets = before.until(ack) as usize;
        let is_old = packets > self.flight.len();
        let is_good = match is_old {
            true => self.is_known && ack.is_before(before),
            false => self.is_known || packets > 0,
        };
        if !is_good {
            return Err(Reason::BadAck);
        }
        Ok((!is_old).then_some(packets))
    }

    /// An ack was received, in a bare packet or not.
    ///
    /// # Errors
    /// `bad-ack`: of what was never sent.
    pub(super) fn acknowledge(
        &mut self,
        ack: u32,
        is_bare: bool,
        now: Instant,
    ) -> Result<Acknowledged, Reason> {
        let packets = self.check(ack)?;
        let (Some(packets), Some(ack)) = (packets, Seq::new(ack)) else {
            return Ok(Acknowledged { packets: 0 });
        };
        if packets == 0 {
            if is_bare && !self.flight.is_empty() {
                let last = self.next.before();
                let advice = self.congestion.duplicate(self.flight.len(), last);
                self.follow(advice);
            }
            return Ok(Acknowledged { packets });
        }
        self.is_known = true;
        self.take(packets, now);
        let advice = self
            .congestion
            .acknowledge(packets as u32, ack, self.was_full);
        self.follow(advice);
        Ok(Acknowledged { packets })
    }

    fn take(&mut self, packets: usize, now: Instant) {
        // One that was sent again may have kept the ack of those behind it.
        let mut taken = self.flight.iter().take(packets);
        if taken.all(|sent| !sent.is_again)
            && let Some(last) = self.flight.get(packets - 1)
        {
            let trip = now - last.at;
            self.timeout.measure(trip);
            self.traffic.trips += 1;
            self.traffic.trip += trip;
        }
        self.flight.drain(..packets);
        self.lost = self.lost.saturating_sub(packets);
        self.again = self.again.saturating_sub(packets);
        self.timeout.ran_out = 0;
        self.at_once = false;
        self.waiting_since.take_if(|_| self.flight.is_empty());
        self.expiry = (!self.flight.is_empty()).then(|| now + self.timeout.length());
    }

    fn follow(&mut self, advice: Advice) {
        if advice == Advice::Resend && !self.flight.is_empty() {
            self.lost = self.lost.max(1);
            self.again = 0;
            self.at_once = true;
        }
    }

    /// The timer ran out: the first outstanding packet is sent again. How often in a row it did.
    pub(crate) fn run_out(&mut self, now: Instant) -> u8 {
        if !self.flight.is_empty() {
            let last = self.next.before();
            self.congestion.run_out(self.flight.len(), last);
            self.lost = self.flight.len();
            self.again = 0;
            self.at_once = true;
        }
        self.traffic.timeouts += 1;
        self.timeout.ran_out = self.timeout.ran_out.saturating_add(1);
        self.expiry = Some(now + self.timeout.length());
        self.timeout.ran_out
    }

    /// Something was heard after a long silence: what is outstanding need not wait for a timer that has grown.
    pub(super) fn revive(&mut self, now: Instant) {
        if !self.flight.is_empty() && self.timeout.ran_out > 0 {
            self.timeout.ran_out = 0;
            self.expiry = Some(now);
        }
    }

    /// The next packet that is to be sent again, if there is one, the window has room for it, and its RPCs
    /// fit into so many bytes.
    pub(super) fn again(&mut self, now: Instant, room: usize) -> Option<(Seq, &[u8])> {
        if self.again >= self.lost || !(self.at_once || self.has_room()) {
            return None;
        }
        self.flight
            .get(self.again)
            .filter(|sent| sent.rpcs.len() <= room)?;
        self.at_once = false;
        self.sent_at = now;
        self.waiting_since.get_or_insert(now);
        self.expiry.get_or_insert(now + self.timeout.length());
        self.again += 1;
        self.was_full = !self.has_room();
        let sent = self.flight.get_mut(self.again - 1)?;
        sent.is_again = true;
        sent.at = now;
        self.traffic.again += 1;
        Some((sent.seq, &sent.rpcs))
    }

    /// Whether the window has room for a packet.
    fn has_room(&self) -> bool {
        let outstanding = self.flight.len() - (self.lost - self.again);
        outstanding < self.congestion.allowed()
    }

    /// Whether a new packet may be sent.
    pub(crate) fn may_send(&mut self, now: Instant) -> bool {
        let is_waiting = self.again < self.lost;
        let most = if self.is_known {
            usize::MAX
        } else {
            FIRST_PACKETS_MAX
        };
        if is_waiting || self.flight.len() >= most {
            return false;
        }
        let is_idle = self.flight.is_empty() && now > self.sent_at + self.timeout.length();
        if is_idle && self.sent_at > Instant::default() {
            self.congestion.rest();
        }
        self.has_room()
    }

    /// A new packet with these RPCs leaves: its place.
    pub(super) fn send(&mut self, rpcs: Box<[u8]>, now: Instant) -> Seq {
        let seq = self.next;
        self.next = seq.plus(1);
        self.flight.push_back(Sent {
            seq,
            rpcs,
            at: now,
            is_again: false,
        });
        self.was_full = !self.has_room();
        self.sent_at = now;
        self.traffic.sent += 1;
        self.waiting_since.get_or_insert(now);
        self.expiry.get_or_insert(now + self.timeout.length());
        seq
    }

    /// What is outstanding was sent in an initiation packet that repeats itself: no measurement of it.
    pub(crate) fn mark_again(&mut self) {
        for sent in &mut self.flight {
            sent.is_again = true;
        }
    }

    /// The first outstanding packet has other RPCs, which nobody has done.
    pub(crate) fn replace_first(&mut self, rpcs: &[u8]) {
        if let Some(first) = self.flight.front_mut() {
            first.rpcs = rpcs.into();
        }
    }

    /// The RPCs of the packets that were not acknowledged.
    pub(super) fn outstanding(&self) -> impl Iterator<Item = &[u8]> {
        self.flight.iter().map(|sent| &*sent.rpcs)
    }

    /// Whether all that was sent was acknowledged, and something was.
    pub(super) fn is_done(&self) -> bool {
        self.is_known && self.flight.is_empty()
    }

    /// When the timer runs out.
    pub(crate) const fn expiry(&self) -> Option<Instant> {
        self.expiry
    }

    /// Since when something is outstanding.
    pub(crate) const fn waiting_since(&self) -> Option<Instant> {
        self.waiting_since
    }

    /// Nothing is sent for a while: no timer. What is outstanding is sent again once something is.
    pub(super) fn pause(&mut self) {
        self.expiry = None;
        self.waiting_since = None;
        self.lost = self.flight.len();
        self.again = 0;
    }

    /// The address is another one: congestion and timer as at the start; what is outstanding is sent again
    /// by them. What they were before.
    pub(super) fn restart(&mut self, packet: usize, now: Instant) -> (Congestion, Timeout) {
        let before = (self.congestion, self.timeout);
        self.resume((Congestion::new(packet), Timeout::default()), now);
        before
    }

    /// Congestion and timer as they were.
    pub(crate) fn resume(&mut self, (congestion, timeout): (Congestion, Timeout), now: Instant) {
        (self.congestion, self.timeout) = (congestion, timeout);
        self.expiry = (!self.flight.is_empty()).then(|| now + self.timeout.length());
    }

    /// SRTT, the window in packets, and how many are outstanding.
    pub(super) fn state(&self) -> (Option<Duration>, u32, usize) {
        let trip = self.timeout.round_trip();
        (trip, self.congestion.window(), self.flight.len())
    }
}
