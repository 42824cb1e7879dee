//! The points that nobody chose.

use crate::EpochId;
use crate::curve::G1;

const U_DOMAIN: &[u8] = b"clew-xr-u-1:BLS12381G1_XMD:SHA-256_SSWU_RO_";
const G1_DOMAIN: &[u8] = b"clew-xr-g1-1:BLS12381G1_XMD:SHA-256_SSWU_RO_";
const H0_DOMAIN: &[u8] = b"clew-xr-h0-1:BLS12381G1_XMD:SHA-256_SSWU_RO_";
const V_DOMAIN: &[u8] = b"clew-xr-v-1:BLS12381G1_XMD:SHA-256_SSWU_RO_";

/// u, g1 and h0 of a group (spec 3.1), hashed to the curve, so that nobody knows a relation between
/// them: whoever knew one could sign as any machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Generators {
    /// The base of the opening key: h = u^xi.
    pub u: G1,
    /// The base that every credential begins with.
    pub g1: G1,
    /// The base of the members' secrets.
    pub h0: G1,
}

impl Generators {
    /// Returns those of the group with that nonce.
    pub fn of(nonce: &[u8; 32]) -> Self {
        let [u, g1, h0] = [U_DOMAIN, G1_DOMAIN, H0_DOMAIN].map(|domain| G1::hash(domain, nonce));
        Self { u, g1, h0 }
    }
}

/// V of epoch 0, or of a rebase.
pub(super) fn hashed_v(nonce: &[u8; 32], rebase: Option<(u32, &EpochId)>) -> G1 {
    crate::step::hashed_v(V_DOMAIN, nonce, rebase)
}
