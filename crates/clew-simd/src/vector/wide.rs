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
