//! A secret shared by a polynomial (Shamir), with commitments to its coefficients (Feldman).

use super::{Quorum, QuorumError, Set, Trustee};
use crate::DecodeError;
use crate::curve::multiexp::multiexp_many_vartime;
use crate::curve::{G1, G1_BYTES, Scalar};
use crate::secret::{Secret, shielded};
use alloc::vec::Vec;
use clew_wire::opaque;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// What everybody knows of a shared secret f(0): C_k = base^(a_k) for the coefficients of f, and n.
/// t is the number of commitments; none is the identity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sharing {
    base: G1,
    commitments: Vec<G1>,
    quorum: Quorum,
}

impl Sharing {
    /// Shares out a secret that the caller knows and forgets: a trusted dealer does this (section
    /// 5.1).
    ///
    /// # Errors
    /// [`DecodeError`] if the secret is zero, or, with probability 2^-250, a share is.
    pub fn deal(
        base: &G1,
        secret: &Scalar,
        quorum: Quorum,
        rng: &mut impl CryptoRng,
    ) -> Result<(Self, Vec<SecretShare>), DecodeError> {
        shielded(|| {
            let polynomial = Polynomial::random(secret, quorum, rng);
            let sharing = Self::new(*base, polynomial.commitments(base), quorum)?;
            let shares = quorum.all().iter();
            let shares = shares.map(|trustee| SecretShare::new(trustee, polynomial.at(trustee)));
            let shares: Result<Vec<_>, _> = shares.collect();
            Ok((sharing, shares?))
        })
    }

    /// Returns the sharing of a base and C_0, which the public key has, and C_1..C_t-1 encoded
    /// (48 (t-1) bytes).
    ///
    /// # Errors
    /// [`DecodeError::Length`]; [`DecodeError::Identity`] if the base or a commitment is the identity;
    /// what is wrong with a point.
    pub fn from_parts(
        base: &G1,
        c0: &G1,
        rest: &[u8],
        quorum: Quorum,
    ) -> Result<Self, DecodeError> {
        if rest.len() != G1_BYTES * usize::from(quorum.threshold() - 1) {
            return Err(DecodeError::Length);
        }
        let rest = rest.chunks_exact(G1_BYTES).map(G1::from_bytes);
        let commitments: Result<Vec<G1>, _> = [Ok(*c0)].into_iter().chain(rest).collect();
        Self::new(*base, commitments?, quorum)
    }

    /// With as many commitments as the quorum's threshold.
    pub(super) fn new(base: G1, commitments: Vec<G1>, quorum: Quorum) -> Result<Self, DecodeError> {
        if base.is_identity() || commitments.iter().any(G1::is_identity) {
            return Err(DecodeError::Identity);
        }
        Ok(Self {
            base,
            commitments,
            quorum,
        })
    }

    /// Returns C_1 to C_t-1, encoded: 48 (t-1) bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let rest = self.commitments.iter().skip(1);
        rest.flat_map(G1::to_bytes).collect()
    }

    /// Returns the base.
    pub fn base(&self) -> &G1 {
        &self.base
    }

    /// Returns C_0, the power of the base with the secret: h.
    pub fn public(&self) -> &G1 {
        &self.commitments[0]
    }

    /// Returns t and n.
    pub fn quorum(&self) -> Quorum {
        self.quorum
    }

    /// Returns the share key of i, base^f(i): the product of C_k^(i^k).
    pub fn share_key(&self, trustee: Trustee) -> G1 {
        evaluate(&self.commitments, trustee)
    }
}

/// The product of C_k^(i^k), by Horner's rule. Everything in it is public.
pub(super) fn evaluate(commitments: &[G1], at: Trustee) -> G1 {
    let highest_first = commitments.iter().rev();
    highest_first.fold(G1::default(), |sum, c| times(&sum, at.index()) + *c)
}

/// `n * point` by doublings, for small public n.
fn times(point: &G1, n: u8) -> G1 {
    let bits = (0..u8::BITS).rev().map(|i| n >> i & 1 == 1);
    bits.fold(G1::default(), |sum, bit| {
        let double = sum.double();
        if bit { double + *point } else { double }
    })
}

/// The product of points_i^lambda_i over the set, in the order of its indices: with the powers of a
/// point by shares, its power by the secret.
pub(super) fn interpolate(set: Set, points: &[G1]) -> G1 {
    let lambdas: Vec<Scalar> = set.iter().map(|i| set.lagrange_at_zero(i)).collect();
    multiexp_many_vartime(points, &lambdas)
}

/// A polynomial of degree t-1 with secret coefficients, none zero. Wiped when dropped.
pub(super) struct Polynomial(Zeroizing<Vec<Scalar>>);

impl Polynomial {
    /// Random but for its constant term.
    pub(super) fn random(constant: &Scalar, quorum: Quorum, rng: &mut impl CryptoRng) -> Self {
        let size = usize::from(quorum.threshold());
        // No growing: that would leave a copy behind.
        let mut coefficients = Zeroizing::new(Vec::with_capacity(size));
        coefficients.push(*constant);
        coefficients.extend((1..size).map(|_| Scalar::random_secret(rng)));
        Self(coefficients)
    }

    pub(super) fn commitments(&self, base: &G1) -> Vec<G1> {
        self.0.iter().map(|a| base.mul(a)).collect()
    }

    pub(super) fn at(&self, trustee: Trustee) -> Secret<Scalar> {
        let (zero, x) = (Scalar::default(), trustee.scalar());
        Secret::new(|| self.0.iter().rev().fold(zero, |sum, a| sum * x + *a))
    }
}

/// A trustee's share f(i) of one secret. On the heap, and wiped when dropped.
#[derive(Clone)]
pub struct SecretShare {
    trustee: Trustee,
    pub(super) scalar: Secret<Scalar>,
}

impl SecretShare {
    pub(super) fn new(trustee: Trustee, scalar: Secret<Scalar>) -> Result<Self, DecodeError> {
        match scalar.is_zero() {
            true => Err(DecodeError::Scalar),
            false => Ok(Self { trustee, scalar }),
        }
    }

    /// Decodes the 32 bytes of that trustee's share; zero is refused.
    pub fn from_bytes(trustee: Trustee, bytes: &[u8]) -> Result<Self, DecodeError> {
        Secret::decode(bytes).map(|scalar| Self { trustee, scalar })
    }

    /// Encodes as 32 bytes, without the index. Secret.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        self.scalar.encode()
    }

    /// Returns the trustee whose share it is.
    pub fn trustee(&self) -> Trustee {
        self.trustee
    }

    /// Returns the share key, if this is a share of `sharing`.
    pub fn check(&self, sharing: &Sharing) -> Result<G1, QuorumError> {
        let trustee = self.trustee;
        sharing.quorum.check(trustee)?;
        let key = sharing.share_key(trustee);
        if shielded(|| sharing.base.mul(&self.scalar)) == key {
            Ok(key)
        } else {
            Err(QuorumError::SecretShare { trustee })
        }
    }
}

opaque!(SecretShare);
