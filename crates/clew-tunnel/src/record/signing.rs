//! Ed25519, as records are signed with it.

use core::fmt;

use alloc::vec::Vec;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};

use super::{KEY_BYTES, SIGNATURE_BYTES};

/// A secret that signs: of S, or of who vouches for hosts. It is wiped when it is dropped.
pub struct SigningSecret(SigningKey);

impl SigningSecret {
    /// The secret of this seed.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(seed))
    }

    /// Its seed.
    pub fn seed(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// Its public key.
    pub fn public(&self) -> [u8; KEY_BYTES] {
        self.0.verifying_key().to_bytes()
    }

    pub(super) fn sign(&self, label: &[u8; 16], body: &[u8]) -> [u8; SIGNATURE_BYTES] {
        self.0.sign(&message(label, body)).to_bytes()
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningSecret(..)")
    }
}

fn message(label: &[u8; 16], body: &[u8]) -> Vec<u8> {
    [label, body].concat()
}

/// Whether a signature holds, strictly: no keys and no R of small order, canonical encodings.
pub(super) fn holds(
    key: &[u8; KEY_BYTES],
    label: &[u8; 16],
    body: &[u8],
    signature: &[u8; SIGNATURE_BYTES],
) -> bool {
    let Ok(verifying) = VerifyingKey::from_bytes(key) else {
        return false;
    };
    // verify_strict does not look at how the key is encoded.
    if verifying.to_edwards().compress().as_bytes() != key {
        return false;
    }
    let signature = Signature::from_bytes(signature);
    verifying
        .verify_strict(&message(label, body), &signature)
        .is_ok()
}
