//! The second half of a packet's way: from its verdict to its delivery.

use super::order::Token;
use super::queue::Source;
use super::trailed_flow::TrailedFlow;
use super::work::{Job, Task};
use super::{Inbound, Refused};
use crate::mss;
use crate::packet::Moment;
use clew_packet::{Checked, KeySource, Pending, Reason, Received, Ticket, Verdict};
use clew_wire::Instant;

impl<K: KeySource> Inbound<K> {
    /// Takes a verified signature in, for its packet and for those that wait for it.
    pub(super) fn conclude(&mut self, job: Job, checked: Checked, now: Instant) {
        // A packet that was given up meanwhile has been counted. Others of its block need the signature.
        let conclusion = match self.is_held(job.token) {
            true => self.receiver.conclude(checked),
            false => self.receiver.learn_of_block(checked),
        };
        self.settle(now);
        // Else the packet that ends its window was verified in its place.
        let is_own = conclusion.reason != Reason::Vouched;
        self.metrics.signatures += u64::from(is_own);
        // A duplicate says that the signature held: somebody sent a copy.
        let held = conclusion.verdict == Verdict::Valid || conclusion.reason == Reason::Duplicate;
        // A bad one says nothing of an address that anybody may have written.
        let counts = held || job.counts_against_source;
        let says_something = conclusion.reason != Reason::Duplicate && counts;
        if says_something {
            self.queue.standings.judged(job.address, held, now);
        }
        // A duplicate is somebody's copy, and no sign of a flow.
        if let Some(flow) = job.flow.filter(|_| held && says_something) {
            self.see_flow(&flow, job.address, now);
        }
        if held && is_own {
            self.metrics.good_signatures += 1;
            self.metrics.k.count(job.k.into());
        }
        self.decide(job.token, conclusion.verdict, now);
        for (pending, token) in self.followers_of(&job) {
            if !held {
                self.count(conclusion.reason);
                self.refuse(token, now);
                continue;
            }
            match self.receiver.take_again(pending) {
                Received::Done(conclusion) => self.decide(token, conclusion.verdict, now),
                Received::Pending(pending) => self.enqueue(pending, Job { token, ..job }, now),
                Received::Waiting(_) => self.refuse(token, now),
            }
            self.settle(now);
        }
    }

    /// A signature of a flow held.
    fn see_flow(&mut self, flow: &TrailedFlow, judged: Source, now: Instant) {
        let standings = &mut self.queue.standings;
        let own = flow.own();
        if own != judged {
            standings.judged(own, true, now);
        }
        if let Some([next, second, former]) = flow.ranges() {
            standings.expect_flow(next, now);
            standings.expect_flow(second, now);
            standings.forget_flow(former);
        }
    }

    /// The gate was shut: what waits without a cookie, of sources that are not known, would not have
    /// passed it.
    pub(super) fn drop_unproven(&mut self, now: Instant) {
        // In a carrier without cookies each counts: nothing is dropped there.
        let is_proven = |task: &Task| task.job.counts_against_source;
        for task in self.queue.retain_of_unknown(is_proven) {
            self.give_up(task, Refused::NoCookie, now);
        }
    }

    /// A signature is not verified: too many wait, or it waited too long.
    pub(super) fn give_up(&mut self, task: Task, reason: Refused, now: Instant) {
        let followers = self.followers_of(&task.job).into_iter();
        let tokens = followers.map(|(_, token)| token).chain([task.job.token]);
        for token in tokens {
            self.drop_held(token, None, reason, now);
        }
        // Their shares are spent: nobody restores that signature again.
        let waiting: Vec<Ticket> = self.receiver.waiting_for(&task.pending).collect();
        for ticket in waiting {
            if let Some(token) = self.order.of_ticket(ticket) {
                self.drop_held(token, Some(ticket), reason, now);
            }
        }
    }

    fn followers_of(&mut self, job: &Job) -> Vec<(Pending, Token)> {
        let leader = job.block.map(|block| (job.address, block));
        let mut all = leader.map_or_else(Vec::new, |leader| self.followers.remove(&leader));
        // Others were given up meanwhile, and counted.
        all.retain(|(_, token)| self.is_held(*token));
        all
    }

    /// Decides about packets that waited for others of their blocks.
    pub(super) fn settle(&mut self, now: Instant) {
        for (ticket, conclusion) in self.receiver.settled() {
            if let Some(token) = self.order.of_ticket(ticket) {
                self.decide(token, conclusion.verdict, now);
            }
        }
    }

    /// Gives up what waited too long for others.
    pub(super) fn expire(&mut self, now: Moment) {
        self.receiver.expire(now.wall);
        self.settle(now.instant);
        self.fragments.expire(now.instant);
        for _ in self.fragments.missing() {
            self.count(Reason::MissingFragment);
        }
        while let Some((token, ticket)) = self.order.expired(now.instant) {
            self.drop_held(token, ticket, Refused::NoVerdict, now.instant);
        }
    }

    /// Drops a packet without a verdict.
    pub(super) fn drop_held(
        &mut self,
        token: Token,
        ticket: Option<Ticket>,
        reason: Refused,
        now: Instant,
    ) {
        match ticket {
            // It is counted as `too-few-shares`.
            Some(ticket) => {
                self.receiver.give_up(ticket);
            }
            None if !self.is_held(token) => return,
            None => self.metrics.refused.count(reason),
        }
        self.refuse(token, now);
    }

    /// The packet is valid: it leaves when it is its turn.
    pub(super) fn release(&mut self, token: Token, now: Instant) {
        let peer = self.order.packet_mut(token).map(|delivery| delivery.peer);
        let mss = peer.and_then(|peer| self.mss(peer));
        if let Some((delivery, mss)) = self.order.packet_mut(token).zip(mss) {
            let mss = mss::of_version(mss, &delivery.bytes);
            self.metrics.clamped += u64::from(mss::clamp(&mut delivery.bytes, mss));
        }
        self.order.valid(token, now);
    }

    /// Counts a packet's reason.
    pub(super) fn count(&mut self, reason: Reason) {
        let looked = self.receiver.look_packet(Err(reason), None);
        self.receiver.take(looked);
    }

    /// Returns whether a packet still waits: whatever made room or waited too long does not.
    fn is_held(&mut self, token: Token) -> bool {
        self.order.packet_mut(token).is_some()
    }

    fn decide(&mut self, token: Token, verdict: Verdict, now: Instant) {
        match verdict {
            Verdict::Valid => self.release(token, now),
            Verdict::Unsigned | Verdict::Undecided | Verdict::Invalid => self.refuse(token, now),
        }
    }

    fn refuse(&mut self, token: Token, now: Instant) {
        if let Some(buffer) = self.order.refuse(token, now) {
            self.buffers.recycle(buffer);
        }
    }
}
