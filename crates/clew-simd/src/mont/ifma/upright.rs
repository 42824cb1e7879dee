//! Eight chains of products, one in each lane: a vector has the same digit of eight numbers. No lane waits for
//! another, and nothing moves between them.

use core::arch::x86_64::*;

use super::{BITS, DIGIT, Digits, Ifma};
use crate::mont::Modulus;
use crate::vector::wide::{V, add, load, splat, store, transposed, zero};

/// Eight numbers, digit by digit.
type Upright<const L: usize> = [V; L];

/// Returns the product of each chain's factors, of which there are two or more.
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn chains<const L: usize, const Z: usize, const D: usize>(
    n: [&Modulus<Ifma<L, Z, D>>; 8],
    factors: &[[&Digits<L>; 8]],
) -> [Digits<L>; 8] {
    let modulus = upright(&n.map(|n| &n.number));
    let k0 = load(&n.map(|n| n.k0));
    let mut product = upright(&factors[0]);
    for factor in &factors[1..] {
        multiply::<L, D>(&mut product, &upright(factor), &modulus, k0);
    }
    flat(&product)
}

/// `a = a b / R`, in every lane: [`super::step`] with its bounds, turned by a right angle.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
fn multiply<const L: usize, const D: usize>(
    a: &mut Upright<L>,
    b: &Upright<L>,
    n: &Upright<L>,
    k0: V,
) {
    let zero = zero();
    let mut t = [zero; L];
    for digit in &b[..D] {
        for j in 0..D {
            t[j] = _mm512_madd52lo_epu64(t[j], a[j], *digit);
        }
        let m = _mm512_madd52lo_epu64(zero, t[0], k0);
        for j in 0..D {
            t[j] = _mm512_madd52lo_epu64(t[j], n[j], m);
        }
        let carry = _mm512_srli_epi64::<{ BITS as u32 }>(t[0]);
        t[1] = add(t[1], carry);
        for j in 0..D {
            let above = if j + 1 < D { t[j + 1] } else { zero };
            t[j] = _mm512_madd52hi_epu64(above, a[j], *digit);
            t[j] = _mm512_madd52hi_epu64(t[j], n[j], m);
        }
    }
    let (low, mut carry) = (splat(DIGIT), zero);
    for j in 0..D {
        let sum = add(t[j], carry);
        carry = _mm512_srli_epi64::<{ BITS as u32 }>(sum);
        a[j] = _mm512_and_si512(sum, low);
    }
}

/// Eight numbers, turned.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
fn upright<const L: usize>(numbers: &[&Digits<L>; 8]) -> Upright<L> {
    let mut out = [zero(); L];
    for (z, out) in out.chunks_exact_mut(8).enumerate() {
        let mut rows = [zero(); 8];
        for (row, number) in rows.iter_mut().zip(numbers) {
            *row = load(&number.0.as_chunks().0[z]);
        }
        out.copy_from_slice(&transposed(rows));
    }
    out
}

/// And turned back.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
fn flat<const L: usize>(numbers: &Upright<L>) -> [Digits<L>; 8] {
    let mut out = [Digits([0; L]); 8];
    for (z, columns) in numbers.as_chunks::<8>().0.iter().enumerate() {
        for (number, row) in out.iter_mut().zip(transposed(*columns)) {
            number.0.as_chunks_mut().0[z] = store(row);
        }
    }
    out
}
