//! Poly1305 (Bernstein, *The Poly1305-AES message-authentication code*, 2005; RFC 8439, section 2.5) of
//! many messages under a key each: one in each lane of a vector where the processor multiplies 52 bits,
//! one after the other elsewhere.
//!
//! Numbers modulo 2^130 - 5 have limbs of 44, 44 and 42 bits.

#[cfg(target_arch = "x86_64")]
mod ifma;
mod portable;
#[cfg(test)]
mod tests;

use crate::Backend;

/// Bytes of a tag.
pub const TAG: usize = 16;

/// Messages that are taken together at most: lanes of two vectors.
pub const LANES: usize = 16;

/// Bytes of a key: r and s.
pub const KEY: usize = 32;

/// Bytes that are taken at once.
const BLOCK: usize = 16;

/// The lowest 44 and 42 bits: whole limbs.
const M44: u64 = (1 << 44) - 1;
const M42: u64 = (1 << 42) - 1;

/// What is added to a block of 16 bytes, 2^128, in its third limb.
const WHOLE: u64 = 1 << 40;

/// What lanes take, in blocks that go one after the other: so much for two times a block of each lane,
/// and so much to begin with (measured on Sapphire Rapids; `tunnel-crypto` in the README of
/// `clew-bench`).
#[cfg(target_arch = "x86_64")]
const OF_TWO_BLOCKS: usize = 3;
#[cfg(target_arch = "x86_64")]
const OF_SETUP: usize = 8;

/// Writes the tags of at most [`LANES`] messages to `out`, each under the key in its place.
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(unused_variables, reason = "without lanes there is no choice")
)]
pub fn tags(backend: Backend, keys: &[[u8; KEY]], texts: &[&[u8]], out: &mut [[u8; TAG]]) {
    #[cfg(target_arch = "x86_64")]
    if backend == Backend::Avx512Ifma && are_worth_lanes(texts) {
        return ifma::tags(keys, texts, out);
    }
    for ((key, text), out) in keys.iter().zip(texts).zip(out) {
        *out = portable::tag(key, text);
    }
}

#[cfg(target_arch = "x86_64")]
fn are_worth_lanes(texts: &[&[u8]]) -> bool {
    let blocks = texts.iter().map(|text| text.len().div_ceil(BLOCK));
    let longest = blocks.clone().max().unwrap_or(0);
    blocks.sum::<usize>() > OF_TWO_BLOCKS * longest / 2 + OF_SETUP
}

/// The limbs of r, its 22 bits cleared that have to be.
fn limbs_of_r(key: &[u8; KEY]) -> [u64; 3] {
    let [low, high] = halves(&key.as_chunks().0[0]);
    limbs(low & 0x0fff_fffc_0fff_ffff, high & 0x0fff_fffc_0fff_fffc)
}

fn limbs(low: u64, high: u64) -> [u64; 3] {
    [low & M44, (low >> 44 | high << 20) & M44, high >> 24]
}

fn halves(block: &[u8; BLOCK]) -> [u64; 2] {
    let number = u128::from_le_bytes(*block);
    [number as u64, (number >> 64) as u64]
}

/// What is left of a message behind its whole blocks, and the 1 that ends it.
fn last_block(rest: &[u8]) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    block[rest.len()] = 1;
    block
}

/// The sum, reduced, plus s, modulo 2^128. The limbs may be as large as 2^63.
fn finish(h: [u64; 3], key: &[u8; KEY]) -> [u8; TAG] {
    let [mut a, mut b, mut c] = h;
    // The first pass leaves a < 2^44 + 5 * 2^22, the second less than 2^44 in each case.
    for _ in 0..2 {
        b += a >> 44;
        c += b >> 44;
        a = (a & M44) + 5 * (c >> 42);
        b &= M44;
        c &= M42;
    }
    b += a >> 44;
    a &= M44;
    // 1 if the number is 2^130 - 5 or more: then 5 more reach 2^130, which falls away.
    let over = (((((a + 5) >> 44) + b) >> 44) + c) >> 42;
    let number = u128::from(a) | u128::from(b) << 44 | u128::from(c) << 88;
    let s = u128::from_le_bytes(key.as_chunks().0[1]);
    let tag = number.wrapping_add(u128::from(5 * over)).wrapping_add(s);
    tag.to_le_bytes()
}
