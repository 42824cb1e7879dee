//! A growing list of which only the right edge is kept.

use super::{EMPTY, fold, parent};
use crate::{Hash, SIZE_MAX};
use alloc::vec::Vec;

/// The roots of the largest complete subtrees of a list: enough to append to it, and to compute its
/// root. At most 62 hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frontier {
    entries: u64,
    peaks: Vec<Hash>,
}

impl Frontier {
    /// An empty list.
    pub const EMPTY: Self = Self {
        entries: 0,
        peaks: Vec::new(),
    };

    /// Returns how many entries the list has.
    pub const fn entries(&self) -> u64 {
        self.entries
    }

    /// The list of so many entries with these roots of complete subtrees, the largest first. Returns `None`
    /// if such a list has another number of them.
    pub(crate) fn of(entries: u64, peaks: Vec<Hash>) -> Option<Self> {
        let fits = entries <= SIZE_MAX && peaks.len() == entries.count_ones() as usize;
        fits.then_some(Self { entries, peaks })
    }

    /// The edge of the first `entries` of a list whose nodes are known: `node` gives the root of the subtree
    /// of 2^level entries at a place. Returns `None` if one is missing.
    pub fn at(entries: u64, node: &mut dyn FnMut(u32, u64) -> Option<Hash>) -> Option<Self> {
        let levels = (0..u64::BITS)
            .rev()
            .filter(|level| entries >> level & 1 == 1);
        // Behind the larger subtrees; its place counts subtrees of its own size.
        let peaks = levels.map(|level| node(level, (entries >> level) - 1));
        Self::of(entries, peaks.collect::<Option<Vec<Hash>>>()?)
    }

    /// The roots of complete subtrees, the largest first.
    pub(crate) fn peaks(&self) -> &[Hash] {
        &self.peaks
    }

    /// Appends a leaf hash. Returns `None`, and appends nothing, if the list is full.
    pub fn push(&mut self, leaf: Hash) -> Option<()> {
        if self.entries >= SIZE_MAX {
            return None;
        }
        let mut hash = leaf;
        for _ in 0..self.entries.trailing_ones() {
            let left = self.peaks.pop()?;
            hash = parent(&left, &hash);
        }
        self.peaks.push(hash);
        self.entries += 1;
        Some(())
    }

    /// Returns the Merkle tree hash of the list.
    pub fn root(&self) -> Hash {
        fold(&self.peaks).unwrap_or(EMPTY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::tests::{at, nodes_of};
    use crate::tree::{leaf, root};

    #[test]
    fn the_edge_has_the_roots_of_all_sizes() {
        let nodes = nodes_of(70);
        let mut frontier = Frontier::default();
        for size in 0..70_u64 {
            assert_eq!(frontier.entries(), size);
            assert_eq!(Some(frontier.root()), root(size, at(&nodes)));
            assert_eq!(
                Frontier::at(size, &mut at(&nodes)).as_ref(),
                Some(&frontier)
            );
            frontier.push(leaf(&size.to_be_bytes())).unwrap();
        }
    }
}
