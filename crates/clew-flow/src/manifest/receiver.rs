//! Verifies packets by manifests that come beside them, in any order and in bounded memory.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use super::wire::{Manifest, digest};
use crate::reason::{Counters, Reason};
use crate::receiver::{Acceptance, Finding, Lost, Signatures, WAITING_MAX, oldest, same};
use crate::signing::BlockVerifier;
use crate::wire::{BadDescriptor, Carriage, Descriptor, Fixed, KeyId};
use clew_tree::{Block, Digest, LruMap};
use clew_wire::WallTime;

/// Sequences of blocks that are remembered: the digests of the last [`crate::BLOCKS_MAX`] blocks of
/// each, which only the signer makes more of.
const SEQUENCES_MAX: usize = 64;

/// Verifies packets by manifests.
#[derive(Debug)]
pub struct ManifestReceiver {
    signatures: Signatures,
    sequences: LruMap<(KeyId, [u8; 4]), Sequence>,
    /// How often each digest stands in the manifests that are remembered.
    places: BTreeMap<Digest, Places>,
    waiting: Waiting,
    /// Of packets that waited: what became of them.
    resolved: Vec<(u64, Reason)>,
    counters: Counters,
    lost: Lost,
}

/// The manifests of one sequence of blocks; never none.
#[derive(Debug, Default)]
struct Sequence {
    blocks: BTreeMap<u32, (Block, Vec<Digest>)>,
    latest: u32,
}

/// Places of a digest: those that no packet took yet, and the others.
#[derive(Clone, Copy, Debug, Default)]
struct Places {
    open: u32,
    taken: u32,
}

/// Packets of which no manifest came yet, by each of their digests.
#[derive(Debug, Default)]
struct Waiting {
    tickets: BTreeMap<Digest, VecDeque<u64>>,
    order: VecDeque<(u64, Vec<Digest>)>,
}

impl ManifestReceiver {
    /// Creates a receiver of these flows.
    ///
    /// # Errors
    /// A descriptor's public key is none.
    pub fn new(
        descriptors: impl IntoIterator<Item = Descriptor>,
        acceptance: Acceptance,
    ) -> Result<Self, BadDescriptor> {
        Ok(Self::over(Signatures::of(descriptors, acceptance)?))
    }

    /// Creates a receiver of these flows, each with what verifies its blocks, as
    /// [`crate::FlowReceiver::with_verifiers`].
    pub fn with_verifiers(
        flows: impl IntoIterator<Item = (Descriptor, Box<dyn BlockVerifier>)>,
        acceptance: Acceptance,
    ) -> Self {
        Self::over(Signatures::new(flows, acceptance))
    }

    fn over(signatures: Signatures) -> Self {
        Self {
            signatures,
            sequences: LruMap::new(),
            places: BTreeMap::new(),
            waiting: Waiting::default(),
            resolved: Vec::new(),
            counters: Counters::default(),
            lost: Lost::default(),
        }
    }

    /// Returns how many packets met each reason; those that were pending by both. Manifests are not
    /// counted.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns the numbers of packets of forgotten manifests, and of manifests, that never came.
    pub const fn lost(&self) -> Lost {
        self.lost
    }

    /// Returns how many signatures were verified.
    pub const fn verifications(&self) -> u64 {
        self.signatures.verifications()
    }

    /// Judges a packet. `ticket` is the caller's name for it: if it is `pending`, a later [`Finding`]
    /// tells by it what became of it.
    pub fn receive<'a>(&mut self, packet: &'a [u8], ticket: u64) -> Finding<'a> {
        let flows = self.signatures.flows();
        let digests: Vec<Digest> = flows.map(|flow| digest(flow, packet)).collect();
        let open = |digest: &&Digest| self.places.get(*digest).is_some_and(|p| p.open > 0);
        let listed = digests.iter().find(open).copied();
        let reason = match listed.and_then(|digest| self.places.get_mut(&digest)) {
            Some(places) => {
                places.take();
                self.signatures.earn();
                Reason::Ok
            }
            None => {
                self.wait(digests, ticket);
                Reason::Pending
            }
        };
        self.counters.count(reason);
        self.finding(reason, packet)
    }

    /// Judges a manifest that comes now; its packet is empty.
    pub fn receive_manifest(&mut self, bytes: &[u8], now: WallTime) -> Finding<'static> {
        let reason = self.take_in(bytes, now).err().unwrap_or(Reason::Ok);
        self.finding(reason, &[])
    }

    /// Forgets all manifests, and counts what never came of them. Packets that still wait are resolved.
    pub fn end(&mut self) -> Finding<'static> {
        while let Some((ticket, digests)) = self.waiting.order.pop_front() {
            self.give_up(ticket, &digests);
        }
        while let Some(sequence) = self.sequences.pop_oldest() {
            self.forget(sequence.blocks);
        }
        self.finding(Reason::Ok, &[])
    }

    fn finding<'a>(&mut self, reason: Reason, packet: &'a [u8]) -> Finding<'a> {
        Finding {
            reason,
            packet,
            resolved: core::mem::take(&mut self.resolved),
        }
    }

    fn wait(&mut self, digests: Vec<Digest>, ticket: u64) {
        for digest in &digests {
            let tickets = self.waiting.tickets.entry(*digest).or_default();
            tickets.push_back(ticket);
        }
        self.waiting.order.push_back((ticket, digests));
        if self.waiting.order.len() > WAITING_MAX
            && let Some((oldest, digests)) = self.waiting.order.pop_front()
        {
            self.give_up(oldest, &digests);
        }
    }

    /// Resolves a packet that waited, unless a manifest did before.
    fn give_up(&mut self, ticket: u64, digests: &[Digest]) {
        let mut waited = false;
        for digest in digests {
            waited |= self.waiting.forget(digest, ticket);
        }
        if waited {
            let again = |digest| self.places.get(digest).is_some_and(|p| p.taken > 0);
            let reason = match digests.iter().any(again) {
                true => Reason::Duplicate,
                false => Reason::NoSignature,
            };
            self.resolve(ticket, reason);
        }
    }

    fn resolve(&mut self, ticket: u64, reason: Reason) {
        self.counters.count(reason);
        self.resolved.push((ticket, reason));
    }

    /// Verifies a manifest, and takes its digests in.
    fn take_in(&mut self, bytes: &[u8], now: WallTime) -> Result<(), Reason> {
        let fixed = Fixed::of(bytes)?;
        let manifest = Manifest::of(bytes, fixed, self.signatures.flow(fixed.key)?)?;
        if manifest.packet.is_some() {
            return Err(Reason::BadLength);
        }
        let name = (fixed.key, fixed.tag);
        if let Some(sequence) = self.sequences.used(&name) {
            sequence.screen(&manifest)?;
        }
        let message = |flow: &Descriptor, timestamp| manifest.message(flow, timestamp);
        self.signatures
            .verify(fixed.key, Carriage::Full, manifest.blob, now, message)?;
        if self.sequences.get(&name).is_none()
            && self.sequences.count() == SEQUENCES_MAX
            && let Some(sequence) = self.sequences.pop_oldest()
        {
            self.forget(sequence.blocks);
        }
        let new = || Sequence {
            latest: fixed.seq,
            ..Sequence::default()
        };
        let (lost, gone) = self.sequences.entry(name, new).insert(&manifest);
        self.lost.add(lost);
        self.forget(gone);
        for digest in manifest.digests() {
            self.list(*digest);
        }
        Ok(())
    }

    /// One more packet may have this digest: one that waits, if any does.
    fn list(&mut self, digest: Digest) {
        let places = self.places.entry(digest).or_default();
        places.open += 1;
        let tickets = self.waiting.tickets.get_mut(&digest);
        if let Some(ticket) = tickets.and_then(VecDeque::pop_front) {
            places.take();
            self.signatures.earn();
            self.resolve(ticket, Reason::Ok);
        }
    }

    fn forget(&mut self, blocks: BTreeMap<u32, (Block, Vec<Digest>)>) {
        for digest in blocks.into_values().flat_map(|(_, digests)| digests) {
            let Some(places) = self.places.get_mut(&digest) else {
                continue;
            };
            // The earlier ones were taken first.
            match places.taken.checked_sub(1) {
                Some(left) => places.taken = left,
                None => {
                    places.open = places.open.saturating_sub(1);
                    self.lost.packets += 1;
                }
            }
            if places.open == 0 && places.taken == 0 {
                self.places.remove(&digest);
            }
        }
    }
}

impl Places {
    fn take(&mut self) {
        self.open -= 1;
        self.taken += 1;
    }
}

impl Waiting {
    /// Whether the packet waited under this digest, under which it does no more.
    fn forget(&mut self, digest: &Digest, ticket: u64) -> bool {
        let Some(tickets) = self.tickets.get_mut(digest) else {
            return false;
        };
        let before = tickets.len();
        tickets.retain(|other| *other != ticket);
        let waited = tickets.len() < before;
        if tickets.is_empty() {
            self.tickets.remove(digest);
        }
        waited
    }
}

impl Sequence {
    /// Step 6.
    fn screen(&self, manifest: &Manifest<'_>) -> Result<(), Reason> {
        let seq = manifest.fixed.seq;
        if seq < oldest(self.latest) {
            return Err(Reason::Old);
        }
        match self.blocks.get(&seq) {
            None => Ok(()),
            Some((block, digests)) => match same(block, &manifest.block) {
                true if digests == manifest.digests() => Err(Reason::Duplicate),
                _ => Err(Reason::Conflict),
            },
        }
    }

    /// Takes a manifest in; the blocks that are forgotten for it, and how many never came before them.
    fn insert(&mut self, manifest: &Manifest<'_>) -> (Lost, BTreeMap<u32, (Block, Vec<Digest>)>) {
        let seq = manifest.fixed.seq;
        let listed = (manifest.block, manifest.digests().to_vec());
        self.blocks.insert(seq, listed);
        self.latest = self.latest.max(seq);
        let kept = self.blocks.split_off(&oldest(self.latest));
        let gone = core::mem::replace(&mut self.blocks, kept);
        let first = gone.first_key_value().map(|(first, _)| *first);
        let missing = first.map_or(0, |first| oldest(self.latest) - first);
        let blocks = u64::from(missing).saturating_sub(gone.len() as u64);
        (Lost { packets: 0, blocks }, gone)
    }
}
