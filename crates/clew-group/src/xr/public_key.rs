//! The public key of one epoch, and what whoever loads it checks.

use super::Generators;
use crate::curve::{G1, G1_BYTES, G2, G2_BYTES, PreparedG2, Scalar, pairing_product};
use crate::pairings::{self, Tag, equal};
use crate::transcript::domain;
use crate::wire::{Reader, concat};
use crate::{DecodeError, Invalid, Proof};
use sha2::{Digest, Sha256};

/// Size of an encoded public key: g1, h0, u, h, h_w (48 bytes each), w, lift (96 each).
pub const PUBLIC_KEY_BYTES: usize = 5 * G1_BYTES + 2 * G2_BYTES;

/// The group public key of one epoch (spec 3.1).
///
/// With k the product of 1/(gamma + x) over all x revoked so far: g1 = g1_0^k, h0 = h0_0^k,
/// lift = G2^(1/k). u and w never change; h and h_w do when the group gets a new opening key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PublicKey {
    pub(super) g1: G1,
    pub(super) h0: G1,
    pub(super) u: G1,
    pub(super) h: G1,
    pub(super) h_w: G1,
    pub(super) w: G2,
    pub(super) lift: G2,
}

impl PublicKey {
    /// Decodes, with the checks of every point. What the points say is checked by
    /// [`Self::check_genesis`] or [`Self::check_descends_from`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::exactly(PUBLIC_KEY_BYTES, bytes)?;
        Ok(Self {
            g1: reader.g1()?,
            h0: reader.g1()?,
            u: reader.g1()?,
            h: reader.g1()?,
            h_w: reader.g1()?,
            w: reader.g2()?,
            lift: reader.g2()?,
        })
    }

    /// Encodes as g1 || h0 || u || h || h_w || w || lift.
    pub fn to_bytes(&self) -> [u8; PUBLIC_KEY_BYTES] {
        let points = [self.g1, self.h0, self.u, self.h, self.h_w];
        let [g1, h0, u, h, h_w] = G1::to_bytes_many(&points);
        let (w, lift) = (self.w.to_bytes(), self.lift.to_bytes());
        concat(&[&g1, &h0, &u, &h, &h_w, &w, &lift])
    }

    /// u, the base of the opening key.
    pub fn u(&self) -> &G1 {
        &self.u
    }

    /// h = u^xi, the opening key's public point.
    pub fn h(&self) -> &G1 {
        &self.h
    }

    /// h_w = h^gamma: with h, what an epoch with a new opening key brings.
    pub fn h_w(&self) -> &G1 {
        &self.h_w
    }

    /// The checks of epoch 0: u, g1, h0 are those of the nonce, lift = G2, the issuer knows gamma,
    /// and h_w = h^gamma.
    pub fn check_genesis(&self, nonce: &[u8; 32], proof: &Proof) -> Result<(), Invalid> {
        let Generators { u, g1, h0 } = Generators::of(nonce);
        let holds = (self.u, self.g1, self.h0) == (u, g1, h0)
            && self.lift == G2::generator()
            && proof.holds([[&G2::generator(), &self.w]], issuer_hash(nonce, &self.w))
            && self.has_good_h_w();
        if holds { Ok(()) } else { Err(Invalid) }
    }

    /// The checks of a later epoch of the group whose first key is `genesis`, which was checked:
    /// the same u and w, one k for g1, h0 and lift, and h_w = h^gamma, whatever h is.
    pub fn check_descends_from(&self, genesis: &Self) -> Result<(), Invalid> {
        let standard = PreparedG2::new(&G2::generator());
        let lift = PreparedG2::new(&self.lift);
        // e(g1, lift) = e(g1_0, G2);  e(h0, lift) = e(h0_0, G2).
        let holds = (self.u, self.w) == (genesis.u, genesis.w)
            && equal((&self.g1, &lift), (&genesis.g1, &standard))
            && equal((&self.h0, &lift), (&genesis.h0, &standard))
            && self.has_good_h_w();
        if holds { Ok(()) } else { Err(Invalid) }
    }

    /// The next epoch's key if it brings a new opening key (spec 3.8): everything but h and h_w
    /// stays. Refused if h_w is not h^gamma.
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

    /// The tag of the member whose credential in this epoch is `a` (spec 3.6).
    pub fn tag(&self, a: &G1) -> Tag {
        pairings::tag(domain("clew-xr-tag-1"), a, &self.lift)
    }

    /// Whether `a`, a credential of this epoch, is the one that was `a_0` in epoch 0:
    /// e(A, lift) = e(A_0, G2).
    pub fn names(&self, a: &G1, a_0: &G1) -> bool {
        let [lift, standard] = [self.lift, G2::generator()].map(|q| PreparedG2::new(&q));
        equal((a, &lift), (a_0, &standard))
    }

    /// e(h_w, G2) = e(h, w).
    pub(super) fn has_good_h_w(&self) -> bool {
        let [standard, w] = [G2::generator(), self.w].map(|q| PreparedG2::new(&q));
        equal((&self.h_w, &standard), (&self.h, &w))
    }

    /// Whether A is a credential on the commitment C, for D = A^x: e(A, w) e(D, G2) = e(g1 C, G2).
    pub(super) fn certifies(&self, a: &G1, d: &G1, c: &G1) -> bool {
        let [standard, w] = [G2::generator(), self.w].map(|q| PreparedG2::new(&q));
        let in_g2 = *d - self.g1 - *c;
        pairing_product([(a, &w), (&in_g2, &standard)]).is_identity()
    }

    /// C = h0^y.
    pub(super) fn commitment(&self, y: &Scalar) -> G1 {
        self.h0.mul(y)
    }
}

/// What the proof of gamma is bound to.
pub(super) fn issuer_hash(nonce: &[u8; 32], w: &G2) -> Sha256 {
    domain("clew-xr-issuer-1")
        .chain_update(nonce)
        .chain_update(w.to_bytes())
}
