//! 16 lanes in AVX-512.
#![allow(unsafe_code, reason = "the call of what the processor was asked for")]

use super::kernel::{kernel, quarters, twenty_rounds};
use super::{BLOCK, Block, LANES, State};
use crate::Backend;
use crate::vector::avx512::{V, add, load, rotr, splat, to_bytes, transposed, xor};

kernel!(Avx512, "avx512f");

/// Word by word, each of all lanes.
#[target_feature(enable = "avx512f")]
#[inline]
fn columns(states: &[State; LANES]) -> [V; 16] {
    let mut rows = [splat(0); 16];
    for (row, state) in rows.iter_mut().zip(states) {
        *row = load(state);
    }
    transposed(rows)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn rows(columns: [V; 16]) -> [Block; LANES] {
    let mut blocks = [[0; BLOCK]; LANES];
    for (block, row) in blocks.iter_mut().zip(transposed(columns)) {
        *block = to_bytes(row);
    }
    blocks
}
