//! Tags: a second tree, over the shares (`spec/flow-carriage.md` section 3).

use alloc::vec::Vec;
use sha2::{Digest as _, Sha256};

use super::{Code, Error};
use crate::block::{Digest, ID_BYTES};
use crate::shape::{Degree, Steps};

const LEAF: u8 = 2;
const NODE: u8 = 3;

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
    /// The size with that many bytes.
    pub const fn from_bytes(bytes: u8) -> Option<Self> {
        match bytes {
            4 => Some(Self::T4),
            8 => Some(Self::T8),
            _ => None,
        }
    }

    /// Its bytes.
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

    /// The block's code.
    pub const fn code(&self) -> &Code {
        &self.code
    }

    /// Length in bytes of the tag of the share at `index`.
    pub fn tag_bytes(&self, index: u16) -> Result<usize, Error> {
        if index >= self.code.count() {
            return Err(Error::Index);
        }
        Ok(self.size.bytes() * self.paired(index).count())
    }

    /// The root of all shares, which a share and its tag lead to.
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
        hash(&[
            &[LEAF],
            &self.id,
            &index.to_be_bytes(),
            &self.code.count().to_be_bytes(),
            &[self.size as u8],
            &self.code.needed().to_be_bytes(),
            &(self.code.blob_bytes() as u16).to_be_bytes(),
            share,
        ])
    }

    /// The node over two shortened digests.
    fn node(&self, level: u8, place: u16, left: &[u8], right: &[u8]) -> Digest {
        hash(&[
            &[NODE],
            &self.id,
            &[level],
            &place.to_be_bytes(),
            left,
            right,
        ])
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

    fn parents(&self, level: u8, below: &[Digest]) -> Vec<Digest> {
        let size = self.size.bytes();
        let parent = |(place, pair): (usize, &[Digest])| match pair {
            [left, right] => self.node(level, place as u16, &left[..size], &right[..size]),
            _ => pair[0],
        };
        below.chunks(2).enumerate().map(parent).collect()
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

/// The whole tree over a block's shares, for its signer.
#[derive(Clone, Debug)]
pub struct ShareTree {
    tags: Tags,
    /// All nodes of each level, leaves first; a node without a sibling stands in the next level too.
    levels: Vec<Vec<Digest>>,
}

impl ShareTree {
    /// The tree over all shares, which stand one after the other as [`Code::encode`] gives them.
    pub fn new(tags: Tags, shares: &[u8]) -> Result<Self, Error> {
        let size = tags.code.share_bytes();
        if shares.len() != size * usize::from(tags.code.count()) {
            return Err(Error::ShareLength);
        }
        let leaves = (0..).zip(shares.chunks_exact(size));
        let leaves = leaves.map(|(index, share)| tags.leaf(index, share));
        let mut levels = Vec::from([leaves.collect::<Vec<_>>()]);
        while let Some(below) = levels.last().filter(|level| level.len() > 1) {
            let above = tags.parents(levels.len() as u8, below);
            levels.push(above);
        }
        Ok(Self { tags, levels })
    }

    /// The root, which tells bins apart. It is not signed and does not travel.
    pub fn root(&self) -> Digest {
        self.levels[self.levels.len() - 1][0]
    }

    /// The size of the digests in tags.
    pub const fn size(&self) -> TagSize {
        self.tags.size
    }

    /// The tag of the share at `index`: the siblings on its way, from its own upwards.
    pub fn tag(&self, index: u16) -> Result<Vec<u8>, Error> {
        let mut tag = Vec::with_capacity(self.tags.tag_bytes(index)?);
        self.write_tag(index, &mut tag);
        Ok(tag)
    }

    /// Appends the tag of a share of the block.
    pub(crate) fn write_tag(&self, index: u16, out: &mut Vec<u8>) {
        for (level, nodes) in self.levels.iter().enumerate() {
            let own = usize::from(index) >> level;
            if let Some(sibling) = nodes.get(own ^ 1) {
                out.extend_from_slice(&sibling[..self.tags.size.bytes()]);
            }
        }
    }
}
