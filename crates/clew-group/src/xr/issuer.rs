//! The issuer: founds a group, lets machines join, and revokes them.

use super::PublicKey;
use super::join::{JoinError, JoinRequest, Offer};
use super::public_key::issuer_hash;
use crate::curve::{G1, G2, Scalar};
use crate::secret::{Secret, shielded};
use crate::{DecodeError, EpochIssuer, Proof, Step};
use alloc::vec::Vec;
use clew_wire::disclose;
use clew_wire::opaque;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// The issuer's secret gamma. On the heap, and wiped when dropped.
pub struct IssuerKey {
    gamma: Secret<Scalar>,
}

impl IssuerKey {
    /// Draws a key.
    pub fn generate(rng: &mut impl CryptoRng) -> Self {
        let gamma = Secret::random(rng);
        Self { gamma }
    }

    /// Decodes 32 bytes; zero is [`DecodeError::Scalar`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        Secret::decode(bytes).map(|gamma| Self { gamma })
    }

    /// Encodes as 32 bytes. Secret.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        self.gamma.encode()
    }

    /// Founds a group: the public key of epoch 0 for the trustees' point `h`, with the proof of
    /// gamma (spec 3.1).
    ///
    /// **Only for an h that was dealt here, or whose proofs of possession were all checked** (rule 15).
    ///
    /// # Panics
    /// If the nonce hashes to g1 and V_0 that are inverse to each other, which nobody can find.
    pub fn found(&self, nonce: &[u8; 32], h: &G1, rng: &mut impl CryptoRng) -> (PublicKey, Proof) {
        shielded(|| {
            let standard = G2::generator();
            let w = standard.mul(&self.gamma);
            let proof = Proof::new([&standard], &self.gamma, issuer_hash(nonce, &w), rng);
            let public = PublicKey::assembled(nonce, *h, h.mul(&self.gamma), w);
            (public.expect("no hash is minus another"), proof)
        })
    }

    /// Answers a request to join (spec 3.2, step 2): A = (g1 C' h0^s)^(1/(gamma+x)).
    ///
    /// **x is drawn afresh for every offer**, aborted ones included: two offers with one x give a
    /// credential for any y. s is random too. `genesis` is a key of the group, of any epoch.
    ///
    /// # Errors
    /// [`JoinError::DeviceDoesNotKnowY`]; [`JoinError::UnfitX`] if x is zero or -gamma;
    /// [`JoinError::UnfitS`] if C' h0^s is the identity.
    pub fn offer(
        &self,
        genesis: &PublicKey,
        session: &[u8; 32],
        request: &JoinRequest,
        x: &Scalar,
        s: &Scalar,
    ) -> Result<Offer, JoinError> {
        request.check(genesis, session)?;
        let c = request.blinded(genesis, s);
        if disclose::bit(c.is_identity().into()) {
            return Err(JoinError::UnfitS);
        }
        let inverse = self.inverse(x).filter(|_| !x.is_zero());
        let inverse = inverse.ok_or(JoinError::UnfitX)?;
        let a = shielded(|| (genesis.g1 + c).mul(&inverse));
        Ok(Offer::of(a, x, s))
    }

    /// Revokes x: the step from the V of `group` to the next (spec 3.6).
    ///
    /// **Only the x of a row that is registered and was never revoked, and each once**: revoking an
    /// aborted offer completes it, and revoking twice revives the machine. Returns `None` if x is
    /// zero or -gamma.
    pub fn revoke(&self, group: &PublicKey, x: &Scalar) -> Option<Step> {
        let inverse = self.inverse(x).filter(|_| !x.is_zero())?;
        let v = shielded(|| group.v.mul(&inverse));
        Some(Step { x: *x, v })
    }

    /// Returns the key of the next epoch if that brings the new opening key `h` (spec 3.8).
    pub fn reopened(&self, group: &PublicKey, h: &G1) -> PublicKey {
        PublicKey {
            h: *h,
            h_w: shielded(|| h.mul(&self.gamma)),
            ..group.clone()
        }
    }

    /// Returns the issuer in the epoch of `group`. `revoked` are the x of all rows that are revoked
    /// at or before that epoch, by steps and by rebases.
    pub fn in_epoch(
        &self,
        group: &PublicKey,
        revoked: impl IntoIterator<Item = Scalar>,
    ) -> EpochIssuer {
        EpochIssuer::new(&self.gamma, &group.v, revoked)
    }

    /// Returns Q = B^gamma, with which an auditor finds the row of B ([`PublicKey::search`]).
    ///
    /// **Only for a B that an opening gave**, never for a point that somebody sends.
    pub fn locator(&self, b: &G1) -> G1 {
        shielded(|| b.mul(&self.gamma))
    }

    /// 1/(gamma+x).
    fn inverse(&self, x: &Scalar) -> Option<Secret<Scalar>> {
        Secret::try_new(|| (*self.gamma + *x).invert().ok_or(())).ok()
    }
}

opaque!(IssuerKey);
