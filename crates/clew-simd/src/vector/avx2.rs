//! 8 words of 32 bits.
#![allow(unsafe_code, reason = "vector loads and stores")]

use core::arch::x86_64::*;

pub type V = __m256i;

#[target_feature(enable = "avx2")]
#[inline]
pub fn load(words: &[u32; 8]) -> V {
    // SAFETY: 32 bytes are read, of an array of 8 words.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

/// Returns the vector with these bytes.
#[target_feature(enable = "avx2")]
#[inline]
pub fn from_bytes(bytes: &[u8; 32]) -> V {
    // SAFETY: 32 bytes are read, of an array of 32.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

/// Returns its bytes, as they stand in memory.
#[target_feature(enable = "avx2")]
#[inline]
pub fn to_bytes(vector: V) -> [u8; 32] {
    let mut bytes = [0; 32];
    // SAFETY: 32 bytes are written, to an array of 32.
    unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), vector) };
    bytes
}

#[target_feature(enable = "avx2")]
#[inline]
pub fn splat(word: u32) -> V {
    _mm256_set1_epi32(word as i32)
}

#[target_feature(enable = "avx2")]
#[inline]
pub fn add(a: V, b: V) -> V {
    _mm256_add_epi32(a, b)
}

#[target_feature(enable = "avx2")]
#[inline]
pub fn xor(a: V, b: V) -> V {
    _mm256_xor_si256(a, b)
}

#[target_feature(enable = "avx2")]
#[inline]
pub fn or(a: V, b: V) -> V {
    _mm256_or_si256(a, b)
}

/// Whole bytes by a shuffle, others by two shifts.
#[target_feature(enable = "avx2")]
#[inline]
pub fn rotr<const N: i32>(a: V) -> V {
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

#[target_feature(enable = "avx2")]
#[inline]
pub fn shr<const N: i32>(a: V) -> V {
    _mm256_srli_epi32::<N>(a)
}

/// Returns the bytes of each 128 bits in another order.
#[target_feature(enable = "avx2")]
#[inline]
pub fn shuffle(a: V, order: __m128i) -> V {
    _mm256_shuffle_epi8(a, _mm256_broadcastsi128_si256(order))
}

/// Rows to columns, in three rounds that each exchange one bit of the row's number with one of the column's.
#[target_feature(enable = "avx2")]
#[inline]
pub fn transposed(r: [V; 8]) -> [V; 8] {
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
