//! The opener: finds the base that a signature was made with.

use super::{PublicKey, Signature};
use crate::DecodeError;
use crate::curve::{G1, SCALAR_BYTES, Scalar};
use crate::secret::{Secret, secret_bytes, shielded};
use crate::wire::Values;
use alloc::vec::Vec;
use clew_wire::disclose;
use clew_wire::opaque;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// Size of an encoded opener key: xi1, xi2 (32 bytes each).
const OPENER_KEY_BYTES: usize = 2 * SCALAR_BYTES;

const H_DOMAIN: &[u8] = b"clew-bbs04-h-1:BLS12381G1_XMD:SHA-256_SSWU_RO_";

/// The opener's secrets xi1 and xi2, with u^xi1 = v^xi2 = h. On the heap, and wiped when dropped.
pub struct OpenerKey {
    pub(super) xi1: Secret<Scalar>,
    pub(super) xi2: Secret<Scalar>,
}

/// What the opener publishes: h, u, v.
#[derive(Clone, Debug)]
pub struct Opening {
    pub(super) h: G1,
    pub(super) u: G1,
    pub(super) v: G1,
}

impl Opening {
    /// Returns h for a group's nonce, by hashing to the curve, so that nobody knows its logarithm.
    /// Who loads a group recomputes it.
    pub fn hash_h(nonce: &[u8; 32]) -> G1 {
        G1::hash(H_DOMAIN, nonce)
    }
}

impl OpenerKey {
    /// Draws a key for the group with that nonce (KeyGen, section 4).
    pub fn generate(nonce: &[u8; 32], rng: &mut impl CryptoRng) -> (Self, Opening) {
        let h = Opening::hash_h(nonce);
        let (xi1, xi2) = (Secret::random(rng), Secret::random(rng));
        let root = |xi: &Scalar| {
            let inverse = xi.invert().map(Zeroizing::new);
            h.mul(&inverse.expect("a secret is not zero"))
        };
        let (u, v) = shielded(|| (root(&xi1), root(&xi2)));
        (Self { xi1, xi2 }, Opening { h, u, v })
    }

    /// Decodes; zero is [`DecodeError::Scalar`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut values = Values::exactly(OPENER_KEY_BYTES, bytes)?;
        Ok(Self {
            xi1: Secret::try_new(|| values.secret())?,
            xi2: Secret::try_new(|| values.secret())?,
        })
    }

    /// Encodes as xi1 || xi2. Secret.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        shielded(|| {
            let [xi1, xi2] = [&self.xi1, &self.xi2].map(|xi| Zeroizing::new(xi.to_bytes()));
            secret_bytes(&[xi1.as_slice(), xi2.as_slice()])
        })
    }

    /// Returns whether this key opens signatures of `group`: u^xi1 = h = v^xi2.
    pub fn opens(&self, group: &PublicKey) -> bool {
        let is_h = |point: G1| disclose::bit((point == group.h).into());
        shielded(|| is_h(group.u.mul(&self.xi1)) && is_h(group.opener_v.mul(&self.xi2)))
    }

    /// Returns B = T3 / (T1^xi1 T2^xi2), the signer's base in its epoch (Open, section 4). It is
    /// only meaningful for a signature that verified.
    pub fn open(&self, signature: &Signature) -> G1 {
        shielded(|| signature.t3 - signature.t1.mul(&self.xi1) - signature.t2.mul(&self.xi2))
    }
}

opaque!(OpenerKey);
