//! What hashes begin and end with.

use crate::curve::Scalar;
use sha2::{Digest, Sha256};

/// A hash that has read D("text"): the text, filled with zero bytes to 32
/// (`spec/group-signature.md` section 2).
pub(crate) fn domain(text: &str) -> Sha256 {
    let mut separator = [0; 32];
    for (place, byte) in separator.iter_mut().zip(text.bytes()) {
        *place = byte;
    }
    Sha256::new_with_prefix(separator)
}

/// The long challenge that a hash ends with: a digest without its two most significant bits.
pub(crate) fn long_challenge(hash: Sha256) -> Scalar {
    Scalar::from_254_bits(hash.finalize().into())
}
