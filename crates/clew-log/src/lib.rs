//! Transparency logs, without IO and without a clock: what logs, witnesses, trustees and auditors
//! have in common.
//!
//! The formats are those of C2SP, so that other people's programs read them, too:
//!
//! - [`tree`]: the Merkle tree of RFC 6962, its inclusion and consistency proofs.
//! - A [`Note`] is a signed text (`c2sp.org/signed-note`), a [`Checkpoint`] the text that states a
//!   log's size and root (`tlog-checkpoint`), and a [`Cosignature`] a witness's word that a
//!   checkpoint is consistent with all earlier ones (`tlog-cosignature`).
//! - A [`Proof`] shows offline that an entry is in a log (`tlog-proof`).
//! - [`tile`]: the files by which a log is served (`tlog-tiles`).
//! - [`AddCheckpoint`] is what a log sends to a witness, and [`Witnessed`] what a witness remembers
//!   (`tlog-witness`).
//!
//! What a group writes into its log is an [`entry`] (`spec/log.md`), and [`LogState`] has the rules by
//! which one may follow the others, and what they say together.
//!
//! Whatever the bytes are, nothing panics, and nothing allocates beyond a small multiple of them.
#![no_std]

extern crate alloc;
#[cfg(test)]
#[macro_use]
extern crate std;

mod checkpoint;
mod cosignature;
pub mod entry;
mod note;
mod proof;
pub mod signed;
mod state;
mod text;
pub mod tile;
pub mod tree;
mod witness;

pub use checkpoint::{Checkpoint, CheckpointError, SIZE_MAX};
pub use cosignature::Cosignature;
pub use note::{
    BadKey, KeyKind, Note, NoteError, NoteSignature, SIGNATURES_MAX, VerifierKey, sign,
};
pub use proof::{Policy, Proof, ProofError};
pub use state::{
    Author, CLOCK_DIFFERENCE_MAX, Counts, Founder, KeptState, LogState, Month, Request, Rule,
    SEAL_MAX,
};
pub use witness::{AddCheckpoint, Refusal, Witnessed};

/// A hash of the tree: SHA-256.
pub type Hash = [u8; 32];
