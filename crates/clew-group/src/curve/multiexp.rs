//! Products of several points by **public** scalars, as fast as the input allows.
//!
//! Straus' method: all terms share their doublings. Each scalar is cut in two halves of 128 bits by
//! the endomorphism of the curve (Gallant, Lambert and Vanstone, CRYPTO 2001), and each half is
//! written in width-w non-adjacent form over a table of odd multiples.
//!
//! # The constants
//!
//! With z = -0xd201000000010000 the group order is r = z^4 - z^2 + 1, so LAMBDA = z^2 - 1 is a cube
//! root of one modulo r: LAMBDA^2 + LAMBDA + 1 = z^4 - z^2 + 1 = r. BETA is the cube root of one
//! modulo p with (BETA x, y) = LAMBDA (x, y) on G1, found as 2^((p-1)/3) mod p or its square,
//! whichever the test below accepts.

use super::g1::{Affine, to_affine};
use super::{G1, Scalar};
use alloc::vec::Vec;
use blst::{blst_fp, blst_fp_cneg, blst_fp_from_bendian, blst_fp_mul};
use core::fmt;

/// Width for points seen once: 8 odd multiples.
pub const WIDTH_ONCE: u32 = 5;

/// Width for points used over and over: 256 odd multiples, 48 kB with their images.
pub const WIDTH_FIXED: u32 = 10;

const Z: u128 = 0xd201_0000_0001_0000;
const LAMBDA: u128 = Z * Z - 1;
const BETA: &str = "1a0111ea397fe699ec02408663d4de85aa0d857d89759ad4897d29650fb85f9b\
                    409427eb4f49fffd8bfd00000000aaac";

/// Digits of a half: 128 bits and a carry.
const DIGITS: usize = 129;

/// Odd multiples P, 3P, 5P, ... of a point, and their images under the endomorphism.
#[derive(Clone)]
pub struct OddMultiples {
    width: u32,
    multiples: Vec<Affine>,
    images: Vec<Affine>,
}

impl OddMultiples {
    /// The tables of several points, with one inversion for all of them. No point may be the
    /// identity, and all must be in the subgroup.
    pub fn of<const N: usize>(points: [&G1; N], width: u32) -> [Self; N] {
        let count = 1usize << (width - 2);
        let mut all = Vec::with_capacity(N * count);
        for point in points {
            let step = point.double();
            let mut multiple = *point;
            for _ in 0..count {
                all.push(multiple);
                multiple += step;
            }
        }
        let all = to_affine(&all);
        let beta = beta();
        core::array::from_fn(|i| {
            let multiples = all[i * count..][..count].to_vec();
            let images = multiples.iter().map(|p| image(p, &beta)).collect();
            Self {
                width,
                multiples,
                images,
            }
        })
    }
}

impl fmt::Debug for OddMultiples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OddMultiples(..)")
    }
}

/// The sum of `scalar * point` over all terms. Takes time that depends on the scalars.
pub fn multiexp_vartime<const N: usize>(terms: [(&OddMultiples, Scalar); N]) -> G1 {
    let mut halves = Vec::with_capacity(2 * N);
    for (table, scalar) in terms {
        let (low, high) = split(&scalar);
        halves.push((
            table.multiples.as_slice(),
            non_adjacent_form(low, table.width),
        ));
        halves.push((
            table.images.as_slice(),
            non_adjacent_form(high, table.width),
        ));
    }
    let mut sum = G1::default();
    for i in (0..DIGITS).rev() {
        if !sum.is_identity() {
            sum = sum.double();
        }
        for (table, digits) in &halves {
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
    sum.add_affine(&point);
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
fn non_adjacent_form(k: u128, width: u32) -> [i16; DIGITS] {
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
        fn digits_make_the_half(k in any::<u128>(), shift in 0u32..128, width in 2u32..=12) {
            let k = k >> shift;
            let digits = non_adjacent_form(k, width);
            let two = Scalar::from_u128(2);
            let sum = digits.iter().rev().fold(Scalar::default(), |sum, &d| {
                let size = Scalar::from_u128(u128::from(d.unsigned_abs()));
                sum * two + if d < 0 { -size } else { size }
            });
            prop_assert_eq!(sum, Scalar::from_u128(k));
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
