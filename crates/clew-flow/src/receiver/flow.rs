//! What is remembered of one sequence of blocks: its verified blocks, and what came of them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::waiting::Waiting;
use crate::block::{Block, Digest};
use crate::known::Known;
use crate::reason::Reason;
use crate::wire::{Carried, SignedPacket};

/// Blocks behind the latest one that are remembered.
pub const BLOCKS_MAX: u32 = 64;

/// One sequence, of which at least one block was verified.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    blocks: BTreeMap<u32, Received>,
    /// The first block that was verified, and the latest.
    first: u32,
    latest: u32,
}

/// A verified block.
#[derive(Clone, Debug)]
struct Received {
    known: Known,
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

    fn judge(&mut self, index: u16, leaf: &Digest, path: &[u8]) -> Reason {
        if self.known.verify(index, leaf, path).is_err() {
            return Reason::BadDigest;
        }
        self.accepted[usize::from(index)] = true;
        Reason::Ok
    }

    fn lost(&self) -> u64 {
        self.accepted.iter().filter(|accepted| !**accepted).count() as u64
    }
}

impl Flow {
    pub fn new(seq: u32) -> Self {
        Self {
            blocks: BTreeMap::new(),
            first: seq,
            latest: seq,
        }
    }

    /// Step 6: what is refused without hashing.
    pub fn screen(&self, packet: &SignedPacket<'_>) -> Result<(), Reason> {
        let fixed = &packet.fixed;
        if self.is_old(fixed.seq) {
            return Err(Reason::Old);
        }
        match self.blocks.get(&fixed.seq) {
            None => Ok(()),
            Some(block) if !same(block.known.block(), &packet.block) => Err(Reason::Conflict),
            Some(block) => block.screen(fixed.index),
        }
    }

    /// Step 7 of a packet that passed step 6; none if its block is not verified.
    pub fn judge(&mut self, packet: &SignedPacket<'_>, leaf: &Digest) -> Option<Reason> {
        let block = self.blocks.get_mut(&packet.fixed.seq)?;
        if matches!(packet.carried, Carried::Full(blob) if blob != block.blob) {
            return Some(Reason::BadSignature);
        }
        Some(block.judge(packet.fixed.index, leaf, packet.path))
    }

    /// The same for a packet that waited for its block.
    pub fn judge_waiting(&mut self, seq: u32, packet: &Waiting) -> Reason {
        let Some(block) = self.blocks.get_mut(&seq) else {
            return Reason::Old;
        };
        if packet.root != *block.known.root() {
            return Reason::BadDigest;
        }
        match block.screen(packet.index) {
            Ok(()) => block.judge(packet.index, &packet.leaf, &packet.path),
            Err(reason) => reason,
        }
    }

    /// The blob with which a packet's block was verified; none if the packet is not of it.
    pub fn blob(&self, packet: &SignedPacket<'_>) -> Option<&[u8]> {
        let block = self.blocks.get(&packet.fixed.seq)?;
        let root = packet
            .block
            .root(packet.fixed.index, &packet.leaf(), packet.path);
        let is_of_it = same(block.known.block(), &packet.block) && root? == *block.known.root();
        is_of_it.then_some(&block.blob)
    }

    /// Takes in a block whose root was verified with that blob. Tells what never came of those
    /// that are forgotten for it.
    pub fn insert(&mut self, seq: u32, known: Known, blob: &[u8]) -> Lost {
        let received = Received {
            accepted: alloc::vec![false; known.block().count().into()],
            blob: blob.to_vec(),
            known,
        };
        self.blocks.insert(seq, received);
        self.first = self.first.min(seq);
        if seq <= self.latest {
            return Lost::default();
        }
        let before = core::mem::replace(&mut self.latest, seq);
        self.forget(oldest(before).max(self.first), oldest(seq))
    }

    /// All that is remembered, when the sequence itself is forgotten.
    pub fn end(mut self) -> Lost {
        let from = oldest(self.latest).max(self.first);
        self.forget(from, self.latest.saturating_add(1))
    }

    fn is_old(&self, seq: u32) -> bool {
        seq < oldest(self.latest)
    }

    /// Forgets blocks `from` up to `to`.
    fn forget(&mut self, from: u32, to: u32) -> Lost {
        let kept = self.blocks.split_off(&to);
        let gone = core::mem::replace(&mut self.blocks, kept);
        let leaving = u64::from(to.saturating_sub(from));
        Lost {
            packets: gone.values().map(Received::lost).sum(),
            blocks: leaving.saturating_sub(gone.len() as u64),
        }
    }
}

/// The oldest block that is remembered while `latest` is the latest.
pub(crate) const fn oldest(latest: u32) -> u32 {
    latest.saturating_sub(BLOCKS_MAX - 1)
}

/// Whether two blocks are one.
pub(crate) fn same(one: &Block, other: &Block) -> bool {
    one.id() == other.id() && one.count() == other.count()
}
