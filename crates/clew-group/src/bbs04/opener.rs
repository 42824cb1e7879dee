//! The opener: finds the base that a signature was made with.

use super::{PublicKey, Signature};
use crate::DecodeError;
use crate::curve::{G1, SCALAR_BYTES, Scalar};
use core::fmt;
use rand_core::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

/// Size of an encoded opener key: xi1, xi2 (32 bytes each).
pub const OPENER_KEY_BYTES: usize = 2 * SCALAR_BYTES;

const H_DOMAIN: &[u8] = b"clew-bbs04-h-1:BLS12381G1_XMD:SHA-256_SSWU_RO_";

/// The opener's secrets xi1 and xi2, with u^xi1 = v^xi2 = h. Wiped when dropped.
pub struct OpenerKey {
    pub(super) xi1: Scalar,
    pub(super) xi2: Scalar,
}

/// What the opener publishes: h, u, v.
#[derive(Clone, Debug)]
pub struct Opening {
    pub(super) h: G1,
    pub(super) u: G1,
    pub(super) v: G1,
}

impl Opening {
    /// h for a group's nonce, by hashing to the curve, so that nobody knows its logarithm. Who
    /// loads a group recomputes it.
    pub fn hash_h(nonce: &[u8; 32]) -> G1 {
        G1::hash(H_DOMAIN, nonce)
    }
}

impl OpenerKey {
    /// A fresh key for the group with that nonce (KeyGen, section 4).
    pub fn generate(nonce: &[u8; 32], rng: &mut impl CryptoRng) -> (Self, Opening) {
        let h = Opening::hash_h(nonce);
        loop {
            let key = Self {
                xi1: Scalar::random(rng),
                xi2: Scalar::random(rng),
            };
            if let (Some(to_u), Some(to_v)) = (key.xi1.invert(), key.xi2.invert()) {
                let [to_u, to_v] = [to_u, to_v].map(Zeroizing::new);
                let (u, v) = (h.mul(&to_u), h.mul(&to_v));
                return (key, Opening { h, u, v });
            }
        }
    }

    /// Decodes; zero is refused.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        if bytes.len() != OPENER_KEY_BYTES {
            return Err(DecodeError::Length);
        }
        let (xi1, xi2) = bytes.split_at(SCALAR_BYTES);
        let key = Self {
            xi1: Scalar::from_bytes(xi1)?,
            xi2: Scalar::from_bytes(xi2)?,
        };
        if key.xi1.is_zero() || key.xi2.is_zero() {
            Err(DecodeError::Scalar)
        } else {
            Ok(key)
        }
    }

    /// Encodes as xi1 || xi2. Secret.
    pub fn to_bytes(&self) -> Zeroizing<[u8; OPENER_KEY_BYTES]> {
        let mut out = Zeroizing::new([0; OPENER_KEY_BYTES]);
        out[..SCALAR_BYTES].copy_from_slice(&self.xi1.to_bytes());
        out[SCALAR_BYTES..].copy_from_slice(&self.xi2.to_bytes());
        out
    }

    /// Whether this key opens signatures of `group`: u^xi1 = h = v^xi2.
    pub fn opens(&self, group: &PublicKey) -> bool {
        group.u.mul(&self.xi1) == group.h && group.opener_v.mul(&self.xi2) == group.h
    }

    /// B = T3 / (T1^xi1 T2^xi2), the signer's base in its epoch (Open, section 4). Only meaningful for a signature that verified.
    pub fn open(&self, signature: &Signature) -> G1 {
        signature.t3 - signature.t1.mul(&self.xi1) - signature.t2.mul(&self.xi2)
    }
}

impl fmt::Debug for OpenerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpenerKey(..)")
    }
}

impl Drop for OpenerKey {
    fn drop(&mut self) {
        self.xi1.zeroize();
        self.xi2.zeroize();
    }
}
