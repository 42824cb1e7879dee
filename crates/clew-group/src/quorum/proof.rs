//! Proofs of knowledge of an exponent, and of one exponent in several bases (Schnorr; Chaum and
//! Pedersen, CRYPTO 1992).

use crate::DecodeError;
use crate::curve::multiexp::multiexp_many_vartime;
use crate::curve::{G1, SCALAR_BYTES, Scalar};
use rand_core::CryptoRng;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// Size of a proof: c, s (32 bytes each).
pub const PROOF_BYTES: usize = 2 * SCALAR_BYTES;

/// A proof `c || s`: c is the hash of the statement and of the points R = base^s image^(-c).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof {
    c: Scalar,
    s: Scalar,
}

impl Proof {
    /// Proves that `secret` is the exponent in each base. `statement` has hashed everything else.
    pub(super) fn new<const N: usize>(
        bases: [&G1; N],
        secret: &Scalar,
        statement: Sha256,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let k = Zeroizing::new(Scalar::random(rng));
        let c = challenge(statement, &bases.map(|base| base.mul(&k)));
        Self {
            c,
            s: *k + c * *secret,
        }
    }

    /// Whether each pair is a base and its power with one exponent, for this statement.
    pub(super) fn holds<const N: usize>(&self, pairs: [[&G1; 2]; N], statement: Sha256) -> bool {
        let scalars = [self.s, -self.c];
        let r = pairs.map(|pair| multiexp_many_vartime(&pair.map(|p| *p), &scalars));
        challenge(statement, &r) == self.c
    }

    /// Decodes; c has 254 bits.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        if bytes.len() != PROOF_BYTES {
            return Err(DecodeError::Length);
        }
        if bytes[0] & 0xc0 != 0 {
            return Err(DecodeError::Scalar);
        }
        let (c, s) = bytes.split_at(SCALAR_BYTES);
        Ok(Self {
            c: Scalar::from_bytes(c)?,
            s: Scalar::from_bytes(s)?,
        })
    }

    /// Encodes as c || s.
    pub fn to_bytes(&self) -> [u8; PROOF_BYTES] {
        let mut out = [0; PROOF_BYTES];
        out[..SCALAR_BYTES].copy_from_slice(&self.c.to_bytes());
        out[SCALAR_BYTES..].copy_from_slice(&self.s.to_bytes());
        out
    }
}

fn challenge<const N: usize>(statement: Sha256, r: &[G1; N]) -> Scalar {
    Scalar::from_254_bits(with_points(statement, r).finalize().into())
}

/// `hash`, with points behind what it has read.
pub(super) fn with_points<const N: usize>(hash: Sha256, points: &[G1; N]) -> Sha256 {
    let encoded = G1::to_bytes_many(points);
    hash.chain_update(encoded.as_flattened())
}
