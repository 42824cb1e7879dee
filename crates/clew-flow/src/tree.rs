//! The whole tree of a block, for its signer.

use alloc::vec::Vec;

use crate::block::{Block, Digest};

/// The whole tree of a block, for its signer.
#[derive(Clone, Debug)]
pub struct Tree {
    block: Block,
    /// All nodes of each level, leaves first; a node without a sibling stands in the next level too.
    levels: Vec<Vec<Digest>>,
}

impl Tree {
    /// The tree over the leaves of all packets of a block; none if their number is another.
    pub fn new(block: Block, leaves: &[Digest]) -> Option<Self> {
        if leaves.len() != usize::from(block.count()) {
            return None;
        }
        let mut levels = Vec::from([leaves.to_vec()]);
        while let Some(below) = levels.last().filter(|level| level.len() > 1) {
            let above = block.parents(levels.len() as u8, below);
            levels.push(above);
        }
        Some(Self { block, levels })
    }

    /// The block.
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// The root, which is signed.
    pub fn root(&self) -> Digest {
        self.levels[self.levels.len() - 1][0]
    }

    /// The path of the packet at `index`: the siblings of each node on its way, from the leaf
    /// upwards.
    pub fn path(&self, index: u16) -> Option<Vec<u8>> {
        let size = self.block.digest().bytes();
        let mut path = Vec::with_capacity(self.block.depth(index)? * size);
        for (nodes, step) in self.levels.iter().zip(self.block.steps(index)) {
            let first = usize::from(step.parent) * usize::from(self.block.degree().get());
            let children = &nodes[first..first + usize::from(step.children)];
            for (place, child) in children.iter().enumerate() {
                if place != usize::from(step.own) {
                    path.extend_from_slice(&child[..size]);
                }
            }
        }
        Some(path)
    }
}
