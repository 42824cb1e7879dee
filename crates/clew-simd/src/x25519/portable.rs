//! One point after the other, by `curve25519-dalek`.

use curve25519_dalek::MontgomeryPoint;

use super::{BYTES, Job};

pub fn product((secret, public): &Job<'_>) -> [u8; BYTES] {
    MontgomeryPoint(**public).mul_clamped(**secret).0
}

pub fn public_key(secret: &[u8; BYTES]) -> [u8; BYTES] {
    MontgomeryPoint::mul_base_clamped(*secret).0
}
