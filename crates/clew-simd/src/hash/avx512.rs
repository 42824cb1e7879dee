//! 16 lanes in AVX-512.
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
use super::lane::{Bits, ChunkLane, Chunks, Lane, MessageLane, all_in_place, blocks, most};
use crate::Backend;

/// Messages in a vector.
pub const LANES: usize = 16;

type V = __m512i;

/// The digests of the chunks or nodes in the lanes.
pub fn blake3(
    key: &[u32; 8],
    lanes: &[ChunkLane<'_>; LANES],
    chunks: &Chunks<LANES>,
) -> [Digest; LANES] {
    Backend::Avx512.require();
    // SAFETY: the processor has the features.
    unsafe { blake3_lanes(key, lanes, chunks) }
}

/// The digests of the messages in the lanes.
pub fn sha256(lanes: &[MessageLane<'_>; LANES], bits: &Bits<LANES>) -> [Digest; LANES] {
    Backend::Avx512.require();
    // SAFETY: the processor has the features.
    unsafe { sha256_lanes(lanes, bits) }
}

kernels!("avx512f,avx512bw,bmi2");

/// The words of a block of each lane: word by word, as they stand in memory.
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
#[inline]
fn words<const P: usize>(lanes: &[Lane<'_, P>; LANES], block: u32) -> [V; 16] {
    let rows = match all_in_place(lanes, block) {
        Some(rows) => vectors!(i => whole(rows[i])),
        None => vectors!(i => row(&lanes[i], block)),
    };
    transposed(rows)
}

#[target_feature(enable = "avx512f,avx512bw,bmi2")]
#[inline]
fn row<const P: usize>(lane: &Lane<'_, P>, block: u32) -> V {
    match lane.in_place(block) {
        Some(bytes) => whole(bytes),
        None if block < lane.blocks => edge(lane, block),
        None => splat(0),
    }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn whole(bytes: &[u8; 64]) -> V {
    // SAFETY: 64 bytes are read, of an array of 64.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
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

/// Rows to columns, in four rounds that each exchange one bit of the row's number with one of the column's.
#[target_feature(enable = "avx512f")]
#[inline]
fn transposed(r: [V; 16]) -> [V; 16] {
    // Words: within pairs of rows.
    let r: [V; 16] = vectors!(i => match i % 2 {
        0 => _mm512_unpacklo_epi32(r[i], r[i + 1]),
        _ => _mm512_unpackhi_epi32(r[i - 1], r[i]),
    });
    // Pairs of words: of 4 rows, each 128 bits have one column: 0, 4, 8, 12 and so on.
    let r: [V; 16] = vectors!(i => {
        let (low, high) = (r[i / 4 * 4 + i / 2 % 2], r[i / 4 * 4 + i / 2 % 2 + 2]);
        match i % 2 {
            0 => _mm512_unpacklo_epi64(low, high),
            _ => _mm512_unpackhi_epi64(low, high),
        }
    });
    // 128 bits: r[4 * rows + column] to the columns of 8 rows, and of 16.
    let r: [V; 16] = vectors!(i => {
        let (low, high) = (r[i / 8 * 8 + i % 4], r[i / 8 * 8 + i % 4 + 4]);
        match i / 4 % 2 {
            0 => _mm512_shuffle_i32x4::<0x88>(low, high),
            _ => _mm512_shuffle_i32x4::<0xdd>(low, high),
        }
    });
    vectors!(i => {
        let (low, high) = (r[i % 8], r[i % 8 + 8]);
        match i / 8 {
            0 => _mm512_shuffle_i32x4::<0x88>(low, high),
            _ => _mm512_shuffle_i32x4::<0xdd>(low, high),
        }
    })
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
        let low = _mm512_castsi512_si256(row);
        // SAFETY: 32 bytes are written, to an array of 32.
        unsafe { _mm256_storeu_si256(digest.as_mut_ptr().cast(), low) };
    }
    digests
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load(words: &[u32; LANES]) -> V {
    // SAFETY: 64 bytes are read, of an array of 16 words.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn splat(word: u32) -> V {
    _mm512_set1_epi32(word as i32)
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
fn or(a: V, b: V) -> V {
    _mm512_or_si512(a, b)
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

#[target_feature(enable = "avx512f")]
#[inline]
fn rotr<const N: i32>(a: V) -> V {
    _mm512_ror_epi32::<N>(a)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn shr<const N: u32>(a: V) -> V {
    _mm512_srli_epi32::<N>(a)
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
