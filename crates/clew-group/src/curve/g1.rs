//! Points of G1.

use super::affine::{Affine, to_affine};
use super::{Scalar, Vectors};
use crate::DecodeError;
use alloc::vec::Vec;
use blst::{
    BLST_ERROR, blst_hash_to_g1, blst_p1, blst_p1_add_affine, blst_p1_add_or_double,
    blst_p1_add_or_double_affine, blst_p1_affine_compress, blst_p1_affine_in_g1, blst_p1_cneg,
    blst_p1_double, blst_p1_from_affine, blst_p1_generator, blst_p1_is_equal, blst_p1_is_inf,
    blst_p1_mult, blst_p1_uncompress,
};
use clew_simd::Backend;
use clew_wire::opaque;
use core::ops::AddAssign;
use core::ptr;
use zeroize::Zeroize;

/// Size of an encoded point of G1: 48 bytes, the compressed form of the BLS12-381 convention
/// (big-endian x, three flag bits in front).
pub const G1_BYTES: usize = 48;

/// From so many points on, a vector takes less time than `blst` for one after the other.
const VECTORS_FROM: usize = 2;

/// A point of G1, the subgroup of prime order of E(Fp).
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct G1(pub(super) blst_p1);

impl G1 {
    /// Creates a point whose discrete logarithm nobody knows: `hash_to_curve` of RFC 9380, suite
    /// BLS12381G1_XMD:SHA-256_SSWU_RO_.
    pub fn hash(domain: &[u8], message: &[u8]) -> Self {
        let mut out = blst_p1::default();
        // SAFETY: each pointer goes with the length of its slice; no augmentation is given.
        unsafe {
            blst_hash_to_g1(
                &mut out,
                message.as_ptr(),
                message.len(),
                domain.as_ptr(),
                domain.len(),
                ptr::null(),
                0,
            );
        }
        Self(out)
    }

    /// Decodes a point that is not the identity, checking curve and subgroup.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let bytes: &[u8; G1_BYTES] = bytes.try_into().map_err(|_| DecodeError::Length)?;
        let mut affine = Affine::default();
        // SAFETY: `bytes` has the 48 bytes that are read.
        let read = unsafe { blst_p1_uncompress(&mut affine, bytes.as_ptr()) };
        match read {
            BLST_ERROR::BLST_SUCCESS => {}
            // Of (0, 2) and (0, -2), which have order 3.
            BLST_ERROR::BLST_POINT_NOT_IN_GROUP => return Err(DecodeError::Subgroup),
            _ => return Err(DecodeError::Point),
        }
        let point = Self::from_affine(&affine);
        if point.is_identity() {
            return Err(DecodeError::Identity);
        }
        // SAFETY: `affine` is a point on the curve.
        if unsafe { blst_p1_affine_in_g1(&affine) } {
            Ok(point)
        } else {
            Err(DecodeError::Subgroup)
        }
    }

    /// Decodes points as [`Self::from_bytes`] does, together where the backend can. The error is that of
    /// the first bad one.
    pub(crate) fn from_bytes_set<const N: usize>(
        backend: Backend,
        set: &[[u8; G1_BYTES]; N],
    ) -> Result<[Self; N], DecodeError> {
        if N >= VECTORS_FROM
            && let Some(vectors) = Vectors::of(backend)
        {
            return all_of(vectors.decode(&set.each_ref()));
        }
        all_of(set.iter().map(|bytes| Self::from_bytes(bytes)))
    }

    /// Decodes many sets of points, each as [`Self::from_bytes_set`] does.
    pub(crate) fn from_bytes_sets<const N: usize>(
        backend: Backend,
        sets: &[[[u8; G1_BYTES]; N]],
    ) -> Vec<Result<[Self; N], DecodeError>> {
        let Some(vectors) = Vectors::of(backend) else {
            let each = sets.iter().map(|set| Self::from_bytes_set(backend, set));
            return each.collect();
        };
        let encoded: Vec<&[u8; G1_BYTES]> = sets.iter().flatten().collect();
        let mut points = vectors.decode(&encoded).into_iter();
        let each = sets.iter().map(|set| {
            let own: Vec<_> = points.by_ref().take(set.len()).collect();
            all_of(own)
        });
        each.collect()
    }

    /// The point plus (0, 2), which has order 3: what no decoder lets in, for tests of why.
    #[cfg(test)]
    pub(crate) fn with_torsion(self) -> Self {
        let mut torsion = Affine::default();
        // SAFETY: the pointers are to live values; six words are read.
        unsafe { blst::blst_fp_from_uint64(&mut torsion.y, [2, 0, 0, 0, 0, 0].as_ptr()) };
        let mut out = self;
        out.add_affine(&torsion);
        out
    }

    /// Encodes as 48 compressed bytes. Takes the same time for a point that was decoded as for one
    /// that was computed, which blst's own function does not.
    pub fn to_bytes(&self) -> [u8; G1_BYTES] {
        let [bytes] = Self::to_bytes_many(&[*self]);
        bytes
    }

    /// Encodes many points with one field inversion.
    pub fn to_bytes_many<const N: usize>(points: &[Self; N]) -> [[u8; G1_BYTES]; N] {
        let mut out = [[0; G1_BYTES]; N];
        let all = out.iter_mut().zip(Self::to_bytes_all(points));
        all.for_each(|(place, bytes)| *place = bytes);
        out
    }

    /// Encodes any number of points with one field inversion.
    pub fn to_bytes_all(points: &[Self]) -> Vec<[u8; G1_BYTES]> {
        let compress = |affine: &Affine| {
            let mut bytes = [0; G1_BYTES];
            // SAFETY: `bytes` has the 48 bytes that are written.
            unsafe { blst_p1_affine_compress(bytes.as_mut_ptr(), affine) };
            bytes
        };
        to_affine(points).iter().map(compress).collect()
    }

    /// Returns `self + self`.
    pub fn double(&self) -> Self {
        let mut out = blst_p1::default();
        // SAFETY: both pointers are to live values.
        unsafe { blst_p1_double(&mut out, &self.0) };
        Self(out)
    }

    pub(super) fn add_affine(&mut self, other: &Affine) {
        let left = self.0;
        // SAFETY: all pointers are to live values; the output is another value than the inputs.
        unsafe { blst_p1_add_or_double_affine(&mut self.0, &left, other) };
    }

    /// The same for public points, a little faster: a doubling, which this formula turns into the
    /// identity, is found and done again.
    pub(super) fn add_affine_vartime(&mut self, other: &Affine) {
        let left = *self;
        // SAFETY: all pointers are to live values; the output is another value than the inputs.
        unsafe { blst_p1_add_affine(&mut self.0, &left.0, other) };
        if self.is_identity() {
            *self = left;
            self.add_affine(other);
        }
    }

    pub(super) fn from_affine(affine: &Affine) -> Self {
        let mut out = blst_p1::default();
        // SAFETY: both pointers are to live values.
        unsafe { blst_p1_from_affine(&mut out, affine) };
        Self(out)
    }
}

/// The points, or the first error: nothing behind it is computed.
fn all_of<const N: usize>(
    points: impl IntoIterator<Item = Result<G1, DecodeError>>,
) -> Result<[G1; N], DecodeError> {
    let mut all = [G1::default(); N];
    for (place, point) in all.iter_mut().zip(points) {
        *place = point?;
    }
    Ok(all)
}

opaque!(G1);
point_operations!(
    G1,
    blst_p1_generator,
    blst_p1_mult,
    blst_p1_is_inf,
    blst_p1_is_equal,
    blst_p1_add_or_double,
    blst_p1_cneg
);

impl Zeroize for G1 {
    fn zeroize(&mut self) {
        self.0.x.l.zeroize();
        self.0.y.l.zeroize();
        self.0.z.l.zeroize();
    }
}

impl AddAssign for G1 {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoding_round_trips_and_refuses_what_it_must() {
        let point = G1::generator().mul(&Scalar::from_u128(77));
        let bytes = point.to_bytes();
        assert_eq!(G1::from_bytes(&bytes), Ok(point));
        assert_eq!(G1::to_bytes_many(&[point, G1::generator()])[0], bytes);
        assert_eq!(G1::from_bytes(&bytes[..47]), Err(DecodeError::Length));

        let mut infinity = [0; G1_BYTES];
        infinity[0] = 0xc0;
        assert_eq!(G1::from_bytes(&infinity), Err(DecodeError::Identity));
        infinity[47] = 1;
        assert_eq!(G1::from_bytes(&infinity), Err(DecodeError::Point));

        let mut uncompressed_flag = bytes;
        uncompressed_flag[0] &= 0x7f;
        assert_eq!(G1::from_bytes(&uncompressed_flag), Err(DecodeError::Point));
    }

    /// x = 0, of order 3, and whichever of the small x is on the curve.
    #[test]
    fn a_point_of_another_order_is_refused() {
        let read = |x: u8| {
            let mut bytes = [0; G1_BYTES];
            (bytes[0], bytes[47]) = (0x80, x);
            G1::from_bytes(&bytes)
        };
        assert_eq!(read(0), Err(DecodeError::Subgroup));
        assert!((1..=30).any(|x| read(x) == Err(DecodeError::Subgroup)));
    }

    #[test]
    fn hashing_is_deterministic_and_separated() {
        assert_eq!(G1::hash(b"a", b"m"), G1::hash(b"a", b"m"));
        assert_ne!(G1::hash(b"a", b"m"), G1::hash(b"b", b"m"));
        assert!(!G1::hash(b"a", b"m").is_identity());
    }
}
