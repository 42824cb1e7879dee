//! Multiplication of a fixed point by secret scalars, in constant time.

use super::g1::{Affine, to_affine};
use super::{G1, Scalar};
use alloc::vec::Vec;
use blst::blst_fp;
use core::fmt;
use subtle::ConstantTimeEq;

/// Bits of one window: 64 windows of 15 points each, 92 kB, which the scan below reads whole.
const WINDOW_BITS: usize = 4;
const WINDOWS: usize = 256 / WINDOW_BITS;
const POINTS_PER_WINDOW: usize = (1 << WINDOW_BITS) - 1;

/// The multiples `d * 16^i * P` for every digit `d` in 1..=15 and window `i` in 0..64: a product
/// costs 64 additions and no doubling, about a third of [`G1::mul`].
#[derive(Clone)]
pub struct FixedBase(Vec<Affine>);

impl FixedBase {
    /// Computes the table of `point` (about 0.6 ms).
    pub fn new(point: &G1) -> Self {
        let mut multiples = Vec::with_capacity(WINDOWS * POINTS_PER_WINDOW);
        let mut base = *point;
        for _ in 0..WINDOWS {
            let mut multiple = base;
            for _ in 0..POINTS_PER_WINDOW {
                multiples.push(multiple);
                multiple += base;
            }
            base = multiple; // 16 * base
        }
        Self(to_affine(&multiples))
    }

    /// `scalar * P`, in constant time: every window reads all its points.
    pub fn mul(&self, scalar: &Scalar) -> G1 {
        let bytes = scalar.to_le_bytes();
        let mut sum = G1::default();
        for (i, window) in self.0.chunks_exact(POINTS_PER_WINDOW).enumerate() {
            let digit = (bytes[i / 2] >> (WINDOW_BITS * (i % 2))) & 0x0f;
            sum.add_affine(&select(window, digit));
        }
        sum
    }
}

impl fmt::Debug for FixedBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FixedBase(..)")
    }
}

/// `window[digit - 1]`, or the identity for 0, reading every entry.
fn select(window: &[Affine], digit: u8) -> Affine {
    let mut out = Affine::default();
    for (d, point) in (1u8..).zip(window) {
        let mask = 0u64.wrapping_sub(u64::from(digit.ct_eq(&d).unwrap_u8()));
        merge(&mut out.x, &point.x, mask);
        merge(&mut out.y, &point.y, mask);
    }
    out
}

fn merge(out: &mut blst_fp, value: &blst_fp, mask: u64) {
    for (o, v) in out.l.iter_mut().zip(value.l) {
        *o |= v & mask;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn it_agrees_with_the_plain_product(wide in any::<[u8; 32]>(), k in any::<u128>()) {
            let mut bytes = [0; 64];
            bytes[..32].copy_from_slice(&wide);
            let scalar = Scalar::from_wide(&bytes);
            let point = G1::generator().mul(&Scalar::from_u128(k | 1));
            prop_assert_eq!(FixedBase::new(&point).mul(&scalar), point.mul(&scalar));
        }
    }

    #[test]
    fn edges() {
        let point = G1::generator();
        let table = FixedBase::new(&point);
        assert!(table.mul(&Scalar::default()).is_identity());
        assert_eq!(table.mul(&-Scalar::from_u128(1)), -point);
        assert_eq!(
            table.mul(&Scalar::from_u128(16)),
            point.mul(&Scalar::from_u128(16))
        );
    }
}
