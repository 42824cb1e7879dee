//! Packets in coded carriage at the receiver: those that wait are settled by what others bring.

use alloc::{collections::VecDeque, vec::Vec};
use core::mem;

use super::{Conclusion, KeySource, Received, Receiver};
use crate::{
    reason::{Reason, Verdict},
    receiver::block_cache::BlockName,
    receiver::pending::Checked,
    receiver::waiting::{CodedPacket, Outcome, Ticket, WAITING_MAX, Waiter},
    time::Timestamp,
};

impl<K: KeySource> Receiver<K> {
    /// Returns the conclusions of packets that waited, since the last call. If nobody calls it, the
    /// latest [`WAITING_MAX`] are kept.
    pub fn settled(&mut self) -> VecDeque<(Ticket, Conclusion)> {
        mem::take(&mut self.settled)
    }

    /// Gives up packets that wait, oldest first, while their timestamps are too old at `time`: whatever
    /// comes of their blocks then is [`Reason::Stale`].
    pub fn expire(&mut self, time: Timestamp) {
        let oldest = self.acceptance.oldest(time);
        while let Some(first) = self.waiting.first()
            && first.summary.timestamp < oldest
        {
            self.settle_undecided(first.ticket);
        }
    }

    /// Gives up a packet that waits, for want of room: it is undecided. One that does not wait is that,
    /// too, and not counted again.
    pub fn give_up(&mut self, ticket: Ticket) -> Conclusion {
        match self.waiting.give_up(ticket) {
            Some(waiter) => self.done(Reason::TooFewShares, Some(waiter.summary)),
            None => Conclusion {
                verdict: Verdict::Undecided,
                reason: Reason::TooFewShares,
                summary: None,
            },
        }
    }

    fn settle_undecided(&mut self, ticket: Ticket) {
        let conclusion = self.give_up(ticket);
        self.push(ticket, conclusion);
    }

    /// Step 7 of a packet in coded carriage, up to the signature.
    pub(super) fn take_share(&mut self, packet: CodedPacket) -> Received {
        let waiter = self.waiting.waiter(&packet);
        if let Some(block) = self.blocks.by_message(packet.block()) {
            let checked = Checked::of_block(&waiter, block);
            return Received::Done(self.accept(checked));
        }
        while self.waiting.is_full()
            && let Some(first) = self.waiting.first()
        {
            self.settle_undecided(first.ticket);
        }
        match self.waiting.insert(packet) {
            Outcome::Waits(ticket) => Received::Waiting(ticket),
            Outcome::Restored(mut pending) => {
                pending.ticket = waiter.ticket;
                Received::Pending(pending)
            }
            Outcome::Verified(pending) => Received::Done(self.conclude(pending.checked(Ok(())))),
            Outcome::Refused(bin) => {
                let waiters = self.waiting.refused(&bin);
                self.settle_all(settled(waiters, None));
                Received::Done(self.done(Reason::BadSignature, Some(waiter.summary)))
            }
        }
    }

    /// What a check says: of its packet, and of those that wait. A packet whose bin is refused is as good
    /// as others of its block, if that was verified since: somebody altered its share.
    pub(super) fn learn(&mut self, checked: Checked) -> (Checked, Vec<Settled>) {
        let Some((block, index)) = checked.block else {
            return (checked, Vec::new());
        };
        match (checked.signature, checked.bin) {
            (Ok(_), bin) => {
                let waiters = self.waiting.verified(block.message(), bin.as_ref());
                (checked, settled(waiters, Some(block)))
            }
            (Err(_), None) => (checked, Vec::new()),
            (Err(_), Some(bin)) => {
                let own = Waiter {
                    ticket: checked.ticket,
                    summary: checked.summary,
                    index,
                };
                let verified = self.blocks.by_message(block.message());
                let waiters = settled(self.waiting.refused(&bin), verified);
                let as_others = |block| Checked::of_block(&own, block);
                (verified.map_or(checked, as_others), waiters)
            }
        }
    }

    /// Settles packets that waited: accepts those of a block that was verified.
    pub(super) fn settle_all(&mut self, waiters: Vec<Settled>) {
        for (waiter, block) in waiters {
            let conclusion = match block {
                Some(block) => self.accept(Checked::of_block(&waiter, block)),
                None => self.done(Reason::BadSignature, Some(waiter.summary)),
            };
            self.push(waiter.ticket, conclusion);
        }
    }

    fn push(&mut self, ticket: Ticket, conclusion: Conclusion) {
        if self.settled.len() >= WAITING_MAX {
            self.settled.pop_front();
        }
        self.settled.push_back((ticket, conclusion));
    }
}

/// A packet that waited, with its block if that was verified; without one it is refused.
pub(super) type Settled = (Waiter, Option<BlockName>);

fn settled(waiters: Vec<Waiter>, block: Option<BlockName>) -> Vec<Settled> {
    waiters.into_iter().map(|waiter| (waiter, block)).collect()
}
