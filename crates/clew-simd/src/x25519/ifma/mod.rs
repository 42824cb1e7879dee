//! The Montgomery ladder of RFC 7748 in AVX-512 IFMA: [`eight`] points at once, one in each lane, or
//! [`one`] whose four multiplications that do not wait for each other have a lane each.
//!
//! Numbers have five limbs of 51 bits. The multiplier takes the lowest 52 bits of each factor and adds the
//! lower or the upper 52 of their product's 104 to a word. So a factor's limbs must be below 2^52, `Tight`,
//! and sums, differences and products are `Wide` until they are carried: the types of `field.rs` keep the
//! bounds, for both widths of vectors.

pub mod eight;
pub mod one;
mod v256;
mod v512;

/// Bit `i` of a clamped secret (RFC 7748, section 5).
fn bit(secret: &[u8; super::BYTES], i: usize) -> u8 {
    match i {
        0..=2 | 255 => 0,
        254 => 1,
        _ => secret[i / 8] >> (i % 8) & 1,
    }
}
