//! Trees of digests over blocks of packets (Wong and Lam, *Digital Signatures for Flows and
//! Multicasts*, 1998, section 2), for packet trailers and flow signatures. The packets' digests are
//! the leaves of a tree, and one signature covers its root. Each packet carries the digests from its
//! leaf to the root, so it is verifiable alone, whatever else is lost. The format is `spec/tree.md`;
//! [`carriage`] spreads the signature itself over the packets.
//!
//! ```
//! use clew_tree::{Block, DigestSize, Tree};
//!
//! let packets: [&[u8]; 3] = [b"one", b"two", b"three"];
//! let block = Block::new([7; 16], 3, DigestSize::D16).expect("a block has 1 to 1024 packets");
//! let leaves = (0..).zip(packets).map(|(i, packet)| block.leaf(i, &[packet]));
//! let tree = Tree::new(block, &leaves.collect::<Vec<_>>()).expect("a leaf for each packet");
//!
//! // What travels with the second packet leads to the root that was signed.
//! let path = tree.path(1).expect("the block has this packet");
//! let leaf = block.leaf(1, &[b"two"]);
//! assert_eq!(block.root(1, &leaf, &path), Some(tree.root()));
//! ```
//!
//! No IO, no clock, no randomness: all are arguments.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod block;
pub mod carriage;
mod lru_map;
mod node_cache;
mod nodes;
mod shape;
mod suite;
mod tree;

pub use block::{Block, Digest, DigestSize, ID_BYTES, PACKETS_MAX};
pub use lru_map::LruMap;
pub use node_cache::{Claim, Mismatch, NodeCache};
pub use shape::Degree;
pub use suite::{Content, Suite};
pub use tree::Tree;
