//! The challenge: one function, called by signer and verifier alike.
//!
//! ```text
//! c = H( "clew-bbs04-sig-1"      16 bytes
//!     || epoch id                32
//!     || T1 || T2 || T3          48 each, compressed
//!     || R1 || R2                48 each
//!     || R3                      576
//!     || R4 || R5                48 each
//!     || message )               any length
//! ```
//! H is SHA-256 with the two most significant bits of the digest cleared: an integer below 2^254,
//! hence below r, so that no reduction is needed. Everything before the message fills exactly
//! fifteen SHA-256 blocks, which a precursor has hashed already.

use crate::EpochId;
use crate::curve::{G1_BYTES, GT_BYTES, Scalar};
use crate::transcript::long_challenge;
use sha2::{Digest, Sha256};

const DOMAIN: &[u8; 16] = b"clew-bbs04-sig-1";

/// T1, T2, T3, encoded.
pub(super) type Encryption = [[u8; G1_BYTES]; 3];

/// R1..R5, encoded, in the paper's order (768 bytes).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Commitments {
    pub(super) r1: [u8; G1_BYTES],
    pub(super) r2: [u8; G1_BYTES],
    pub(super) r3: [u8; GT_BYTES],
    pub(super) r4: [u8; G1_BYTES],
    pub(super) r5: [u8; G1_BYTES],
}

impl Commitments {
    pub(super) fn parts(&self) -> [&[u8]; 5] {
        [&self.r1, &self.r2, &self.r3, &self.r4, &self.r5]
    }
}

/// The hash of everything but the message.
pub(super) fn state(id: &EpochId, t: &Encryption, r: &Commitments) -> Sha256 {
    let hash = state_of_bytes(id, t.as_flattened(), &[]);
    let parts = r.parts();
    parts
        .iter()
        .fold(hash, |hash, part| hash.chain_update(part))
}

/// The same from T1..T3 and R1..R5 one behind the other.
pub(super) fn state_of_bytes(id: &EpochId, t: &[u8], r: &[u8]) -> Sha256 {
    Sha256::new_with_prefix(DOMAIN)
        .chain_update(id)
        .chain_update(t)
        .chain_update(r)
}

/// The challenge for the message that is the concatenation of `message`.
pub(super) fn challenge(mut state: Sha256, message: &[&[u8]]) -> Scalar {
    message.iter().for_each(|part| state.update(part));
    long_challenge(state)
}
