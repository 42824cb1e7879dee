//! Integers modulo the group order `r`.

use super::glv::LAMBDA;
use crate::DecodeError;
use alloc::vec::Vec;
use blst::{
    blst_bendian_from_scalar, blst_fr, blst_fr_add, blst_fr_cneg, blst_fr_from_scalar,
    blst_fr_inverse, blst_fr_mul, blst_fr_sub, blst_lendian_from_scalar, blst_scalar,
    blst_scalar_fr_check, blst_scalar_from_bendian, blst_scalar_from_fr, blst_scalar_from_le_bytes,
    blst_scalar_from_lendian,
};
use clew_wire::disclose;
use clew_wire::opaque;
use core::ops::Neg;
use rand_core::CryptoRng;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

/// Size of an encoded scalar: 32 bytes, big-endian, below `r`.
pub const SCALAR_BYTES: usize = 32;

/// An integer modulo `r`, the prime order of G1, G2 and GT (255 bits). Its arithmetic takes
/// constant time, and it is never printed: most scalars are secrets.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Scalar(pub(super) blst_fr);

impl Scalar {
    /// Creates a uniform scalar: 64 random bytes reduced modulo `r` (bias below 2^-256).
    pub fn random(rng: &mut impl CryptoRng) -> Self {
        let mut wide = Zeroizing::new([0; 64]);
        rng.fill_bytes(wide.as_mut_slice());
        Self::from_wide(&wide)
    }

    /// Creates a uniform scalar that is not zero. A function of its own wherever it is called, so
    /// that whoever looks for branches on secrets finds the one that asks for zero here and nowhere
    /// else.
    #[inline(never)]
    pub fn random_secret(rng: &mut impl CryptoRng) -> Self {
        loop {
            let scalar = Self::random(rng);
            if !scalar.is_zero() {
                return scalar;
            }
        }
    }

    /// Returns 128 random bits as [`Self::from_halves`] reads them: a weight for a batch of
    /// equations, each of which fails to be found with a probability of 2^-128.
    pub fn random_short(rng: &mut impl CryptoRng) -> Self {
        let mut bytes = [0; 16];
        rng.fill_bytes(&mut bytes);
        Self::from_halves(&bytes)
    }

    /// Reduces 64 little-endian bytes modulo `r`.
    pub fn from_wide(wide: &[u8; 64]) -> Self {
        let mut scalar = Zeroizing::new(Raw(blst_scalar::default()));
        // SAFETY: both pointers are to live values; 64 is the length of `wide`.
        unsafe { blst_scalar_from_le_bytes(&mut scalar.0, wide.as_ptr(), wide.len()) };
        Self::from_raw(&scalar)
    }

    /// Returns the integer `n`.
    pub fn from_u128(n: u128) -> Self {
        let mut bytes = [0; SCALAR_BYTES];
        bytes[..16].copy_from_slice(&n.to_le_bytes());
        let mut scalar = Raw(blst_scalar::default());
        // SAFETY: `bytes` has the 32 bytes that are read.
        unsafe { blst_scalar_from_lendian(&mut scalar.0, bytes.as_ptr()) };
        Self::from_raw(&scalar)
    }

    /// Returns the 128-bit challenge `c1 + LAMBDA * c2`, with c1 the first eight bytes and c2 the
    /// last eight, big-endian, and LAMBDA = z^2 - 1 the eigenvalue of the curve's endomorphism:
    /// chosen so that a verifier's T^c takes 64 doublings and half the additions. No two inputs
    /// meet, because c1 is below LAMBDA and the sum below 2^192, hence below `r`.
    pub fn from_halves(bytes: &[u8; 16]) -> Self {
        let both = u128::from_be_bytes(*bytes);
        let [c1, c2] = [both >> 64, both & u128::from(u64::MAX)].map(Self::from_u128);
        c1 + Self::from_u128(LAMBDA) * c2
    }

    /// Converts 32 big-endian bytes, such as a hash, without their two most significant bits: below
    /// 2^254, hence below `r` and not reduced.
    pub fn from_254_bits(mut bytes: [u8; SCALAR_BYTES]) -> Self {
        bytes[0] &= 0x3f;
        let mut scalar = Zeroizing::new(Raw(blst_scalar::default()));
        // SAFETY: `bytes` has the 32 bytes that are read.
        unsafe { blst_scalar_from_bendian(&mut scalar.0, bytes.as_ptr()) };
        Self::from_raw(&scalar)
    }

    /// Decodes 32 big-endian bytes; a value of `r` or more is [`DecodeError::Scalar`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let bytes: &[u8; SCALAR_BYTES] = bytes.try_into().map_err(|_| DecodeError::Length)?;
        let mut scalar = Zeroizing::new(Raw(blst_scalar::default()));
        // SAFETY: `bytes` has the 32 bytes that are read.
        let reduced = unsafe {
            blst_scalar_from_bendian(&mut scalar.0, bytes.as_ptr());
            blst_scalar_fr_check(&scalar.0)
        };
        if reduced {
            Ok(Self::from_raw(&scalar))
        } else {
            Err(DecodeError::Scalar)
        }
    }

    /// Encodes as 32 big-endian bytes.
    pub fn to_bytes(&self) -> [u8; SCALAR_BYTES] {
        let raw = self.raw();
        let mut bytes = [0; SCALAR_BYTES];
        // SAFETY: `bytes` has the 32 bytes that are written.
        unsafe { blst_bendian_from_scalar(bytes.as_mut_ptr(), &raw.0) };
        bytes
    }

    /// The 32 little-endian bytes that `blst` multiplies by.
    pub(super) fn to_le_bytes(self) -> Zeroizing<[u8; SCALAR_BYTES]> {
        let raw = self.raw();
        let mut bytes = Zeroizing::new([0; SCALAR_BYTES]);
        // SAFETY: `bytes` has the 32 bytes that are written.
        unsafe { blst_lendian_from_scalar(bytes.as_mut_ptr(), &raw.0) };
        bytes
    }

    /// Returns `1/self`, or nothing for zero.
    pub fn invert(&self) -> Option<Self> {
        (!self.is_zero()).then_some(self.inverse_or_zero())
    }

    /// Inverts each scalar in place, with one inversion for all (Montgomery's trick) and in
    /// constant time. Zero stays zero.
    pub fn invert_all(scalars: &mut [Self]) {
        let one = Self::from_u128(1);
        let mut products = Zeroizing::new(Vec::with_capacity(scalars.len()));
        let mut product = Zeroizing::new(one);
        for scalar in scalars.iter() {
            products.push(*product);
            *product = *product * scalar.selected(!scalar.zero_mask(), &one);
        }
        let mut inverse = Zeroizing::new(product.inverse_or_zero());
        for (scalar, before) in scalars.iter_mut().zip(products.iter()).rev() {
            let mask = !scalar.zero_mask();
            let factor = Zeroizing::new(scalar.selected(mask, &one));
            *scalar = (*inverse * *before).selected(mask, &Self::default());
            *inverse = *inverse * *factor;
        }
    }

    /// This where `mask` is all ones, `other` where it is zero.
    fn selected(&self, mask: u64, other: &Self) -> Self {
        let mut out = *other;
        for (o, s) in out.0.l.iter_mut().zip(self.0.l) {
            *o ^= (*o ^ s) & mask;
        }
        out
    }

    /// All ones for zero, else zero.
    pub(super) fn zero_mask(&self) -> u64 {
        let any = self.0.l.iter().fold(0, |all, limb| all | limb);
        let is_zero = any.ct_eq(&0).unwrap_u8();
        0u64.wrapping_sub(u64::from(is_zero))
    }

    fn inverse_or_zero(&self) -> Self {
        let mut out = blst_fr::default();
        // SAFETY: both pointers are to live values.
        unsafe { blst_fr_inverse(&mut out, &self.0) };
        Self(out)
    }

    /// Returns whether this is zero.
    pub fn is_zero(&self) -> bool {
        let all = self.0.l.iter().fold(0, |all, limb| all | limb);
        disclose::bit((all == 0).into())
    }

    fn raw(&self) -> Zeroizing<Raw> {
        let mut raw = Zeroizing::new(Raw(blst_scalar::default()));
        // SAFETY: both pointers are to live values.
        unsafe { blst_scalar_from_fr(&mut raw.0, &self.0) };
        raw
    }

    fn from_raw(raw: &Raw) -> Self {
        let mut out = blst_fr::default();
        // SAFETY: both pointers are to live values; `raw` is below `r`.
        unsafe { blst_fr_from_scalar(&mut out, &raw.0) };
        Self(out)
    }
}

/// A scalar on its way to or from bytes, wiped when done.
struct Raw(blst_scalar);

impl Zeroize for Raw {
    fn zeroize(&mut self) {
        self.0.b.zeroize();
    }
}

impl Zeroize for Scalar {
    fn zeroize(&mut self) {
        self.0.l.zeroize();
    }
}

opaque!(Scalar);
binary_operator!(Scalar: Add::add is blst_fr_add);
binary_operator!(Scalar: Sub::sub is blst_fr_sub);
binary_operator!(Scalar: Mul::mul is blst_fr_mul);

impl Neg for Scalar {
    type Output = Self;
    fn neg(self) -> Self {
        let mut out = blst_fr::default();
        // SAFETY: both pointers are to live values.
        unsafe { blst_fr_cneg(&mut out, &self.0, true) };
        Self(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// r, as published with BLS12-381 (RFC 9380, section 8.8).
    const ORDER: &str = "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001";

    #[test]
    fn the_order_itself_is_not_reduced() {
        let mut order = hex::decode(ORDER).unwrap();
        assert_eq!(Scalar::from_bytes(&order), Err(DecodeError::Scalar));
        order[31] -= 1;
        let minus_one = Scalar::from_bytes(&order).unwrap();
        assert_eq!(minus_one, -Scalar::from_u128(1));
        assert_eq!(minus_one.to_bytes().as_slice(), order);
        assert_eq!(Scalar::from_bytes(&order[1..]), Err(DecodeError::Length));
    }

    #[test]
    fn arithmetic_agrees_with_integers() {
        let (a, b) = (Scalar::from_u128(u128::MAX - 4), Scalar::from_u128(9));
        assert_eq!(a + Scalar::from_u128(4), Scalar::from_u128(u128::MAX));
        assert_eq!(b - Scalar::from_u128(10), -Scalar::from_u128(1));
        assert_eq!(b * b, Scalar::from_u128(81));
        assert_eq!(a * a.invert().unwrap(), Scalar::from_u128(1));
        assert!(Scalar::default().invert().is_none());
    }

    #[test]
    fn many_are_inverted_at_once() {
        let zero = Scalar::default();
        for zeros in [&[][..], &[0], &[2], &[1, 3], &[0, 1, 2, 3, 4]] {
            let mut all: Vec<Scalar> = (7..12).map(Scalar::from_u128).collect();
            zeros.iter().for_each(|i| all[*i] = zero);
            let plain: Vec<Scalar> = all.iter().map(|s| s.invert().unwrap_or(zero)).collect();
            Scalar::invert_all(&mut all);
            assert_eq!(all, plain);
        }
        Scalar::invert_all(&mut []);
    }

    #[test]
    fn short_ones_are_all_the_bits_drawn() {
        use rand_chacha::ChaCha20Rng;
        use rand_chacha::rand_core::{Rng, SeedableRng};
        let rng = || ChaCha20Rng::seed_from_u64(1);
        let mut bytes = [0; 16];
        rng().fill_bytes(&mut bytes);
        assert_eq!(
            Scalar::random_short(&mut rng()),
            Scalar::from_halves(&bytes)
        );
    }

    #[test]
    fn wide_bytes_are_reduced() {
        let mut wide = [0; 64];
        wide[32] = 1; // 2^256
        let two_128 = Scalar::from_u128(u128::MAX) + Scalar::from_u128(1);
        assert_eq!(Scalar::from_wide(&wide), two_128 * two_128);
    }

    #[test]
    fn halves_are_joined_by_lambda() {
        let of = |c1: u64, c2: u64| {
            let both = u128::from(c1) << 64 | u128::from(c2);
            Scalar::from_halves(&both.to_be_bytes())
        };
        // z^2 - 1, written out.
        let lambda = Scalar::from_u128(0xac45_a401_0001_a402_0000_0000_ffff_ffff);
        assert_eq!(of(7, 0), Scalar::from_u128(7));
        assert_eq!(of(0, 1), lambda);
        let max = Scalar::from_u128(u64::MAX.into());
        assert_eq!(of(u64::MAX, u64::MAX), max + max * lambda);
        // An integer below 2^192: nothing was reduced.
        assert_eq!(of(u64::MAX, u64::MAX).to_bytes()[..8], [0; 8]);
    }

    #[test]
    fn bits_254_are_not_reduced() {
        let all = Scalar::from_254_bits([0xff; SCALAR_BYTES]);
        let mut expected = [0xff; SCALAR_BYTES];
        expected[0] = 0x3f;
        assert_eq!(all.to_bytes(), expected);
        let mut five = [0; SCALAR_BYTES];
        (five[0], five[31]) = (0xc0, 5);
        assert_eq!(Scalar::from_254_bits(five), Scalar::from_u128(5));
    }

    #[test]
    fn secrets_are_not_printed() {
        assert_eq!(alloc::format!("{:?}", Scalar::from_u128(5)), "Scalar(..)");
    }
}
