//! What both schemes ask the pairing.

use crate::curve::{G1, G2, PreparedG2, pairing_product};
use sha2::{Digest, Sha256};

/// By which a member's row is found, whatever the epoch: a hash of e(A, lift), which is
/// e(A of epoch 0, G2) in every epoch.
pub type Tag = [u8; 32];

/// The tag of credential `a`, by a hash that has read the scheme's domain.
pub(crate) fn tag(domain: Sha256, a: &G1, lift: &G2) -> Tag {
    let value = pairing_product([(a, &PreparedG2::new(lift))]);
    domain.chain_update(value.to_bytes()).finalize().into()
}

/// Whether e(left) = e(right).
pub(crate) fn equal(left: (&G1, &PreparedG2), right: (&G1, &PreparedG2)) -> bool {
    pairing_product([left, (&-*right.0, right.1)]).is_identity()
}
