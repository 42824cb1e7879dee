//! Products of several points by **public** scalars, as fast as the input allows.
//!
//! Straus' method: all terms share their doublings. Each scalar is cut in two halves of 128 bits by
//! the endomorphism of the curve (Gallant, Lambert and Vanstone, CRYPTO 2001), each half in two
//! quarters of 64 bits over P and 2^64 P, and each quarter is written in width-w non-adjacent form
//! over a table of odd multiples. So a product takes 64 doublings; those that lead to 2^64 P are
//! made once for all products with P.
//!
//! # The constants
//!
//! With z = -0xd201000000010000 the group order is r = z^4 - z^2 + 1, so LAMBDA = z^2 - 1 is a cube
//! root of one modulo r: LAMBDA^2 + LAMBDA + 1 = z^4 - z^2 + 1 = r. BETA is the cube root of one
//! modulo p with (BETA x, y) = LAMBDA (x, y) on G1, found as 2^((p-1)/3) mod p or its square,
//! whichever the test below accepts.

use super::affine::{Affine, to_affine, translate};
use super::{G1, Scalar};
use alloc::vec;
use alloc::vec::Vec;
use blst::{blst_fp, blst_fp_cneg, blst_fp_from_bendian, blst_fp_mul};
use core::fmt;

/// Width for points seen once: two tables of 8 odd multiples.
pub const WIDTH_ONCE: u32 = 5;

/// Width for points used over and over: two tables of 256 odd multiples, 98 kB with their images.
pub const WIDTH_FIXED: u32 = 10;

const Z: u128 = 0xd201_0000_0001_0000;
const LAMBDA: u128 = Z * Z - 1;
const BETA: &str = "1a0111ea397fe699ec02408663d4de85aa0d857d89759ad4897d29650fb85f9b\
                    409427eb4f49fffd8bfd00000000aaac";

/// Bits of a quarter.
const QUARTER: u32 = 64;

/// Digits of a quarter: its bits and a carry.
const DIGITS: usize = QUARTER as usize + 1;

/// Odd multiples P, 3P, 5P, ... of a point and of 2^64 times it, and their images under the
/// endomorphism.
#[derive(Clone)]
pub struct OddMultiples {
    width: u32,
    multiples: [Vec<Affine>; 2],
    images: [Vec<Affine>; 2],
}

impl OddMultiples {
    /// The tables of several points, with `width - 1` inversions for all of them. No point may be
    /// the identity, and all must be in the subgroup.
    pub fn of<const N: usize>(points: [&G1; N], width: u32) -> [Self; N] {
        let bases: Vec<G1> = points.into_iter().flat_map(|p| [*p, shifted(p)]).collect();
        let mut tables = odd_multiples(&bases, width).into_iter();
        let beta = beta();
        core::array::from_fn(|_| {
            let multiples = [(); 2].map(|()| tables.next().expect("two tables for each point"));
            let images = multiples.each_ref().map(|table| images(table, &beta));
            Self {
                width,
                multiples,
                images,
            }
        })
    }
}

/// 2^64 P.
fn shifted(point: &G1) -> G1 {
    (0..QUARTER).fold(*point, |p, _| p.double())
}

/// B, 3B, 5B, ..., (2^(width-1) - 1) B of each base: first B; then P + 2B, P + 4B, P + 8B, ... for
/// every P that is there already.
fn odd_multiples(bases: &[G1], width: u32) -> Vec<Vec<Affine>> {
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

impl fmt::Debug for OddMultiples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OddMultiples(..)")
    }
}

/// The sum of `scalar * point` over all terms. Takes time that depends on the scalars.
pub fn multiexp_vartime<const N: usize>(terms: [(&OddMultiples, Scalar); N]) -> G1 {
    let mut quarters = Vec::with_capacity(4 * N);
    for (table, scalar) in terms {
        let (low, high) = split(&scalar);
        for (tables, half) in [(&table.multiples, low), (&table.images, high)] {
            let pair = [half as u64, (half >> QUARTER) as u64];
            let digits = pair.map(|quarter| non_adjacent_form(quarter, table.width));
            quarters.extend(tables.iter().zip(digits));
        }
    }
    let mut sum = G1::default();
    for i in (0..DIGITS).rev() {
        if !sum.is_identity() {
            sum = sum.double();
        }
        for (table, digits) in &quarters {
            add_digit(&mut sum, table, digits[i]);
        }
    }
    sum
}

fn add_digit(sum: &mut G1, odd_multiples: &[Affine], digit: i16) {
    if digit == 0 {
        return;
    }
    let mut point = odd_multiples[usize::from(digit.unsigned_abs() / 2)];
    if digit < 0 {
        let y = point.y;
        // SAFETY: both pointers are to live values.
        unsafe { blst_fp_cneg(&mut point.y, &y, true) };
    }
    sum.add_affine_vartime(&point);
}

/// `k = low + LAMBDA * high` by division; both fit because LAMBDA > 2^127 and r < 2^255.
fn split(scalar: &Scalar) -> (u128, u128) {
    let bytes = scalar.to_le_bytes();
    let word = |i: usize| {
        let mut limb = [0; 8];
        limb.copy_from_slice(&bytes[8 * i..8 * i + 8]);
        u64::from_le_bytes(limb)
    };
    let top = u128::from(word(3)) << 64 | u128::from(word(2));
    let (upper, rest) = divide_step(top, word(1));
    let (lower, low) = divide_step(rest, word(0));
    (low, upper << 64 | lower)
}

/// `(rest * 2^64 + next) / LAMBDA` and its remainder, for rest < LAMBDA (Knuth, algorithm D).
fn divide_step(rest: u128, next: u64) -> (u128, u128) {
    const HIGH: u128 = LAMBDA >> 64;
    const LOW: u128 = LAMBDA & u64::MAX as u128;
    let mut quotient = (rest / HIGH).min(u128::from(u64::MAX));
    let mut excess = rest - quotient * HIGH;
    while excess >> 64 == 0 && quotient * LOW > (excess << 64 | u128::from(next)) {
        quotient -= 1;
        excess += HIGH;
    }
    let remainder = (excess << 64 | u128::from(next)).wrapping_sub(quotient * LOW);
    (quotient, remainder)
}

/// Digits of `k`, lowest first: each is zero or odd and below 2^(width-1) in size, and any `width`
/// neighbours hold at most one that is not zero.
fn non_adjacent_form(k: u64, width: u32) -> [i16; DIGITS] {
    let mut digits = [0; DIGITS];
    let (mut i, mut carry) = (0, 0);
    while i < DIGITS {
        let rest = k.checked_shr(i as u32).unwrap_or(0);
        if rest & 1 == carry {
            i += 1;
            continue;
        }
        let window = (rest & ((1 << width) - 1)) + carry;
        carry = window >> (width - 1);
        digits[i] = (window as i32 - ((carry as i32) << width)) as i16;
        i += width as usize;
    }
    digits
}

fn beta() -> blst_fp {
    let mut bytes = [0; 48];
    for (byte, pair) in bytes.iter_mut().zip(BETA.as_bytes().chunks_exact(2)) {
        *byte = hex_digit(pair[0]) << 4 | hex_digit(pair[1]);
    }
    let mut out = blst_fp::default();
    // SAFETY: `bytes` has the 48 bytes that are read.
    unsafe { blst_fp_from_bendian(&mut out, bytes.as_ptr()) };
    out
}

fn hex_digit(c: u8) -> u8 {
    if c.is_ascii_digit() {
        c - b'0'
    } else {
        c - b'a' + 10
    }
}

fn images(points: &[Affine], beta: &blst_fp) -> Vec<Affine> {
    points.iter().map(|p| image(p, beta)).collect()
}

fn image(p: &Affine, beta: &blst_fp) -> Affine {
    let mut out = *p;
    // SAFETY: all pointers are to live values.
    unsafe { blst_fp_mul(&mut out.x, &p.x, beta) };
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_endomorphism_multiplies_by_lambda() {
        let point = G1::generator();
        let affine = to_affine(&[point])[0];
        assert_eq!(
            G1::from_affine(&image(&affine, &beta())),
            point.mul(&Scalar::from_u128(LAMBDA))
        );
    }

    fn arbitrary_scalar() -> impl Strategy<Value = Scalar> {
        any::<[u8; 32]>().prop_map(|half| {
            let mut wide = [0; 64];
            wide[..32].copy_from_slice(&half);
            Scalar::from_wide(&wide)
        })
    }

    fn edge_scalar() -> impl Strategy<Value = Scalar> {
        let one = Scalar::from_u128(1);
        let lambda = Scalar::from_u128(LAMBDA);
        prop_oneof![
            arbitrary_scalar(),
            Just(Scalar::default()),
            Just(one),
            Just(-one),
            Just(lambda),
            Just(lambda - one),
            Just(-lambda),
            Just(lambda * Scalar::from_u128(u128::MAX)),
            any::<u128>().prop_map(Scalar::from_u128),
            (0u32..128).prop_map(|i| Scalar::from_u128(u128::MAX >> i)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn halves_make_the_scalar(k in edge_scalar()) {
            let (low, high) = split(&k);
            prop_assert!(low < LAMBDA);
            let again = Scalar::from_u128(low) + Scalar::from_u128(LAMBDA) * Scalar::from_u128(high);
            prop_assert_eq!(again, k);
        }

        #[test]
        fn digits_make_the_quarter(k in any::<u64>(), shift in 0u32..64, width in 2u32..=12) {
            let k = k >> shift;
            let digits = non_adjacent_form(k, width);
            let two = Scalar::from_u128(2);
            let sum = digits.iter().rev().fold(Scalar::default(), |sum, &d| {
                let size = Scalar::from_u128(u128::from(d.unsigned_abs()));
                sum * two + if d < 0 { -size } else { size }
            });
            prop_assert_eq!(sum, Scalar::from_u128(k.into()));
            prop_assert!(digits.iter().all(|d| *d == 0 || d & 1 == 1 && d.unsigned_abs() < 1 << (width - 1)));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn it_agrees_with_the_plain_products(a in edge_scalar(), b in edge_scalar(), k in any::<u128>()) {
            let (p, q) = (G1::generator(), G1::generator().mul(&Scalar::from_u128(k | 1)));
            let [p_once] = OddMultiples::of([&p], WIDTH_ONCE);
            let [q_fixed] = OddMultiples::of([&q], WIDTH_FIXED);
            let fast = multiexp_vartime([(&p_once, a), (&q_fixed, b)]);
            prop_assert_eq!(fast, p.mul(&a) + q.mul(&b));
            // Terms that meet: equal points, opposite sums.
            prop_assert_eq!(multiexp_vartime([(&p_once, a), (&p_once, a)]), p.mul(&(a + a)));
            prop_assert!(multiexp_vartime([(&p_once, a), (&p_once, -a)]).is_identity());
        }
    }
}
