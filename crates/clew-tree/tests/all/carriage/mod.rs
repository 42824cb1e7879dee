//! The coded carriage: its code and tags against their definitions, its bins against attackers.
mod any;
mod bins;
mod code;
mod pollution;
mod tags;

use clew_tree::Digest;
use clew_tree::carriage::{Code, Key, Limits, Rate, ShareTree, TagSize, Tags};

const ID: [u8; 16] = *b"a block's own id";

/// Length of an XR signature and what goes with it, about.
const BLOB: u16 = 288;

const LIMITS: Limits = Limits {
    blocks: 8,
    bins: 4,
    shares: 256,
    answers: 16,
    needed: 1,
};

fn code(count: u16, needed: u16) -> Code {
    Code::new(count, needed, BLOB).unwrap()
}

fn quarter(count: u16) -> Code {
    code(count, Rate::QUARTER.needed(count))
}

fn blob(seed: u8, length: usize) -> Vec<u8> {
    let byte = |i: usize| (i as u8).wrapping_mul(89).wrapping_add(seed);
    (0..length).map(byte).collect()
}

/// A block as its signer sends it.
#[derive(Clone)]
struct Sent {
    blob: Vec<u8>,
    tags: Tags,
    shares: Vec<Vec<u8>>,
    tree: ShareTree,
}

impl Sent {
    fn new(seed: u8, code: Code, size: TagSize) -> Self {
        let blob = blob(seed, code.blob_bytes());
        let shares = code.encode(&blob).unwrap();
        let tags = Tags::new(ID, code, size);
        let tree = ShareTree::new(tags, &shares).unwrap();
        let shares = shares.chunks(code.share_bytes()).map(<[u8]>::to_vec);
        Self {
            blob,
            tags,
            shares: shares.collect(),
            tree,
        }
    }

    fn tag(&self, index: u16) -> Vec<u8> {
        self.tree.tag(index).unwrap()
    }

    /// The key of a share, as a receiver computes it.
    fn key(&self, block: Digest, packets: Digest, index: u16, share: &[u8]) -> Key {
        let shares = self.tags.root(index, share, &self.tag(index)).unwrap();
        Key {
            block,
            packets,
            shares,
        }
    }
}
