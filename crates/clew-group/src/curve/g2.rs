//! Points of G2.

use super::Scalar;
use crate::DecodeError;
use blst::{
    BLST_ERROR, blst_p2, blst_p2_add_or_double, blst_p2_affine, blst_p2_affine_in_g2, blst_p2_cneg,
    blst_p2_compress, blst_p2_from_affine, blst_p2_generator, blst_p2_is_equal, blst_p2_is_inf,
    blst_p2_mult, blst_p2_to_affine, blst_p2_uncompress,
};
use clew_wire::opaque;

/// Size of an encoded point of G2: 96 bytes, compressed.
pub(crate) const G2_BYTES: usize = 96;

/// A point of G2, the subgroup of prime order of the twist E'(Fp2).
#[derive(Clone, Copy, Default)]
pub struct G2(pub(super) blst_p2);

impl G2 {
    /// Decodes a point that is not the identity, checking curve and subgroup.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let bytes: &[u8; G2_BYTES] = bytes.try_into().map_err(|_| DecodeError::Length)?;
        let mut affine = blst_p2_affine::default();
        let mut point = blst_p2::default();
        // SAFETY: `bytes` has the 96 bytes that are read.
        let read = unsafe { blst_p2_uncompress(&mut affine, bytes.as_ptr()) };
        if read != BLST_ERROR::BLST_SUCCESS {
            return Err(DecodeError::Point);
        }
        // SAFETY: both pointers are to live values.
        unsafe { blst_p2_from_affine(&mut point, &affine) };
        // SAFETY: the pointer is to a live value.
        if unsafe { blst_p2_is_inf(&point) } {
            return Err(DecodeError::Identity);
        }
        // SAFETY: `affine` is a point on the curve.
        let in_g2 = unsafe { blst_p2_affine_in_g2(&affine) };
        if in_g2 {
            Ok(Self(point))
        } else {
            Err(DecodeError::Subgroup)
        }
    }

    /// Encodes as 96 compressed bytes.
    pub fn to_bytes(&self) -> [u8; G2_BYTES] {
        let mut bytes = [0; G2_BYTES];
        // SAFETY: `bytes` has the 96 bytes that are written.
        unsafe { blst_p2_compress(bytes.as_mut_ptr(), &self.0) };
        bytes
    }

    pub(super) fn to_affine(self) -> blst_p2_affine {
        let mut out = blst_p2_affine::default();
        // SAFETY: both pointers are to live values.
        unsafe { blst_p2_to_affine(&mut out, &self.0) };
        out
    }
}

opaque!(G2);
point_operations!(
    G2,
    blst_p2_generator,
    blst_p2_mult,
    blst_p2_is_inf,
    blst_p2_is_equal,
    blst_p2_add_or_double,
    blst_p2_cneg
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoding_round_trips_and_refuses_what_it_must() {
        let point = G2::generator().mul(&Scalar::from_u128(77));
        let bytes = point.to_bytes();
        assert_eq!(G2::from_bytes(&bytes), Ok(point));
        assert_eq!(G2::from_bytes(&bytes[..95]), Err(DecodeError::Length));
        let mut infinity = [0; G2_BYTES];
        infinity[0] = 0xc0;
        assert_eq!(G2::from_bytes(&infinity), Err(DecodeError::Identity));
        infinity[95] = 1;
        assert_eq!(G2::from_bytes(&infinity), Err(DecodeError::Point));
    }

    #[test]
    fn a_point_of_another_order_is_refused() {
        let outside = (1..=30u8).map(|x| {
            let mut bytes = [0; G2_BYTES];
            (bytes[0], bytes[95]) = (0x80, x);
            G2::from_bytes(&bytes)
        });
        assert!(
            outside
                .into_iter()
                .any(|read| read == Err(DecodeError::Subgroup))
        );
    }
}
