//! The group public key of one epoch, and what whoever loads it checks.

use super::{Issuing, Opening};
use crate::curve::{G1, G1_BYTES, G2, G2_BYTES, PreparedG2};
use crate::pairings::equal;
use crate::step::hashed_v;
use crate::wire::{Values, concat};
use crate::{DecodeError, EpochId, FOUNDING_BYTES, Invalid};

const _: () = assert!(FOUNDING_BYTES == 2 * G1_BYTES + G2_BYTES);

const V_DOMAIN: &[u8] = b"clew-bbs04-v-1:BLS12381G1_XMD:SHA-256_SSWU_RO_";

/// The group public key gpk of one epoch (section 4): g1 and g2 are the standard generators.
///
/// An epoch changes V only, which is not of the paper; u and *v* are the paper's letters for the
/// opener's bases.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PublicKey {
    pub(super) h: G1,
    pub(super) u: G1,
    /// The paper's v, of the opener.
    pub(super) opener_v: G1,
    pub(super) w: G2,
    /// V of the epoch.
    pub(super) epoch_v: G1,
}

impl PublicKey {
    /// Returns the public key of epoch 0, from what opener and issuer published for the group with
    /// that nonce.
    pub fn genesis(nonce: &[u8; 32], opening: &Opening, issuing: &Issuing) -> Self {
        Self {
            h: opening.h,
            u: opening.u,
            opener_v: opening.v,
            w: issuing.w,
            epoch_v: Self::first_v(nonce),
        }
    }

    /// Decodes a founding key of 192 bytes, u || v || w, and returns the key of epoch 0: h and V
    /// are hashed from the nonce.
    pub fn founded(nonce: &[u8; 32], founding: &[u8]) -> Result<Self, DecodeError> {
        let mut values = Values::exactly(FOUNDING_BYTES, founding)?;
        let (u, v) = (values.g1()?, values.g1()?);
        let key = Self {
            h: Opening::hash_h(nonce),
            u,
            opener_v: v,
            w: values.g2()?,
            epoch_v: Self::first_v(nonce),
        };
        if key.base().is_identity() {
            return Err(DecodeError::Identity);
        }
        Ok(key)
    }

    /// Encodes as u || v || w, whatever the epoch.
    pub fn founding_bytes(&self) -> [u8; FOUNDING_BYTES] {
        let [u, v] = G1::to_bytes_many(&[self.u, self.opener_v]);
        concat(&[&u, &v, &self.w.to_bytes()])
    }

    /// Checks a key of epoch 0: h and V are those of the nonce. That u and v fit h is what the
    /// trustees' sharings say.
    pub fn check_genesis(&self, nonce: &[u8; 32]) -> Result<(), Invalid> {
        Invalid::unless((self.h, self.epoch_v) == (Opening::hash_h(nonce), Self::first_v(nonce)))
    }

    /// Returns the V of epoch 0.
    pub fn first_v(nonce: &[u8; 32]) -> G1 {
        hashed_v(V_DOMAIN, nonce, None)
    }

    /// Returns the V of the rebase that began this epoch, whose record has this id.
    pub fn rebased_v(nonce: &[u8; 32], epoch: u32, id: &EpochId) -> G1 {
        hashed_v(V_DOMAIN, nonce, Some((epoch, id)))
    }

    /// Returns the key of the epoch with that V, which the caller hashed.
    ///
    /// # Errors
    /// [`Invalid`] if V or g1 V is the identity.
    pub fn in_epoch(&self, v: &G1) -> Result<Self, Invalid> {
        let next = Self {
            epoch_v: *v,
            ..self.clone()
        };
        if v.is_identity() || next.base().is_identity() {
            Err(Invalid)
        } else {
            Ok(next)
        }
    }

    /// Returns the V of this epoch.
    pub fn v(&self) -> &G1 {
        &self.epoch_v
    }

    /// Returns w = G2^gamma.
    pub fn w(&self) -> &G2 {
        &self.w
    }

    /// Returns whether A is the credential of the row with X = G2^x: e(A, w X) = e(g1, G2) (rule
    /// `credential`).
    pub fn certifies(&self, a: &G1, x: &G2) -> bool {
        self.is_power(a, x, &G1::generator())
    }

    /// Returns whether the row with X = G2^x has the base B in this epoch: e(B, w X) = e(g1 V, G2)
    /// (rule `signer`). A judge asks [`Self::certifies`] too.
    pub fn names(&self, b: &G1, x: &G2) -> bool {
        self.is_power(b, x, &self.base())
    }

    /// g1 V, which signatures of this epoch are about.
    pub(super) fn base(&self) -> G1 {
        G1::generator() + self.epoch_v
    }

    /// e(P, w X) = e(Q, G2).
    fn is_power(&self, p: &G1, x: &G2, q: &G1) -> bool {
        let [both, standard] = [self.w + *x, G2::generator()].map(|q| PreparedG2::new(&q));
        equal((p, &both), (q, &standard))
    }
}
