//! Eight words in a vector, for `field.rs`.

use core::arch::x86_64::*;

pub use crate::vector::wide::{V, add, splat, zero};
use crate::x25519::number::MASK;

#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
#[inline]
pub fn sub(a: V, b: V) -> V {
    _mm512_sub_epi64(a, b)
}

/// Returns `sum` and the lower 52 bits of the products of 52 bits.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
#[inline]
pub fn add_low(sum: V, a: V, b: V) -> V {
    _mm512_madd52lo_epu64(sum, a, b)
}

/// Returns `sum` and the upper 52 bits of the products of 52 bits.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
#[inline]
pub fn add_high(sum: V, a: V, b: V) -> V {
    _mm512_madd52hi_epu64(sum, a, b)
}

/// Returns the bits above the lowest 51.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
#[inline]
pub fn above(word: V) -> V {
    _mm512_srli_epi64::<51>(word)
}

/// Returns the lowest 51 bits.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
#[inline]
pub fn below(word: V) -> V {
    _mm512_and_si512(word, splat(MASK))
}

/// Words below 2^58, nineteen times. A multiplication: here the ports are busy, and it is fewer of them.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
#[inline]
pub fn nineteen_fold(word: V) -> V {
    _mm512_mullo_epi64(word, splat(19))
}
