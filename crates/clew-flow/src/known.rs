//! Nodes of a block that are verified: the cache of Wong and Lam's procedure (their appendix).

use alloc::vec::Vec;
use core::ops::Range;

use crate::block::{Block, Digest};
use crate::shape::{Degree, Step};
use crate::suite::Hasher;

/// The verified nodes of a block whose root was verified.
///
/// A packet whose leaf is known costs its own hash and no more; another costs the hashes up to the
/// first node that is known. At most twice as many nodes as packets are kept, each as long as the
/// block's digests.
#[derive(Clone, Debug)]
pub struct Known {
    block: Block,
    hasher: Hasher,
    root: Digest,
    /// Shortened nodes of each level below the root, leaves first; zeros where one is not known.
    levels: Vec<Level>,
}

#[derive(Clone, Debug)]
struct Level {
    nodes: Vec<u8>,
    known: Vec<bool>,
}

/// A packet is not what the verified block has at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// There is no such place, or the path is not as long as it must be.
    Shape,
    /// The packet, or its path, is another.
    Digest,
}

impl Known {
    /// Nothing but the root, which was verified with the block.
    pub fn new(block: Block, root: Digest) -> Self {
        let (size, degree) = (block.digest().bytes(), usize::from(block.degree().get()));
        let mut levels = Vec::new();
        let mut count = usize::from(block.count());
        while count > 1 {
            levels.push(Level {
                nodes: alloc::vec![0; count * size],
                known: alloc::vec![false; count],
            });
            count = count.div_ceil(degree);
        }
        Self {
            block,
            hasher: block.hasher(),
            root,
            levels,
        }
    }

    /// The block.
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// The root.
    pub fn root(&self) -> &Digest {
        &self.root
    }

    /// Verifies a packet by its leaf and path, with as few hashes as are needed, and takes in what
    /// this verified. All of the path is compared: whoever takes the packet on may rely on it.
    ///
    /// # Errors
    /// The packet is not of the block at this index, or does not carry its path.
    pub fn verify(&mut self, index: u16, leaf: &Digest, path: &[u8]) -> Result<(), Mismatch> {
        let size = self.block.digest().bytes();
        let depth = self.block.depth(index).ok_or(Mismatch::Shape)?;
        if path.len() != depth * size {
            return Err(Mismatch::Shape);
        }
        let (mut hash, mut rest) = (*leaf, path);
        let mut fresh: Vec<(usize, Family<'_>)> = Vec::new();
        let mut met = false;
        for (level, step) in self.block.steps(index).enumerate() {
            let (siblings, above) = rest.split_at(size * step.siblings());
            let family = Family::new(&step, self.block.degree(), &hash[..size], siblings);
            match self.levels[level].compare(&family, met) {
                Some(false) => return Err(Mismatch::Digest),
                Some(true) => met = true,
                None => {
                    hash = self.block.parent(&self.hasher, &step, &hash, siblings);
                    fresh.push((level, family));
                }
            }
            rest = above;
        }
        if !met && hash != self.root {
            return Err(Mismatch::Digest);
        }
        for (level, family) in fresh {
            self.levels[level].insert(&family);
        }
        Ok(())
    }
}

/// A node and its siblings: the children of one node. They become known all together.
struct Family<'a> {
    /// Place of the first of them within its level.
    first: usize,
    before: &'a [u8],
    own: [u8; 32],
    after: &'a [u8],
    size: usize,
}

impl<'a> Family<'a> {
    fn new(step: &Step, degree: Degree, own: &[u8], siblings: &'a [u8]) -> Self {
        let size = own.len();
        let (before, after) = siblings.split_at(size * usize::from(step.own));
        let mut shortened = [0; 32];
        shortened[..size].copy_from_slice(own);
        Self {
            first: usize::from(step.parent) * usize::from(degree.get()),
            before,
            own: shortened,
            after,
            size,
        }
    }

    fn own(&self) -> &[u8] {
        &self.own[..self.size]
    }

    /// Where the family's digests are within a level's, in bytes.
    fn place(&self) -> Range<usize> {
        let at = self.first * self.size;
        at..at + self.before.len() + self.size + self.after.len()
    }
}

impl Level {
    /// Whether the family is the known one; none if it is not known. Above a node that is known
    /// (`met`) only the siblings are compared: nothing was hashed to get there.
    fn compare(&self, family: &Family<'_>, met: bool) -> Option<bool> {
        if !self.known[family.first] {
            return None;
        }
        let (before, rest) = self.nodes[family.place()].split_at(family.before.len());
        let (own, after) = rest.split_at(family.size);
        let siblings = before == family.before && after == family.after;
        Some(siblings && (met || own == family.own()))
    }

    fn insert(&mut self, family: &Family<'_>) {
        let nodes = &mut self.nodes[family.place()];
        let (before, rest) = nodes.split_at_mut(family.before.len());
        let (own, after) = rest.split_at_mut(family.size);
        before.copy_from_slice(family.before);
        own.copy_from_slice(family.own());
        after.copy_from_slice(family.after);
        let members = family.place().len() / family.size;
        self.known[family.first..family.first + members].fill(true);
    }
}
