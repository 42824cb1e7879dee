//! Blocks whose signature was verified: their other packets need no more than the hashes to the root.

use alloc::collections::{BTreeMap, VecDeque};

use clew_group::Fault;
use sha2::{Digest, Sha256};

use crate::receiver::replay::{AcceptedId, SignatureId, message_hash, naming_hash};

/// Most blocks that are remembered: about 5 MB.
const BLOCKS_MAX: usize = 1 << 14;

type Hash = [u8; 32];

/// A block with its signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct BlockName {
    body: Hash,
    message: Hash,
    /// The same for each form of the signature.
    signature: SignatureId,
}

impl BlockName {
    pub fn of(message: &[u8], body: &[u8]) -> Self {
        let message = message_hash(message);
        Self {
            body: Sha256::digest(body).into(),
            message,
            signature: SignatureId::of(&message, &naming_hash(body)),
        }
    }

    /// Returns the hash of the block's message.
    pub const fn message(&self) -> &Hash {
        &self.message
    }

    /// Returns the name of one of its packets.
    pub const fn id(&self, index: u16) -> AcceptedId {
        AcceptedId {
            signature: self.signature,
            index: Some(index),
        }
    }
}

/// Verified blocks, by their bodies. The oldest is forgotten first, and then costs a verification
/// again.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockCache {
    blocks: BTreeMap<Hash, Entry>,
    /// The body that was verified last, by the message that it signs.
    bodies: BTreeMap<Hash, Hash>,
    order: VecDeque<Hash>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    name: BlockName,
    /// The greatest index of a packet that was taken in.
    latest: u16,
}

impl BlockCache {
    /// Returns the result of verifying, where it is known: a signature is of one message, so that a
    /// changed packet of a verified block is refused without a look at the signature.
    pub fn check(&self, block: &BlockName) -> Option<Result<(), Fault>> {
        let signed = self.blocks.get(&block.body)?.name == *block;
        Some(signed.then_some(()).ok_or(Fault::Invalid))
    }

    /// Returns the block whose message has that hash, if a signature over it was verified.
    pub fn by_message(&self, message: &Hash) -> Option<BlockName> {
        let body = self.bodies.get(message)?;
        self.blocks.get(body).map(|entry| entry.name)
    }

    /// Takes in a packet of a block whose signature was verified; whether one after it in the block
    /// was taken in before.
    pub fn insert(&mut self, block: BlockName, index: u16) -> bool {
        if let Some(entry) = self.blocks.get_mut(&block.body) {
            let late = index < entry.latest;
            entry.latest = entry.latest.max(index);
            return late;
        }
        let entry = Entry {
            name: block,
            latest: index,
        };
        self.blocks.insert(block.body, entry);
        self.bodies.insert(block.message, block.body);
        self.order.push_back(block.body);
        if self.order.len() > BLOCKS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.forget(&oldest);
        }
        false
    }

    fn forget(&mut self, body: &Hash) {
        let Some(entry) = self.blocks.remove(body) else {
            return;
        };
        if self.bodies.get(entry.name.message()) == Some(body) {
            self.bodies.remove(entry.name.message());
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
        let mut cache = BlockCache::default();
        for n in 0..=BLOCKS_MAX {
            cache.insert(block(n), 0);
        }
        cache.insert(block(BLOCKS_MAX), 1);
        assert_eq!(cache.check(&block(0)), None);
        assert!((1..=BLOCKS_MAX).all(|n| cache.check(&block(n)) == Some(Ok(()))));
        assert_eq!(cache.blocks.len(), cache.order.len());
        let last = block(BLOCKS_MAX);
        assert_eq!(cache.by_message(last.message()), Some(last));
        assert_eq!(cache.bodies.len(), 1);
    }

    #[test]
    fn another_message_is_refused() {
        let mut cache = BlockCache::default();
        cache.insert(block(1), 0);
        let changed = BlockName::of(b"another", &1usize.to_be_bytes());
        assert_eq!(cache.check(&changed), Some(Err(Fault::Invalid)));
    }

    #[test]
    fn a_packet_is_late_after_a_greater_index() {
        let mut cache = BlockCache::default();
        let late = [3, 1, 2, 3, 4, 4].map(|index| cache.insert(block(1), index));
        assert_eq!(late, [false, true, true, false, false, false]);
        assert!(!cache.insert(block(2), 0), "blocks have no order");
    }
}
