//! The endomorphism of the curve (Gallant, Lambert and Vanstone, CRYPTO 2001): it multiplies a point
//! by LAMBDA at the price of one product in the field, so that scalars fall into two halves.
//!
//! # The constants
//!
//! With z = -0xd201000000010000 the group order is r = z^4 - z^2 + 1, so LAMBDA = z^2 - 1 is a cube
//! root of one modulo r: LAMBDA^2 + LAMBDA + 1 = z^4 - z^2 + 1 = r. BETA is the cube root of one
//! modulo p with (BETA x, y) = LAMBDA (x, y) on G1, found as 2^((p-1)/3) mod p or its square,
//! whichever the test below accepts.

use super::Scalar;
use super::affine::Affine;
use blst::{blst_fp, blst_fp_cneg, blst_fp_from_bendian, blst_fp_mul};

const Z: u128 = 0xd201_0000_0001_0000;
pub(super) const LAMBDA: u128 = Z * Z - 1;
const BETA: &str = "1a0111ea397fe699ec02408663d4de85aa0d857d89759ad4897d29650fb85f9b\
                    409427eb4f49fffd8bfd00000000aaac";

/// A **public** scalar as `low + LAMBDA * high`, or as minus that where its negative is shorter.
pub(super) struct Halves {
    pub(super) negative: bool,
    pub(super) low: u128,
    pub(super) high: u128,
}

impl Halves {
    /// The shorter of the two ways to write `scalar`.
    pub(super) fn of_vartime(scalar: &Scalar) -> Self {
        let [plain, negated] = [*scalar, -*scalar].map(|k| split_vartime(&k));
        let negative = bits(negated) < bits(plain);
        let (low, high) = if negative { negated } else { plain };
        Self {
            negative,
            low,
            high,
        }
    }

    /// Bits of the longer half.
    pub(super) fn bits(&self) -> u32 {
        bits((self.low, self.high))
    }
}

fn bits((low, high): (u128, u128)) -> u32 {
    u128::BITS - (low | high).leading_zeros()
}

/// `k = low + LAMBDA * high`: by division, where both fit because LAMBDA > 2^127 and r < 2^255; but
/// what fits `low` alone stays there unless division leaves two quarters
/// ([`Scalar::from_halves`]).
fn split_vartime(scalar: &Scalar) -> (u128, u128) {
    let bytes = scalar.to_le_bytes();
    let word = |i: usize| {
        let mut limb = [0; 8];
        limb.copy_from_slice(&bytes[8 * i..8 * i + 8]);
        u64::from_le_bytes(limb)
    };
    let top = u128::from(word(3)) << 64 | u128::from(word(2));
    let (upper, rest) = divide_step(top, word(1));
    let (lower, low) = divide_step(rest, word(0));
    match (low, upper << 64 | lower) {
        (low, 1) if low >> 64 != 0 => match low.checked_add(LAMBDA) {
            Some(k) => (k, 0),
            None => (low, 1),
        },
        halves => halves,
    }
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

/// BETA, as the field has it.
pub(super) fn beta() -> blst_fp {
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

/// `LAMBDA * p`.
pub(super) fn image(p: &Affine, beta: &blst_fp) -> Affine {
    let mut out = *p;
    // SAFETY: all pointers are to live values.
    unsafe { blst_fp_mul(&mut out.x, &p.x, beta) };
    out
}

/// `-p`, or `p`.
pub(super) fn negated_if(p: &Affine, negative: bool) -> Affine {
    let mut out = *p;
    // SAFETY: both pointers are to live values.
    unsafe { blst_fp_cneg(&mut out.y, &p.y, negative) };
    out
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::curve::G1;
    use crate::curve::affine::to_affine;
    use alloc::vec;
    use proptest::prelude::*;

    #[test]
    fn the_endomorphism_multiplies_by_lambda() {
        let point = G1::generator();
        let affine = to_affine(&[point])[0];
        assert_eq!(
            G1::from_affine(&image(&affine, &beta())),
            point.mul(&Scalar::from_u128(LAMBDA))
        );
        assert_eq!(G1::from_affine(&negated_if(&affine, true)), -point);
        assert_eq!(G1::from_affine(&negated_if(&affine, false)), point);
    }

    fn arbitrary_scalar() -> impl Strategy<Value = Scalar> {
        any::<[u8; 32]>().prop_map(|half| {
            let mut wide = [0; 64];
            wide[..32].copy_from_slice(&half);
            Scalar::from_wide(&wide)
        })
    }

    /// Scalars of all sizes, and those where divisions and carries have their edges.
    pub fn edge_scalar() -> impl Strategy<Value = Scalar> {
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
            any::<[u8; 16]>().prop_map(|halves| Scalar::from_halves(&halves)),
            any::<[u8; 16]>().prop_map(|halves| -Scalar::from_halves(&halves)),
        ]
    }

    fn joined(h: &Halves) -> Scalar {
        let k = Scalar::from_u128(h.low) + Scalar::from_u128(LAMBDA) * Scalar::from_u128(h.high);
        if h.negative { -k } else { k }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn halves_make_the_scalar(k in edge_scalar()) {
            prop_assert_eq!(joined(&Halves::of_vartime(&k)), k);
        }

        #[test]
        fn challenges_split_into_their_own_halves(c1 in any::<u64>(), c2 in any::<u64>(), shift in 0u32..64) {
            for (c1, c2) in [(c1, c2), (c1, c2 >> shift), (c1 >> shift, c2), (0, c2), (c1, 0), (c1, 1)] {
                let mut bytes = [0; 16];
                bytes[..8].copy_from_slice(&c1.to_be_bytes());
                bytes[8..].copy_from_slice(&c2.to_be_bytes());
                let c = Scalar::from_halves(&bytes);
                for (c, negative) in [(c, false), (-c, !c.is_zero())] {
                    let halves = Halves::of_vartime(&c);
                    prop_assert_eq!((halves.low, halves.high), (c1.into(), c2.into()));
                    prop_assert_eq!(halves.negative, negative);
                }
            }
        }

        #[test]
        fn short_integers_stay_whole(k in any::<u128>(), shift in 0u32..128) {
            let halves = Halves::of_vartime(&Scalar::from_u128(k >> shift));
            prop_assert!(halves.bits() <= 128 - shift);
        }
    }
}
