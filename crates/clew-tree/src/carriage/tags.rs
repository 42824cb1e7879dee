//! Tags: a second tree, over the shares (`spec/flow-carriage.md` section 3).

use alloc::vec::Vec;
use core::slice;
use sha2::{Digest as _, Sha256};

use super::{Code, Error};
use crate::block::{Digest, ID_BYTES};
use crate::shape::{Degree, Steps};
use clew_simd::hash::{self, Input};

const LEAF: u8 = 2;
const NODE: u8 = 3;

/// Bytes before a share in a leaf, and before two digests in a node.
const LEAF_HEAD: usize = 1 + ID_BYTES + 2 + 2 + 1 + 2 + 2;
const NODE_HEAD: usize = 1 + ID_BYTES + 1 + 2;

/// How long a digest is within the tree of shares, in bytes. Only protection against pollution
/// hangs on it, while the block's shares arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagSize {
    /// 4 bytes, where room is short: whoever computes 2^32 hashes within seconds pollutes one block.
    T4 = 4,
    /// 8 bytes: that is out of reach.
    T8 = 8,
}

impl TagSize {
    /// Returns the size with that many bytes.
    pub const fn from_bytes(bytes: u8) -> Option<Self> {
        match bytes {
            4 => Some(Self::T4),
            8 => Some(Self::T8),
            _ => None,
        }
    }

    /// Returns its bytes.
    pub const fn bytes(self) -> usize {
        self as usize
    }
}

/// What the tags of one block's shares bind: the block's id, its code and the size of the digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tags {
    id: [u8; ID_BYTES],
    code: Code,
    size: TagSize,
}

impl Tags {
    /// Tags of the block with that id.
    pub const fn new(id: [u8; ID_BYTES], code: Code, size: TagSize) -> Self {
        Self { id, code, size }
    }

    /// Returns the block's code.
    pub const fn code(&self) -> &Code {
        &self.code
    }

    /// Returns the length of the tag of the share at `index`, in bytes.
    pub fn tag_bytes(&self, index: u16) -> Result<usize, Error> {
        if index >= self.code.count() {
            return Err(Error::Index);
        }
        Ok(self.size.bytes() * self.paired(index).count())
    }

    /// Returns the root of all shares, which a share and its tag lead to.
    pub fn root(&self, index: u16, share: &[u8], tag: &[u8]) -> Result<Digest, Error> {
        self.code.check(index, share)?;
        if tag.len() != self.tag_bytes(index)? {
            return Err(Error::TagLength);
        }
        let size = self.size.bytes();
        let steps = self.paired(index).zip(tag.chunks_exact(size));
        let up = |own: Digest, (step, sibling): (Pair, &[u8])| {
            let own = &own[..size];
            match step.left {
                true => self.node(step.level, step.place, own, sibling),
                false => self.node(step.level, step.place, sibling, own),
            }
        };
        Ok(steps.fold(self.leaf(index, share), up))
    }

    fn leaf(&self, index: u16, share: &[u8]) -> Digest {
        hash(&[&self.leaf_head(index), share])
    }

    /// The node over two shortened digests.
    fn node(&self, level: u8, place: u16, left: &[u8], right: &[u8]) -> Digest {
        hash(&[&self.node_head(level, place), left, right])
    }

    /// What stands before a share in its leaf.
    fn leaf_head(&self, index: u16) -> [u8; LEAF_HEAD] {
        let mut head = [LEAF; LEAF_HEAD];
        head[1..17].copy_from_slice(&self.id);
        head[17..19].copy_from_slice(&index.to_be_bytes());
        head[19..21].copy_from_slice(&self.code.count().to_be_bytes());
        head[21] = self.size as u8;
        head[22..24].copy_from_slice(&self.code.needed().to_be_bytes());
        head[24..].copy_from_slice(&(self.code.blob_bytes() as u16).to_be_bytes());
        head
    }

    /// What stands before two digests in the node over them.
    fn node_head(&self, level: u8, place: u16) -> [u8; NODE_HEAD] {
        let mut head = [NODE; NODE_HEAD];
        head[1..17].copy_from_slice(&self.id);
        head[17] = level;
        head[18..].copy_from_slice(&place.to_be_bytes());
        head
    }

    /// The steps on the way from a share to the root at which there is a sibling.
    fn paired(&self, index: u16) -> impl Iterator<Item = Pair> {
        let steps = Steps::new(index, self.code.count(), Degree::BINARY);
        steps.filter(|step| step.siblings() > 0).map(|step| Pair {
            level: step.level,
            place: step.parent,
            left: step.own == 0,
        })
    }
}

/// Two siblings: level and place of their parent, and whether one's own is the left one.
struct Pair {
    level: u8,
    place: u16,
    left: bool,
}

/// The one hash function of tags.
fn hash(parts: &[&[u8]]) -> Digest {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().into()
}

/// The same of many: of what stands behind its head each.
fn hash_all<const H: usize>(heads: &[[u8; H]], bodies: slice::Chunks<'_, u8>) -> Vec<Digest> {
    let inputs = heads.iter().zip(bodies).map(|(head, body)| Input {
        head,
        body,
        tail: &[],
    });
    let inputs: Vec<Input<'_>> = inputs.collect();
    let mut out = alloc::vec![[0; 32]; inputs.len()];
    hash::sha256(&inputs, &mut out);
    out
}

/// The whole tree over a block's shares, for its signer.
#[derive(Clone, Debug)]
pub struct ShareTree {
    tags: Tags,
    /// The shortened nodes of each level below the root, leaves first; a node without a sibling
    /// stands in the next level too.
    levels: Vec<Vec<u8>>,
    root: Digest,
}

impl ShareTree {
    /// Returns the tree over all shares, which stand one after the other as [`Code::encode`] gives
    /// them.
    pub fn new(tags: Tags, shares: &[u8]) -> Result<Self, Error> {
        let (size, count) = (tags.code.share_bytes(), tags.code.count());
        if shares.len() != size * usize::from(count) {
            return Err(Error::ShareLength);
        }
        let heads: Vec<_> = (0..count).map(|index| tags.leaf_head(index)).collect();
        let mut nodes = hash_all(&heads, shares.chunks(size));
        let mut levels: Vec<Vec<u8>> = Vec::new();
        while nodes.len() > 1 {
            let level = levels.len() as u8 + 1;
            let shortened = nodes.iter().map(|node| &node[..tags.size.bytes()]);
            let below = shortened.collect::<Vec<_>>().concat();
            let alone = nodes.last().filter(|_| nodes.len() % 2 == 1).copied();
            let pairs = nodes.len() as u16 / 2;
            let heads: Vec<_> = (0..pairs).map(|i| tags.node_head(level, i)).collect();
            nodes = hash_all(&heads, below.chunks(2 * tags.size.bytes()));
            nodes.extend(alone);
            levels.push(below);
        }
        let root = nodes[0];
        Ok(Self { tags, levels, root })
    }

    /// Returns the root, which tells bins apart. It is not signed and does not travel.
    pub const fn root(&self) -> Digest {
        self.root
    }

    /// Returns the size of the digests in tags.
    pub const fn size(&self) -> TagSize {
        self.tags.size
    }

    /// Returns the tag of the share at `index`: the siblings on its way, from its own upwards.
    pub fn tag(&self, index: u16) -> Result<Vec<u8>, Error> {
        let mut tag = Vec::with_capacity(self.tags.tag_bytes(index)?);
        self.write_tag(index, &mut tag);
        Ok(tag)
    }

    /// Appends the tag of a share of the block.
    pub fn write_tag(&self, index: u16, out: &mut Vec<u8>) {
        let size = self.tags.size.bytes();
        for (level, nodes) in self.levels.iter().enumerate() {
            let sibling = (usize::from(index) >> level) ^ 1;
            if let Some(digest) = nodes.get(sibling * size..(sibling + 1) * size) {
                out.extend_from_slice(digest);
            }
        }
    }
}
