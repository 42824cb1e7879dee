//! The hash functions of a tree: `spec/tree.md` sections 2 and 4.

use alloc::vec::Vec;

use sha2::{Digest as _, Sha256};

use crate::block::{Digest, DigestSize, ID_BYTES};
use crate::shape::Degree;
use clew_simd::hash::{self, Input};

/// Nodes that are hashed in one call.
pub(crate) const TOGETHER: usize = 16;

const LEAF: u8 = 0;
const NODE: u8 = 1;

/// What [`Suite::Blake3`]'s keys are hashed with.
const DOMAIN: &[u8; 16] = b"clew-tree-v1\0\0\0\0";

/// Which hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Suite {
    /// BLAKE3 with a key for each block: the faster one where there are vector instructions.
    Blake3 = 1,
    /// SHA-256: that of packet trailers, and where there are SHA instructions and nothing else.
    Sha256 = 2,
}

impl Suite {
    /// Returns the suite with that number.
    pub const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Self::Blake3),
            2 => Some(Self::Sha256),
            _ => None,
        }
    }
}

/// What a leaf is of.
#[derive(Clone, Copy, Debug)]
pub struct Content<'a> {
    /// The packet's place in its block.
    pub index: u16,
    /// Its salt, or nothing: best shorter than 40 bytes.
    pub salt: &'a [u8],
    /// The packet.
    pub packet: &'a [u8],
}

/// What all hashes of a block bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hasher {
    Blake3 {
        key: [u8; 32],
    },
    Sha256 {
        id: [u8; ID_BYTES],
        count: u16,
        digest: DigestSize,
    },
}

impl Hasher {
    pub fn new(
        suite: Suite,
        id: [u8; ID_BYTES],
        count: u16,
        digest: DigestSize,
        degree: Degree,
    ) -> Self {
        match suite {
            Suite::Sha256 => Self::Sha256 { id, count, digest },
            Suite::Blake3 => {
                let mut hash = blake3::Hasher::new();
                hash.update(DOMAIN).update(&id).update(&count.to_be_bytes());
                hash.update(&[digest as u8]);
                hash.update(&degree.get().to_be_bytes());
                Self::Blake3 {
                    key: hash.finalize().into(),
                }
            }
        }
    }

    pub fn leaf(&self, index: u16, packet: &[&[u8]]) -> Digest {
        let index = index.to_be_bytes();
        match self {
            Self::Blake3 { key } => keyed(key, packet, &[index[0], index[1], LEAF]),
            Self::Sha256 { id, count, digest } => {
                let mut hash = Sha256::new_with_prefix([LEAF]);
                hash.update(id);
                hash.update(index);
                hash.update(count.to_be_bytes());
                hash.update([*digest as u8]);
                packet.iter().for_each(|part| hash.update(part));
                hash.finalize().into()
            }
        }
    }

    /// Returns the leaves of packets, hashed together.
    pub fn leaves(&self, packets: &[Content<'_>]) -> Vec<Digest> {
        let mut out = alloc::vec![[0; 32]; packets.len()];
        let indices = packets.iter().map(|packet| packet.index.to_be_bytes());
        match self {
            Self::Blake3 { key } => {
                let tails = indices.map(|index| [index[0], index[1], LEAF]);
                let tails: Vec<[u8; 3]> = tails.collect();
                let inputs = packets.iter().zip(&tails).map(|(packet, tail)| Input {
                    head: packet.salt,
                    body: packet.packet,
                    tail,
                });
                hash::blake3_keyed(key, &inputs.collect::<Vec<_>>(), &mut out);
            }
            Self::Sha256 { id, count, digest } => {
                let (count, size) = (count.to_be_bytes(), [*digest as u8]);
                let head = |(index, packet): ([u8; 2], &Content<'_>)| {
                    [&[LEAF][..], id, &index, &count, &size, packet.salt].concat()
                };
                let heads: Vec<Vec<u8>> = indices.zip(packets).map(head).collect();
                let inputs = packets.iter().zip(&heads).map(|(packet, head)| Input {
                    head,
                    body: packet.packet,
                    tail: &[],
                });
                hash::sha256(&inputs.collect::<Vec<_>>(), &mut out);
            }
        }
        out
    }

    /// Writes up to [`TOGETHER`] nodes of one level to `out`, hashed together: each by its place
    /// and its shortened children.
    pub fn nodes(&self, level: u8, families: &[(u16, &[u8])], out: &mut [Digest]) {
        match self {
            Self::Blake3 { key } => blake3_nodes(key, level, families, out),
            Self::Sha256 { id, .. } => sha256_nodes(id, level, families, out),
        }
    }

    /// Returns the node over its shortened children.
    pub fn node(&self, level: u8, place: u16, children: &[&[u8]]) -> Digest {
        let place = place.to_be_bytes();
        match self {
            Self::Blake3 { key } => keyed(key, children, &[place[0], place[1], level, NODE]),
            Self::Sha256 { id, .. } => {
                let mut hash = Sha256::new_with_prefix([NODE]);
                hash.update(id);
                hash.update([level]);
                hash.update(place);
                children.iter().for_each(|part| hash.update(part));
                hash.finalize().into()
            }
        }
    }
}

fn blake3_nodes(key: &[u8; 32], level: u8, families: &[(u16, &[u8])], out: &mut [Digest]) {
    let tail = |place: u16| {
        let place = place.to_be_bytes();
        [place[0], place[1], level, NODE]
    };
    let len = families.first().map_or(0, |(_, family)| family.len());
    let of_one_length = families.iter().all(|(_, family)| family.len() == len);
    if of_one_length && len + 4 <= 64 {
        let mut blocks = [[0; 64]; TOGETHER];
        for (block, (place, family)) in blocks.iter_mut().zip(families) {
            block[..len].copy_from_slice(family);
            block[len..len + 4].copy_from_slice(&tail(*place));
        }
        return hash::blake3_blocks(key, &blocks[..families.len()], len + 4, out);
    }
    let mut tails = [[0; 4]; TOGETHER];
    for (one, (place, _)) in tails.iter_mut().zip(families) {
        *one = tail(*place);
    }
    let mut inputs = [Input::default(); TOGETHER];
    for ((input, (_, body)), tail) in inputs.iter_mut().zip(families).zip(&tails) {
        let head = &[];
        *input = Input { head, body, tail };
    }
    hash::blake3_keyed(key, &inputs[..families.len()], out);
}

fn sha256_nodes(id: &[u8; ID_BYTES], level: u8, families: &[(u16, &[u8])], out: &mut [Digest]) {
    let mut heads = [[NODE; 20]; TOGETHER];
    for (head, (place, _)) in heads.iter_mut().zip(families) {
        head[1..17].copy_from_slice(id);
        head[17] = level;
        head[18..].copy_from_slice(&place.to_be_bytes());
    }
    let mut inputs = [Input::default(); TOGETHER];
    for ((input, (_, body)), head) in inputs.iter_mut().zip(families).zip(&heads) {
        let tail = &[];
        *input = Input { head, body, tail };
    }
    hash::sha256(&inputs[..families.len()], out);
}

fn keyed(key: &[u8; 32], parts: &[&[u8]], tail: &[u8]) -> Digest {
    let mut hash = blake3::Hasher::new_keyed(key);
    for part in parts {
        hash.update(part);
    }
    hash.update(tail).finalize().into()
}
