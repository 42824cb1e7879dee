//! Verifies packets of flows: `spec/flow-signature.md` section 5.

mod flow;
mod refused;
mod shares;
mod signatures;
mod waiting;

pub use flow::{BLOCKS_MAX, Lost};
pub use refused::Effort;
pub use waiting::WAITING_MAX;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use sha2::{Digest as _, Sha256};

use crate::block::Digest;
use crate::carriage::Bins;
use crate::known::Known;
use crate::reason::{Counters, Reason};
use crate::recent::Recent;
use crate::signing::BlockVerifier;
use crate::wire::{
    BadDescriptor, Carriage, Carried, Descriptor, Fixed, KeyId, SignedPacket, TIMESTAMP_BYTES,
    message,
};
pub(crate) use flow::{oldest, same};
pub(crate) use signatures::Signatures;

use flow::Flow;
use refused::{Budgets, Refused};
use waiting::{Queue, Waiting};

/// Sequences of blocks that are remembered: each has up to [`BLOCKS_MAX`] blocks.
pub const FLOWS_MAX: usize = 1024;

/// What a receiver accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acceptance {
    /// How far a block's timestamp may be from the receiver's time, in nanoseconds.
    pub window_ns: u64,
    /// How many signatures are verified: of full packets, and as many of coded ones.
    pub effort: Effort,
    /// Whether shares without tags are accepted, with which whoever else can send spoils blocks.
    pub untagged: bool,
}

impl Default for Acceptance {
    /// 30 seconds; shares have tags.
    fn default() -> Self {
        Self {
            window_ns: 30_000_000_000,
            effort: Effort::default(),
            untagged: false,
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
    flows: Recent<(KeyId, [u8; 4]), Flow>,
    refused: Refused,
    budgets: Budgets,
    waiting: Queue,
    bins: Bins<Waiting>,
    /// Of packets that waited: what the packet at hand made of them.
    resolved: Vec<(u64, Reason)>,
    counters: Counters,
    lost: Lost,
    /// Signatures that were verified.
    verifications: u64,
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
            budgets: Budgets::new(acceptance.effort),
            acceptance,
            flows: Recent::new(),
            refused: Refused::new(),
            waiting: Queue::default(),
            bins: shares::NONE,
            resolved: Vec::new(),
            counters: Counters::default(),
            lost: Lost::default(),
            verifications: 0,
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

    /// A packet of a verified block with full carriage, whatever it carried: for whoever takes it on.
    /// None if the block is not remembered, or the packet is not of it.
    pub fn full_form(&self, signed: &[u8]) -> Option<Vec<u8>> {
        let packet = self.parse(signed).ok()?;
        let flow = self.flows.get(&(packet.fixed.key, packet.fixed.tag))?;
        flow.blob(&packet).map(|blob| packet.in_full(blob))
    }

    /// Forgets all sequences, and counts what never came of them.
    pub fn end(&mut self) -> Lost {
        while let Some(flow) = self.flows.pop_oldest() {
            self.lost.add(flow.end());
        }
        self.lost
    }

    /// Steps 1 to 5.
    fn parse<'a>(&self, signed: &'a [u8]) -> Result<SignedPacket<'a>, Reason> {
        let fixed = Fixed::of(signed)?;
        let (descriptor, _) = self.known.get(&fixed.key).ok_or(Reason::UnknownFlow)?;
        let packet = SignedPacket::of(signed, fixed, descriptor)?;
        if packet.carried.carriage() == Carriage::Coded(None) && !self.acceptance.untagged {
            return Err(Reason::Untagged);
        }
        Ok(packet)
    }

    /// Step 6.
    fn screen(&self, packet: &SignedPacket<'_>) -> Result<(), Reason> {
        let flow = self.flows.get(&(packet.fixed.key, packet.fixed.tag));
        flow.map_or(Ok(()), |flow| flow.screen(packet))
    }

    /// Steps 7 to 10.
    fn judge(&mut self, packet: &SignedPacket<'_>, leaf: &Digest, now: u64, ticket: u64) -> Reason {
        let fixed = &packet.fixed;
        if let Some(flow) = self.flows.used(&(fixed.key, fixed.tag))
            && let Some(reason) = flow.judge(packet, leaf)
        {
            if reason == Reason::Ok {
                self.budgets.earn();
            }
            return reason;
        }
        let root = packet.block.root(fixed.index, leaf, packet.path);
        let Some(root) = root else {
            return Reason::BadLength;
        };
        let waiting = || Waiting {
            ticket,
            root,
            index: fixed.index,
            leaf: *leaf,
            path: packet.path.to_vec(),
        };
        match &packet.carried {
            Carried::Sparse => self.wait(fixed, waiting()),
            Carried::Coded(coded) => self.take_share(packet, coded, waiting(), now),
            Carried::Full(blob) => match self.verify(packet, blob, &root, now) {
                Ok(()) => self.take_in(packet, leaf, root, blob, Vec::new()),
                Err(reason) => reason,
            },
        }
    }

    /// Step 8 of a sparse packet.
    fn wait(&mut self, fixed: &Fixed, packet: Waiting) -> Reason {
        let place = (fixed.key, fixed.tag, fixed.seq);
        if let Some(given_up) = self.waiting.push(place, packet) {
            self.resolve(given_up, Reason::NoSignature);
        }
        Reason::Pending
    }

    /// Steps 9 and 10.
    fn verify(
        &mut self,
        packet: &SignedPacket<'_>,
        blob: &[u8],
        root: &Digest,
        now: u64,
    ) -> Result<(), Reason> {
        let fixed = &packet.fixed;
        let (descriptor, verifier) = self.known.get(&fixed.key).ok_or(Reason::UnknownFlow)?;
        let (timestamp, signature) = blob
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
        if !self.budgets.of(packet.carried.carriage()).spend(now) {
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
    /// for it: those of its bin and all others.
    fn take_in(
        &mut self,
        packet: &SignedPacket<'_>,
        leaf: &Digest,
        root: Digest,
        blob: &[u8],
        of_bin: Vec<Waiting>,
    ) -> Reason {
        let fixed = &packet.fixed;
        let name = (fixed.key, fixed.tag);
        if self.flows.get(&name).is_none()
            && self.flows.len() == FLOWS_MAX
            && let Some(flow) = self.flows.pop_oldest()
        {
            self.lost.add(flow.end());
        }
        let flow = self.flows.entry(name, || Flow::new(fixed.seq));
        let lost = flow.insert(fixed.seq, Known::new(packet.block, root), blob);
        self.lost.add(lost);
        let reason = flow.judge(packet, leaf).unwrap_or(Reason::Old);
        self.budgets.earn();
        let coded = self.bins.forget(&shares::block(fixed));
        let sparse = self.waiting.take(&(fixed.key, fixed.tag, fixed.seq));
        for waited in of_bin.into_iter().chain(coded).chain(sparse) {
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
}
