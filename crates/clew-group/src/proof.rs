//! Schnorr's proof that somebody knows the logarithm of a point, bound to what a hash has read.

use crate::DecodeError;
use crate::curve::{G1, G1_BYTES, G2, G2_BYTES, SCALAR_BYTES, Scalar};
use crate::transcript::long_challenge;
use crate::wire::{Reader, concat};
use core::ops::Sub;
use rand_core::CryptoRng;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// Size of an encoded proof: c, s (32 bytes each).
pub const PROOF_BYTES: usize = 2 * SCALAR_BYTES;

/// A proof of knowledge of one exponent: a long challenge c, and s.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proof {
    c: Scalar,
    s: Scalar,
}

/// Points of G1 or G2.
pub(crate) trait Point: Copy + Sub<Output = Self> {
    type Bytes: AsRef<[u8]>;
    fn times(&self, scalar: &Scalar) -> Self;
    fn encoded(&self) -> Self::Bytes;
}

impl Proof {
    /// Decodes 64 bytes; a c of 2^254 or more and an s that is not reduced are
    /// [`DecodeError::Scalar`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::exactly(PROOF_BYTES, bytes)?;
        Ok(Self {
            c: reader.long_challenge()?,
            s: reader.scalar()?,
        })
    }

    /// Encodes as c || s.
    pub fn to_bytes(&self) -> [u8; PROOF_BYTES] {
        concat(&[&self.c.to_bytes(), &self.s.to_bytes()])
    }

    /// R = base^k, c = SHA-256(what `hash` has read || R), s = k + c secret.
    pub(crate) fn of<P: Point>(
        secret: &Scalar,
        base: &P,
        hash: Sha256,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let k = Zeroizing::new(Scalar::random(rng));
        let c = challenge(hash, &base.times(&k));
        let s = *k + c * *secret;
        Self { c, s }
    }

    /// Whether it proves the logarithm of `power` in `base`: R' = base^s power^(-c) makes c.
    pub(crate) fn holds<P: Point>(&self, base: &P, power: &P, hash: Sha256) -> bool {
        self.c == challenge(hash, &(base.times(&self.s) - power.times(&self.c)))
    }
}

fn challenge(hash: Sha256, r: &impl Point) -> Scalar {
    long_challenge(hash.chain_update(r.encoded()))
}

impl Point for G1 {
    type Bytes = [u8; G1_BYTES];
    fn times(&self, scalar: &Scalar) -> Self {
        self.mul(scalar)
    }
    fn encoded(&self) -> Self::Bytes {
        self.to_bytes()
    }
}

impl Point for G2 {
    type Bytes = [u8; G2_BYTES];
    fn times(&self, scalar: &Scalar) -> Self {
        self.mul(scalar)
    }
    fn encoded(&self) -> Self::Bytes {
        self.to_bytes()
    }
}
