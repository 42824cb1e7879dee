//! The challenge: one function, called by signer and verifier alike (spec 3.3 and 3.10).
//!
//! ```text
//! c = H( D("clew-xr-signature-1")    32 bytes
//!     || epoch id                    32
//!     || T1 || T2 || R1 || R3        48 each, compressed
//!     || message )                   any length
//! ```
//! H is the first 16 bytes of SHA-256, read as a short challenge (spec 2). What comes before the
//! message fills exactly four SHA-256 blocks, which a precursor has hashed already.

use crate::EpochId;
use crate::curve::{G1_BYTES, Scalar};
use crate::transcript::domain;
use sha2::{Digest, Sha256};

/// Size of a short challenge.
pub(super) const CHALLENGE_BYTES: usize = 16;

/// A short challenge, as it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Challenge(pub(super) [u8; CHALLENGE_BYTES]);

impl Challenge {
    /// Its value, c1 + lambda c2.
    pub(super) fn scalar(&self) -> Scalar {
        Scalar::from_halves(&self.0)
    }

    /// The challenge for the message that is the concatenation of `message`.
    pub(super) fn of(mut state: Sha256, message: &[&[u8]]) -> Self {
        message.iter().for_each(|part| state.update(part));
        let digest: [u8; 32] = state.finalize().into();
        let mut bytes = [0; CHALLENGE_BYTES];
        bytes.copy_from_slice(&digest[..CHALLENGE_BYTES]);
        Self(bytes)
    }
}

/// T1, T2, R1, R3, encoded.
pub(super) type Transcript = [[u8; G1_BYTES]; 4];

/// B, nym, R4, encoded.
pub(super) type InScope = [[u8; G1_BYTES]; 3];

/// The hash of everything but the message.
pub(super) fn state(id: &EpochId, transcript: &Transcript) -> Sha256 {
    domain("clew-xr-signature-1")
        .chain_update(id)
        .chain_update(transcript.as_flattened())
}

/// The same for a signature with a pseudonym.
pub(super) fn state_in_scope(id: &EpochId, transcript: &Transcript, scope: &InScope) -> Sha256 {
    domain("clew-xr-pseudonym-1")
        .chain_update(id)
        .chain_update(transcript.as_flattened())
        .chain_update(scope.as_flattened())
}
