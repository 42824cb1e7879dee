//! 8 lanes in AVX2.
#![allow(
    unsafe_code,
    reason = "vector loads and stores, and calls of what the processor was asked for"
)]

use core::arch::x86_64::*;

use super::Digest;
use super::kernel::{
    IV, K, blake3_g, blake3_round, kernels, sha256_done, sha256_round, sha256_rounds,
    sha256_schedule, vectors,
};
use super::lane::{Bits, ChunkLane, Chunks, Lane, MessageLane, blocks, most};
use crate::Backend;

/// Messages in a vector.
pub const LANES: usize = 8;

type V = __m256i;

/// The digests of the chunks or nodes in the lanes.
pub fn blake3(
    key: &[u32; 8],
    lanes: &[ChunkLane<'_>; LANES],
    chunks: &Chunks<LANES>,
) -> [Digest; LANES] {
    Backend::Avx2.require();
    // SAFETY: the processor has the feature.
    unsafe { blake3_lanes(key, lanes, chunks) }
}

/// The digests of the messages in the lanes.
pub fn sha256(lanes: &[MessageLane<'_>; LANES], bits: &Bits<LANES>) -> [Digest; LANES] {
    Backend::Avx2.require();
    // SAFETY: the processor has the feature.
    unsafe { sha256_lanes(lanes, bits) }
}

kernels!("avx2");

/// The words of a block of each lane: word by word, as they stand in memory.
#[target_feature(enable = "avx2")]
#[inline]
fn words<const P: usize>(lanes: &[Lane<'_, P>; LANES], block: u32) -> [V; 16] {
    let mut rows = [[splat(0); 2]; LANES];
    for (row, lane) in rows.iter_mut().zip(lanes) {
        *row = self::row(lane, block);
    }
    let low = transposed(vectors!(i => rows[i][0]));
    let high = transposed(vectors!(i => rows[i][1]));
    vectors!(i => if i < 8 { low[i] } else { high[i - 8] })
}

#[target_feature(enable = "avx2")]
#[inline]
fn row<const P: usize>(lane: &Lane<'_, P>, block: u32) -> [V; 2] {
    match lane.in_place(block) {
        Some(bytes) => halves(bytes),
        None if block < lane.blocks => halves(&lane.copied(block)),
        None => [splat(0); 2],
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn halves(bytes: &[u8; 64]) -> [V; 2] {
    let from: *const V = bytes.as_ptr().cast();
    // SAFETY: twice 32 bytes are read, of an array of 64.
    unsafe { [_mm256_loadu_si256(from), _mm256_loadu_si256(from.add(1))] }
}

/// Rows to columns, in three rounds that each exchange one bit of the row's number with one of the column's.
#[target_feature(enable = "avx2")]
#[inline]
fn transposed(r: [V; 8]) -> [V; 8] {
    // Words: within pairs of rows.
    let r: [V; 8] = vectors!(i => match i % 2 {
        0 => _mm256_unpacklo_epi32(r[i], r[i + 1]),
        _ => _mm256_unpackhi_epi32(r[i - 1], r[i]),
    });
    // Pairs of words: of 4 rows, each 128 bits have one column: 0 and 4 and so on.
    let r: [V; 8] = vectors!(i => {
        let (low, high) = (r[i / 4 * 4 + i / 2 % 2], r[i / 4 * 4 + i / 2 % 2 + 2]);
        match i % 2 {
            0 => _mm256_unpacklo_epi64(low, high),
            _ => _mm256_unpackhi_epi64(low, high),
        }
    });
    vectors!(i => {
        let (low, high) = (r[i % 4], r[i % 4 + 4]);
        match i / 4 {
            0 => _mm256_permute2x128_si256::<0x20>(low, high),
            _ => _mm256_permute2x128_si256::<0x31>(low, high),
        }
    })
}

/// The digests whose words these are.
#[target_feature(enable = "avx2")]
#[inline]
fn digests(words: [V; 8]) -> [Digest; LANES] {
    let mut digests = [[0; 32]; LANES];
    for (digest, row) in digests.iter_mut().zip(transposed(words)) {
        // SAFETY: 32 bytes are written, to an array of 32.
        unsafe { _mm256_storeu_si256(digest.as_mut_ptr().cast(), row) };
    }
    digests
}

#[target_feature(enable = "avx2")]
#[inline]
fn load(words: &[u32; LANES]) -> V {
    // SAFETY: 32 bytes are read, of an array of 8 words.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn splat(word: u32) -> V {
    _mm256_set1_epi32(word as i32)
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
fn or(a: V, b: V) -> V {
    _mm256_or_si256(a, b)
}

#[target_feature(enable = "avx2")]
#[inline]
fn xor3(a: V, b: V, c: V) -> V {
    xor(xor(a, b), c)
}

/// Bits of `b` where `a` has ones, of `c` elsewhere.
#[target_feature(enable = "avx2")]
#[inline]
fn choose(a: V, b: V, c: V) -> V {
    xor(c, _mm256_and_si256(a, xor(b, c)))
}

#[target_feature(enable = "avx2")]
#[inline]
fn majority(a: V, b: V, c: V) -> V {
    choose(xor(a, b), c, b)
}

/// Whole bytes by a shuffle, others by two shifts.
#[target_feature(enable = "avx2")]
#[inline]
fn rotr<const N: i32>(a: V) -> V {
    match N {
        8 => shuffle(
            a,
            _mm_set_epi8(12, 15, 14, 13, 8, 11, 10, 9, 4, 7, 6, 5, 0, 3, 2, 1),
        ),
        16 => shuffle(
            a,
            _mm_set_epi8(13, 12, 15, 14, 9, 8, 11, 10, 5, 4, 7, 6, 1, 0, 3, 2),
        ),
        _ => or(
            _mm256_srl_epi32(a, _mm_cvtsi32_si128(N)),
            _mm256_sll_epi32(a, _mm_cvtsi32_si128(32 - N)),
        ),
    }
}

/// The bytes of each 128 bits in another order.
#[target_feature(enable = "avx2")]
#[inline]
fn shuffle(a: V, order: __m128i) -> V {
    _mm256_shuffle_epi8(a, _mm256_broadcastsi128_si256(order))
}

#[target_feature(enable = "avx2")]
#[inline]
fn shr<const N: i32>(a: V) -> V {
    _mm256_srli_epi32::<N>(a)
}

#[target_feature(enable = "avx2")]
#[inline]
fn swap_bytes(a: V) -> V {
    let order = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    shuffle(a, order)
}

#[target_feature(enable = "avx2")]
#[inline]
fn equal(a: V, b: V) -> V {
    _mm256_cmpeq_epi32(a, b)
}

/// Of numbers below 2^31.
#[target_feature(enable = "avx2")]
#[inline]
fn above(a: V, b: V) -> V {
    _mm256_cmpgt_epi32(a, b)
}

#[target_feature(enable = "avx2")]
#[inline]
fn select(mask: V, yes: V, no: V) -> V {
    _mm256_blendv_epi8(no, yes, mask)
}
