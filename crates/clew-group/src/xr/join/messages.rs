//! What device and issuer send each other.

use super::JoinError;
use crate::curve::{G1, G1_BYTES, SCALAR_BYTES, Scalar};
use crate::wire::{Values, concat};
use crate::xr::PublicKey;
use crate::{DecodeError, PROOF_BYTES, Proof};
use clew_wire::opaque;
use rand_core::CryptoRng;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Size of an encoded request: C' (48 bytes), a proof (64).
pub const REQUEST_BYTES: usize = G1_BYTES + PROOF_BYTES;

/// Size of an encoded offer: A (48 bytes), x, s (32 each).
pub const OFFER_BYTES: usize = G1_BYTES + 2 * SCALAR_BYTES;

const DOMAIN: &str = "clew-xr-join-1";

/// Step 1: C' = h0^y', and a proof that the device knows y'.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JoinRequest {
    c: G1,
    proof: Proof,
}

impl JoinRequest {
    pub(super) fn of(
        genesis: &PublicKey,
        session: &[u8; 32],
        y: &Scalar,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let c = genesis.commitment(y);
        let hash = genesis.knowledge_hash(DOMAIN, session, &c);
        let proof = Proof::new([&genesis.h0], y, hash, rng);
        Self { c, proof }
    }

    /// Decodes 112 bytes, with the checks of every value.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut values = Values::exactly(REQUEST_BYTES, bytes)?;
        let c = values.take(G1_BYTES)?;
        let proof = Proof::from_bytes(values.take(PROOF_BYTES)?)?;
        let c = G1::from_bytes(c)?;
        Ok(Self { c, proof })
    }

    /// Encodes as C' || proof.
    pub fn to_bytes(&self) -> [u8; REQUEST_BYTES] {
        concat(&[&self.c.to_bytes(), &self.proof.to_bytes()])
    }

    /// C = C' h0^s.
    pub(in crate::xr) fn blinded(&self, genesis: &PublicKey, s: &Scalar) -> G1 {
        self.c + genesis.commitment(s)
    }

    pub(in crate::xr) fn check(
        &self,
        genesis: &PublicKey,
        session: &[u8; 32],
    ) -> Result<(), JoinError> {
        let hash = genesis.knowledge_hash(DOMAIN, session, &self.c);
        if self.proof.holds([[&genesis.h0, &self.c]], hash) {
            Ok(())
        } else {
            Err(JoinError::DeviceDoesNotKnowY)
        }
    }
}

/// Step 2: A, and the x and s that the issuer drew. Signs nothing without y' and a witness. Wiped
/// when dropped.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Offer {
    a: G1,
    x: Scalar,
    s: Scalar,
}

impl Offer {
    pub(in crate::xr) fn of(a: G1, x: &Scalar, s: &Scalar) -> Self {
        Self { a, x: *x, s: *s }
    }

    /// Decodes 112 bytes, with the checks of every value; x of zero is [`DecodeError::Scalar`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut values = Values::exactly(OFFER_BYTES, bytes)?;
        let a = values.take(G1_BYTES)?;
        let (x, s) = (values.secret()?, values.scalar()?);
        let a = G1::from_bytes(a)?;
        Ok(Self { a, x, s })
    }

    /// Encodes as A || x || s.
    pub fn to_bytes(&self) -> [u8; OFFER_BYTES] {
        let [x, s] = [&self.x, &self.s].map(Scalar::to_bytes);
        concat(&[&self.a.to_bytes(), &x, &s])
    }

    /// Returns A, which the register keeps.
    pub fn a(&self) -> &G1 {
        &self.a
    }

    /// Returns x.
    pub fn x(&self) -> &Scalar {
        &self.x
    }

    /// Returns s.
    pub fn s(&self) -> &Scalar {
        &self.s
    }

    /// Returns C = C' h0^s, which the register keeps. `genesis` is a key of the group, of any
    /// epoch.
    pub fn commitment(&self, genesis: &PublicKey, request: &JoinRequest) -> G1 {
        request.blinded(genesis, &self.s)
    }
}

opaque!(Offer);
