//! Signatures and their encodings.

use super::challenge::{CHALLENGE_BYTES, Challenge};
use crate::DecodeError;
use crate::curve::{G1, G1_BYTES, SCALAR_BYTES, Scalar};
use crate::wire::{Values, concat};
use alloc::vec::Vec;
use clew_simd::Backend;

/// Size of a signature: T1, T2, R3 (48 bytes each), c (16), sa, sx, sd, sy (32 each).
pub const SIGNATURE_BYTES: usize = 3 * G1_BYTES + CHALLENGE_BYTES + 4 * SCALAR_BYTES;

/// Size of a signature that carries R1: 48 bytes more.
pub const INCREMENTAL_BYTES: usize = SIGNATURE_BYTES + G1_BYTES;

/// (T1, T2, R3, c, sa, sx, sd, sy) (spec 3.3). Its points are in the prime-order subgroup and not
/// the identity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature {
    pub(super) t1: G1,
    pub(super) t2: G1,
    pub(super) r3: G1,
    /// T1, T2, R3 as they were read or hashed.
    pub(super) encoded: [[u8; G1_BYTES]; 3],
    pub(super) c: Challenge,
    pub(super) s: Responses,
}

/// sa, sx, sd, sy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Responses {
    pub(super) a: Scalar,
    pub(super) x: Scalar,
    pub(super) d: Scalar,
    pub(super) y: Scalar,
}

impl Signature {
    /// Decodes 288 bytes, with the checks of every value: each encoding is the only one of its
    /// value.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        one(Self::from_bytes_all(Backend::best(), &[bytes]))
    }

    /// Decodes many as [`Self::from_bytes`] does: their points together, where the backend can.
    pub fn from_bytes_all(backend: Backend, all: &[&[u8]]) -> Vec<Result<Self, DecodeError>> {
        let read = all.iter().map(|bytes| Unchecked::read(bytes));
        with_points(
            backend,
            read.collect(),
            |read| read.encoded,
            Unchecked::checked,
        )
    }

    /// Encodes as T1 || T2 || R3 || c || sa || sx || sd || sy.
    pub fn to_bytes(&self) -> [u8; SIGNATURE_BYTES] {
        let Responses { a, x, d, y } = &self.s;
        let scalars = [a, x, d, y].map(Scalar::to_bytes);
        let points = self.encoded.as_flattened();
        concat(&[points, &self.c.0, scalars.as_flattened()])
    }

    /// Returns T1 = u^alpha, of which trustees make decryptions (spec 5.3).
    pub fn t1(&self) -> &G1 {
        &self.t1
    }

    /// Returns T2 = B h^alpha, for the base B = A W that the signer has in this epoch.
    pub fn t2(&self) -> &G1 {
        &self.t2
    }
}

/// A signature whose points were not decoded yet.
struct Unchecked {
    encoded: [[u8; G1_BYTES]; 3],
    c: Challenge,
    s: Responses,
}

impl Unchecked {
    /// Scalars cost nothing, and a forger's garbage fails here.
    fn read(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut values = Values::exactly(SIGNATURE_BYTES, bytes)?;
        Ok(Self {
            encoded: [values.array()?, values.array()?, values.array()?],
            c: Challenge(values.array()?),
            s: Responses {
                a: values.scalar()?,
                x: values.scalar()?,
                d: values.scalar()?,
                y: values.scalar()?,
            },
        })
    }

    fn checked(self, [t1, t2, r3]: [G1; 3]) -> Signature {
        let Self { encoded, c, s } = self;
        Signature {
            t1,
            t2,
            r3,
            encoded,
            c,
            s,
        }
    }
}

/// Decodes the N points of each value together, and makes it whole.
fn with_points<T, U, const N: usize>(
    backend: Backend,
    read: Vec<Result<T, DecodeError>>,
    encoded: impl Fn(&T) -> [[u8; G1_BYTES]; N],
    whole: impl Fn(T, [G1; N]) -> U,
) -> Vec<Result<U, DecodeError>> {
    let sets: Vec<_> = read.iter().flatten().map(encoded).collect();
    let mut points = G1::from_bytes_sets(backend, &sets).into_iter();
    let values = read.into_iter().map(|read| {
        let read = read?;
        let points = points.next().expect("each value has its points")?;
        Ok(whole(read, points))
    });
    values.collect()
}

/// The only one.
fn one<T>(all: Vec<Result<T, DecodeError>>) -> Result<T, DecodeError> {
    all.into_iter().next().expect("one was decoded")
}

/// A signature with R1 beside it (Clue, "Incremental verification").
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IncrementalSignature {
    pub(super) signature: Signature,
    pub(super) r1: G1,
    pub(super) encoded_r1: [u8; G1_BYTES],
}

impl IncrementalSignature {
    /// Decodes 336 bytes, with the checks of [`Signature::from_bytes`], R1 included.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        one(Self::from_bytes_all(Backend::best(), &[bytes]))
    }

    /// Decodes many as [`Self::from_bytes`] does: their points together, where the backend can.
    pub fn from_bytes_all(backend: Backend, all: &[&[u8]]) -> Vec<Result<Self, DecodeError>> {
        let read = all.iter().map(|bytes| {
            let (signature, r1) = bytes.split_last_chunk().ok_or(DecodeError::Length)?;
            Ok((Unchecked::read(signature)?, *r1))
        });
        let encoded = |(read, r1): &(Unchecked, [u8; G1_BYTES])| {
            let [t1, t2, r3] = read.encoded;
            [t1, t2, r3, *r1]
        };
        with_points(
            backend,
            read.collect(),
            encoded,
            |(read, r1), [t1, t2, r3, point]| Self {
                signature: read.checked([t1, t2, r3]),
                r1: point,
                encoded_r1: r1,
            },
        )
    }

    /// Encodes as the signature || R1.
    pub fn to_bytes(&self) -> [u8; INCREMENTAL_BYTES] {
        concat(&[&self.signature.to_bytes(), &self.encoded_r1])
    }

    /// Returns the plain signature within, without R1.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }
}
