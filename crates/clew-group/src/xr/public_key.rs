//! The public key of one epoch, and what whoever loads it checks.

use super::Generators;
use super::generators::hashed_v;
use crate::curve::{G1, G1_BYTES, G2, G2_BYTES, PreparedG2, Scalar, pairing_product};
use crate::pairings::equal;
use crate::transcript::domain;
use crate::wire::{Values, concat};
use crate::{DecodeError, EpochId, FOUNDING_BYTES, Invalid, Proof, Step};
use sha2::{Digest, Sha256};

const _: () = assert!(FOUNDING_BYTES == 2 * G1_BYTES + G2_BYTES);

/// The group public key of one epoch (spec 3.1).
///
/// V is what an epoch changes; its base is g1 V. h and h_w change with a new opening key. u, g1, h0
/// and w never change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PublicKey {
    pub(super) u: G1,
    pub(super) g1: G1,
    pub(super) h0: G1,
    pub(super) h: G1,
    pub(super) h_w: G1,
    pub(super) w: G2,
    pub(super) v: G1,
}

impl PublicKey {
    /// Decodes a founding key of 192 bytes, h || h_w || w, and returns the key of epoch 0: the
    /// other points are hashed from the nonce. What the points say is checked by
    /// [`Self::check_genesis`].
    pub fn founded(nonce: &[u8; 32], founding: &[u8]) -> Result<Self, DecodeError> {
        let mut values = Values::exactly(FOUNDING_BYTES, founding)?;
        let (h, h_w) = (values.g1()?, values.g1()?);
        Self::assembled(nonce, h, h_w, values.g2()?).ok_or(DecodeError::Identity)
    }

    /// The key of epoch 0; `None` if g1 V is the identity, which no nonce is known to give.
    pub(super) fn assembled(nonce: &[u8; 32], h: G1, h_w: G1, w: G2) -> Option<Self> {
        let Generators { u, g1, h0 } = Generators::of(nonce);
        let v = hashed_v(nonce, None);
        let key = Self {
            u,
            g1,
            h0,
            h,
            h_w,
            w,
            v,
        };
        key.has_good_base().then_some(key)
    }

    /// Encodes as h || h_w || w, whatever the epoch.
    pub fn founding_bytes(&self) -> [u8; FOUNDING_BYTES] {
        let [h, h_w] = G1::to_bytes_many(&[self.h, self.h_w]);
        concat(&[&h, &h_w, &self.w.to_bytes()])
    }

    /// Checks a key of epoch 0: u, g1, h0 and V are those of the nonce, the issuer knows gamma, and
    /// h_w = h^gamma.
    pub fn check_genesis(&self, nonce: &[u8; 32], proof: &Proof) -> Result<(), Invalid> {
        let Generators { u, g1, h0 } = Generators::of(nonce);
        let holds = (self.u, self.g1, self.h0, self.v) == (u, g1, h0, hashed_v(nonce, None))
            && proof.holds([[&G2::generator(), &self.w]], issuer_hash(nonce, &self.w))
            && self.has_good_h_w();
        Invalid::unless(holds)
    }

    /// Returns the V of epoch 0.
    pub fn first_v(nonce: &[u8; 32]) -> G1 {
        hashed_v(nonce, None)
    }

    /// Returns the V of the rebase that began this epoch, whose record has this id.
    pub fn rebased_v(nonce: &[u8; 32], epoch: u32, id: &EpochId) -> G1 {
        hashed_v(nonce, Some((epoch, id)))
    }

    /// Returns the key of the epoch with that V. The caller knows that V: it is hashed, or
    /// [`crate::check_steps`] said so.
    ///
    /// # Errors
    /// [`Invalid`] if V or g1 V is the identity.
    pub fn in_epoch(&self, v: &G1) -> Result<Self, Invalid> {
        let next = Self {
            v: *v,
            ..self.clone()
        };
        if !v.is_identity() && next.has_good_base() {
            Ok(next)
        } else {
            Err(Invalid)
        }
    }

    /// Returns the key after one step, which is checked: e(V', w G2^x*) = e(V, G2). For many steps
    /// see [`crate::check_steps`].
    pub fn after(&self, step: &Step) -> Result<Self, Invalid> {
        if self.is_power(&step.v, &self.v, &step.x) {
            self.in_epoch(&step.v)
        } else {
            Err(Invalid)
        }
    }

    /// Returns the key with a new opening key (spec 3.8): everything but h and h_w stays.
    ///
    /// # Errors
    /// [`Invalid`] if h_w is not h^gamma.
    pub fn with_opening(&self, h: &G1, h_w: &G1) -> Result<Self, Invalid> {
        let next = Self {
            h: *h,
            h_w: *h_w,
            ..self.clone()
        };
        if next.has_good_h_w() {
            Ok(next)
        } else {
            Err(Invalid)
        }
    }

    /// Returns u, the base of the opening key.
    pub fn u(&self) -> &G1 {
        &self.u
    }

    /// Returns h = u^xi, the opening key's public point.
    pub fn h(&self) -> &G1 {
        &self.h
    }

    /// Returns h_w = h^gamma.
    pub fn h_w(&self) -> &G1 {
        &self.h_w
    }

    /// Returns w = G2^gamma.
    pub fn w(&self) -> &G2 {
        &self.w
    }

    /// Returns the V of this epoch.
    pub fn v(&self) -> &G1 {
        &self.v
    }

    /// Returns whether A is the credential of the row with C and x: e(A, w G2^x) = e(g1 C, G2).
    /// With the device's signature over A and C, it fixes x (rule `credential`).
    pub fn certifies(&self, a: &G1, c: &G1, x: &Scalar) -> bool {
        self.is_power(a, &(self.g1 + *c), x)
    }

    /// Returns whether the row with C and x has the base B in this epoch: e(B, w G2^x) = e(g1 V C,
    /// G2) (rule `signer`). A judge asks [`Self::certifies`] too.
    pub fn names(&self, b: &G1, c: &G1, x: &Scalar) -> bool {
        self.is_power(b, &(self.base() + *c), x)
    }

    /// g1 V, which signatures of this epoch are about.
    pub(super) fn base(&self) -> G1 {
        self.g1 + self.v
    }

    /// Returns whether `proof` shows that its maker knew the y of C = h0^y, and vouched with it for
    /// this statement (rule `device`; [`super::MemberKey::prove_y`]). The key may be of any epoch.
    pub fn proof_of_y_holds(&self, c: &G1, statement: &[u8], proof: &Proof) -> bool {
        proof.holds([[&self.h0, c]], self.row_hash(statement, c))
    }

    /// What the proof of y in a row is bound to.
    pub(super) fn row_hash(&self, statement: &[u8], c: &G1) -> Sha256 {
        let statement = Sha256::digest(statement).into();
        self.knowledge_hash("clew-xr-row-1", &statement, c)
    }

    /// What a proof of the logarithm of C, or C', is bound to.
    pub(super) fn knowledge_hash(&self, separator: &str, context: &[u8; 32], c: &G1) -> Sha256 {
        domain(separator)
            .chain_update(context)
            .chain_update(self.h0.to_bytes())
            .chain_update(c.to_bytes())
    }

    /// C = h0^y.
    pub(super) fn commitment(&self, y: &Scalar) -> G1 {
        self.h0.mul(y)
    }

    /// e(h_w, G2) = e(h, w).
    pub(super) fn has_good_h_w(&self) -> bool {
        let [standard, w] = [G2::generator(), self.w].map(|q| PreparedG2::new(&q));
        equal((&self.h_w, &standard), (&self.h, &w))
    }

    fn has_good_base(&self) -> bool {
        !self.base().is_identity()
    }

    /// Whether e(P, w G2^x) = e(Q, G2), so that P = Q^(1/(gamma+x)).
    pub(super) fn is_power(&self, p: &G1, q: &G1, x: &Scalar) -> bool {
        let [standard, w] = [G2::generator(), self.w].map(|q| PreparedG2::new(&q));
        let in_g2 = p.mul(x) - *q;
        pairing_product([(p, &w), (&in_g2, &standard)]).is_identity()
    }
}

/// What the proof of gamma is bound to.
pub(super) fn issuer_hash(nonce: &[u8; 32], w: &G2) -> Sha256 {
    domain("clew-xr-issuer-1")
        .chain_update(nonce)
        .chain_update(w.to_bytes())
}
