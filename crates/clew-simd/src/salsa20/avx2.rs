//! 8 lanes in AVX2.
#![allow(
    unsafe_code,
    reason = "vector loads and stores, and the call of what the processor was asked for"
)]

use core::arch::x86_64::*;

use super::kernel::{kernel, quarters, twenty_rounds};
use super::{BLOCK, Block, State};
use crate::Backend;

/// Blocks in a vector's lanes.
pub const LANES: usize = 8;

type V = __m256i;

/// The blocks of the states in the lanes.
pub fn blocks(states: &[State; LANES]) -> [Block; LANES] {
    Backend::Avx2.require();
    // SAFETY: the processor has the feature.
    unsafe { blocks_in_lanes(states) }
}

kernel!("avx2");

/// Word by word, each of all lanes.
#[target_feature(enable = "avx2")]
#[inline]
fn columns(states: &[State; LANES]) -> [V; 16] {
    let mut columns = [_mm256_setzero_si256(); 16];
    for (half, columns) in columns.as_chunks_mut().0.iter_mut().enumerate() {
        let mut rows = [_mm256_setzero_si256(); LANES];
        for (row, state) in rows.iter_mut().zip(states) {
            let words = &state.as_chunks::<8>().0[half];
            // SAFETY: 32 bytes are read, of an array of 8 words.
            *row = unsafe { _mm256_loadu_si256(words.as_ptr().cast()) };
        }
        *columns = transposed(rows);
    }
    columns
}

#[target_feature(enable = "avx2")]
#[inline]
fn rows(columns: [V; 16]) -> [Block; LANES] {
    let mut blocks = [[0; BLOCK]; LANES];
    for (half, columns) in columns.as_chunks().0.iter().enumerate() {
        for (block, row) in blocks.iter_mut().zip(transposed(*columns)) {
            let bytes = &mut block.as_chunks_mut::<32>().0[half];
            // SAFETY: 32 bytes are written, to an array of 32.
            unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), row) };
        }
    }
    blocks
}

/// Rows to columns, in three rounds that each exchange one bit of the row's number with one of the
/// column's.
#[target_feature(enable = "avx2")]
#[inline]
fn transposed(r: [V; 8]) -> [V; 8] {
    let (mut s, mut t) = (r, r);
    for i in (0..8).step_by(2) {
        // Words: within pairs of rows.
        s[i] = _mm256_unpacklo_epi32(r[i], r[i + 1]);
        s[i + 1] = _mm256_unpackhi_epi32(r[i], r[i + 1]);
    }
    for i in 0..4 {
        // Pairs of words: of 4 rows, each 128 bits have one column: 0 and 4 and so on.
        let (low, high) = (s[i / 2 * 4 + i % 2], s[i / 2 * 4 + i % 2 + 2]);
        t[i / 2 * 4 + i % 2 * 2] = _mm256_unpacklo_epi64(low, high);
        t[i / 2 * 4 + i % 2 * 2 + 1] = _mm256_unpackhi_epi64(low, high);
    }
    for i in 0..4 {
        s[i] = _mm256_permute2x128_si256::<0x20>(t[i], t[i + 4]);
        s[i + 4] = _mm256_permute2x128_si256::<0x31>(t[i], t[i + 4]);
    }
    s
}

#[target_feature(enable = "avx2")]
#[inline]
fn add(a: V, b: V) -> V {
    _mm256_add_epi32(a, b)
}

#[target_feature(enable = "avx2")]
#[inline]
fn xor(a: V, b: V) -> V {
    _mm256_xor_si256(a, b)
}

#[target_feature(enable = "avx2")]
#[inline]
fn rotl<const N: i32>(a: V) -> V {
    _mm256_or_si256(
        _mm256_sll_epi32(a, _mm_cvtsi32_si128(N)),
        _mm256_srl_epi32(a, _mm_cvtsi32_si128(32 - N)),
    )
}
