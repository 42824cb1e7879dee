//! The whole tree of a block, for its signer.

use alloc::vec::Vec;

use crate::block::{Block, Digest};

/// The whole tree of a block, for its signer.
#[derive(Clone, Debug)]
pub struct Tree {
    block: Block,
    /// The shortened nodes of each level below the root, leaves first; one without a sibling stands
    /// in the next level too.
    levels: Vec<Vec<u8>>,
    root: Digest,
}

impl Tree {
    /// The tree over the leaves of all packets of a block; none if their number is another.
    pub fn new(block: Block, leaves: &[Digest]) -> Option<Self> {
        let [first, ..] = leaves else {
            return None;
        };
        if leaves.len() != usize::from(block.count()) {
            return None;
        }
        let (size, hasher) = (block.digest().bytes(), block.hasher());
        let mut tree = Self {
            block,
            levels: Vec::new(),
            root: *first,
        };
        let mut below = shortened(leaves, size);
        while below.len() > size {
            let parents = block.parents(&hasher, tree.levels.len() as u8 + 1, &below);
            tree.root = *parents.last()?;
            let mut above = shortened(&parents, size);
            let family = size * usize::from(block.degree().get());
            if below.len() % family == size {
                above.extend_from_slice(&below[below.len() - size..]);
            }
            tree.levels.push(core::mem::replace(&mut below, above));
        }
        Some(tree)
    }

    /// The block.
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// The root, which is signed.
    pub fn root(&self) -> Digest {
        self.root
    }

    /// The path of the packet at `index`: the siblings of each node on its way, from the leaf
    /// upwards.
    pub fn path(&self, index: u16) -> Option<Vec<u8>> {
        let size = self.block.digest().bytes();
        let mut path = Vec::with_capacity(self.block.depth(index)? * size);
        self.write_path(index, &mut path);
        Some(path)
    }

    /// Appends the path of a packet of the block.
    pub(crate) fn write_path(&self, index: u16, out: &mut Vec<u8>) {
        let size = self.block.digest().bytes();
        for (nodes, step) in self.levels.iter().zip(self.block.steps(index)) {
            let first = usize::from(step.parent) * usize::from(self.block.degree().get());
            let end = size * (first + usize::from(step.children));
            let own = size * (first + usize::from(step.own));
            out.extend_from_slice(&nodes[size * first..own]);
            out.extend_from_slice(&nodes[own + size..end]);
        }
    }
}

fn shortened(digests: &[Digest], size: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(digests.len() * size);
    digests
        .iter()
        .for_each(|digest| out.extend_from_slice(&digest[..size]));
    out
}
