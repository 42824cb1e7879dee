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

/// Verified blocks: the message that each body signs. The oldest is forgotten first, and then costs
/// a verification again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verified {
    messages: BTreeMap<Hash, Hash>,
    order: VecDeque<Hash>,
}

impl Verified {
    /// What verifying would say, where that is known: a signature is of one message, so that a
    /// changed packet of a verified block is refused without a look at the signature.
    pub fn check(&self, block: &BlockName) -> Option<Result<(), Fault>> {
        let signed = *self.messages.get(&block.body)? == block.message;
        Some(signed.then_some(()).ok_or(Fault::Invalid))
    }

    /// Takes in a block whose signature was verified.
    pub fn insert(&mut self, block: BlockName) {
        if self.messages.insert(block.body, block.message).is_some() {
            return;
        }
        self.order.push_back(block.body);
        if self.order.len() > BLOCKS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.messages.remove(&oldest);
        }
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
        (0..=BLOCKS_MAX).for_each(|n| verified.insert(block(n)));
        verified.insert(block(BLOCKS_MAX));
        assert_eq!(verified.check(&block(0)), None);
        assert!((1..=BLOCKS_MAX).all(|n| verified.check(&block(n)) == Some(Ok(()))));
        assert_eq!(verified.messages.len(), verified.order.len());
    }

    #[test]
    fn another_message_is_refused() {
        let mut verified = Verified::default();
        verified.insert(block(1));
        let changed = BlockName::of(b"another", &1usize.to_be_bytes());
        assert_eq!(verified.check(&changed), Some(Err(Fault::Invalid)));
    }
}
