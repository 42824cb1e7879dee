//! Four words in a vector, for `field.rs`.
#![allow(
    unsafe_code,
    reason = "an instruction that the compiler must not choose"
)]

use core::arch::x86_64::*;

use crate::x25519::number::MASK;

pub type V = __m256i;

#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
#[inline]
pub fn zero() -> V {
    _mm256_setzero_si256()
}

#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
#[inline]
pub fn splat(word: u64) -> V {
    _mm256_set1_epi64x(word as i64)
}

#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
#[inline]
pub fn add(a: V, b: V) -> V {
    _mm256_add_epi64(a, b)
}

/// Returns `sum` and the lower 52 bits of the products of 52 bits.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
#[inline]
pub fn add_low(sum: V, a: V, b: V) -> V {
    _mm256_madd52lo_epu64(sum, a, b)
}

/// Returns `sum` and the upper 52 bits of the products of 52 bits.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
#[inline]
pub fn add_high(sum: V, a: V, b: V) -> V {
    _mm256_madd52hi_epu64(sum, a, b)
}

/// Returns the bits above the lowest 51.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
#[inline]
pub fn above(word: V) -> V {
    _mm256_srli_epi64::<51>(word)
}

/// Returns the lowest 51 bits.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
#[inline]
pub fn below(word: V) -> V {
    _mm256_and_si256(word, splat(MASK))
}

/// Words below 2^58, nineteen times. A multiplication takes 15 cycles, which everything waits for; of shifts
/// and additions the compiler makes one again, unless it cannot see what was shifted.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
#[inline]
pub fn nineteen_fold(word: V) -> V {
    let mut sixteen = _mm256_slli_epi64::<4>(word);
    // SAFETY: no instruction at all.
    unsafe {
        core::arch::asm!("/* {0} */", inout(ymm_reg) sixteen, options(pure, nomem, nostack, preserves_flags));
    }
    add(sixteen, add(word, add(word, word)))
}
