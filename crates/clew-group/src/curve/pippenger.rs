//! Products of many points by **public** scalars, each point seen once.

use super::affine::{Affine, to_affine};
use super::glv::{Halves, beta, image, negated_if};
use super::multiexp::{OddMultiples, WIDTH_SHORT, straus_vartime};
use super::{G1, Scalar};
use alloc::vec;
use alloc::vec::Vec;
use blst::{blst_p1, blst_p1s_mult_pippenger, blst_p1s_mult_pippenger_scratch_sizeof};
use core::ptr;

/// From this many points on, Pippenger's method is faster than Straus'.
/// (For scalars of 255 bits that is 28, for 128-bit challenges 16.)
const PIPPENGER_FROM: usize = 24;

/// Returns the sum of `scalars[i] * points[i]`; of none it is the identity. Points may be the
/// identity, equal or opposite. Takes time that depends on the scalars and on which points are the
/// identity: scalars below 2^128, scalars of [`Scalar::from_halves`] and the negatives of both take
/// less.
pub fn multiexp_many_vartime(points: &[G1], scalars: &[Scalar]) -> G1 {
    assert_eq!(points.len(), scalars.len(), "each point has its scalar");
    let terms = points.iter().zip(scalars);
    let (points, scalars): (Vec<G1>, Vec<Scalar>) = terms
        .filter(|(point, scalar)| !point.is_identity() && !scalar.is_zero())
        .unzip();
    match points.len() {
        0 => G1::default(),
        n if n < PIPPENGER_FROM => straus_once_vartime(&points, &scalars),
        _ => pippenger_vartime(&points, &scalars),
    }
}

fn straus_once_vartime(points: &[G1], scalars: &[Scalar]) -> G1 {
    let tables = OddMultiples::of_bases(points, 1, WIDTH_SHORT);
    straus_vartime(tables.iter().zip(scalars.iter().copied()))
}

/// blst's Pippenger over P and its image: half the doublings, and buckets that are summed half as
/// often. No point may be the identity, no scalar zero.
fn pippenger_vartime(points: &[G1], scalars: &[Scalar]) -> G1 {
    let beta = beta();
    let (mut bases, mut factors) = (Vec::new(), Vec::new());
    let mut bits = 0;
    for (point, scalar) in to_affine(points).iter().zip(scalars) {
        let halves = Halves::of_vartime(scalar);
        bits = bits.max(halves.bits());
        let point = negated_if(point, halves.negative);
        if halves.low != 0 {
            bases.push(point);
            factors.push(halves.low);
        }
        if halves.high != 0 {
            bases.push(image(&point, &beta));
            factors.push(halves.high);
        }
    }
    sum_of_products(&bases, &factors, bits as usize)
}

/// The sum of `factor * point`, none of which is zero, for factors of at most `bits` bits.
fn sum_of_products(points: &[Affine], factors: &[u128], bits: usize) -> G1 {
    let bytes: Vec<u8> = factors
        .iter()
        .flat_map(|factor| factor.to_le_bytes().into_iter().take(bits.div_ceil(8)))
        .collect();
    // blst's form for "contiguous": a pointer to all, and a null.
    let points_list = [points.as_ptr(), ptr::null()];
    let bytes_list = [bytes.as_ptr(), ptr::null()];
    let mut out = blst_p1::default();
    // SAFETY: both lists hold `points.len()` entries, factors of whole bytes that have `bits` bits;
    // the scratch has the size, in bytes, that blst asks for, and the alignment of its words.
    unsafe {
        let size = blst_p1s_mult_pippenger_scratch_sizeof(points.len());
        let mut scratch = vec![0u64; size.div_ceil(size_of::<u64>())];
        blst_p1s_mult_pippenger(
            &mut out,
            points_list.as_ptr(),
            points.len(),
            bytes_list.as_ptr(),
            bits,
            scratch.as_mut_ptr(),
        );
    }
    G1(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::glv::tests::edge_scalar;
    use proptest::collection;
    use proptest::prelude::*;

    /// Points of which many are equal, opposite or the identity.
    fn edge_point() -> impl Strategy<Value = G1> {
        let multiple = |k: i8| {
            let point = G1::generator().mul(&Scalar::from_u128(k.unsigned_abs().into()));
            if k < 0 { -point } else { point }
        };
        prop_oneof![
            (-3i8..=3).prop_map(multiple),
            any::<u128>().prop_map(|k| G1::generator().mul(&Scalar::from_u128(k))),
        ]
    }

    fn plain(points: &[G1], scalars: &[Scalar]) -> G1 {
        let products = points.iter().zip(scalars).map(|(p, k)| p.mul(k));
        products.fold(G1::default(), |sum, product| sum + product)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn it_agrees_with_the_plain_products(
            terms in collection::vec((edge_point(), edge_scalar()), 0..3 * PIPPENGER_FROM)
        ) {
            let (points, scalars): (Vec<G1>, Vec<Scalar>) = terms.into_iter().unzip();
            let expected = plain(&points, &scalars);
            prop_assert_eq!(multiexp_many_vartime(&points, &scalars), expected);
            // What follows cancels all of it.
            let opposite: Vec<G1> = points.iter().map(|p| -*p).collect();
            let twice = [points, opposite].concat();
            prop_assert!(multiexp_many_vartime(&twice, &[&scalars[..], &scalars].concat()).is_identity());
        }

        #[test]
        fn both_methods_agree_at_every_size(
            terms in collection::vec((1u128.., edge_scalar()), 1..2 * PIPPENGER_FROM), bits in 1u32..=128
        ) {
            let points = terms.iter().map(|(k, _)| G1::generator().mul(&Scalar::from_u128(*k)));
            let points: Vec<G1> = points.collect();
            let one = Scalar::from_u128(1);
            let scalars = terms.iter().map(|(_, k)| if k.is_zero() { one } else { *k });
            let short = terms.iter().map(|(k, _)| Scalar::from_u128((k >> (128 - bits)).max(1)));
            for scalars in [scalars.collect::<Vec<_>>(), short.collect()] {
                let expected = plain(&points, &scalars);
                prop_assert_eq!(straus_once_vartime(&points, &scalars), expected);
                prop_assert_eq!(pippenger_vartime(&points, &scalars), expected);
            }
        }
    }

    #[test]
    fn thousands_of_points() {
        let steps = core::iter::successors(Some(G1::generator()), |p| Some(*p + G1::generator()));
        let points: Vec<G1> = steps.take(3500).collect();
        let scalars: Vec<Scalar> = (1..=3500u128)
            .map(|k| -Scalar::from_u128(k << 100))
            .collect();
        let squares = (1..=3500u128).map(|k| k * k).sum::<u128>();
        let sum = -Scalar::from_u128(squares) * Scalar::from_u128(1 << 100);
        assert_eq!(
            multiexp_many_vartime(&points, &scalars),
            G1::generator().mul(&sum)
        );
    }
}
