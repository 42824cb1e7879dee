//! 8 lanes in AVX2.
#![allow(
    unsafe_code,
    reason = "vector loads and stores, and calls of what the processor was asked for"
)]

use core::arch::x86_64::*;
use core::array;

use super::Digest;
use super::kernel::{
    Chunk, IV, K, Lane, blake3_round, g, kernels, sha256_round, sha256_rounds, sha256_schedule,
};

/// Messages in a vector.
pub const LANES: usize = 8;

type V = __m256i;

cpufeatures::new!(cpu, "avx2");

/// Whether this processor has what is needed.
pub fn available() -> bool {
    cpu::get()
}

/// The digest of a chunk or a node in each lane.
pub fn blake3(key: &[u32; 8], lanes: &[Lane<'_, Chunk>; LANES]) -> [Digest; LANES] {
    assert!(available(), "a path is one that the machine has");
    // SAFETY: the processor has the feature.
    unsafe { blake3_lanes(key, lanes) }
}

/// The digest of a message in each lane.
pub fn sha256(lanes: &[Lane<'_, u64>; LANES]) -> [Digest; LANES] {
    assert!(available(), "a path is one that the machine has");
    // SAFETY: the processor has the feature.
    unsafe { sha256_lanes(lanes) }
}

kernels!("avx2");

/// The words of a block of each lane: word by word, as they stand in memory.
#[target_feature(enable = "avx2")]
#[inline]
fn words<D>(lanes: &[Lane<'_, D>; LANES], block: u32) -> [V; 16] {
    let rows: [[V; 2]; LANES] = array::from_fn(|i| row(&lanes[i], block));
    let [low, high] = [0, 1].map(|half| transposed(rows.map(|row| row[half])));
    array::from_fn(|i| if i < 8 { low[i] } else { high[i - 8] })
}

#[target_feature(enable = "avx2")]
#[inline]
fn row<D>(lane: &Lane<'_, D>, block: u32) -> [V; 2] {
    match lane.in_place(block) {
        Some(bytes) => halves(bytes),
        None => halves(&lane.copied(block)),
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
    let r: [V; 8] = array::from_fn(|i| match i % 2 {
        0 => _mm256_unpacklo_epi32(r[i], r[i + 1]),
        _ => _mm256_unpackhi_epi32(r[i - 1], r[i]),
    });
    // Pairs of words: of 4 rows, each 128 bits have one column: 0 and 4 and so on.
    let r: [V; 8] = array::from_fn(|i| {
        let (low, high) = (r[i / 4 * 4 + i / 2 % 2], r[i / 4 * 4 + i / 2 % 2 + 2]);
        match i % 2 {
            0 => _mm256_unpacklo_epi64(low, high),
            _ => _mm256_unpackhi_epi64(low, high),
        }
    });
    array::from_fn(|i| {
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
    transposed(words).map(|row| {
        let mut digest = [0; 32];
        // SAFETY: 32 bytes are written, to an array of 32.
        unsafe { _mm256_storeu_si256(digest.as_mut_ptr().cast(), row) };
        digest
    })
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
    let bytes = |order| _mm256_shuffle_epi8(a, _mm256_broadcastsi128_si256(order));
    match N {
        8 => bytes(_mm_set_epi8(
            12, 15, 14, 13, 8, 11, 10, 9, 4, 7, 6, 5, 0, 3, 2, 1,
        )),
        16 => bytes(_mm_set_epi8(
            13, 12, 15, 14, 9, 8, 11, 10, 5, 4, 7, 6, 1, 0, 3, 2,
        )),
        _ => {
            let [right, left] = [N, 32 - N].map(|n| _mm_cvtsi32_si128(n));
            or(_mm256_srl_epi32(a, right), _mm256_sll_epi32(a, left))
        }
    }
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
    _mm256_shuffle_epi8(a, _mm256_broadcastsi128_si256(order))
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
