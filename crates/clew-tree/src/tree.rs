//! The whole tree of a block, for its signer.

use alloc::vec::Vec;

use crate::block::{Block, Digest, DigestSize};
use crate::nodes::TreeNodes;

/// The whole tree of a block, for its signer.
#[derive(Clone, Debug)]
pub struct Tree {
    levels: TreeNodes,
    root: Digest,
}

impl Tree {
    /// Returns the tree over the leaves of all packets of a block, or `None` if their number is
    /// another.
    pub fn new(block: Block, leaves: &[Digest]) -> Option<Self> {
        if leaves.len() != usize::from(block.count()) {
            return None;
        }
        match block.digest() {
            DigestSize::D16 => Self::over::<16>(block, leaves),
            DigestSize::D24 => Self::over::<24>(block, leaves),
            DigestSize::D32 => Self::over::<32>(block, leaves),
        }
    }

    fn over<const D: usize>(block: Block, leaves: &[Digest]) -> Option<Self> {
        let mut levels = TreeNodes::new(block);
        let (mut below, mut families) = (leaves.to_vec(), Vec::new());
        for level in levels.levels() {
            let (width, mut place) = (below.len(), 0);
            let first = levels.family(level, 0).nodes.start;
            for (node, digest) in levels.nodes_mut::<D>()[first..].iter_mut().zip(&below) {
                node.copy_from_slice(&digest[..D]);
            }
            families.clear();
            while place < width {
                let family = levels.family(level, place as u16);
                place += family.nodes.len();
                families.push(family);
            }
            // The last one may have nobody beside it.
            let alone = families.pop_if(|family| family.nodes.len() == 1);
            let last = below.last().filter(|_| alone.is_some()).copied();
            below.truncate(families.len());
            levels.parents(level, &families, &mut below);
            below.extend(last);
        }
        let root = *below.first()?;
        Some(Self { levels, root })
    }

    /// Returns the block whose tree this is.
    pub fn block(&self) -> &Block {
        self.levels.block()
    }

    /// Returns the root, which is signed.
    pub fn root(&self) -> Digest {
        self.root
    }

    /// Returns the path of the packet at `index`: the siblings of each node on its way, from the
    /// leaf upwards.
    pub fn path(&self, index: u16) -> Option<Vec<u8>> {
        let size = self.block().digest().bytes();
        let mut path = Vec::with_capacity(self.block().depth(index)? * size);
        self.write_path(index, &mut path);
        Some(path)
    }

    /// Appends the path of a packet of the block.
    pub fn write_path(&self, index: u16, out: &mut Vec<u8>) {
        match self.block().digest() {
            DigestSize::D16 => self.write::<16>(index, out),
            DigestSize::D24 => self.write::<24>(index, out),
            DigestSize::D32 => self.write::<32>(index, out),
        }
    }

    fn write<const D: usize>(&self, index: u16, out: &mut Vec<u8>) {
        let (nodes, mut place) = (self.levels.nodes::<D>(), index);
        for level in self.levels.levels() {
            let family = self.levels.family(level, place);
            for (i, node) in nodes[family.nodes].iter().enumerate() {
                if i != family.own {
                    out.extend_from_slice(node);
                }
            }
            place = family.parent;
        }
    }
}
