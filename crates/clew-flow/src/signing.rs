//! Block signatures: who signs and who verifies them.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use clew_wire::opaque;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use rand_core::CryptoRng;

use crate::effs::{self, Assurance, Fault, PublicKey};
use crate::wire::{Algorithm, BadDescriptor, Descriptor};

/// Signs blocks.
pub trait BlockSigner {
    /// The scheme.
    fn algorithm(&self) -> Algorithm;

    /// The public key, as a descriptor has it.
    fn public_key(&self) -> Vec<u8>;

    /// Appends the signature of a message.
    ///
    /// # Errors
    /// It does not hold, and nothing is appended: the machine computed wrong.
    fn sign(
        &mut self,
        message: &[u8],
        rng: &mut dyn CryptoRng,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault>;

    /// Does in advance what needs no message, while there is time.
    fn prepare(&mut self, _rng: &mut dyn CryptoRng) {}
}

/// Verifies blocks.
pub trait BlockVerifier: fmt::Debug + Send + Sync {
    /// What the signature of the message was found to be worth; none if it does not hold.
    fn verify(&self, message: &[u8], signature: &[u8]) -> Option<Assurance>;
}

impl Descriptor {
    /// Creates a verifier of the flow's blocks, to the highest level.
    ///
    /// # Errors
    /// The public key is none, has small order, or is not encoded canonically.
    pub fn verifier(&self) -> Result<Box<dyn BlockVerifier>, BadDescriptor> {
        self.verifier_for(u16::MAX)
    }

    /// Creates a verifier of the flow's blocks, up to the level that gives so many bits, if the
    /// scheme has levels.
    ///
    /// # Errors
    /// As [`Self::verifier`].
    pub fn verifier_for(&self, bits: u16) -> Result<Box<dyn BlockVerifier>, BadDescriptor> {
        match self.algorithm() {
            Algorithm::Ed25519 => {
                let bytes = self.public_key().try_into().map_err(|_| BadDescriptor)?;
                let key = VerifyingKey::from_bytes(bytes).map_err(|_| BadDescriptor)?;
                // Keys of small order, and encodings that are not canonical.
                if key.is_weak() || key.to_edwards().compress().as_bytes() != bytes {
                    return Err(BadDescriptor);
                }
                Ok(Box::new(Ed25519Verifier(key)))
            }
            Algorithm::Effs => {
                let key = PublicKey::from_bytes(self.public_key()).map_err(|_| BadDescriptor)?;
                Ok(Box::new(EffsVerifier {
                    level: key.parameters().level_for(bits),
                    verifier: effs::Verifier::new(&key),
                }))
            }
        }
    }
}

/// Ed25519 (RFC 8032). The key is wiped when it is dropped, and never printed.
pub struct Ed25519Signer(SigningKey);

impl Ed25519Signer {
    /// Creates a signer with this secret, 32 bytes.
    pub fn from_secret(secret: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(secret))
    }
}

opaque!(Ed25519Signer);

impl BlockSigner for Ed25519Signer {
    fn algorithm(&self) -> Algorithm {
        Algorithm::Ed25519
    }

    fn public_key(&self) -> Vec<u8> {
        self.0.verifying_key().to_bytes().to_vec()
    }

    fn sign(
        &mut self,
        message: &[u8],
        _: &mut dyn CryptoRng,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        out.extend(self.0.sign(message).to_bytes());
        Ok(())
    }
}

#[derive(Debug)]
struct Ed25519Verifier(VerifyingKey);

impl BlockVerifier for Ed25519Verifier {
    fn verify(&self, message: &[u8], signature: &[u8]) -> Option<Assurance> {
        let signature = Signature::from_slice(signature).ok()?;
        self.0.verify_strict(message, &signature).ok()?;
        Some(Assurance::ENOUGH)
    }
}

impl BlockSigner for effs::Signer {
    fn algorithm(&self) -> Algorithm {
        Algorithm::Effs
    }

    fn public_key(&self) -> Vec<u8> {
        self.public().as_bytes().to_vec()
    }

    fn sign(
        &mut self,
        message: &[u8],
        rng: &mut dyn CryptoRng,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        self.append(message, rng, out)
    }

    fn prepare(&mut self, rng: &mut dyn CryptoRng) {
        effs::Signer::prepare(self, rng);
    }
}

#[derive(Debug)]
struct EffsVerifier {
    verifier: effs::Verifier,
    level: u8,
}

impl BlockVerifier for EffsVerifier {
    fn verify(&self, message: &[u8], signature: &[u8]) -> Option<Assurance> {
        let found = self.verifier.verify(message, signature, self.level);
        found.ok()
    }
}
