//! The blocks whose signature was verified.

use alloc::collections::{BTreeSet, VecDeque};

/// The name of a block with its signature: SHA-256 of M, body and key.
pub(crate) type BlockName = [u8; 32];

/// Most blocks that are remembered: about 1 MB.
const BLOCKS_MAX: usize = 1 << 14;

/// Verified blocks; the oldest is forgotten first, and then costs a verification again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verified {
    names: BTreeSet<BlockName>,
    order: VecDeque<BlockName>,
}

impl Verified {
    pub fn contains(&self, block: &BlockName) -> bool {
        self.names.contains(block)
    }

    pub fn insert(&mut self, block: BlockName) {
        if !self.names.insert(block) {
            return;
        }
        self.order.push_back(block);
        if self.order.len() > BLOCKS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.names.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_first() {
        let name = |n: usize| {
            let mut name = [0; 32];
            name[..8].copy_from_slice(&n.to_be_bytes());
            name
        };
        let mut verified = Verified::default();
        (0..=BLOCKS_MAX).for_each(|n| verified.insert(name(n)));
        verified.insert(name(BLOCKS_MAX));
        assert!(!verified.contains(&name(0)));
        assert!((1..=BLOCKS_MAX).all(|n| verified.contains(&name(n))));
        assert_eq!(verified.names.len(), verified.order.len());
    }
}
