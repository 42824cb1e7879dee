//! Blocks whose signature was verified: their other packets need no more than the hashes to the root.

use alloc::collections::{BTreeMap, VecDeque};

use clew_group::Fault;
use sha2::{Digest, Sha256};

/// Most blocks that are remembered: about 2 MB.
const BLOCKS_MAX: usize = 1 << 14;

type Hash = [u8; 32];

/// A block with its signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct BlockName {
    body: Hash,
    message: Hash,
}

impl BlockName {
    pub fn of(message: &[u8], body: &[u8]) -> Self {
        Self {
            body: Sha256::digest(body).into(),
            message: Sha256::digest(message).into(),
        }
    }
}

/// Verified blocks, by their bodies. The oldest is forgotten first, and then costs a verification
/// again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verified {
    blocks: BTreeMap<Hash, Known>,
    order: VecDeque<Hash>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    /// What the body signs.
    message: Hash,
    /// The greatest index of a packet that was taken in.
    latest: u16,
}

impl Verified {
    /// What verifying would say, where that is known: a signature is of one message, so that a
    /// changed packet of a verified block is refused without a look at the signature.
    pub fn check(&self, block: &BlockName) -> Option<Result<(), Fault>> {
        let signed = self.blocks.get(&block.body)?.message == block.message;
        Some(signed.then_some(()).ok_or(Fault::Invalid))
    }

    /// Takes in a packet of a block whose signature was verified; whether one after it in the block
    /// was taken in before.
    pub fn insert(&mut self, block: BlockName, index: u16) -> bool {
        if let Some(known) = self.blocks.get_mut(&block.body) {
            let late = index < known.latest;
            known.latest = known.latest.max(index);
            return late;
        }
        let known = Known {
            message: block.message,
            latest: index,
        };
        self.blocks.insert(block.body, known);
        self.order.push_back(block.body);
        if self.order.len() > BLOCKS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.blocks.remove(&oldest);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(n: usize) -> BlockName {
        BlockName::of(b"message", &n.to_be_bytes())
    }

    #[test]
    fn the_oldest_is_forgotten_first() {
        let mut verified = Verified::default();
        for n in 0..=BLOCKS_MAX {
            verified.insert(block(n), 0);
        }
        verified.insert(block(BLOCKS_MAX), 1);
        assert_eq!(verified.check(&block(0)), None);
        assert!((1..=BLOCKS_MAX).all(|n| verified.check(&block(n)) == Some(Ok(()))));
        assert_eq!(verified.blocks.len(), verified.order.len());
    }

    #[test]
    fn another_message_is_refused() {
        let mut verified = Verified::default();
        verified.insert(block(1), 0);
        let changed = BlockName::of(b"another", &1usize.to_be_bytes());
        assert_eq!(verified.check(&changed), Some(Err(Fault::Invalid)));
    }

    #[test]
    fn a_packet_is_late_after_a_greater_index() {
        let mut verified = Verified::default();
        let late = [3, 1, 2, 3, 4, 4].map(|index| verified.insert(block(1), index));
        assert_eq!(late, [false, true, true, false, false, false]);
        assert!(!verified.insert(block(2), 0), "blocks have no order");
    }
}
