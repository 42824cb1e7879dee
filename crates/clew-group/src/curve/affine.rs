//! Points of G1 in affine form, many at a time: an inversion takes as long as ninety products, and
//! these share one.

use super::G1;
use alloc::vec;
use alloc::vec::Vec;
use blst::{
    blst_fp, blst_fp_inverse, blst_fp_mul, blst_fp_sqr, blst_fp_sub, blst_p1, blst_p1_affine,
    blst_p1s_to_affine,
};
use core::ptr;

/// A point of G1 in the two coordinates that additions like.
pub(super) type Affine = blst_p1_affine;

/// Brings points to affine form with one inversion; the identity becomes (0, 0).
pub(super) fn to_affine(points: &[G1]) -> Vec<Affine> {
    let mut out = vec![Affine::default(); points.len()];
    let list = [points.as_ptr().cast::<blst_p1>(), ptr::null()];
    // SAFETY: `G1` has the layout of `blst_p1` (repr(transparent)); the list is a
    // pointer to all points and a null, blst's form for "contiguous"; `out` has room for all.
    unsafe { blst_p1s_to_affine(out.as_mut_ptr(), list.as_ptr(), points.len()) };
    out
}

/// For each list of points, what they become when the point of `by` beside it is added to them:
/// with one inversion, by the formulas of the textbook, a third of the work of adding in Jacobian
/// coordinates and bringing the sums to affine form. No point may meet one with its own x. Takes
/// constant time.
pub(super) fn translate(lists: &[Vec<Affine>], by: &[Affine]) -> Vec<Vec<Affine>> {
    let pairs = || {
        let lists = lists.iter().zip(by);
        lists.flat_map(|(list, q)| list.iter().map(move |p| (p, q)))
    };
    let mut inverses: Vec<blst_fp> = pairs().map(|(p, q)| sub(&q.x, &p.x)).collect();
    invert_each(&mut inverses);
    let mut sums = pairs().zip(inverses).map(|((p, q), i)| sum(p, q, &i));
    let lengths = lists.iter().map(Vec::len);
    lengths.map(|n| sums.by_ref().take(n).collect()).collect()
}

/// Adds to each point the one beside it, with one inversion. No point may meet one with its own x,
/// and none may be the identity. Takes constant time.
pub(super) fn add_each(sums: &mut [Affine], others: &[Affine]) {
    let pairs = sums.iter().zip(others);
    let mut inverses: Vec<blst_fp> = pairs.map(|(p, q)| sub(&q.x, &p.x)).collect();
    invert_each(&mut inverses);
    for ((p, q), inverse) in sums.iter_mut().zip(others).zip(&inverses) {
        *p = sum(p, q, inverse);
    }
}

/// p + q, with 1/(x of q - x of p) at hand.
fn sum(p: &Affine, q: &Affine, inverse: &blst_fp) -> Affine {
    let slope = mul(&sub(&q.y, &p.y), inverse);
    let x = sub(&sub(&sqr(&slope), &p.x), &q.x);
    let y = sub(&mul(&slope, &sub(&p.x, &x)), &p.y);
    Affine { x, y }
}

/// Montgomery's trick: the inverse of the product, times all factors but one. No value may be zero.
fn invert_each(values: &mut [blst_fp]) {
    let Some((first, rest)) = values.split_first() else {
        return;
    };
    let mut products = vec![*first];
    products.extend(rest.iter().scan(*first, |product, value| {
        *product = mul(product, value);
        Some(*product)
    }));
    let mut inverse = blst_fp::default();
    // SAFETY: both pointers are to live values.
    unsafe { blst_fp_inverse(&mut inverse, &products[rest.len()]) };
    for i in (1..values.len()).rev() {
        let value = values[i];
        values[i] = mul(&inverse, &products[i - 1]);
        inverse = mul(&inverse, &value);
    }
    values[0] = inverse;
}

fn mul(a: &blst_fp, b: &blst_fp) -> blst_fp {
    let mut out = blst_fp::default();
    // SAFETY: all pointers are to live values.
    unsafe { blst_fp_mul(&mut out, a, b) };
    out
}

fn sqr(a: &blst_fp) -> blst_fp {
    let mut out = blst_fp::default();
    // SAFETY: both pointers are to live values.
    unsafe { blst_fp_sqr(&mut out, a) };
    out
}

fn sub(a: &blst_fp, b: &blst_fp) -> blst_fp {
    let mut out = blst_fp::default();
    // SAFETY: all pointers are to live values.
    unsafe { blst_fp_sub(&mut out, a, b) };
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::Scalar;

    #[test]
    fn sums_are_the_curves() {
        let points = |ks: &[u128]| {
            let points = ks
                .iter()
                .map(|k| G1::generator().mul(&Scalar::from_u128(*k)));
            to_affine(&points.collect::<Vec<_>>())
        };
        let lists = [points(&[1, u128::MAX - 9]), vec![], points(&[7])];
        let sums = [points(&[3, u128::MAX - 7]), vec![], points(&[12])];
        assert_eq!(translate(&lists, &points(&[2, 3, 5])), sums);
        assert!(translate(&[], &[]).is_empty());
    }
}
