//! One block after the other, as in the crate `salsa20`, for processors without AVX2. Of arrays of four
//! lanes compilers made no vectors on x86-64; they saved a seventh of the time, in registers one by one.

use super::kernel::{quarters, twenty_rounds};
use super::{BLOCK, Block, State};

/// Returns the block of one state.
pub fn block([state]: &[State; 1]) -> [Block; 1] {
    let mut block = [0; BLOCK];
    let words = rounds(state).into_iter().zip(state);
    for (bytes, (x, start)) in block.as_chunks_mut().0.iter_mut().zip(words) {
        *bytes = add(x, *start).to_le_bytes();
    }
    [block]
}

/// Returns the state after 20 rounds.
pub fn rounds(state: &State) -> State {
    let mut x = *state;
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
fn rotr<const N: u32>(a: u32) -> u32 {
    a.rotate_right(N)
}
