//! Trees of digests over a block of packets (`spec/tree.md`).

use alloc::vec::Vec;
use sha2::{Digest as _, Sha256};

/// A digest before it is shortened for a path; a root is never shortened.
pub type Digest = [u8; 32];

/// Size of a block's id.
pub const ID_BYTES: usize = 16;

/// Most packets of a block.
pub const PACKETS_MAX: u16 = 1024;

const LEAF: u8 = 0;
const NODE: u8 = 1;

/// How long a digest is within the tree, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DigestSize {
    /// 16 bytes: nobody but the signer can find two packets for one place.
    D16 = 16,
    /// 24 bytes.
    D24 = 24,
    /// 32 bytes: the signer cannot either.
    D32 = 32,
}

impl DigestSize {
    /// The size with that many bytes.
    pub const fn from_bytes(bytes: u8) -> Option<Self> {
        match bytes {
            16 => Some(Self::D16),
            24 => Some(Self::D24),
            32 => Some(Self::D32),
            _ => None,
        }
    }

    /// Its bytes.
    pub const fn bytes(self) -> usize {
        self as usize
    }
}

/// A block: its id, the number of its packets, the size of its digests. Every hash of the tree binds
/// all three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    id: [u8; ID_BYTES],
    count: u16,
    digest: DigestSize,
}

impl Block {
    /// A block of 1 to [`PACKETS_MAX`] packets. A signer draws `id` at random once the packets are
    /// fixed: who chooses packets must not know it before.
    pub const fn new(id: [u8; ID_BYTES], count: u16, digest: DigestSize) -> Option<Self> {
        if count == 0 || count > PACKETS_MAX {
            return None;
        }
        Some(Self { id, count, digest })
    }

    /// Its id.
    pub const fn id(&self) -> &[u8; ID_BYTES] {
        &self.id
    }

    /// The number of its packets.
    pub const fn count(&self) -> u16 {
        self.count
    }

    /// The size of its digests.
    pub const fn digest(&self) -> DigestSize {
        self.digest
    }

    /// The leaf of the packet at `index`, which is the concatenation of `packet`.
    pub fn leaf(&self, index: u16, packet: &[&[u8]]) -> Digest {
        let mut hash = Sha256::new_with_prefix([LEAF]);
        hash.update(self.id);
        hash.update(index.to_be_bytes());
        hash.update(self.count.to_be_bytes());
        hash.update([self.digest as u8]);
        packet.iter().for_each(|part| hash.update(part));
        hash.finalize().into()
    }

    /// The number of digests in the path of the packet at `index`; none if there is no such packet.
    pub fn depth(&self, index: u16) -> Option<usize> {
        (index < self.count).then(|| Steps::new(index, self.count).filter(|s| s.sibling).count())
    }

    /// The root that a leaf and its path lead to (RFC 9162, 2.1.3.2); none if there is no such packet
    /// or the path does not have the length that it must have.
    pub fn root(&self, index: u16, leaf: &Digest, path: &[u8]) -> Option<Digest> {
        let size = self.digest.bytes();
        if path.len() != size * self.depth(index)? {
            return None;
        }
        let mut siblings = path.chunks_exact(size);
        let mut hash = *leaf;
        for step in Steps::new(index, self.count).filter(|step| step.sibling) {
            let (own, sibling) = (&hash[..size], siblings.next()?);
            let (left, right) = if step.left {
                (own, sibling)
            } else {
                (sibling, own)
            };
            hash = self.node(step.level, step.parent, left, right);
        }
        Some(hash)
    }

    /// The node over two shortened digests.
    fn node(&self, level: u8, index: u16, left: &[u8], right: &[u8]) -> Digest {
        Sha256::new_with_prefix([NODE])
            .chain_update(self.id)
            .chain_update([level])
            .chain_update(index.to_be_bytes())
            .chain_update(left)
            .chain_update(right)
            .finalize()
            .into()
    }
}

/// The way from a leaf to the root, one step for each level.
pub(crate) struct Steps {
    /// Place within the level, and the last place of it.
    own: u16,
    last: u16,
    level: u8,
}

/// One step up.
pub(crate) struct Step {
    /// Level and place of the parent.
    pub level: u8,
    pub parent: u16,
    /// Whether there is a sibling to hash with: the last node of a level may be alone, and is
    /// then its own parent.
    pub sibling: bool,
    /// Whether the node is the left one of the two.
    pub left: bool,
}

impl Steps {
    pub const fn new(index: u16, count: u16) -> Self {
        Self {
            own: index,
            last: count - 1,
            level: 0,
        }
    }
}

impl Iterator for Steps {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if self.last == 0 {
            return None;
        }
        let left = self.own & 1 == 0;
        let step = Step {
            level: self.level + 1,
            parent: self.own >> 1,
            sibling: !left || self.own < self.last,
            left,
        };
        (self.own, self.last, self.level) = (self.own >> 1, self.last >> 1, self.level + 1);
        Some(step)
    }
}

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
        if leaves.len() != usize::from(block.count) {
            return None;
        }
        let mut levels = Vec::from([leaves.to_vec()]);
        while let Some(below) = levels.last().filter(|level| level.len() > 1) {
            let above = parents(&block, levels.len() as u8, below);
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

    /// The path of the packet at `index`, from its sibling upwards.
    pub fn path(&self, index: u16) -> Option<Vec<u8>> {
        let depth = self.block.depth(index)?;
        let size = self.block.digest.bytes();
        let mut path = Vec::with_capacity(depth * size);
        for (level, nodes) in self.levels.iter().enumerate() {
            let own = usize::from(index) >> level;
            if let Some(sibling) = nodes.get(own ^ 1) {
                path.extend_from_slice(&sibling[..size]);
            }
        }
        Some(path)
    }
}

fn parents(block: &Block, level: u8, below: &[Digest]) -> Vec<Digest> {
    let size = block.digest.bytes();
    let parent = |(index, pair): (usize, &[Digest])| match pair {
        [left, right] => block.node(level, index as u16, &left[..size], &right[..size]),
        _ => pair[0],
    };
    below.chunks(2).enumerate().map(parent).collect()
}
