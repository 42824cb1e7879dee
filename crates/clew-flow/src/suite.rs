//! The hash functions of a tree: `spec/tree.md` sections 2 and 4.

use alloc::vec::Vec;

use sha2::{Digest as _, Sha256};

use crate::block::{Digest, DigestSize, ID_BYTES};
use crate::lanes::{self, Input};
use crate::shape::Degree;

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
    /// The suite with that number.
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

    /// The leaves of packets, hashed together.
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
                lanes::blake3_keyed(key, &inputs.collect::<Vec<_>>(), &mut out);
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
                lanes::sha256(&inputs.collect::<Vec<_>>(), &mut out);
            }
        }
        out
    }

    /// The nodes over families of siblings, from the first place of a level on, hashed together.
    pub fn nodes(&self, level: u8, families: &[&[u8]]) -> Vec<Digest> {
        let mut out = alloc::vec![[0; 32]; families.len()];
        let places = (0..=u16::MAX).map(u16::to_be_bytes).take(families.len());
        match self {
            Self::Blake3 { key } => {
                let tails: Vec<[u8; 4]> = places
                    .map(|place| [place[0], place[1], level, NODE])
                    .collect();
                let input = |(body, tail)| Input {
                    head: &[],
                    body,
                    tail,
                };
                let tails = tails.iter().map(<[u8; 4]>::as_slice);
                let inputs = families.iter().copied().zip(tails).map(input);
                lanes::blake3_keyed(key, &inputs.collect::<Vec<_>>(), &mut out);
            }
            Self::Sha256 { id, .. } => {
                let heads: Vec<[u8; 20]> = places
                    .map(|place| {
                        let mut head = [0; 20];
                        head[0] = NODE;
                        head[1..17].copy_from_slice(id);
                        head[17] = level;
                        head[18..].copy_from_slice(&place);
                        head
                    })
                    .collect();
                let input = |(body, head)| Input {
                    head,
                    body,
                    tail: &[],
                };
                let heads = heads.iter().map(<[u8; 20]>::as_slice);
                let inputs = families.iter().copied().zip(heads).map(input);
                lanes::sha256(&inputs.collect::<Vec<_>>(), &mut out);
            }
        }
        out
    }

    /// The node over its shortened children.
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

fn keyed(key: &[u8; 32], parts: &[&[u8]], tail: &[u8]) -> Digest {
    let mut hash = blake3::Hasher::new_keyed(key);
    for part in parts {
        hash.update(part);
    }
    hash.update(tail).finalize().into()
}
