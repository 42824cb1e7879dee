//! What is remembered of one sequence of blocks: its verified blocks, and what came of them.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::waiting::Waiting;
use crate::reason::Reason;
use crate::wire::{SignaturePart, SignedPacket};
use clew_tree::{Block, Claim, Digest, NodeCache};

/// Blocks behind the latest one that are remembered.
pub const BLOCKS_MAX: u32 = 64;

/// One sequence, of which at least one block was verified.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    /// The verified block of each place in the sequence that is remembered, at that modulo
    /// [`BLOCKS_MAX`].
    blocks: Vec<Option<Box<Received>>>,
    /// The first block that was verified, and the latest.
    first: u32,
    latest: u32,
}

/// A verified block.
#[derive(Clone, Debug)]
struct Received {
    seq: u32,
    known: NodeCache,
    /// Timestamp and signature, the same in all packets that carry them whole.
    blob: Vec<u8>,
    accepted: Vec<bool>,
}

/// What never came, of blocks that are forgotten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Packets of blocks of which others came.
    pub packets: u64,
    /// Blocks between others of which nothing came.
    pub blocks: u64,
}

impl Lost {
    pub(crate) fn add(&mut self, more: Self) {
        self.packets = self.packets.saturating_add(more.packets);
        self.blocks = self.blocks.saturating_add(more.blocks);
    }
}

impl Received {
    fn screen(&self, index: u16) -> Result<(), Reason> {
        match self.accepted.get(usize::from(index)) {
            None => Err(Reason::BadBlock),
            Some(true) => Err(Reason::Duplicate),
            Some(false) => Ok(()),
        }
    }

    /// Step 7 of what passed step 6. `root` is the one that the packet leads to, if that is known.
    fn judge(&mut self, claim: &Claim<'_>, root: Option<&Digest>) -> Reason {
        let Claim { index, leaf, path } = claim;
        let leads = root == Some(self.known.root());
        if !leads && self.known.verify(*index, leaf, path).is_err() {
            return Reason::BadDigest;
        }
        self.accepted[usize::from(*index)] = true;
        Reason::Ok
    }

    fn lost(&self) -> u64 {
        self.accepted.iter().filter(|accepted| !**accepted).count() as u64
    }
}

impl Flow {
    pub fn new(seq: u32) -> Self {
        Self {
            blocks: (0..BLOCKS_MAX).map(|_| None).collect(),
            first: seq,
            latest: seq,
        }
    }

    /// Checks step 6: the rules that need no hashing.
    pub fn screen(&self, packet: &SignedPacket<'_>) -> Result<(), Reason> {
        let fixed = &packet.fixed;
        if self.is_old(fixed.seq) {
            return Err(Reason::Old);
        }
        match self.block(fixed.seq) {
            None => Ok(()),
            Some(block) if !same(block.known.block(), &packet.block) => Err(Reason::Conflict),
            Some(block) => block.screen(fixed.index),
        }
    }

    /// Judges a packet that passed step 6 by step 7. Returns `None` if its block is not verified.
    pub fn judge(
        &mut self,
        packet: &SignedPacket<'_>,
        claim: &Claim<'_>,
        root: Option<&Digest>,
    ) -> Option<Reason> {
        let block = self.block_mut(packet.fixed.seq)?;
        if matches!(packet.part, SignaturePart::Full(blob) if blob != block.blob) {
            return Some(Reason::BadSignature);
        }
        Some(block.judge(claim, root))
    }

    /// Judges packets that waited for their block, one after the other.
    pub fn judge_waiting(&mut self, seq: u32, packets: &[Waiting]) -> Vec<Reason> {
        let Some(block) = self.block_mut(seq) else {
            return alloc::vec![Reason::Old; packets.len()];
        };
        let root = *block.known.root();
        let of_block = packets.iter().filter(|packet| packet.root == root);
        let claims: Vec<Claim<'_>> = of_block.map(Waiting::claim).collect();
        // What all of them lead by is hashed together.
        block.known.verify_all(&claims);
        let judge = |packet: &Waiting| match block.screen(packet.index) {
            _ if packet.root != root => Reason::BadDigest,
            Ok(()) => block.judge(&packet.claim(), None),
            Err(reason) => reason,
        };
        packets.iter().map(judge).collect()
    }

    /// Returns the verified nodes of a block. Returns `None` if the block is not verified, or
    /// forgotten.
    pub fn known(&mut self, seq: u32) -> Option<&mut NodeCache> {
        self.block_mut(seq).map(|block| &mut block.known)
    }

    /// Returns the blob with which a packet's block was verified, or `None` if the packet is not of
    /// it.
    pub fn blob(&self, packet: &SignedPacket<'_>) -> Option<&[u8]> {
        let block = self.block(packet.fixed.seq)?;
        let root = packet
            .block
            .root(packet.fixed.index, &packet.leaf(), packet.path);
        let is_of_it = same(block.known.block(), &packet.block) && root? == *block.known.root();
        is_of_it.then_some(&block.blob)
    }

    /// Takes in a block whose root was verified with that blob. Tells what never came of those
    /// that are forgotten for it.
    pub fn insert(&mut self, seq: u32, known: NodeCache, blob: &[u8]) -> Lost {
        let mut lost = Lost::default();
        if seq > self.latest {
            let before = core::mem::replace(&mut self.latest, seq);
            lost = self.forget(oldest(before).max(self.first), oldest(seq));
        }
        self.first = self.first.min(seq);
        self.blocks[slot(seq)] = Some(Box::new(Received {
            seq,
            accepted: alloc::vec![false; known.block().count().into()],
            blob: blob.to_vec(),
            known,
        }));
        lost
    }

    /// Forgets the sequence and returns its remaining losses.
    pub fn end(mut self) -> Lost {
        let from = oldest(self.latest).max(self.first);
        self.forget(from, self.latest.saturating_add(1))
    }

    fn is_old(&self, seq: u32) -> bool {
        seq < oldest(self.latest)
    }

    fn block(&self, seq: u32) -> Option<&Received> {
        let block = self.blocks[slot(seq)].as_deref();
        block.filter(|block| block.seq == seq)
    }

    fn block_mut(&mut self, seq: u32) -> Option<&mut Received> {
        let block = self.blocks[slot(seq)].as_deref_mut();
        block.filter(|block| block.seq == seq)
    }

    /// Forgets blocks `from` up to `to`.
    fn forget(&mut self, from: u32, to: u32) -> Lost {
        let mut lost = Lost {
            packets: 0,
            blocks: to.saturating_sub(from).into(),
        };
        for place in &mut self.blocks {
            let gone = place.take_if(|block| (from..to).contains(&block.seq));
            if let Some(block) = gone {
                lost.packets += block.lost();
                lost.blocks -= 1;
            }
        }
        lost
    }
}

fn slot(seq: u32) -> usize {
    (seq % BLOCKS_MAX) as usize
}

/// The oldest block that is remembered while `latest` is the latest.
pub(crate) const fn oldest(latest: u32) -> u32 {
    latest.saturating_sub(BLOCKS_MAX - 1)
}

/// Whether two blocks are one.
pub(crate) fn same(one: &Block, other: &Block) -> bool {
    one.id() == other.id() && one.count() == other.count()
}
