//! Numbers modulo p = 2^255 - 19 as limbs of 51 bits, one number to a lane: from bytes, and back.

use super::BYTES;
use super::LANES;

/// Limb by limb, each of all lanes: what a vector holds.
pub type Limbs = [[u64; LANES]; 5];

/// The lowest 51 bits: a whole limb.
pub const MASK: u64 = (1 << 51) - 1;

/// The u-coordinates: limbs of at most 51 bits, whose number may be p or a little more.
pub fn of_bytes(lanes: &[[u8; BYTES]; LANES]) -> Limbs {
    let mut limbs = Limbs::default();
    for (lane, bytes) in lanes.iter().enumerate() {
        let mut words = [0; 4];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        let [a, b, c, d] = words;
        limbs[0][lane] = a & MASK;
        limbs[1][lane] = (a >> 51 | b << 13) & MASK;
        limbs[2][lane] = (b >> 38 | c << 26) & MASK;
        limbs[3][lane] = (c >> 25 | d << 39) & MASK;
        // The topmost bit of all is ignored.
        limbs[4][lane] = d >> 12 & MASK;
    }
    limbs
}

/// The one number below p that this lane stands for, of limbs below 2^52.
pub fn to_bytes(limbs: &Limbs, lane: usize) -> [u8; BYTES] {
    let mut h = [0; 5];
    for (h, limb) in h.iter_mut().zip(limbs) {
        *h = limb[lane];
    }
    // The first pass leaves limbs of 51 bits but for h0 < 2^51 + 38. The second leaves no exception: if
    // its carry runs through all limbs to the top, h0 became less than 38 on the way.
    h[0] += 19 * carry(&mut h);
    h[0] += 19 * carry(&mut h);
    // 1 if the number is p or more: then 19 more reach 2^255, and what is above that falls away.
    let over = h.iter().fold(19, |carry, limb| (limb + carry) >> 51);
    h[0] += 19 * over;
    carry(&mut h);
    let [a, b, c, d, e] = h;
    let words = [
        a | b << 51,
        b >> 13 | c << 38,
        c >> 26 | d << 25,
        d >> 39 | e << 12,
    ];
    let mut bytes = [0; BYTES];
    for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    bytes
}

/// Makes limbs of 51 bits, and returns what is above 2^255.
fn carry(h: &mut [u64; 5]) -> u64 {
    let mut carry = 0;
    for limb in h {
        *limb += carry;
        carry = *limb >> 51;
        *limb &= MASK;
    }
    carry
}
