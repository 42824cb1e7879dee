//! What device and issuer send each other.

use super::JoinError;
use crate::curve::{G1, G1_BYTES, SCALAR_BYTES, Scalar};
use crate::transcript::domain;
use crate::wire::{Reader, concat, fill};
use crate::xr::PublicKey;
use crate::{DecodeError, PROOF_BYTES, Proof};
use core::fmt;
use rand_core::CryptoRng;
use sha2::{Digest, Sha256};
use zeroize::{Zeroize, Zeroizing};

/// Size of an encoded request: C (48 bytes), a proof (64).
pub const REQUEST_BYTES: usize = G1_BYTES + PROOF_BYTES;

/// Size of an encoded offer: A, D (48 bytes each), a proof (64).
pub const OFFER_BYTES: usize = 2 * G1_BYTES + PROOF_BYTES;

/// Size of an encoded credential: A (48 bytes), x (32).
pub const CREDENTIAL_BYTES: usize = G1_BYTES + SCALAR_BYTES;

/// Step 1: C = h0^y, and a proof that the device knows y.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JoinRequest {
    pub(in crate::xr) c: G1,
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
        let hash = request_hash(session, &genesis.h0, &c);
        let proof = Proof::new([&genesis.h0], y, hash, rng);
        Self { c, proof }
    }

    /// Decodes 112 bytes, with the checks of every value.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::exactly(REQUEST_BYTES, bytes)?;
        let c = reader.take::<G1_BYTES>()?;
        let proof = Proof::from_bytes(reader.take::<PROOF_BYTES>()?)?;
        let c = G1::from_bytes(c)?;
        Ok(Self { c, proof })
    }

    /// Encodes as C || proof.
    pub fn to_bytes(&self) -> [u8; REQUEST_BYTES] {
        concat(&[&self.c.to_bytes(), &self.proof.to_bytes()])
    }

    /// C, which the register keeps.
    pub fn commitment(&self) -> G1 {
        self.c
    }

    pub(in crate::xr) fn check(
        &self,
        genesis: &PublicKey,
        session: &[u8; 32],
    ) -> Result<(), JoinError> {
        let hash = request_hash(session, &genesis.h0, &self.c);
        if self.proof.holds([[&genesis.h0, &self.c]], hash) {
            Ok(())
        } else {
            Err(JoinError::DeviceDoesNotKnowY)
        }
    }
}

fn request_hash(session: &[u8; 32], h0: &G1, c: &G1) -> Sha256 {
    domain("clew-xr-join-1")
        .chain_update(session)
        .chain_update(h0.to_bytes())
        .chain_update(c.to_bytes())
}

/// Step 2: A, D = A^x, and a proof that the issuer knows x. It keeps an issuer from having a device
/// sign for an A that fits a secret of the issuer's own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Offer {
    pub(super) a: G1,
    pub(super) d: G1,
    proof: Proof,
}

impl Offer {
    pub(in crate::xr) fn of(
        session: &[u8; 32],
        request: &JoinRequest,
        a: &G1,
        x: &Scalar,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let d = a.mul(x);
        let proof = Proof::new([a], x, offer_hash(session, &request.c, a, &d), rng);
        Self { a: *a, d, proof }
    }

    /// Decodes 160 bytes, with the checks of every value.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::exactly(OFFER_BYTES, bytes)?;
        let (a, d) = (reader.take::<G1_BYTES>()?, reader.take::<G1_BYTES>()?);
        let proof = Proof::from_bytes(reader.take::<PROOF_BYTES>()?)?;
        let (a, d) = (G1::from_bytes(a)?, G1::from_bytes(d)?);
        Ok(Self { a, d, proof })
    }

    /// Encodes as A || D || proof.
    pub fn to_bytes(&self) -> [u8; OFFER_BYTES] {
        let [a, d] = G1::to_bytes_many(&[self.a, self.d]);
        concat(&[&a, &d, &self.proof.to_bytes()])
    }

    /// A_0, which the register keeps.
    pub fn credential(&self) -> G1 {
        self.a
    }

    pub(super) fn check(
        &self,
        genesis: &PublicKey,
        session: &[u8; 32],
        c: &G1,
    ) -> Result<(), JoinError> {
        let hash = offer_hash(session, c, &self.a, &self.d);
        if !self.proof.holds([[&self.a, &self.d]], hash) {
            return Err(JoinError::IssuerDoesNotKnowX);
        }
        if genesis.certifies(&self.a, &self.d, c) {
            Ok(())
        } else {
            Err(JoinError::IssuerOfferedNoCredential)
        }
    }
}

fn offer_hash(session: &[u8; 32], c: &G1, a: &G1, d: &G1) -> Sha256 {
    let hash = domain("clew-xr-offer-1").chain_update(session);
    let points = G1::to_bytes_many(&[*c, *a, *d]);
    hash.chain_update(points.as_flattened())
}

/// Step 4: the credential in the present epoch, and x. Secret; wiped when dropped.
#[derive(Clone)]
pub struct Credential {
    pub(in crate::xr) a: G1,
    pub(in crate::xr) x: Scalar,
}

impl Credential {
    /// Decodes 80 bytes, with the checks of every value; x of zero is [`DecodeError::Scalar`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::exactly(CREDENTIAL_BYTES, bytes)?;
        let (a, x) = (reader.take::<G1_BYTES>()?, reader.secret()?);
        let a = G1::from_bytes(a)?;
        Ok(Self { a, x })
    }

    /// A, by which trustees compare signatures with this member.
    pub fn credential(&self) -> G1 {
        self.a
    }

    /// Encodes as A || x. Secret.
    pub fn to_bytes(&self) -> Zeroizing<[u8; CREDENTIAL_BYTES]> {
        let mut out = Zeroizing::new([0; CREDENTIAL_BYTES]);
        let x = Zeroizing::new(self.x.to_bytes());
        fill(&mut out, &[&self.a.to_bytes(), x.as_slice()]);
        out
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential(..)")
    }
}

impl Drop for Credential {
    fn drop(&mut self) {
        self.a.zeroize();
        self.x.zeroize();
    }
}
