//! How a block's signature travels when it is too long for every packet (`spec/flow-carriage.md`).
//!
//! The *blob* of a block (its signature and what belongs to it) is coded into one share for each
//! packet, and any k shares restore it ([`Code`]). A share depends on the root that is signed, so it
//! cannot be within its own packet's leaf, and whoever copies an honest packet could give it another
//! share. Therefore each share has a *tag*: its path in a second tree, over the shares ([`ShareTree`]).
//! A receiver puts shares into *bins* by the roots that they lead to ([`Bins`]), so that an honest bin
//! has honest shares only: the distillation codes of Karlof, Sastry, Li, Perrig and Tygar
//! (*Distillation Codes and Applications to DoS Resistant Multicast Authentication*, NDSS 2004).
//!
//! ```
//! use clew_tree::carriage::{Code, Rate, ShareTree, TagSize, Tags};
//!
//! let blob = [7; 200];
//! let code = Code::new(16, Rate::QUARTER.needed(16), 200)?;
//! let shares = code.encode(&blob)?;
//! let tags = Tags::new([1; 16], code, TagSize::T8);
//! let tree = ShareTree::new(tags, &shares)?;
//!
//! // What travels with packet 9 leads to the root of the shares; any four shares to the blob.
//! let share = &shares[9 * 50..][..50];
//! assert_eq!(tags.root(9, share, &tree.tag(9)?)?, tree.root());
//! let some = [9, 2, 15, 4].map(|i| (i, &shares[usize::from(i) * 50..][..50]));
//! assert_eq!(code.decode(&some)?, blob);
//! # Ok::<(), clew_tree::carriage::Error>(())
//! ```

mod bins;
mod code;
mod field;
mod tags;

pub use bins::{Answer, Bins, Inserted, Key, Limits, NoRoom};
pub use code::{BLOB_MAX, BLOB_MIN, COUNT_MAX, COUNT_MIN, Code, Error, Rate};
pub use tags::{ShareTree, TagSize, Tags};
