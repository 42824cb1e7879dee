//! 16 words of 32 bits.
#![allow(unsafe_code, reason = "vector loads and stores")]

use core::arch::x86_64::*;

pub type V = __m512i;

#[target_feature(enable = "avx512f")]
#[inline]
pub fn load(words: &[u32; 16]) -> V {
    // SAFETY: 64 bytes are read, of an array of 16 words.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

/// Returns the vector with these bytes.
#[target_feature(enable = "avx512f")]
#[inline]
pub fn from_bytes(bytes: &[u8; 64]) -> V {
    // SAFETY: 64 bytes are read, of an array of 64.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

/// Returns its bytes, as they stand in memory.
#[target_feature(enable = "avx512f")]
#[inline]
pub fn to_bytes(vector: V) -> [u8; 64] {
    let mut bytes = [0; 64];
    // SAFETY: 64 bytes are written, to an array of 64.
    unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), vector) };
    bytes
}

#[target_feature(enable = "avx512f")]
#[inline]
pub fn splat(word: u32) -> V {
    _mm512_set1_epi32(word as i32)
}

#[target_feature(enable = "avx512f")]
#[inline]
pub fn add(a: V, b: V) -> V {
    _mm512_add_epi32(a, b)
}

#[target_feature(enable = "avx512f")]
#[inline]
pub fn xor(a: V, b: V) -> V {
    _mm512_xor_si512(a, b)
}

#[target_feature(enable = "avx512f")]
#[inline]
pub fn or(a: V, b: V) -> V {
    _mm512_or_si512(a, b)
}

#[target_feature(enable = "avx512f")]
#[inline]
pub fn rotr<const N: i32>(a: V) -> V {
    _mm512_ror_epi32::<N>(a)
}

#[target_feature(enable = "avx512f")]
#[inline]
pub fn shr<const N: u32>(a: V) -> V {
    _mm512_srli_epi32::<N>(a)
}

/// Rows to columns, in four rounds that each exchange one bit of the row's number with one of the column's.
#[target_feature(enable = "avx512f")]
#[inline]
pub fn transposed(r: [V; 16]) -> [V; 16] {
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
