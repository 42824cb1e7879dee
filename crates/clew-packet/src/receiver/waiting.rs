//! Packets in coded carriage, until their block's signature is known: specification section 6,
//! step 7, which has the steps of `spec/flow-carriage.md` section 4.

use alloc::{collections::BTreeMap, sync::Arc, vec::Vec};

use clew_group::VerifyingKey;
use clew_tree::Digest;
use clew_tree::carriage::{Answer, Bins, Code, Key, Limits, Rate};

use crate::{
    receiver::pending::Pending,
    receiver::replay::message_hash,
    signed::{SignedPacket, Summary},
    wire::carriage::{CODED_MIN, Coded},
};

/// Most packets that wait: about 30 MB. The one that came first is given up for another.
pub const WAITING_MAX: usize = 1 << 16;

/// What receivers keep of blocks in coded carriage: about 25 MB of shares, which bound the blocks too, and
/// 5 MB of answers.
pub(crate) const LIMITS: Limits = Limits {
    blocks: WAITING_MAX,
    bins: 64,
    shares: WAITING_MAX,
    answers: 1 << 12,
    needed: Rate::QUARTER.needed(CODED_MIN),
};

/// Names a packet that waits; one that came later has a greater ticket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(u64);

/// A packet that was looked at, with its share.
#[derive(Debug)]
pub(crate) struct CodedPacket {
    summary: Summary,
    key: Arc<VerifyingKey>,
    message: Vec<u8>,
    bin: Key,
    code: Code,
    index: u16,
    share: Vec<u8>,
}

impl CodedPacket {
    /// Hashes what leads to the two roots of the packet's block; none if it is in full carriage.
    pub fn new(
        packet: &SignedPacket<'_>,
        summary: Summary,
        key: &Arc<VerifyingKey>,
    ) -> Option<Self> {
        let coded = packet.trailer().coded()?;
        let mut message = Vec::new();
        packet.write_message(&mut message);
        Some(Self {
            summary,
            key: Arc::clone(key),
            bin: bin(&message, &coded)?,
            message,
            code: *coded.tags.code(),
            index: coded.index(),
            share: coded.share.to_vec(),
        })
    }

    /// Returns the hash of its block's message.
    pub const fn block(&self) -> &Digest {
        &self.bin.block
    }

    /// As it was in full carriage.
    fn restored(self, signature: &[u8]) -> Pending {
        let place = (self.bin, self.index);
        Pending::restored(self.summary, self.key, self.message, place, signature)
    }
}

/// The bin of a packet: by its block's message, which has the root of the packets in it, so that no
/// bogus packet is of the block; and by the root of the shares.
pub(crate) fn bin(message: &[u8], coded: &Coded<'_>) -> Option<Key> {
    let block = message_hash(message);
    // The lengths are what the place asks for: parsing sees to that.
    let shares = coded
        .tags
        .root(coded.index(), coded.share, coded.tag)
        .ok()?;
    Some(Key {
        block,
        packets: block,
        shares,
    })
}

/// What became of a packet with its share.
pub(crate) enum Outcome {
    /// Its block's signature is not known yet.
    Waits(Ticket),
    /// Its share was the last one needed: the signature is to be verified.
    Restored(Pending),
    /// The signature was verified, but is not remembered elsewhere.
    Verified(Pending),
    /// Its bin has no signature that holds.
    Refused(Key),
}

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiter {
    pub ticket: Ticket,
    pub summary: Summary,
    pub index: u16,
}

/// The packets that wait, and their shares.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    bins: Bins<()>,
    /// By bin, those of a block side by side.
    waiters: BTreeMap<(Key, Ticket), Waiter>,
    keys: BTreeMap<Ticket, Key>,
    next: Ticket,
}

impl Waiting {
    /// Creates an empty list.
    pub const fn new() -> Self {
        Self {
            bins: const { Bins::new(LIMITS).expect("the limits are high enough") },
            waiters: BTreeMap::new(),
            keys: BTreeMap::new(),
            next: Ticket(0),
        }
    }

    /// Takes in a packet of a block whose signature is not known: steps 4 and 5 of `flow-carriage.md`.
    pub fn insert(&mut self, packet: CodedPacket) -> Outcome {
        let CodedPacket {
            bin, code, index, ..
        } = packet;
        let inserted = self.bins.insert(bin, &code, index, &packet.share, ());
        match inserted.answer {
            Answer::Pending | Answer::Again { .. } | Answer::Awaited(()) => {
                Outcome::Waits(self.add(&packet))
            }
            Answer::Restored { blob, .. } => Outcome::Restored(packet.restored(&blob)),
            Answer::Verified(()) => match self.bins.blob(&bin) {
                Some(blob) => Outcome::Verified(packet.restored(blob)),
                None => Outcome::Refused(bin),
            },
            Answer::Refused(()) | Answer::Wrong { .. } => Outcome::Refused(bin),
        }
    }

    /// Returns the ticket of whoever waits next.
    pub const fn next(&self) -> Ticket {
        self.next
    }

    /// Returns a packet as if it waited next.
    pub fn waiter(&self, packet: &CodedPacket) -> Waiter {
        Waiter {
            ticket: self.next,
            summary: packet.summary,
            index: packet.index,
        }
    }

    fn add(&mut self, packet: &CodedPacket) -> Ticket {
        let waiter = self.waiter(packet);
        let ticket = waiter.ticket;
        self.next.0 += 1;
        self.waiters.insert((packet.bin, ticket), waiter);
        self.keys.insert(ticket, packet.bin);
        ticket
    }

    /// Takes note that a signature over a block's message was verified, restored from that bin if it
    /// is in coded carriage: the packets of the block, oldest first.
    pub fn verified(&mut self, block: &Digest, bin: Option<&Key>) -> Vec<Waiter> {
        match bin {
            Some(bin) => self.bins.verified(bin),
            None => self.bins.forget(block),
        };
        let bin = |shares| Key {
            block: *block,
            packets: *block,
            shares,
        };
        self.leave(&bin([0; 32]), &bin([u8::MAX; 32]))
    }

    /// Takes note that the signature from a bin was refused: its packets, oldest first.
    pub fn refused(&mut self, bin: &Key) -> Vec<Waiter> {
        self.bins.refused(bin);
        self.leave(bin, bin)
    }

    /// Takes out who waits for one of these bins, oldest first.
    fn leave(&mut self, first: &Key, last: &Key) -> Vec<Waiter> {
        let range = (*first, Ticket(0))..=(*last, Ticket(u64::MAX));
        let waiters = self.waiters.range(range).map(|(_, waiter)| *waiter);
        let mut waiters: Vec<Waiter> = waiters.collect();
        waiters.sort_by_key(|waiter| waiter.ticket);
        for waiter in &waiters {
            self.give_up(waiter.ticket);
        }
        waiters
    }

    /// Returns those that wait with shares in that bin, oldest first.
    pub fn of_bin(&self, bin: &Key) -> impl Iterator<Item = Ticket> + '_ {
        let range = (*bin, Ticket(0))..=(*bin, Ticket(u64::MAX));
        self.waiters.range(range).map(|((_, ticket), _)| *ticket)
    }

    /// Takes out one that waits.
    pub fn give_up(&mut self, ticket: Ticket) -> Option<Waiter> {
        let bin = self.keys.remove(&ticket)?;
        self.waiters.remove(&(bin, ticket))
    }

    /// Returns the packet that waits for the longest time.
    pub fn first(&self) -> Option<&Waiter> {
        let (ticket, bin) = self.keys.first_key_value()?;
        self.waiters.get(&(*bin, *ticket))
    }

    /// Returns whether nobody else may wait.
    pub fn is_full(&self) -> bool {
        self.keys.len() >= WAITING_MAX
    }
}
