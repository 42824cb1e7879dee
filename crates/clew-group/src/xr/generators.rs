//! The points that nobody chose.

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

/// V of epoch 0 and of each rebase, from the group's nonce and the number of the epoch.
pub(super) fn hashed_v(nonce: &[u8; 32], epoch: u32) -> G1 {
    G1::hash(V_DOMAIN, &[nonce.as_slice(), &epoch.to_be_bytes()].concat())
}
