//! Products of many points by secret scalars, in constant time: Straus' method, whose terms share
//! their doublings.

use super::affine::Affine;
use super::fixed_base::{
    POINTS_PER_WINDOW, WINDOW_BITS, WINDOWS, multiples, select, signed_digits,
};
use super::{G1, Scalar};
use alloc::vec::Vec;
use zeroize::Zeroizing;

/// Points whose tables are in memory together: 200 kB.
const AT_ONCE: usize = 128;

/// The sum of `scalars[i] * points[i]`. Takes time that depends on the number of points, and on
/// which of them are the identity; each term costs 52 additions and a table of 16 multiples.
///
/// # Panics
/// If there are not as many points as scalars.
pub(crate) fn product_of_secret_powers(points: &[G1], scalars: &[Scalar]) -> G1 {
    assert_eq!(points.len(), scalars.len(), "each point has its scalar");
    let terms = points.iter().zip(scalars);
    let terms = terms.filter(|(point, _)| !point.is_identity());
    let terms: Vec<(&G1, &Scalar)> = terms.collect();
    let sums = terms.chunks(AT_ONCE).map(sum);
    sums.fold(G1::default(), |all, sum| all + sum)
}

fn sum(terms: &[(&G1, &Scalar)]) -> G1 {
    let points: Vec<G1> = terms.iter().map(|(point, _)| **point).collect();
    let table = table(&points);
    let mut digits = Zeroizing::new(Vec::with_capacity(terms.len()));
    digits.extend(terms.iter().map(|(_, scalar)| *signed_digits(scalar)));
    let mut sum = G1::default();
    for i in (0..WINDOWS).rev() {
        (0..WINDOW_BITS).for_each(|_| sum = sum.double());
        for (window, digits) in table.chunks_exact(POINTS_PER_WINDOW).zip(digits.iter()) {
            sum.add_affine(&select(window, digits[i]));
        }
    }
    sum
}

/// The multiples 1..=16 of each point, none of which is the identity.
fn table(points: &[G1]) -> Vec<Affine> {
    let doubled = |point: &G1| core::iter::successors(Some(*point), |p| Some(p.double()));
    let powers = points.iter().flat_map(|p| doubled(p).take(WINDOW_BITS));
    multiples(&powers.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::glv::tests::edge_scalar;
    use proptest::collection;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Points may be equal, opposite or the identity; more of them than are in memory together.
        #[test]
        fn it_agrees_with_the_plain_products(
            terms in collection::vec((-3i8..=3, edge_scalar()), 0..2 * AT_ONCE)
        ) {
            let point = |k: i8| {
                let point = G1::generator().mul(&Scalar::from_u128(k.unsigned_abs().into()));
                if k < 0 { -point } else { point }
            };
            let (points, scalars): (Vec<G1>, Vec<Scalar>) =
                terms.into_iter().map(|(k, scalar)| (point(k), scalar)).unzip();
            let plain = points.iter().zip(&scalars).map(|(p, k)| p.mul(k));
            let plain = plain.fold(G1::default(), |sum, product| sum + product);
            prop_assert_eq!(product_of_secret_powers(&points, &scalars), plain);
        }
    }
}
