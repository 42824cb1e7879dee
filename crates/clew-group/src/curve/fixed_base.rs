//! Multiplication of a fixed point by secret scalars, in constant time.

use super::affine::{Affine, to_affine, translate};
use super::{G1, SCALAR_BYTES, Scalar};
use alloc::vec;
use alloc::vec::Vec;
use blst::{blst_fp, blst_fp_cneg};
use clew_wire::opaque;
use core::iter::successors;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// Bits of one window: 52 windows of 16 points each, 80 kB, which the scan below reads whole.
pub(super) const WINDOW_BITS: usize = 5;
/// The last window holds a carry only: scalars have 255 bits.
pub(super) const WINDOWS: usize = 255 / WINDOW_BITS + 1;
pub(super) const POINTS_PER_WINDOW: usize = 1 << (WINDOW_BITS - 1);

/// The multiples `d * 32^i * P` for every digit `d` in 1..=16 and window `i` in 0..52: a product
/// costs 52 additions and no doubling, about a third of [`G1::mul`].
#[derive(Clone)]
pub struct FixedBase(Vec<Affine>);

impl FixedBase {
    /// Computes the table of `point`, which is not the identity.
    pub fn new(point: &G1) -> Self {
        let powers: Vec<G1> = successors(Some(*point), |p| Some(p.double()))
            .take(WINDOWS * WINDOW_BITS)
            .collect();
        Self(multiples(&powers))
    }

    /// Returns `scalar * P`, in constant time: every window reads all its points.
    pub fn mul(&self, scalar: &Scalar) -> G1 {
        let mut sum = G1::default();
        let windows = self.0.chunks_exact(POINTS_PER_WINDOW);
        for (window, digit) in windows.zip(signed_digits(scalar).iter()) {
            sum.add_affine(&select(window, *digit));
        }
        sum
    }
}

/// The multiples 1..=16 of each base B, from B, 2B, 4B, 8B, 16B of each: first B of each window;
/// then 2B and P + 2B, 4B and P + 4B, ... for every P that is there already; 16B is the last.
pub(super) fn multiples(powers: &[G1]) -> Vec<Affine> {
    let powers = to_affine(powers);
    let power = |j| powers.iter().skip(j).step_by(WINDOW_BITS).copied();
    let mut windows: Vec<Vec<Affine>> = power(0).map(|b| vec![b]).collect();
    for j in 1..WINDOW_BITS - 1 {
        let sums = translate(&windows, &power(j).collect::<Vec<_>>());
        for ((window, p), sums) in windows.iter_mut().zip(power(j)).zip(sums) {
            window.push(p);
            window.extend(sums);
        }
    }
    let last = power(WINDOW_BITS - 1);
    windows.iter_mut().zip(last).for_each(|(w, p)| w.push(p));
    windows.concat()
}

/// `scalar` as the sum of `digit * 32^i` with digits in -15..=16, lowest first.
pub(super) fn signed_digits(scalar: &Scalar) -> Zeroizing<[i8; WINDOWS]> {
    let mut bytes = Zeroizing::new([0; SCALAR_BYTES + 1]);
    bytes[..SCALAR_BYTES].copy_from_slice(scalar.to_le_bytes().as_slice());
    let mut digits = Zeroizing::new([0; WINDOWS]);
    let mut carry = 0;
    for (i, digit) in digits.iter_mut().enumerate() {
        let (byte, bit) = (i * WINDOW_BITS / 8, i * WINDOW_BITS % 8);
        let bits = u16::from_le_bytes([bytes[byte], bytes[byte + 1]]) >> bit;
        let window = (bits & ((1 << WINDOW_BITS) - 1)) as i8 + carry;
        carry = (window + POINTS_PER_WINDOW as i8 - 1) >> WINDOW_BITS; // 1 above 16
        *digit = window - (carry << WINDOW_BITS);
    }
    digits
}

opaque!(FixedBase);

/// `digit` times the window's first point, or the identity for 0, reading every entry.
pub(super) fn select(window: &[Affine], digit: i8) -> Affine {
    let size = digit.unsigned_abs();
    let mut out = Affine::default();
    for (d, point) in (1u8..).zip(window) {
        let mask = 0u64.wrapping_sub(u64::from(size.ct_eq(&d).unwrap_u8()));
        merge(&mut out.x, &point.x, mask);
        merge(&mut out.y, &point.y, mask);
    }
    let y = out.y;
    // SAFETY: both pointers are to live values. The time does not depend on the condition.
    unsafe { blst_fp_cneg(&mut out.y, &y, digit < 0) };
    out
}

pub(super) fn merge(out: &mut blst_fp, value: &blst_fp, mask: u64) {
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
        for k in [1, 15, 16, 17, 31, 32, 16 << 5, (16 << 5) + 17] {
            let k = Scalar::from_u128(k);
            assert_eq!(table.mul(&k), point.mul(&k));
        }
    }
}
