//! Values of fixed length, in and out of bytes.

use crate::DecodeError;
use crate::curve::{G1, G1_BYTES, G2, G2_BYTES, SCALAR_BYTES, Scalar};
use clew_wire::Reader;

/// Reads one value after the other, each with all its checks.
pub(crate) struct Values<'a>(Reader<'a>);

impl<'a> Values<'a> {
    /// Of bytes that must have that length.
    pub(crate) fn exactly(length: usize, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let has_length = bytes.len() == length;
        let values = has_length.then_some(Self(Reader(bytes)));
        values.ok_or(DecodeError::Length)
    }

    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        self.0.take(length).ok_or(DecodeError::Length)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        self.0.array().ok_or(DecodeError::Length)
    }

    pub(crate) fn g1(&mut self) -> Result<G1, DecodeError> {
        G1::from_bytes(self.take(G1_BYTES)?)
    }

    pub(crate) fn g2(&mut self) -> Result<G2, DecodeError> {
        G2::from_bytes(self.take(G2_BYTES)?)
    }

    pub(crate) fn scalar(&mut self) -> Result<Scalar, DecodeError> {
        Scalar::from_bytes(self.take(SCALAR_BYTES)?)
    }

    /// A scalar that is not zero.
    pub(crate) fn secret(&mut self) -> Result<Scalar, DecodeError> {
        match self.scalar()? {
            zero if zero.is_zero() => Err(DecodeError::Scalar),
            secret => Ok(secret),
        }
    }

    /// A long challenge: below 2^254.
    pub(crate) fn long_challenge(&mut self) -> Result<Scalar, DecodeError> {
        match self.0.0.first() {
            Some(first) if first & 0xc0 != 0 => Err(DecodeError::Scalar),
            _ => self.scalar(),
        }
    }
}

/// Writes the parts one behind the other.
pub(crate) fn fill<const N: usize>(out: &mut [u8; N], parts: &[&[u8]]) {
    let bytes = parts.iter().copied().flatten();
    out.iter_mut().zip(bytes).for_each(|(place, b)| *place = *b);
}

/// The parts one behind the other.
pub(crate) fn concat<const N: usize>(parts: &[&[u8]]) -> [u8; N] {
    let mut out = [0; N];
    fill(&mut out, parts);
    out
}
