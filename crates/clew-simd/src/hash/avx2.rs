//! 8 lanes in AVX2.
#![allow(
    unsafe_code,
    reason = "vector loads and stores, and calls of what the processor was asked for"
)]

use core::arch::x86_64::*;

use super::Digest;
use super::kernel::{
    IV, K, blake3_g, blake3_round, kernels, sha256_done, sha256_round, sha256_rounds,
    sha256_schedule,
};
use super::lane::{Bits, ChunkLane, Chunks, Lane, MessageLane, blocks, most};
use crate::Backend;
use crate::vector::avx2::{
    V, add, from_bytes, load, or, rotr, shr, shuffle, splat, to_bytes, transposed, xor,
};
use crate::vector::vectors;

/// Messages in a vector.
pub const LANES: usize = 8;

kernels!(Avx2, "avx2");

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
    let (halves, _) = bytes.as_chunks();
    [from_bytes(&halves[0]), from_bytes(&halves[1])]
}

/// The digests whose words these are.
#[target_feature(enable = "avx2")]
#[inline]
fn digests(words: [V; 8]) -> [Digest; LANES] {
    let mut digests = [[0; 32]; LANES];
    for (digest, row) in digests.iter_mut().zip(transposed(words)) {
        *digest = to_bytes(row);
    }
    digests
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
