//! Products of several points by **public** scalars, as fast as the input allows.
//!
//! Straus' method: all terms share their doublings. Each scalar is cut in two halves of 128 bits by
//! the endomorphism (`glv.rs`), and where the point is used often, each half in two quarters of
//! 64 bits over P and 2^64 P: so a product takes 64 doublings, and those that lead to 2^64 P are made
//! once for all products with P. Each half or quarter is written in width-w non-adjacent form over a
//! table of odd multiples. For many points, Pippenger's method ([`multiexp_many_vartime`]).

use super::affine::{Affine, to_affine, translate};
use super::glv::{Halves, beta, image, negated_if};
use super::{G1, Scalar};
use alloc::vec;
use alloc::vec::Vec;
use clew_wire::opaque;

pub use super::pippenger::multiexp_many_vartime;

/// Width for points seen once: tables of 8 odd multiples.
pub const WIDTH_ONCE: u32 = 5;

/// Width for points seen once, without 2^64 P: a table of 4 odd multiples.
pub const WIDTH_SHORT: u32 = 4;

/// Width for points used over and over: two tables of 256 odd multiples, 98 kB with their images.
pub const WIDTH_FIXED: u32 = 10;

/// Bits of a quarter.
const QUARTER: u32 = 64;

/// Odd multiples P, 3P, 5P, ... of a point, and mostly of 2^64 times it, and their images under the
/// endomorphism.
#[derive(Clone)]
pub struct OddMultiples {
    width: u32,
    /// Multiples and images, of P for a whole half, or of P and 2^64 P for its quarters.
    tables: Vec<[Vec<Affine>; 2]>,
}

impl OddMultiples {
    /// Returns the tables of several points, with `width - 1` inversions for all of them. No point
    /// may be the identity.
    pub fn of<const N: usize>(points: [&G1; N], width: u32) -> [Self; N] {
        let bases: Vec<G1> = points.into_iter().flat_map(|p| [*p, shifted(p)]).collect();
        array(Self::of_bases(&bases, 2, width))
    }

    /// Makes tables without 2^64 P: half the table and none of its doublings, for points that meet
    /// only scalars of [`Scalar::from_halves`] or their negatives. Any other scalar is right too,
    /// but takes 128 doublings.
    pub fn of_short<const N: usize>(points: [&G1; N], width: u32) -> [Self; N] {
        array(Self::of_short_all(&points.map(|p| *p), width))
    }

    /// Makes tables as [`Self::of_short`] does, for any number of points.
    pub fn of_short_all(points: &[G1], width: u32) -> Vec<Self> {
        Self::of_bases(points, 1, width)
    }

    /// The tables of points of which each has `each` bases, one behind the other.
    pub(super) fn of_bases(bases: &[G1], each: usize, width: u32) -> Vec<Self> {
        let beta = beta();
        let with_images = odd_multiples(bases, width).into_iter().map(|multiples| {
            let images = multiples.iter().map(|p| image(p, &beta)).collect();
            [multiples, images]
        });
        let mut with_images = with_images.collect::<Vec<_>>().into_iter();
        let tables = (0..bases.len() / each).map(|_| with_images.by_ref().take(each).collect());
        tables.map(|tables| Self { width, tables }).collect()
    }
}

fn array<const N: usize>(tables: Vec<OddMultiples>) -> [OddMultiples; N] {
    let mut tables = tables.into_iter();
    core::array::from_fn(|_| tables.next().expect("each point has its tables"))
}

/// 2^64 P.
fn shifted(point: &G1) -> G1 {
    (0..QUARTER).fold(*point, |p, _| p.double())
}

/// B, 3B, 5B, ..., (2^(width-1) - 1) B of each base: first B; then P + 2B, P + 4B, P + 8B, ... for
/// every P that is there already.
pub(super) fn odd_multiples(bases: &[G1], width: u32) -> Vec<Vec<Affine>> {
    let mut power = bases.to_vec();
    let mut powers = Vec::with_capacity(bases.len() * (width as usize - 1));
    for _ in 1..width {
        powers.extend_from_slice(&power);
        power.iter_mut().for_each(|p| *p = p.double());
    }
    let powers = to_affine(&powers);
    let (first, rest) = powers.split_at(bases.len());
    let mut tables: Vec<Vec<Affine>> = first.iter().map(|p| vec![*p]).collect();
    for power in rest.chunks_exact(bases.len()) {
        let sums = translate(&tables, power);
        tables.iter_mut().zip(sums).for_each(|(t, s)| t.extend(s));
    }
    tables
}

opaque!(OddMultiples);

/// Returns the sum of `scalar * point` over all terms. Takes time that depends on the scalars.
pub fn multiexp_vartime<const N: usize>(terms: [(&OddMultiples, Scalar); N]) -> G1 {
    straus_vartime(terms)
}

/// The same for any number of terms.
pub(super) fn straus_vartime<'a>(
    terms: impl IntoIterator<Item = (&'a OddMultiples, Scalar)>,
) -> G1 {
    let mut parts = Vec::new();
    for (points, scalar) in terms {
        let halves = Halves::of_vartime(&scalar);
        for (i, half) in [halves.low, halves.high].into_iter().enumerate() {
            for (tables, part) in points
                .tables
                .iter()
                .zip(parts_of(half, points.tables.len()))
            {
                let digits = non_adjacent_form(part, points.width);
                parts.push((tables[i].as_slice(), halves.negative, digits));
            }
        }
    }
    let digits = parts.iter().map(|(_, _, digits)| digits.len()).max();
    let mut sum = G1::default();
    for i in (0..digits.unwrap_or(0)).rev() {
        if !sum.is_identity() {
            sum = sum.double();
        }
        for (table, negative, digits) in &parts {
            match digits.get(i) {
                None | Some(0) => {}
                Some(digit) => sum.add_affine_vartime(&point_of(table, *digit, *negative)),
            }
        }
    }
    sum
}

/// A half as it is, or cut in two quarters, the lower first.
fn parts_of(half: u128, parts: usize) -> [u128; 2] {
    if parts == 1 {
        [half, 0]
    } else {
        [half & u128::from(u64::MAX), half >> QUARTER]
    }
}

/// `digit` times the first point of the table, or minus that.
fn point_of(odd_multiples: &[Affine], digit: i16, negative: bool) -> Affine {
    let point = &odd_multiples[usize::from(digit.unsigned_abs() / 2)];
    negated_if(point, negative ^ (digit < 0))
}

/// Digits of `k`, lowest first and ending with one that is not zero: each is zero or odd and below
/// 2^(width-1) in size, and any `width` neighbours hold at most one that is not zero.
fn non_adjacent_form(k: u128, width: u32) -> Vec<i16> {
    let mut digits = vec![0; (u128::BITS - k.leading_zeros()) as usize + 1];
    let (mut i, mut carry, mut used) = (0, 0, 0);
    while i < digits.len() {
        let rest = k.checked_shr(i as u32).unwrap_or(0);
        if rest & 1 == carry {
            i += 1;
            continue;
        }
        let window = (rest & ((1 << width) - 1)) + carry;
        carry = window >> (width - 1);
        digits[i] = (window as i32 - ((carry as i32) << width)) as i16;
        used = i + 1;
        i += width as usize;
    }
    digits.truncate(used);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::glv::tests::edge_scalar;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn digits_make_the_part(k in any::<u128>(), shift in 0u32..128, width in 2u32..=12) {
            let k = k >> shift;
            let digits = non_adjacent_form(k, width);
            let two = Scalar::from_u128(2);
            let sum = digits.iter().rev().fold(Scalar::default(), |sum, &d| {
                let size = Scalar::from_u128(u128::from(d.unsigned_abs()));
                sum * two + if d < 0 { -size } else { size }
            });
            prop_assert_eq!(sum, Scalar::from_u128(k));
            prop_assert!(digits.iter().all(|d| *d == 0 || d & 1 == 1 && d.unsigned_abs() < 1 << (width - 1)));
            prop_assert_ne!(digits.last(), Some(&0));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn it_agrees_with_the_plain_products(a in edge_scalar(), b in edge_scalar(), k in any::<u128>()) {
            let (p, q) = (G1::generator(), G1::generator().mul(&Scalar::from_u128(k | 1)));
            let [p_once] = OddMultiples::of([&p], WIDTH_ONCE);
            let [p_short] = OddMultiples::of_short([&p], WIDTH_ONCE);
            let [q_fixed] = OddMultiples::of([&q], WIDTH_FIXED);
            let expected = p.mul(&a) + q.mul(&b);
            prop_assert_eq!(multiexp_vartime([(&p_once, a), (&q_fixed, b)]), expected);
            prop_assert_eq!(multiexp_vartime([(&q_fixed, b), (&p_short, a)]), expected);
            // Terms that meet: equal points, opposite sums.
            prop_assert_eq!(multiexp_vartime([(&p_once, a), (&p_once, a)]), p.mul(&(a + a)));
            prop_assert!(multiexp_vartime([(&p_short, a), (&p_once, -a)]).is_identity());
        }
    }
}
