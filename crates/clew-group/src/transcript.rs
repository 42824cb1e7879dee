//! What hashes begin and end with.

use crate::curve::{G1, Scalar};
use sha2::{Digest, Sha256};

/// Returns D("text"): the text, filled with zero bytes to 32 (`spec/group-signature.md` section 2).
pub const fn domain_separator(text: &str) -> [u8; 32] {
    let (mut out, text) = ([0; 32], text.as_bytes());
    let mut i = 0;
    while i < text.len() {
        out[i] = text[i];
        i += 1;
    }
    out
}

/// A hash that has read D("text").
pub(crate) fn domain(text: &str) -> Sha256 {
    Sha256::new_with_prefix(domain_separator(text))
}

/// `hash`, with points behind what it has read.
pub(crate) fn with_points(hash: Sha256, points: &[G1]) -> Sha256 {
    hash.chain_update(G1::to_bytes_all(points).as_flattened())
}

/// The long challenge that a hash ends with: a digest without its two most significant bits.
pub(crate) fn long_challenge(hash: Sha256) -> Scalar {
    Scalar::from_254_bits(hash.finalize().into())
}
