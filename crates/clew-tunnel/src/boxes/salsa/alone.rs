//! One state, for HSalsa20.

use super::State;
use super::kernel::{quarters, twenty_rounds};

/// The state after 20 rounds.
pub fn rounds(state: State) -> State {
    let mut x = state;
    twenty_rounds!(x);
    x
}

#[inline]
fn add(a: u32, b: u32) -> u32 {
    a.wrapping_add(b)
}

#[inline]
fn xor(a: u32, b: u32) -> u32 {
    a ^ b
}

#[inline]
fn rotl<const N: u32>(a: u32) -> u32 {
    a.rotate_left(N)
}
