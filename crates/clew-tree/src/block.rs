//! A block of packets, and the way from a packet to its root.

use alloc::vec::Vec;

use crate::shape::{Degree, Step, Steps};
use crate::suite::{Content, Hasher, Suite};

/// A digest before it is shortened for a path; a root is never shortened.
pub type Digest = [u8; 32];

/// Size of a block's id.
pub const ID_BYTES: usize = 16;

/// Most packets of a block.
pub const PACKETS_MAX: u16 = 1024;

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
    /// Returns the size with that number of bytes.
    pub const fn from_bytes(bytes: u8) -> Option<Self> {
        match bytes {
            16 => Some(Self::D16),
            24 => Some(Self::D24),
            32 => Some(Self::D32),
            _ => None,
        }
    }

    /// Returns the number of bytes of a digest.
    pub const fn bytes(self) -> usize {
        self as usize
    }
}

/// A block: its id, the number of its packets, the size of its digests, the degree of its tree, the
/// hash function. What is signed binds all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    id: [u8; ID_BYTES],
    count: u16,
    digest: DigestSize,
    degree: Degree,
    suite: Suite,
}

impl Block {
    /// Creates a block of 1 to [`PACKETS_MAX`] packets, under a binary tree of SHA-256. A signer
    /// draws `id` at random once the packets are fixed: who chooses packets must not know it
    /// before.
    pub const fn new(id: [u8; ID_BYTES], count: u16, digest: DigestSize) -> Option<Self> {
        Self::shaped(id, count, digest, Degree::BINARY, Suite::Sha256)
    }

    /// Creates a block under another tree.
    pub const fn shaped(
        id: [u8; ID_BYTES],
        count: u16,
        digest: DigestSize,
        degree: Degree,
        suite: Suite,
    ) -> Option<Self> {
        if count == 0 || count > PACKETS_MAX {
            return None;
        }
        Some(Self {
            id,
            count,
            digest,
            degree,
            suite,
        })
    }

    /// Returns its id.
    pub const fn id(&self) -> &[u8; ID_BYTES] {
        &self.id
    }

    /// Returns the number of its packets.
    pub const fn count(&self) -> u16 {
        self.count
    }

    /// Returns the size of its digests.
    pub const fn digest(&self) -> DigestSize {
        self.digest
    }

    /// Returns the degree of its tree.
    pub const fn degree(&self) -> Degree {
        self.degree
    }

    /// Returns its hash function.
    pub const fn suite(&self) -> Suite {
        self.suite
    }

    /// Returns the leaf of the packet at `index`, which is the concatenation of `packet`.
    pub fn leaf(&self, index: u16, packet: &[&[u8]]) -> Digest {
        self.hasher().leaf(index, packet)
    }

    /// Returns the leaves of packets, in their order: as [`leaf`](Self::leaf) of each, but hashed
    /// together, which is several times as fast.
    pub fn leaves(&self, packets: &[Content<'_>]) -> Vec<Digest> {
        self.hasher().leaves(packets)
    }

    /// Returns the number of digests in the path of the packet at `index`, or `None` if there is no
    /// such packet.
    pub fn depth(&self, index: u16) -> Option<usize> {
        (index < self.count).then(|| self.steps(index).map(|step| step.siblings()).sum())
    }

    /// Returns the root that a leaf and its path lead to (RFC 9162, 2.1.3.2, for degree 2), or
    /// `None` if there is no such packet or the path does not have the length that it must have.
    pub fn root(&self, index: u16, leaf: &Digest, path: &[u8]) -> Option<Digest> {
        let size = self.digest.bytes();
        if path.len() != size * self.depth(index)? {
            return None;
        }
        let (hasher, mut hash, mut rest) = (self.hasher(), *leaf, path);
        for step in self.steps(index) {
            let (siblings, above) = rest.split_at(size * step.siblings());
            hash = self.parent(&hasher, &step, &hash, siblings);
            rest = above;
        }
        Some(hash)
    }

    /// What hashes its leaves and nodes: made once for many of them.
    pub(crate) fn hasher(&self) -> Hasher {
        Hasher::new(self.suite, self.id, self.count, self.digest, self.degree)
    }

    pub(crate) fn steps(&self, index: u16) -> Steps {
        Steps::new(index, self.count, self.degree)
    }

    /// One step up, with the siblings' digests in their order. A node without any moves up as it is.
    pub(crate) fn parent(
        &self,
        hasher: &Hasher,
        step: &Step,
        own: &Digest,
        siblings: &[u8],
    ) -> Digest {
        let size = self.digest.bytes();
        if siblings.is_empty() {
            return *own;
        }
        let (before, after) = siblings.split_at(size * usize::from(step.own));
        let children = [before, &own[..size], after];
        hasher.node(step.level, step.parent, &children)
    }
}
