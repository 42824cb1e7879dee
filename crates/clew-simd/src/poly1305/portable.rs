//! One message after the other, in products of 64 bits, as in Floodyberry's poly1305-donna-64 (public
//! domain).

use super::{BLOCK, KEY, M42, M44, TAG, WHOLE, finish, halves, last_block, limbs, limbs_of_r};

/// Returns the tag of one message.
pub fn tag(key: &[u8; KEY], text: &[u8]) -> [u8; TAG] {
    let r = limbs_of_r(key);
    let (blocks, rest) = text.as_chunks();
    let mut h = [0; 3];
    for block in blocks {
        h = absorbed(h, r, block, WHOLE);
    }
    if !rest.is_empty() {
        h = absorbed(h, r, &last_block(rest), 0);
    }
    finish(h, key)
}

/// `(h + block) * r`. The limbs of h stay below 2^44 + 2^13, so that with a block they are below 2^46;
/// factors are below 2^49, sums below 2^97, and what is above their limbs below 2^55.
#[inline]
fn absorbed(h: [u64; 3], r: [u64; 3], block: &[u8; BLOCK], above: u64) -> [u64; 3] {
    let [low, high] = halves(block);
    let m = limbs(low, high);
    let (h0, h1, h2) = (h[0] + m[0], h[1] + m[1], h[2] + (m[2] | above));
    let [r0, r1, r2] = r;
    // 2^132 is 4 * 5.
    let (s1, s2) = (20 * r1, 20 * r2);
    let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
    let d0 = product(h0, r0) + product(h1, s2) + product(h2, s1);
    let d1 = product(h0, r1) + product(h1, r0) + product(h2, s2) + (d0 >> 44);
    let d2 = product(h0, r2) + product(h1, r1) + product(h2, r0) + (d1 >> 44);
    let first = (d0 as u64 & M44) + 5 * (d2 >> 42) as u64;
    [
        first & M44,
        (d1 as u64 & M44) + (first >> 44),
        d2 as u64 & M42,
    ]
}
