//! The nodes of a block's tree, level by level: a signer has all of them, a receiver some.

use alloc::vec::Vec;
use core::ops::Range;

use crate::block::{Block, Digest};
use crate::suite::{Hasher, TOGETHER};

/// Most levels below the root: those of 1,024 packets in a binary tree.
const LEVELS_MAX: usize = 10;

/// Places for the shortened nodes below a block's root, leaves first. A node without siblings stands
/// in the next level too.
#[derive(Clone, Debug)]
pub(crate) struct TreeNodes {
    block: Block,
    hasher: Hasher,
    /// Where each level begins, in nodes, and where the last one ends.
    starts: [u16; LEVELS_MAX + 1],
    levels: usize,
    bytes: Vec<u8>,
}

/// A node and its siblings: the children of one node.
pub(crate) struct Family {
    /// Where they stand, in nodes of all levels.
    pub nodes: Range<usize>,
    /// Which of them the node is.
    pub own: usize,
    /// The place of their parent within its level.
    pub parent: u16,
}

impl TreeNodes {
    /// Zeros everywhere.
    pub fn new(block: Block) -> Self {
        let (mut starts, mut levels) = ([0; LEVELS_MAX + 1], 0);
        let (mut end, mut width) = (0, block.count());
        while width > 1 && levels < LEVELS_MAX {
            end += width;
            levels += 1;
            starts[levels] = end;
            width = block.degree().above(width - 1) + 1;
        }
        Self {
            block,
            hasher: block.hasher(),
            starts,
            levels,
            bytes: alloc::vec![0; usize::from(end) * block.digest().bytes()],
        }
    }

    pub const fn block(&self) -> &Block {
        &self.block
    }

    /// Returns the numbers of the levels, from the leaves upwards.
    pub const fn levels(&self) -> Range<usize> {
        0..self.levels
    }

    /// Returns the number of nodes.
    pub const fn len(&self) -> usize {
        self.starts[self.levels] as usize
    }

    /// Returns the family of the node at a place of a level.
    pub fn family(&self, level: usize, place: u16) -> Family {
        let degree = self.block.degree();
        let parent = degree.above(place);
        let first = parent * degree.get();
        let begin = self.starts[level] + first;
        let end = self.starts[level + 1].min(begin.saturating_add(degree.get()));
        Family {
            nodes: begin.into()..end.into(),
            own: (place - first).into(),
            parent,
        }
    }

    /// Returns all nodes, of `D` bytes each, which is the size of the block's digests.
    pub fn nodes<const D: usize>(&self) -> &[[u8; D]] {
        self.bytes.as_chunks().0
    }

    pub fn nodes_mut<const D: usize>(&mut self) -> &mut [[u8; D]] {
        self.bytes.as_chunks_mut().0
    }

    /// Writes the parents of families of one level to `out`, in their order. A node without
    /// siblings is its own parent, and must not be among them.
    pub fn parents(&self, level: usize, families: &[Family], out: &mut [Digest]) {
        let size = self.block.digest().bytes();
        for (families, out) in families.chunks(TOGETHER).zip(out.chunks_mut(TOGETHER)) {
            let mut inputs: [(u16, &[u8]); TOGETHER] = [(0, &[]); TOGETHER];
            for (input, family) in inputs.iter_mut().zip(families) {
                let bytes = family.nodes.start * size..family.nodes.end * size;
                *input = (family.parent, &self.bytes[bytes]);
            }
            let inputs = &inputs[..families.len()];
            self.hasher.nodes(level as u8 + 1, inputs, out);
        }
    }
}
