//! 16 lanes in AVX-512.
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
use super::lane::{Bits, ChunkLane, Chunks, Lane, MessageLane, all_in_place, blocks, most};
use crate::Backend;
use crate::vector::avx512::{V, add, from_bytes, load, or, rotr, shr, splat, transposed, xor};
use crate::vector::{avx2, vectors};

/// Messages in a vector.
pub const LANES: usize = 16;

kernels!(Avx512, "avx512f,avx512bw,bmi2");

/// The words of a block of each lane: word by word, as they stand in memory.
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
#[inline]
fn words<const P: usize>(lanes: &[Lane<'_, P>; LANES], block: u32) -> [V; 16] {
    let rows = match all_in_place(lanes, block) {
        Some(rows) => vectors!(i => from_bytes(rows[i])),
        None => vectors!(i => row(&lanes[i], block)),
    };
    transposed(rows)
}

#[target_feature(enable = "avx512f,avx512bw,bmi2")]
#[inline]
fn row<const P: usize>(lane: &Lane<'_, P>, block: u32) -> V {
    match lane.in_place(block) {
        Some(bytes) => from_bytes(bytes),
        None if block < lane.blocks => edge(lane, block),
        None => splat(0),
    }
}

/// A block that no piece has whole: bytes of all pieces, zeros behind the last.
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
#[inline]
fn edge<const P: usize>(lane: &Lane<'_, P>, block: u32) -> V {
    let mut row = splat(0);
    for (start, piece) in lane.pieces(block) {
        let mask = below(start + piece.len() as isize) & !below(start);
        // A load of nothing from where there is no memory takes the processor hundreds of cycles.
        if mask != 0 {
            // Where the block would begin if the piece did: nothing is read there.
            let base = piece.as_ptr().wrapping_offset(-start);
            // SAFETY: only bytes in the mask are read: from `start` to the piece's end.
            row = unsafe { _mm512_mask_loadu_epi8(row, mask, base.cast()) };
        }
    }
    row
}

/// A bit for each of the first `n` bytes of a block.
#[inline]
fn below(n: isize) -> u64 {
    u64::MAX
        .checked_shr(64 - n.clamp(0, 64) as u32)
        .unwrap_or(0)
}

/// The digests whose words these are.
#[target_feature(enable = "avx512f")]
#[inline]
fn digests(words: [V; 8]) -> [Digest; LANES] {
    let mut all = [splat(0); 16];
    all[..8].copy_from_slice(&words);
    let rows = transposed(all);
    let mut digests = [[0; 32]; LANES];
    for (digest, row) in digests.iter_mut().zip(rows) {
        *digest = avx2::to_bytes(_mm512_castsi512_si256(row));
    }
    digests
}

#[target_feature(enable = "avx512f")]
#[inline]
fn xor3(a: V, b: V, c: V) -> V {
    _mm512_ternarylogic_epi32::<0x96>(a, b, c)
}

/// Bits of `b` where `a` has ones, of `c` elsewhere.
#[target_feature(enable = "avx512f")]
#[inline]
fn choose(a: V, b: V, c: V) -> V {
    _mm512_ternarylogic_epi32::<0xca>(a, b, c)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn majority(a: V, b: V, c: V) -> V {
    _mm512_ternarylogic_epi32::<0xe8>(a, b, c)
}

#[target_feature(enable = "avx512f,avx512bw,bmi2")]
#[inline]
fn swap_bytes(a: V) -> V {
    let order = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    _mm512_shuffle_epi8(a, _mm512_broadcast_i32x4(order))
}

#[target_feature(enable = "avx512f")]
#[inline]
fn equal(a: V, b: V) -> __mmask16 {
    _mm512_cmpeq_epi32_mask(a, b)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn above(a: V, b: V) -> __mmask16 {
    _mm512_cmpgt_epu32_mask(a, b)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn select(mask: __mmask16, yes: V, no: V) -> V {
    _mm512_mask_mov_epi32(no, mask, yes)
}
