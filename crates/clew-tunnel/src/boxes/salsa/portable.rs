//! 4 lanes in arrays, of which compilers make what vectors there are.

use super::kernel::{kernel, quarters, twenty_rounds};
use super::{BLOCK, Block, State};

const LANES: usize = 4;

type V = [u32; LANES];

/// The blocks of the states in the lanes.
pub fn blocks(states: &[State; LANES]) -> [Block; LANES] {
    blocks_in_lanes(states)
}

kernel!();

#[inline]
fn columns(states: &[State; LANES]) -> [V; 16] {
    core::array::from_fn(|word| core::array::from_fn(|lane| states[lane][word]))
}

#[inline]
fn rows(columns: [V; 16]) -> [Block; LANES] {
    let mut blocks = [[0; BLOCK]; LANES];
    for (lane, block) in blocks.iter_mut().enumerate() {
        for (bytes, column) in block.as_chunks_mut().0.iter_mut().zip(&columns) {
            *bytes = column[lane].to_le_bytes();
        }
    }
    blocks
}

#[inline]
fn add(a: V, b: V) -> V {
    core::array::from_fn(|i| a[i].wrapping_add(b[i]))
}

#[inline]
fn xor(a: V, b: V) -> V {
    core::array::from_fn(|i| a[i] ^ b[i])
}

#[inline]
fn rotl<const N: u32>(a: V) -> V {
    a.map(|word| word.rotate_left(N))
}
