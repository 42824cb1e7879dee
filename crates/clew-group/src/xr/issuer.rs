//! The issuer: founds a group, lets machines join, and revokes them.

use super::join::{Credential, JoinError, JoinRequest, Offer};
use super::public_key::issuer_hash;
use super::{Generators, PublicKey, Revocation};
use crate::curve::{G1, G2, Scalar};
use crate::wire::Reader;
use crate::{DecodeError, Proof};
use core::fmt;
use rand_core::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

/// The issuer's secret gamma. Wiped when dropped.
pub struct IssuerKey {
    gamma: Scalar,
}

impl IssuerKey {
    /// A fresh key.
    pub fn generate(rng: &mut impl CryptoRng) -> Self {
        let gamma = Scalar::random_secret(rng);
        Self { gamma }
    }

    /// Decodes 32 bytes; zero is [`DecodeError::Scalar`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let gamma = Reader::exactly(32, bytes)?.secret()?;
        Ok(Self { gamma })
    }

    /// Encodes as 32 bytes. Secret.
    pub fn to_bytes(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.gamma.to_bytes())
    }

    /// The public key of epoch 0 for the trustees' point `h`, with the proof of gamma (spec 3.1).
    pub fn found(&self, nonce: &[u8; 32], h: &G1, rng: &mut impl CryptoRng) -> (PublicKey, Proof) {
        let Generators { u, g1, h0 } = Generators::of(nonce);
        let standard = G2::generator();
        let w = standard.mul(&self.gamma);
        let proof = Proof::new([&standard], &self.gamma, issuer_hash(nonce, &w), rng);
        let public = PublicKey {
            g1,
            h0,
            u,
            h: *h,
            h_w: h.mul(&self.gamma),
            w,
            lift: standard,
        };
        (public, proof)
    }

    /// Answers a request to join (spec 3.2, step 2). `x` is random and no other member's.
    ///
    /// # Errors
    /// [`JoinError::DeviceDoesNotKnowY`]; [`JoinError::UnfitX`] if x is zero or -gamma.
    pub fn offer(
        &self,
        genesis: &PublicKey,
        session: &[u8; 32],
        request: &JoinRequest,
        x: &Scalar,
        rng: &mut impl CryptoRng,
    ) -> Result<Offer, JoinError> {
        request.check(genesis, session)?;
        let inverse = (self.gamma + *x).invert().map(Zeroizing::new);
        let inverse = inverse.filter(|_| !x.is_zero()).ok_or(JoinError::UnfitX)?;
        // A = (g1_0 C)^(1/(gamma+x))
        let a = (genesis.g1 + request.c).mul(&inverse);
        Ok(Offer::of(session, request, &a, x, rng))
    }

    /// k of spec 3.7, for all x revoked up to an epoch: what makes a credential of epoch 0 one of
    /// that epoch. Nothing if one of them is -gamma.
    pub fn scale<'a>(&self, revoked: impl IntoIterator<Item = &'a Scalar>) -> Option<Scale> {
        let one = Zeroizing::new(Scalar::from_u128(1));
        let product = revoked.into_iter().fold(one, |product, x| {
            Zeroizing::new(*product * (self.gamma + *x))
        });
        product.invert().map(Scale)
    }

    /// Revokes x: what moves everybody else to the next epoch (spec 3.7). Nothing if x = -gamma.
    pub fn revoke(&self, group: &PublicKey, x: &Scalar) -> Option<Revocation> {
        let sum = Zeroizing::new(self.gamma + *x);
        let inverse = Zeroizing::new(sum.invert()?);
        Some(Revocation {
            x: *x,
            g1: group.g1.mul(&inverse),
            h0: group.h0.mul(&inverse),
            lift: group.lift.mul(&sum),
        })
    }

    /// The next epoch's key if it brings the new opening key `h` (spec 3.8).
    pub fn reopened(&self, group: &PublicKey, h: &G1) -> PublicKey {
        PublicKey {
            h: *h,
            h_w: h.mul(&self.gamma),
            ..group.clone()
        }
    }
}

impl fmt::Debug for IssuerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IssuerKey(..)")
    }
}

impl Drop for IssuerKey {
    fn drop(&mut self) {
        self.gamma.zeroize();
    }
}

/// k of one epoch, with which the issuer brings credentials from epoch 0 to that epoch. Secret, as
/// gamma is a root of it; wiped when dropped.
pub struct Scale(Scalar);

impl Scale {
    /// A_e = A_0^k and x, for the member that the register has with A_0 and x.
    ///
    /// Only for an entry of the register whose machine is not revoked at that epoch, and never for
    /// a point that somebody sends: that would take a revoked key along.
    pub fn credential(&self, a_0: &G1, x: &Scalar) -> Credential {
        Credential {
            a: a_0.mul(&self.0),
            x: *x,
        }
    }
}

impl fmt::Debug for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scale(..)")
    }
}

impl Drop for Scale {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}
