//! Verifies packets of flows: `spec/flow-signature.md` section 5.

mod ahead;
mod flow;
mod refused;
mod shares;
mod signatures;
mod waiting;

pub use flow::{BLOCKS_MAX, Lost};
pub use refused::Effort;
pub use waiting::WAITING_MAX;

pub(crate) use flow::{oldest, same};
pub(crate) use signatures::Signatures;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

use crate::reason::{Counters, Reason};
use crate::signing::BlockVerifier;
use crate::wire::{
    BadDescriptor, Carriage, Descriptor, Fixed, KeyId, SignaturePart, SignedPacket, message,
};
use ahead::Hashed;
use clew_tree::carriage::Bins;
use clew_tree::{Claim, Digest, LruMap, NodeCache};
use clew_wire::WallTime;
use flow::Flow;
use waiting::{Queue, Waiting};

/// Sequences of blocks that are remembered: each has up to [`BLOCKS_MAX`] blocks.
pub const FLOWS_MAX: usize = 1024;

/// What a receiver accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acceptance {
    /// How far a block's timestamp may be from the receiver's time.
    pub tolerance: Duration,
    /// How many signatures are verified: of full packets, and as many of coded ones.
    pub effort: Effort,
    /// Whether shares without tags are accepted, with which whoever else can send spoils blocks.
    pub untagged: bool,
}

impl Default for Acceptance {
    /// 30 seconds; shares have tags.
    fn default() -> Self {
        Self {
            tolerance: Duration::from_secs(30),
            effort: Effort::default(),
            untagged: false,
        }
    }
}

impl Acceptance {
    fn check(&self, timestamp: WallTime, now: WallTime) -> Result<(), Reason> {
        if now - timestamp > self.tolerance {
            return Err(Reason::Stale);
        }
        if timestamp - now > self.tolerance {
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
    signatures: Signatures,
    untagged: bool,
    flows: LruMap<(KeyId, [u8; 4]), Flow>,
    waiting: Queue,
    bins: Bins<Waiting>,
    /// Of blocks of the packets that came together: what is known if they are verified.
    ahead: Vec<NodeCache>,
    /// Of packets that waited: what the packet at hand made of them.
    resolved: Vec<(u64, Reason)>,
    counters: Counters,
    lost: Lost,
}

impl FlowReceiver {
    /// Creates a receiver of these flows.
    ///
    /// # Errors
    /// A descriptor's public key is none.
    pub fn new(
        descriptors: impl IntoIterator<Item = Descriptor>,
        acceptance: Acceptance,
    ) -> Result<Self, BadDescriptor> {
        Ok(Self::over(
            Signatures::of(descriptors, acceptance)?,
            acceptance,
        ))
    }

    /// Creates a receiver of these flows, each with what verifies its blocks: another
    /// implementation than [`Descriptor::verifier`], which has to say the same of every signature.
    pub fn with_verifiers(
        flows: impl IntoIterator<Item = (Descriptor, Box<dyn BlockVerifier>)>,
        acceptance: Acceptance,
    ) -> Self {
        Self::over(Signatures::new(flows, acceptance), acceptance)
    }

    fn over(signatures: Signatures, acceptance: Acceptance) -> Self {
        Self {
            signatures,
            untagged: acceptance.untagged,
            flows: LruMap::new(),
            waiting: Queue::default(),
            bins: shares::NONE,
            ahead: Vec::new(),
            resolved: Vec::new(),
            counters: Counters::default(),
            lost: Lost::default(),
        }
    }

    /// Judges a packet that comes now. `ticket` is the caller's name for
    /// it: if it is `pending`, a later [`Finding`] tells by it what became of it.
    pub fn receive<'a>(&mut self, signed: &'a [u8], now: WallTime, ticket: u64) -> Finding<'a> {
        self.finding(signed, &self.parse(signed), &Hashed::default(), now, ticket)
    }

    /// Judges a packet, of which something may have been hashed with others.
    fn finding<'a>(
        &mut self,
        signed: &'a [u8],
        parsed: &Result<SignedPacket<'a>, Reason>,
        hashed: &Hashed,
        now: WallTime,
        ticket: u64,
    ) -> Finding<'a> {
        let (packet, reason) = match parsed {
            Ok(parts) => (parts.packet, self.judge(parts, hashed, now, ticket)),
            Err(reason) => (signed, *reason),
        };
        self.counters.count(reason);
        Finding {
            reason,
            packet,
            resolved: core::mem::take(&mut self.resolved),
        }
    }

    /// Returns how many packets met each reason; those that were pending by both.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns the packets that never came, of blocks that are forgotten.
    pub const fn lost(&self) -> Lost {
        self.lost
    }

    /// Returns how many signatures were verified.
    pub const fn verifications(&self) -> u64 {
        self.signatures.verifications()
    }

    /// Returns a packet of a verified block with full carriage, whatever it carried: for whoever
    /// takes it on. Returns `None` if the block is not remembered, or the packet is not of it.
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
        let descriptor = self.signatures.flow(fixed.key)?;
        let packet = SignedPacket::of(signed, fixed, descriptor)?;
        if packet.part.carriage() == Carriage::Coded(None) && !self.untagged {
            return Err(Reason::Untagged);
        }
        Ok(packet)
    }

    /// Step 6.
    fn screen(&self, packet: &SignedPacket<'_>) -> Result<(), Reason> {
        let flow = self.flows.get(&(packet.fixed.key, packet.fixed.tag));
        flow.map_or(Ok(()), |flow| flow.screen(packet))
    }

    /// Steps 6 to 10.
    fn judge(
        &mut self,
        packet: &SignedPacket<'_>,
        hashed: &Hashed,
        now: WallTime,
        ticket: u64,
    ) -> Reason {
        if let Err(reason) = self.screen(packet) {
            return reason;
        }
        let fixed = &packet.fixed;
        let claim = packet.claim(hashed.leaf.unwrap_or_else(|| packet.leaf()));
        if let Some(flow) = self.flows.used(&(fixed.key, fixed.tag))
            && let Some(reason) = flow.judge(packet, &claim, hashed.root.as_ref())
        {
            if reason == Reason::Ok {
                self.signatures.earn();
            }
            return reason;
        }
        let alone = || packet.block.root(fixed.index, &claim.leaf, claim.path);
        let Some(root) = hashed.root.or_else(alone) else {
            return Reason::BadLength;
        };
        let waiting = || Waiting {
            ticket,
            root,
            index: fixed.index,
            leaf: claim.leaf,
            path: packet.path.to_vec(),
        };
        match &packet.part {
            SignaturePart::Sparse => self.wait(fixed, waiting()),
            SignaturePart::Coded(coded) => self.take_share(packet, coded, waiting(), now),
            SignaturePart::Full(blob) => match self.verify(packet, blob, &root, now) {
                Ok(()) => self.take_in(packet, &claim, root, blob, Vec::new()),
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
        now: WallTime,
    ) -> Result<(), Reason> {
        let fixed = &packet.fixed;
        let message = |descriptor: &Descriptor, timestamp| {
            let place = (fixed.tag, fixed.seq);
            message(descriptor, place, timestamp, &packet.block, root)
        };
        let carriage = packet.part.carriage();
        self.signatures
            .verify(fixed.key, carriage, blob, now, message)
    }

    /// Takes in a verified block by the packet that it was verified with, and the packets that waited
    /// for it: those of its bin, which are given, and all others.
    fn take_in(
        &mut self,
        packet: &SignedPacket<'_>,
        claim: &Claim<'_>,
        root: Digest,
        blob: &[u8],
        mut waited: Vec<Waiting>,
    ) -> Reason {
        let fixed = &packet.fixed;
        let name = (fixed.key, fixed.tag);
        if self.flows.get(&name).is_none()
            && self.flows.count() == FLOWS_MAX
            && let Some(flow) = self.flows.pop_oldest()
        {
            self.lost.add(flow.end());
        }
        let known = self.known_ahead(&packet.block, &root);
        waited.extend(self.bins.forget(&shares::block(fixed)));
        waited.extend(self.waiting.take(&(fixed.key, fixed.tag, fixed.seq)));
        let flow = self.flows.entry(name, || Flow::new(fixed.seq));
        self.lost.add(flow.insert(fixed.seq, known, blob));
        let reason = flow.judge(packet, claim, None);
        let reasons = flow.judge_waiting(fixed.seq, &waited);
        self.signatures.earn();
        for (packet, reason) in waited.into_iter().zip(reasons) {
            self.resolve(packet.ticket, reason);
        }
        reason.unwrap_or(Reason::Old)
    }

    fn resolve(&mut self, ticket: u64, reason: Reason) {
        self.counters.count(reason);
        self.resolved.push((ticket, reason));
    }
}
