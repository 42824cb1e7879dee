//! 8 lanes in AVX2.
#![allow(unsafe_code, reason = "the call of what the processor was asked for")]

use super::kernel::{kernel, quarters, twenty_rounds};
use super::{BLOCK, Block, State};
use crate::Backend;
use crate::vector::avx2::{V, add, load, rotr, splat, to_bytes, transposed, xor};

/// Blocks in a vector's lanes.
pub const LANES: usize = 8;

kernel!(Avx2, "avx2");

/// Word by word, each of all lanes.
#[target_feature(enable = "avx2")]
#[inline]
fn columns(states: &[State; LANES]) -> [V; 16] {
    let mut columns = [splat(0); 16];
    for (half, columns) in columns.as_chunks_mut().0.iter_mut().enumerate() {
        let mut rows = [splat(0); LANES];
        for (row, state) in rows.iter_mut().zip(states) {
            *row = load(&state.as_chunks().0[half]);
        }
        *columns = transposed(rows);
    }
    columns
}

#[target_feature(enable = "avx2")]
#[inline]
fn rows(columns: [V; 16]) -> [Block; LANES] {
    let mut blocks = [[0; BLOCK]; LANES];
    for (half, columns) in columns.as_chunks().0.iter().enumerate() {
        for (block, row) in blocks.iter_mut().zip(transposed(*columns)) {
            block.as_chunks_mut().0[half] = to_bytes(row);
        }
    }
    blocks
}
