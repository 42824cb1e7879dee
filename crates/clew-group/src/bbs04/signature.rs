//! Signatures and their encodings.

use super::Commitments;
use super::challenge::Encryption;
use crate::DecodeError;
use crate::curve::{G1, G1_BYTES, GT_BYTES, SCALAR_BYTES, Scalar};

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
    pub(super) s_alpha: Scalar,
    pub(super) s_beta: Scalar,
    pub(super) s_x: Scalar,
    pub(super) s_delta1: Scalar,
    pub(super) s_delta2: Scalar,
}

impl Signature {
    /// Decodes, with the checks of every value: each encoding is the only one of its value.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        if bytes.len() != SIGNATURE_BYTES {
            return Err(DecodeError::Length);
        }
        let (points, scalars) = bytes.split_at(3 * G1_BYTES);
        let scalar = |i: usize| Scalar::from_bytes(&scalars[i * SCALAR_BYTES..][..SCALAR_BYTES]);
        // Scalars first: they cost nothing, and a forger's garbage fails here.
        let [c, s_alpha, s_beta, s_x, s_delta1, s_delta2] = [
            scalar(0)?,
            scalar(1)?,
            scalar(2)?,
            scalar(3)?,
            scalar(4)?,
            scalar(5)?,
        ];
        if scalars[0] & 0xc0 != 0 {
            return Err(DecodeError::Scalar); // c has 254 bits
        }
        let mut encoded_t: Encryption = [[0; G1_BYTES]; 3];
        for (t, bytes) in encoded_t.iter_mut().zip(points.chunks_exact(G1_BYTES)) {
            t.copy_from_slice(bytes);
        }
        let [t1, t2, t3] = [
            G1::from_bytes(&encoded_t[0])?,
            G1::from_bytes(&encoded_t[1])?,
            G1::from_bytes(&encoded_t[2])?,
        ];
        Ok(Self {
            t1,
            t2,
            t3,
            encoded_t,
            c,
            s_alpha,
            s_beta,
            s_x,
            s_delta1,
            s_delta2,
        })
    }

    /// Encodes as T1 || T2 || T3 || c || s_alpha || s_beta || s_x || s_delta1 || s_delta2.
    pub fn to_bytes(&self) -> [u8; SIGNATURE_BYTES] {
        let mut out = [0; SIGNATURE_BYTES];
        let (points, scalars) = out.split_at_mut(3 * G1_BYTES);
        points.copy_from_slice(self.encoded_t.as_flattened());
        for (bytes, s) in scalars.chunks_exact_mut(SCALAR_BYTES).zip(self.scalars()) {
            bytes.copy_from_slice(&s.to_bytes());
        }
        out
    }

    fn scalars(&self) -> [&Scalar; 6] {
        [
            &self.c,
            &self.s_alpha,
            &self.s_beta,
            &self.s_x,
            &self.s_delta1,
            &self.s_delta2,
        ]
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
        let Some((rest, r5)) = bytes.split_last_chunk() else {
            return Err(DecodeError::Length);
        };
        let Some((rest, r4)) = rest.split_last_chunk() else {
            return Err(DecodeError::Length);
        };
        let Some((rest, r3)) = rest.split_last_chunk() else {
            return Err(DecodeError::Length);
        };
        let Some((rest, r2)) = rest.split_last_chunk() else {
            return Err(DecodeError::Length);
        };
        let Some((rest, r1)) = rest.split_last_chunk() else {
            return Err(DecodeError::Length);
        };
        let commitments = Commitments {
            r1: *r1,
            r2: *r2,
            r3: *r3,
            r4: *r4,
            r5: *r5,
        };
        Ok(Self {
            signature: Signature::from_bytes(rest)?,
            commitments,
        })
    }

    /// Encodes as the signature || R1 || R2 || R3 || R4 || R5.
    pub fn to_bytes(&self) -> [u8; INCREMENTAL_BYTES] {
        let mut out = [0; INCREMENTAL_BYTES];
        let (signature, mut rest) = out.split_at_mut(SIGNATURE_BYTES);
        signature.copy_from_slice(&self.signature.to_bytes());
        for part in self.commitments.parts() {
            let (head, tail) = rest.split_at_mut(part.len());
            head.copy_from_slice(part);
            rest = tail;
        }
        out
    }

    /// The plain signature within, without the R's.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }
}
