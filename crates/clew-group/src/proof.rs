//! Proofs of knowledge of an exponent, and of one exponent in several bases (Schnorr; Chaum and
//! Pedersen, CRYPTO 1992), bound to what a hash has read.

use crate::DecodeError;
use crate::curve::multiexp::multiexp_many_vartime;
use crate::curve::{G1, G2, SCALAR_BYTES, Scalar};
use crate::transcript::{long_challenge, with_points};
use crate::wire::{Values, concat};
use rand_core::CryptoRng;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// Size of an encoded proof: c, s (32 bytes each).
pub const PROOF_BYTES: usize = 2 * SCALAR_BYTES;

/// A proof `c || s`: c is the long challenge of the statement and of the points
/// R = base^s power^(-c).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Proof {
    c: Scalar,
    s: Scalar,
}

impl Proof {
    /// Decodes 64 bytes; a c of 2^254 or more and an s that is not reduced are
    /// [`DecodeError::Scalar`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut values = Values::exactly(PROOF_BYTES, bytes)?;
        Ok(Self {
            c: values.long_challenge()?,
            s: values.scalar()?,
        })
    }

    /// Encodes as c || s.
    pub fn to_bytes(&self) -> [u8; PROOF_BYTES] {
        concat(&[&self.c.to_bytes(), &self.s.to_bytes()])
    }

    /// Proves that `secret` is the exponent in each base: R = base^k, s = k + c secret. `statement`
    /// has read everything but the R.
    pub(crate) fn new<P: Point, const N: usize>(
        bases: [&P; N],
        secret: &Scalar,
        statement: Sha256,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let k = Zeroizing::new(Scalar::random(rng));
        let c = challenge(statement, &bases.map(|base| base.power(&k)));
        let s = *k + c * *secret;
        Self { c, s }
    }

    /// Whether each pair is a base and its power with one exponent, for this statement.
    pub(crate) fn holds<P: Point, const N: usize>(
        &self,
        pairs: [[&P; 2]; N],
        statement: Sha256,
    ) -> bool {
        let r = pairs.map(|pair| P::product_vartime(pair, [self.s, -self.c]));
        self.c == challenge(statement, &r)
    }
}

fn challenge<P: Point>(statement: Sha256, r: &[P]) -> Scalar {
    long_challenge(P::read_by(statement, r))
}

/// Points of G1 or G2.
pub(crate) trait Point: Copy {
    /// `self^exponent`, in constant time.
    fn power(&self, exponent: &Scalar) -> Self;

    /// The product of two public powers.
    fn product_vartime(bases: [&Self; 2], exponents: [Scalar; 2]) -> Self;

    /// `hash`, with points behind what it has read.
    fn read_by(hash: Sha256, points: &[Self]) -> Sha256;
}

impl Point for G1 {
    fn power(&self, exponent: &Scalar) -> Self {
        self.mul(exponent)
    }

    fn product_vartime(bases: [&Self; 2], exponents: [Scalar; 2]) -> Self {
        multiexp_many_vartime(&bases.map(|base| *base), &exponents)
    }

    fn read_by(hash: Sha256, points: &[Self]) -> Sha256 {
        with_points(hash, points)
    }
}

impl Point for G2 {
    fn power(&self, exponent: &Scalar) -> Self {
        self.mul(exponent)
    }

    fn product_vartime([a, b]: [&Self; 2], [k, l]: [Scalar; 2]) -> Self {
        a.mul(&k) + b.mul(&l)
    }

    fn read_by(hash: Sha256, points: &[Self]) -> Sha256 {
        let read = |hash: Sha256, point: &Self| hash.chain_update(point.to_bytes());
        points.iter().fold(hash, read)
    }
}
