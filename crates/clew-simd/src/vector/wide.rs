//! 8 words of 64 bits, in AVX-512.
#![allow(unsafe_code, reason = "vector loads and stores")]

use core::arch::x86_64::*;

pub type V = __m512i;

#[target_feature(enable = "avx512f")]
#[inline]
pub fn load(words: &[u64; 8]) -> V {
    // SAFETY: 64 bytes are read, of an array of 8 words.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
pub fn store(vector: V) -> [u64; 8] {
    let mut words = [0; 8];
    // SAFETY: 64 bytes are written, to an array of 8 words.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), vector) };
    words
}

#[target_feature(enable = "avx512f")]
#[inline]
pub fn zero() -> V {
    _mm512_setzero_si512()
}

#[target_feature(enable = "avx512f")]
#[inline]
pub fn splat(word: u64) -> V {
    _mm512_set1_epi64(word as i64)
}

#[target_feature(enable = "avx512f")]
#[inline]
pub fn add(a: V, b: V) -> V {
    _mm512_add_epi64(a, b)
}

/// Rows for columns.
#[target_feature(enable = "avx512f")]
#[inline]
pub fn transposed(rows: [V; 8]) -> [V; 8] {
    let [a, b, c, d, e, f, g, h] = rows;
    let even = quarters([
        _mm512_unpacklo_epi64(a, b),
        _mm512_unpacklo_epi64(c, d),
        _mm512_unpacklo_epi64(e, f),
        _mm512_unpacklo_epi64(g, h),
    ]);
    let odd = quarters([
        _mm512_unpackhi_epi64(a, b),
        _mm512_unpackhi_epi64(c, d),
        _mm512_unpackhi_epi64(e, f),
        _mm512_unpackhi_epi64(g, h),
    ]);
    [
        even[0], odd[0], even[1], odd[1], even[2], odd[2], even[3], odd[3],
    ]
}

/// Rows for columns, of quarters of vectors.
#[target_feature(enable = "avx512f")]
#[inline]
fn quarters([a, b, c, d]: [V; 4]) -> [V; 4] {
    const EVEN: i32 = 0x88;
    const ODD: i32 = 0xdd;
    let (first, second) = (
        _mm512_shuffle_i64x2::<EVEN>(a, b),
        _mm512_shuffle_i64x2::<EVEN>(c, d),
    );
    let (third, fourth) = (
        _mm512_shuffle_i64x2::<ODD>(a, b),
        _mm512_shuffle_i64x2::<ODD>(c, d),
    );
    [
        _mm512_shuffle_i64x2::<EVEN>(first, second),
        _mm512_shuffle_i64x2::<EVEN>(third, fourth),
        _mm512_shuffle_i64x2::<ODD>(first, second),
        _mm512_shuffle_i64x2::<ODD>(third, fourth),
    ]
}
