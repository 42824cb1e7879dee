//! Moves between slots and lanes, and sums of limbs that are not carried.
#![allow(
    clippy::needless_range_loop,
    reason = "limbs of several vectors in step"
)]

use core::arch::x86_64::*;

use super::{Numbers, sub};
use crate::bls::limbs::LIMBS;
use crate::vector::wide::{V, add};

/// Lanes of real parts.
pub const REAL: u8 = 0x55;

/// Signed limbs that are not carried.
pub type Limbs = [V; LIMBS];

/// xi = 1 + u times each slot.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
pub fn xi_times(a: &Limbs) -> Limbs {
    let mut out = *a;
    for limb in &mut out {
        let swapped = _mm512_shuffle_epi32::<SWAP>(*limb);
        *limb = _mm512_mask_sub_epi64(add(*limb, swapped), REAL, *limb, swapped);
    }
    out
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
pub fn plus(a: &Limbs, b: &Limbs) -> Limbs {
    let mut out = *a;
    for i in 0..LIMBS {
        out[i] = add(a[i], b[i]);
    }
    out
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
pub fn less(a: &Limbs, b: &Limbs) -> Limbs {
    let mut out = *a;
    for i in 0..LIMBS {
        out[i] = sub(a[i], b[i]);
    }
    out
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
pub fn negative(a: &Limbs) -> Limbs {
    less(&[_mm512_setzero_si512(); LIMBS], a)
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
pub fn tripled(limb: V) -> V {
    add(limb, add(limb, limb))
}

/// Exchanges real and imaginary parts.
const SWAP: i32 = 0x4e;

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
pub fn swapped(a: &Numbers) -> Numbers {
    let mut out = *a;
    for limb in &mut out.0 {
        *limb = _mm512_shuffle_epi32::<SWAP>(*limb);
    }
    out
}

/// Real parts in both lanes.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
pub fn real(a: &Numbers) -> Numbers {
    let mut out = *a;
    for limb in &mut out.0 {
        *limb = _mm512_unpacklo_epi64(*limb, *limb);
    }
    out
}

/// Imaginary parts in both lanes.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
pub fn imaginary(a: &Numbers) -> Numbers {
    let mut out = *a;
    for limb in &mut out.0 {
        *limb = _mm512_unpackhi_epi64(*limb, *limb);
    }
    out
}

/// The order of slots that an instruction takes.
pub const fn order(a: i32, b: i32, c: i32, d: i32) -> i32 {
    a | b << 2 | c << 4 | d << 6
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
pub fn slot<const ORDER: i32>(limb: V) -> V {
    _mm512_shuffle_i64x2::<ORDER>(limb, limb)
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
pub fn slots<const ORDER: i32>(a: &Limbs) -> Limbs {
    let mut out = *a;
    for limb in &mut out {
        *limb = slot::<ORDER>(*limb);
    }
    out
}

/// Three slots of two vectors: 0 to 3 are the first one's, 4 to 7 the second one's.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
pub fn picked<const A: i64, const B: i64, const C: i64>(a: &Limbs, b: &Limbs) -> Limbs {
    let from = _mm512_set_epi64(7, 6, 2 * C + 1, 2 * C, 2 * B + 1, 2 * B, 2 * A + 1, 2 * A);
    let mut out = *a;
    for i in 0..LIMBS {
        out[i] = _mm512_permutex2var_epi64(a[i], from, b[i]);
    }
    out
}
