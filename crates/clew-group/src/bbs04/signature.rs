//! Signatures and their encodings.

use super::Commitments;
use super::challenge::Encryption;
use crate::DecodeError;
use crate::curve::{G1, G1_BYTES, GT_BYTES, SCALAR_BYTES, Scalar};
use crate::wire::{Values, concat};
use clew_simd::Backend;

/// Size of a signature: T1, T2, T3 (48 bytes each), c, s_alpha, s_beta, s_x, s_delta1, s_delta2 (32
/// each).
pub const SIGNATURE_BYTES: usize = 3 * G1_BYTES + 6 * SCALAR_BYTES;

/// Size of a signature that carries R1..R5: 768 bytes more.
pub const INCREMENTAL_BYTES: usize = SIGNATURE_BYTES + 4 * G1_BYTES + GT_BYTES;

/// sigma = (T1, T2, T3, c, s_alpha, s_beta, s_x, s_delta1, s_delta2) (section 4, equation 8; Clue's
/// equation 1). Its points are in the prime-order subgroup and not the identity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature {
    pub(super) t1: G1,
    pub(super) t2: G1,
    pub(super) t3: G1,
    pub(super) encoded_t: Encryption,
    pub(super) c: Scalar,
    pub(super) s: Responses,
}

/// s_alpha, s_beta, s_x, s_delta1, s_delta2.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Responses {
    pub(super) alpha: Scalar,
    pub(super) beta: Scalar,
    pub(super) x: Scalar,
    pub(super) delta1: Scalar,
    pub(super) delta2: Scalar,
}

impl Signature {
    /// Decodes, with the checks of every value: each encoding is the only one of its value.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut values = Values::exactly(SIGNATURE_BYTES, bytes)?;
        let encoded_t: Encryption = [values.array()?, values.array()?, values.array()?];
        // Scalars first: they cost nothing, and a forger's garbage fails here.
        let c = values.long_challenge()?;
        let s = Responses {
            alpha: values.scalar()?,
            beta: values.scalar()?,
            x: values.scalar()?,
            delta1: values.scalar()?,
            delta2: values.scalar()?,
        };
        let [t1, t2, t3] = G1::from_bytes_set(Backend::best(), &encoded_t)?;
        Ok(Self {
            t1,
            t2,
            t3,
            encoded_t,
            c,
            s,
        })
    }

    /// Encodes as T1 || T2 || T3 || c || s_alpha || s_beta || s_x || s_delta1 || s_delta2.
    pub fn to_bytes(&self) -> [u8; SIGNATURE_BYTES] {
        let Responses {
            alpha,
            beta,
            x,
            delta1,
            delta2,
        } = &self.s;
        let scalars = [&self.c, alpha, beta, x, delta1, delta2].map(Scalar::to_bytes);
        concat(&[self.encoded_t.as_flattened(), scalars.as_flattened()])
    }
}

/// A signature with R1..R5 beside it (Clue, "Incremental verification"). The R's stay bytes: a
/// verifier hashes them and compares them with what it computes, and never decodes them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IncrementalSignature {
    pub(super) signature: Signature,
    pub(super) commitments: Commitments,
}

impl IncrementalSignature {
    /// Decodes, with the checks of [`Signature::from_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut values = Values::exactly(INCREMENTAL_BYTES, bytes)?;
        Ok(Self {
            signature: Signature::from_bytes(values.take(SIGNATURE_BYTES)?)?,
            commitments: Commitments {
                r1: values.array()?,
                r2: values.array()?,
                r3: values.array()?,
                r4: values.array()?,
                r5: values.array()?,
            },
        })
    }

    /// Encodes as the signature || R1 || R2 || R3 || R4 || R5.
    pub fn to_bytes(&self) -> [u8; INCREMENTAL_BYTES] {
        let [r1, r2, r3, r4, r5] = self.commitments.parts();
        concat(&[&self.signature.to_bytes(), r1, r2, r3, r4, r5])
    }

    /// Returns the plain signature within, without the R's.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }
}
