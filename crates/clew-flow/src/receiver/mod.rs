//! Verifies packets of flows: `spec/flow-signature.md` section 5.

mod flow;
mod refused;
mod waiting;

pub use flow::{BLOCKS_MAX, Lost};
pub use refused::Effort;
pub use waiting::WAITING_MAX;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use sha2::{Digest as _, Sha256};

use crate::block::Digest;
use crate::known::Known;
use crate::reason::{Counters, Reason};
use crate::signing::BlockVerifier;
use crate::wire::{
    BadDescriptor, Carriage, Descriptor, Fixed, KeyId, SignedPacket, TIMESTAMP_BYTES, message,
};
use flow::Flow;
use refused::{Budget, Refused};
use waiting::{Queue, Waiting};

/// Sequences of blocks that are remembered: each has up to [`BLOCKS_MAX`] blocks.
pub const FLOWS_MAX: usize = 1024;

/// What a receiver accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acceptance {
    /// How far a block's timestamp may be from the receiver's time, in nanoseconds.
    pub window_ns: u64,
    /// How many signatures are verified.
    pub effort: Effort,
}

impl Default for Acceptance {
    /// 30 seconds.
    fn default() -> Self {
        Self {
            window_ns: 30_000_000_000,
            effort: Effort::default(),
        }
    }
}

impl Acceptance {
    fn check(&self, timestamp: u64, now: u64) -> Result<(), Reason> {
        if now.saturating_sub(timestamp) > self.window_ns {
            return Err(Reason::Stale);
        }
        if timestamp.saturating_sub(now) > self.window_ns {
            return Err(Reason::Future);
        }
        Ok(())
    }
}

/// What was found about a packet.
#[derive(Clone, Debug)]
pub struct Finding<'a> {
    /// The rule that decided.
    pub reason: Reason,
    /// What the application sent; all of it, if there is no packet signature.
    pub packet: &'a [u8],
    /// Packets that were `pending` and are so no more: their tickets, and `ok`, `no-signature` or why
    /// they are refused.
    pub resolved: Vec<(u64, Reason)>,
}

/// Verifies packets, and remembers what that takes.
#[derive(Debug)]
pub struct FlowReceiver {
    acceptance: Acceptance,
    known: BTreeMap<KeyId, (Descriptor, Box<dyn BlockVerifier>)>,
    flows: BTreeMap<(KeyId, [u8; 4]), Flow>,
    refused: Refused,
    budget: Budget,
    waiting: Queue,
    /// Of packets that waited: what the packet at hand made of them.
    resolved: Vec<(u64, Reason)>,
    counters: Counters,
    lost: Lost,
    /// Signatures that were verified.
    verifications: u64,
    /// Packets so far: a clock for what was used last.
    packets: u64,
}

impl FlowReceiver {
    /// A receiver of these flows.
    ///
    /// # Errors
    /// A descriptor's public key is none.
    pub fn new(
        descriptors: impl IntoIterator<Item = Descriptor>,
        acceptance: Acceptance,
    ) -> Result<Self, BadDescriptor> {
        let known = descriptors.into_iter().map(|descriptor| {
            let verifier = descriptor.verifier()?;
            Ok((descriptor.key_id(), (descriptor, verifier)))
        });
        Ok(Self {
            known: known.collect::<Result<_, _>>()?,
            budget: Budget::new(acceptance.effort),
            acceptance,
            flows: BTreeMap::new(),
            refused: Refused::default(),
            waiting: Queue::default(),
            resolved: Vec::new(),
            counters: Counters::default(),
            lost: Lost::default(),
            verifications: 0,
            packets: 0,
        })
    }

    /// Judges a packet that comes now (nanoseconds since 1970). `ticket` is the caller's name for
    /// it: if it is `pending`, a later [`Finding`] tells by it what became of it.
    pub fn receive<'a>(&mut self, signed: &'a [u8], now: u64, ticket: u64) -> Finding<'a> {
        self.finding(signed, self.parse(signed), None, now, ticket)
    }

    /// Judges packets as [`receive`](Self::receive) does one after the other, with tickets from the
    /// first on. Packets of a block that come after each other are hashed together.
    pub fn receive_many<'a>(
        &mut self,
        signed: &[&'a [u8]],
        now: u64,
        first_ticket: u64,
    ) -> Vec<Finding<'a>> {
        let parsed: Vec<_> = signed.iter().map(|signed| self.parse(signed)).collect();
        let leaves = self.leaves(&parsed);
        let all = signed.iter().zip(parsed).zip(leaves).zip(first_ticket..);
        let finding = |(((signed, parsed), leaf), ticket): (((&&'a [u8], _), _), _)| {
            self.finding(signed, parsed, leaf, now, ticket)
        };
        all.map(finding).collect()
    }

    /// The leaves of packets that are not refused without.
    fn leaves(&self, parsed: &[Result<SignedPacket<'_>, Reason>]) -> Vec<Option<Digest>> {
        let mut leaves = alloc::vec![None; parsed.len()];
        let places = parsed.iter().enumerate();
        let to_hash: Vec<(usize, &SignedPacket<'_>)> = places
            .filter_map(|(place, packet)| Some((place, packet.as_ref().ok()?)))
            .filter(|(_, packet)| self.screen(packet).is_ok())
            .collect();
        for of_block in to_hash.chunk_by(|(_, a), (_, b)| a.block == b.block) {
            let contents: Vec<_> = of_block.iter().map(|(_, p)| p.content()).collect();
            let hashed = of_block[0].1.block.leaves(&contents);
            for ((place, _), leaf) in of_block.iter().zip(hashed) {
                leaves[*place] = Some(leaf);
            }
        }
        leaves
    }

    /// Judges a packet, whose leaf may have been hashed with others.
    fn finding<'a>(
        &mut self,
        signed: &'a [u8],
        parsed: Result<SignedPacket<'a>, Reason>,
        leaf: Option<Digest>,
        now: u64,
        ticket: u64,
    ) -> Finding<'a> {
        self.packets += 1;
        let judged = parsed.and_then(|packet| {
            self.screen(&packet)?;
            let leaf = leaf.unwrap_or_else(|| packet.leaf());
            Ok(self.judge(&packet, &leaf, now, ticket))
        });
        let reason = judged.unwrap_or_else(|reason| reason);
        let packet = parsed.map_or(signed, |packet| packet.packet);
        self.counters.count(reason);
        Finding {
            reason,
            packet,
            resolved: core::mem::take(&mut self.resolved),
        }
    }

    /// How many packets met each reason; those that were pending by both.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What never came of blocks that are forgotten.
    pub const fn lost(&self) -> Lost {
        self.lost
    }

    /// How many signatures were verified.
    pub const fn verifications(&self) -> u64 {
        self.verifications
    }

    /// Forgets all sequences, and counts what never came of them.
    pub fn end(&mut self) -> Lost {
        for flow in core::mem::take(&mut self.flows).into_values() {
            self.lost.add(flow.end());
        }
        self.lost
    }

    /// Steps 1 to 5.
    fn parse<'a>(&self, signed: &'a [u8]) -> Result<SignedPacket<'a>, Reason> {
        let fixed = Fixed::of(signed)?;
        let (descriptor, _) = self.known.get(&fixed.key).ok_or(Reason::UnknownFlow)?;
        SignedPacket::of(signed, fixed, descriptor)
    }

    /// Step 6.
    fn screen(&self, packet: &SignedPacket<'_>) -> Result<(), Reason> {
        let flow = self.flows.get(&(packet.fixed.key, packet.fixed.tag));
        flow.map_or(Ok(()), |flow| flow.screen(packet))
    }

    /// Steps 7 to 9.
    fn judge(&mut self, packet: &SignedPacket<'_>, leaf: &Digest, now: u64, ticket: u64) -> Reason {
        let name = (packet.fixed.key, packet.fixed.tag);
        if let Some(flow) = self.flows.get_mut(&name) {
            flow.used = self.packets;
            if let Some(reason) = flow.judge(packet, leaf) {
                if reason == Reason::Ok {
                    self.budget.earn();
                }
                return reason;
            }
        }
        let root = packet.block.root(packet.fixed.index, leaf, packet.path);
        let Some(root) = root else {
            return Reason::BadLength;
        };
        match packet.carriage {
            Carriage::Sparse => self.wait(packet, (*leaf, root), ticket),
            Carriage::Full => match self.verify(packet, &root, now) {
                Ok(()) => self.take_in(packet, leaf, root),
                Err(reason) => reason,
            },
        }
    }

    fn wait(
        &mut self,
        packet: &SignedPacket<'_>,
        (leaf, root): (Digest, Digest),
        ticket: u64,
    ) -> Reason {
        let fixed = &packet.fixed;
        let place = (fixed.key, fixed.tag, fixed.seq);
        let waiting = Waiting {
            ticket,
            root,
            index: fixed.index,
            leaf,
            path: packet.path.to_vec(),
        };
        if let Some(given_up) = self.waiting.push(place, waiting) {
            self.resolve(given_up, Reason::NoSignature);
        }
        Reason::Pending
    }

    /// Steps 8 and 9.
    fn verify(&mut self, packet: &SignedPacket<'_>, root: &Digest, now: u64) -> Result<(), Reason> {
        let fixed = &packet.fixed;
        let (descriptor, verifier) = self.known.get(&fixed.key).ok_or(Reason::UnknownFlow)?;
        let (timestamp, signature) = packet
            .carried
            .split_first_chunk::<TIMESTAMP_BYTES>()
            .ok_or(Reason::BadLength)?;
        let timestamp = u64::from_be_bytes(*timestamp);
        let place = (fixed.tag, fixed.seq);
        let message = message(descriptor, place, timestamp, &packet.block, root);
        self.acceptance.check(timestamp, now)?;
        let name = Sha256::new_with_prefix(message).chain_update(signature);
        let name: [u8; 32] = name.finalize().into();
        if self.refused.contains(&name) {
            return Err(Reason::BadSignature);
        }
        if !self.budget.spend(now) {
            return Err(Reason::Busy);
        }
        self.verifications += 1;
        if !verifier.verify(&message, signature) {
            self.refused.insert(name);
            return Err(Reason::BadSignature);
        }
        Ok(())
    }

    /// Takes in a verified block by the packet that it was verified with, and the packets that waited
    /// for it.
    fn take_in(&mut self, packet: &SignedPacket<'_>, leaf: &Digest, root: Digest) -> Reason {
        let fixed = &packet.fixed;
        let name = (fixed.key, fixed.tag);
        if !self.flows.contains_key(&name) && self.flows.len() == FLOWS_MAX {
            self.forget_one();
        }
        let flow = self.flows.entry(name).or_insert(Flow::new(fixed.seq));
        flow.used = self.packets;
        let lost = flow.insert(fixed.seq, Known::new(packet.block, root), packet.carried);
        self.lost.add(lost);
        let reason = flow.judge(packet, leaf).unwrap_or(Reason::Old);
        self.budget.earn();
        let place = (fixed.key, fixed.tag, fixed.seq);
        for waited in self.waiting.take(&place) {
            let flow = self.flows.get_mut(&name);
            let reason = flow.map_or(Reason::Old, |flow| flow.judge_waiting(fixed.seq, &waited));
            self.resolve(waited.ticket, reason);
        }
        reason
    }

    fn resolve(&mut self, ticket: u64, reason: Reason) {
        self.counters.count(reason);
        self.resolved.push((ticket, reason));
    }

    /// Forgets the sequence that was of no use for longest.
    fn forget_one(&mut self) {
        let oldest = self.flows.iter().min_by_key(|(_, flow)| flow.used);
        let Some(name) = oldest.map(|(name, _)| *name) else {
            return;
        };
        if let Some(flow) = self.flows.remove(&name) {
            self.lost.add(flow.end());
        }
    }
}
