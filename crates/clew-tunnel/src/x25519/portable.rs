//! One point after the other, by `curve25519-dalek`.

use curve25519_dalek::MontgomeryPoint;

use super::{Job, Public, Secret, Shared};

pub fn shared((secret, public): &Job<'_>) -> Option<Shared> {
    let mut point = MontgomeryPoint(public.0).mul_clamped(secret.0);
    Shared::unless_zero(&mut point.0)
}

pub fn public_key(secret: &Secret) -> Public {
    Public(MontgomeryPoint::mul_base_clamped(secret.0).0)
}
