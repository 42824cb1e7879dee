//! Montgomery's product with AVX-512 IFMA, which multiplies eight pairs of 52-bit digits and adds one half
//! of each product. Several products are under way at once, since one alone waits for its own carries.
#![allow(
    unsafe_code,
    reason = "vector loads and stores, and calls of what the processor was asked for"
)]

mod upright;

use core::arch::x86_64::*;

use super::{Kernel, Modulus};
use crate::Backend;
use zeroize::Zeroize;

/// Bits of a digit.
const BITS: usize = 52;
const DIGIT: u64 = (1 << BITS) - 1;

/// Numbers of D digits in L = 8 Z lanes, the others zero; R is 2^(52 D), at least 2^16 n, and results are
/// below 2n: `(a b + m n) / R` with a b < 2^16 n^2 and m < R.
#[derive(Clone, Copy, Debug)]
pub struct Ifma<const L: usize, const Z: usize, const D: usize>;

/// A number, digit by digit from the least.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Digits<const L: usize>([u64; L]);

impl<const L: usize> Zeroize for Digits<L> {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

impl<const L: usize> AsRef<[u64]> for Digits<L> {
    fn as_ref(&self) -> &[u64] {
        &self.0
    }
}

impl<const L: usize> AsMut<[u64]> for Digits<L> {
    fn as_mut(&mut self) -> &mut [u64] {
        &mut self.0
    }
}

impl<const L: usize, const Z: usize, const D: usize> Kernel for Ifma<L, Z, D> {
    type Number = Digits<L>;
    const R_BITS: usize = BITS * D;
    const NAME: &'static str = Backend::Avx512Ifma.name();

    fn available() -> bool {
        const { assert!(D <= L, "digits fit into the vectors") };
        Backend::Avx512Ifma.is_available()
    }

    #[inline(always)]
    fn load(words: &[u64]) -> Digits<L> {
        let word = |i: usize| words.get(i).copied().unwrap_or(0);
        let digit = |i: usize| {
            let (at, shift) = (i * BITS / 64, i * BITS % 64);
            let pair = u128::from(word(at)) | u128::from(word(at + 1)) << 64;
            (pair >> shift) as u64 & DIGIT
        };
        Digits(core::array::from_fn(|i| if i < D { digit(i) } else { 0 }))
    }

    #[inline(always)]
    fn store(number: &Digits<L>, words: &mut [u64]) -> u64 {
        let word = |i: usize| {
            let (at, shift) = (i * 64 / BITS, i * 64 % BITS);
            let digit = |i: usize| u128::from(number.0.get(i).map_or(0, |digit| *digit));
            let three = digit(at) | digit(at + 1) << BITS | digit(at + 2) << (2 * BITS);
            (three >> shift) as u64
        };
        let words = &mut words[..Self::WORDS];
        words
            .iter_mut()
            .enumerate()
            .for_each(|(i, out)| *out = word(i));
        word(Self::WORDS)
    }

    fn multiply<const S: usize>(
        n: [&Modulus<Self>; S],
        a: [&Digits<L>; S],
        b: [&Digits<L>; S],
    ) -> [Digits<L>; S] {
        // SAFETY: a modulus exists only where the processor has the features.
        unsafe { products::<S, L, Z, D>(n, a, b) }
    }

    fn chains(n: [&Modulus<Self>; 8], factors: &[[&Digits<L>; 8]]) -> [Digits<L>; 8] {
        // SAFETY: a modulus exists only where the processor has the features.
        unsafe { upright::chains::<L, Z, D>(n, factors) }
    }

    fn sum(_: &Modulus<Self>, a: &Digits<L>, b: &Digits<L>) -> Digits<L> {
        carried_slowly(|i| a.0[i] as i64 + b.0[i] as i64)
    }

    fn difference(n: &Modulus<Self>, a: &Digits<L>, b: &Digits<L>) -> Digits<L> {
        // b is below 4n, and what is below 8n may be a factor.
        carried_slowly(|i| a.0[i] as i64 - b.0[i] as i64 + 4 * n.number.0[i] as i64)
    }
}

/// Digits of digits below 2^60 of either sign, whose sum has none.
#[inline(always)]
fn carried_slowly<const L: usize>(digit: impl Fn(usize) -> i64) -> Digits<L> {
    let mut carry = 0;
    Digits(core::array::from_fn(|i| {
        let sum = digit(i) + carry;
        carry = sum >> BITS;
        sum as u64 & DIGIT
    }))
}

/// Digit by digit of b, product and reduction by turns. From one m to the next there are but five
/// instructions: what does not depend on m is added up beside.
#[target_feature(enable = "avx512f,avx512ifma")]
fn products<const S: usize, const L: usize, const Z: usize, const D: usize>(
    n: [&Modulus<Ifma<L, Z, D>>; S],
    a: [&Digits<L>; S],
    b: [&Digits<L>; S],
) -> [Digits<L>; S] {
    let zero = _mm512_setzero_si512();
    let (mut factor, mut k0, mut t) = ([[zero; Z]; S], [zero; S], [[zero; Z]; S]);
    for s in 0..S {
        factor[s] = vectors(a[s]);
        k0[s] = _mm512_set1_epi64(n[s].k0 as i64);
        let first = _mm512_set1_epi64(b[s].0[0] as i64);
        for j in 0..Z {
            t[s][j] = _mm512_madd52lo_epu64(zero, factor[s][j], first);
        }
    }
    for i in 0..D {
        for s in 0..S {
            let digit = _mm512_set1_epi64(b[s].0[i] as i64);
            let next = match i + 1 < D {
                true => _mm512_set1_epi64(b[s].0[i + 1] as i64),
                false => zero,
            };
            // The lowest digit of t is that of t + m n = 0 (mod 2^52).
            let low = _mm512_madd52lo_epu64(zero, t[s][0], k0[s]);
            let m = _mm512_broadcastq_epi64(_mm512_castsi512_si128(low));
            // Read anew each time: kept in registers, it would push the sums out of them.
            let n = vectors(&core::hint::black_box(n[s]).number);
            step::<L, Z>(&mut t[s], &factor[s], [digit, next], n, m);
        }
    }
    let mut out = [Digits([0; L]); S];
    for s in 0..S {
        out[s] = carried(t[s]);
    }
    out
}

/// `t = (t + low(m n)) / 2^52 + high(a digit) + high(m n) + low(a next)`. The digits of t take in at most 4
/// parts below 2^52 each time, while they move down one lane: with 60 digits they stay below 2^60.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn step<const L: usize, const Z: usize>(
    t: &mut [__m512i; Z],
    a: &[__m512i; Z],
    [digit, next]: [__m512i; 2],
    n: [__m512i; Z],
    m: __m512i,
) {
    let zero = _mm512_setzero_si512();
    let mut more = [zero; Z];
    for j in 0..Z {
        more[j] = _mm512_madd52hi_epu64(zero, a[j], digit);
        more[j] = _mm512_madd52lo_epu64(more[j], a[j], next);
        t[j] = _mm512_madd52lo_epu64(t[j], n[j], m);
        more[j] = _mm512_madd52hi_epu64(more[j], n[j], m);
    }
    let carry = _mm512_maskz_srli_epi64::<{ BITS as u32 }>(1, t[0]);
    more[0] = _mm512_add_epi64(more[0], carry);
    for j in 0..Z {
        let above = if j + 1 < Z { t[j + 1] } else { zero };
        t[j] = _mm512_add_epi64(_mm512_alignr_epi64::<1>(above, t[j]), more[j]);
    }
}

/// Digits below 2^52 of digits below 2^63: each passes on what it has above, once, and is then at most one
/// too large; those ones ripple through in one addition of masks.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn carried<const L: usize, const Z: usize>(mut t: [__m512i; Z]) -> Digits<L> {
    let digit = _mm512_set1_epi64(DIGIT as i64);
    let (mut below, mut above, mut full) = (_mm512_setzero_si512(), 0, 0);
    for (j, t) in t.iter_mut().enumerate() {
        let over = _mm512_srli_epi64::<{ BITS as u32 }>(*t);
        let from_below = _mm512_alignr_epi64::<7>(over, below);
        below = over;
        *t = _mm512_add_epi64(_mm512_and_si512(*t, digit), from_below);
        above |= u64::from(_mm512_cmpgt_epu64_mask(*t, digit)) << (8 * j);
        full |= u64::from(_mm512_cmpeq_epu64_mask(*t, digit)) << (8 * j);
    }
    // A lane gets a carry if one came out of the lane below, or went through it.
    let carries = (above << 1).wrapping_add(full) ^ full;
    let mut out = Digits([0; L]);
    for (j, (t, out)) in t.into_iter().zip(out.0.chunks_exact_mut(8)).enumerate() {
        let sum = _mm512_mask_sub_epi64(t, (carries >> (8 * j)) as u8, t, _mm512_set1_epi64(-1));
        // SAFETY: 8 digits are 64 bytes.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), _mm512_and_si512(sum, digit)) };
    }
    out
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn vectors<const L: usize, const Z: usize>(number: &Digits<L>) -> [__m512i; Z] {
    const { assert!(L == 8 * Z, "digits fill the vectors") };
    let mut out = [_mm512_setzero_si512(); Z];
    for (j, out) in out.iter_mut().enumerate() {
        // SAFETY: there are 8 Z digits, and 8 of them are 64 bytes.
        *out = unsafe { _mm512_load_si512(number.0.as_ptr().add(8 * j).cast()) };
    }
    out
}
