//! 16 lanes in AVX-512.
#![allow(
    unsafe_code,
    reason = "vector loads and stores, and the call of what the processor was asked for"
)]

use core::arch::x86_64::*;

use super::kernel::{kernel, quarters, twenty_rounds};
use super::{BLOCK, Block, LANES, State};
use crate::Backend;

type V = __m512i;

/// The blocks of the states in the lanes.
pub fn blocks(states: &[State; LANES]) -> [Block; LANES] {
    Backend::Avx512.require();
    // SAFETY: the processor has the feature.
    unsafe { blocks_in_lanes(states) }
}

kernel!("avx512f");

/// Word by word, each of all lanes.
#[target_feature(enable = "avx512f")]
#[inline]
fn columns(states: &[State; LANES]) -> [V; 16] {
    let mut rows = [_mm512_setzero_si512(); 16];
    for (row, state) in rows.iter_mut().zip(states) {
        // SAFETY: 64 bytes are read, of an array of 16 words.
        *row = unsafe { _mm512_loadu_si512(state.as_ptr().cast()) };
    }
    transposed(rows)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn rows(columns: [V; 16]) -> [Block; LANES] {
    let mut blocks = [[0; BLOCK]; LANES];
    for (block, row) in blocks.iter_mut().zip(transposed(columns)) {
        // SAFETY: 64 bytes are written, to an array of 64.
        unsafe { _mm512_storeu_si512(block.as_mut_ptr().cast(), row) };
    }
    blocks
}

/// Rows to columns, in four rounds that each exchange one bit of the row's number with one of the
/// column's.
#[target_feature(enable = "avx512f")]
#[inline]
fn transposed(r: [V; 16]) -> [V; 16] {
    let (mut s, mut t) = (r, r);
    for i in (0..16).step_by(2) {
        // Words: within pairs of rows.
        s[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
        s[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    }
    for i in 0..8 {
        // Pairs of words: of 4 rows, each 128 bits have one column: 0, 4, 8, 12 and so on.
        let (low, high) = (s[i / 2 * 4 + i % 2], s[i / 2 * 4 + i % 2 + 2]);
        t[i / 2 * 4 + i % 2 * 2] = _mm512_unpacklo_epi64(low, high);
        t[i / 2 * 4 + i % 2 * 2 + 1] = _mm512_unpackhi_epi64(low, high);
    }
    for i in 0..8 {
        // 128 bits: to the columns of 8 rows ...
        let (low, high) = (t[i / 4 * 8 + i % 4], t[i / 4 * 8 + i % 4 + 4]);
        s[i / 4 * 8 + i % 4] = _mm512_shuffle_i32x4::<0x88>(low, high);
        s[i / 4 * 8 + i % 4 + 4] = _mm512_shuffle_i32x4::<0xdd>(low, high);
    }
    for i in 0..8 {
        // ... and of all 16.
        t[i] = _mm512_shuffle_i32x4::<0x88>(s[i], s[i + 8]);
        t[i + 8] = _mm512_shuffle_i32x4::<0xdd>(s[i], s[i + 8]);
    }
    t
}

#[target_feature(enable = "avx512f")]
#[inline]
fn add(a: V, b: V) -> V {
    _mm512_add_epi32(a, b)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn xor(a: V, b: V) -> V {
    _mm512_xor_si512(a, b)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn rotl<const N: i32>(a: V) -> V {
    _mm512_rol_epi32::<N>(a)
}
