//! Many powers of one point by secret scalars: all rows of a register with one V.
//!
//! Additions go through the windows of a table for all scalars at once, in affine form with one
//! inversion, which halves their price. Affine formulas know no identity and no doubling, so each
//! scalar is written with odd digits only: k = sum of d_i 32^i with d_i odd and |d_i| <= 31, for an
//! odd k below 2^255; an even k has the digits of r - k, negated. A partial sum is below 32^i in
//! size, so that it is not the next term or its opposite, as integers. Modulo r they could meet at
//! the last term only, d 32^50, for k = 2 d 32^50 - r: with the d that k begins with, that is above
//! r.

use super::affine::{Affine, add_each};
use super::fixed_base::merge;
use super::glv::negated_if;
use super::multiexp::odd_multiples;
use super::{G1, SCALAR_BYTES, Scalar};
use alloc::vec::Vec;
use core::hint::black_box;
use core::iter::successors;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

const WINDOW_BITS: usize = 5;
const WINDOWS: usize = 255 / WINDOW_BITS;

/// Odd multiples up to 31.
const WIDTH: u32 = 6;

/// Scalars that share their inversions.
const AT_ONCE: usize = 256;

type Digits = [i8; WINDOWS];

/// `scalar * base` for each scalar, at half the price of [`super::FixedBase::mul`] if there are
/// hundreds. Takes time that depends on the number of scalars only.
pub(crate) fn secret_powers_of(base: &G1, scalars: &[Scalar]) -> Vec<G1> {
    if base.is_identity() || scalars.is_empty() {
        return scalars.iter().map(|_| G1::default()).collect();
    }
    let doubled = successors(Some(*base), |p| Some(p.double()));
    let bases: Vec<G1> = doubled.step_by(WINDOW_BITS).take(WINDOWS).collect();
    let table = odd_multiples(&bases, WIDTH);
    let chunks = scalars.chunks(AT_ONCE);
    chunks.flat_map(|chunk| powers(&table, chunk)).collect()
}

fn powers(table: &[Vec<Affine>], scalars: &[Scalar]) -> Vec<G1> {
    let mut digits = Zeroizing::new(Vec::with_capacity(scalars.len()));
    digits.extend(scalars.iter().map(odd_digits));
    let term = |window: &[Affine], i: usize| digits.iter().map(|d| select(window, d[i])).collect();
    let mut sums: Vec<Affine> = Vec::new();
    for (i, window) in table.iter().enumerate() {
        let mut terms: Vec<Affine> = term(window, i);
        if i == 0 {
            sums = terms;
            continue;
        }
        add_each(&mut sums, &terms);
        terms.iter_mut().for_each(wipe);
    }
    let sums = sums.into_iter().zip(scalars);
    sums.map(|(sum, k)| G1::from_affine(&kept(sum, !k.zero_mask())))
        .collect()
}

/// The point where `mask` is all ones, the identity where it is zero.
fn kept(mut point: Affine, mask: u64) -> Affine {
    point.x.l.iter_mut().for_each(|limb| *limb &= mask);
    point.y.l.iter_mut().for_each(|limb| *limb &= mask);
    point
}

/// The digits of a scalar, lowest first; those of zero are anybody's.
fn odd_digits(scalar: &Scalar) -> Digits {
    // Unknown to the compiler: of a bit that is 0 or 1 it made a branch, and an address.
    let odd = black_box(scalar.to_le_bytes()[0] & 1);
    let even = odd.wrapping_sub(1);
    let mut bytes = Zeroizing::new([0u8; SCALAR_BYTES + 1]);
    let [plain, negated] = [*scalar, -*scalar].map(Scalar::to_le_bytes);
    for ((byte, p), n) in bytes.iter_mut().zip(plain.iter()).zip(negated.iter()) {
        *byte = p ^ ((p ^ n) & even);
    }
    let flip = even as i8;
    core::array::from_fn(|i| {
        let (byte, bit) = (i * WINDOW_BITS / 8, i * WINDOW_BITS % 8);
        let bits = u16::from_le_bytes([bytes[byte], bytes[byte + 1]]) >> bit;
        let last = i + 1 == WINDOWS;
        let digit = if last { bits & 31 | 1 } else { bits & 63 | 1 };
        let digit = digit as i8 - if last { 0 } else { 32 };
        (digit ^ flip).wrapping_sub(flip)
    })
}

/// `digit` times the window's first point, reading every entry.
fn select(window: &[Affine], digit: i8) -> Affine {
    let size = digit.unsigned_abs();
    let mut out = Affine::default();
    for (d, point) in (1u8..).step_by(2).zip(window) {
        let mask = 0u64.wrapping_sub(u64::from(size.ct_eq(&d).unwrap_u8()));
        merge(&mut out.x, &point.x, mask);
        merge(&mut out.y, &point.y, mask);
    }
    negated_if(&out, digit < 0)
}

fn wipe(point: &mut Affine) {
    point.x.l.zeroize();
    point.y.l.zeroize();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::glv::tests::edge_scalar;
    use proptest::collection;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn they_agree_with_the_plain_products(
            scalars in collection::vec(edge_scalar(), 0..40), base in edge_scalar()
        ) {
            let base = G1::generator().mul(&base);
            let plain: Vec<G1> = scalars.iter().map(|k| base.mul(k)).collect();
            prop_assert_eq!(secret_powers_of(&base, &scalars), plain);
        }

        #[test]
        fn digits_make_the_scalar(scalar in edge_scalar()) {
            prop_assume!(!scalar.is_zero());
            let digits = odd_digits(&scalar);
            let thirty_two = Scalar::from_u128(32);
            let sum = digits.iter().rev().fold(Scalar::default(), |sum, d| {
                let size = Scalar::from_u128(d.unsigned_abs().into());
                sum * thirty_two + if *d < 0 { -size } else { size }
            });
            prop_assert_eq!(sum, scalar);
            prop_assert!(digits.iter().all(|d| d % 2 != 0 && d.unsigned_abs() <= 31));
        }
    }

    /// More than share their inversions, zeros among them, and the scalars around each power of
    /// two.
    #[test]
    fn chunks_and_edges() {
        let base = G1::generator();
        let two = Scalar::from_u128(2);
        let powers = successors(Some(Scalar::from_u128(1)), |k| Some(*k * two)).take(256);
        let one = Scalar::from_u128(1);
        let scalars: Vec<Scalar> = powers.flat_map(|k| [k, -k, k - one, k + one]).collect();
        assert!(scalars.len() > 3 * AT_ONCE);
        let plain: Vec<G1> = scalars.iter().map(|k| base.mul(k)).collect();
        assert_eq!(secret_powers_of(&base, &scalars), plain);
    }
}
