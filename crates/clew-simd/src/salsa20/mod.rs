//! Salsa20 (Bernstein, *The Salsa20 family of stream ciphers*, 2008) on many blocks at once, one in
//! each lane of a vector, and HSalsa20 (*Extending the Salsa20 nonce*, 2011), with which it is XSalsa20.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod kernel;
mod portable;

use crate::Backend;

/// What a block is computed from: constants, key, nonce and counter.
pub type State = [u32; 16];

/// 64 bytes of the stream.
pub type Block = [u8; BLOCK];

/// Bytes of a block.
pub const BLOCK: usize = 64;

/// Blocks that are asked for together at most: lanes of the widest vector.
pub const LANES: usize = 16;

/// "expand 32-byte k".
const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// Returns the state whose words 6 to 9 these are.
#[inline]
pub fn state(key: &[u32; 8], middle: [u32; 4]) -> State {
    let [c0, c1, c2, c3] = CONSTANTS;
    let [k0, k1, k2, k3, k4, k5, k6, k7] = *key;
    let [n0, n1, n2, n3] = middle;
    [
        c0, k0, k1, k2, k3, c1, n0, n1, n2, n3, c2, k4, k5, k6, k7, c3,
    ]
}

/// Returns the words of these bytes, little-endian.
#[inline]
pub fn words<const N: usize>(bytes: &[u8]) -> [u32; N] {
    let mut words = [0; N];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    words
}

/// Returns the key for the first 16 bytes of a nonce.
pub fn hsalsa20(key: &[u32; 8], nonce: &[u8; 16]) -> [u32; 8] {
    let x = portable::rounds(&state(key, words(nonce)));
    [x[0], x[5], x[10], x[15], x[6], x[7], x[8], x[9]]
}

/// Writes the block of each state to its place in `out`, which has at most [`LANES`].
pub fn blocks(backend: Backend, states: &[State; LANES], out: &mut [Block]) {
    match backend {
        #[cfg(target_arch = "x86_64")]
        Backend::Avx512Ifma | Backend::Avx512 if out.len() > avx2::LANES => {
            let blocks = avx512::blocks(states);
            out.copy_from_slice(&blocks[..out.len()]);
        }
        #[cfg(target_arch = "x86_64")]
        Backend::Avx512Ifma | Backend::Avx512 | Backend::Avx2 => {
            in_parts(avx2::blocks, states, out)
        }
        _ => in_parts(portable::block, states, out),
    }
}

/// For vectors of fewer lanes: as many of them as there are places.
fn in_parts<const N: usize>(
    blocks: impl Fn(&[State; N]) -> [Block; N],
    states: &[State; LANES],
    out: &mut [Block],
) {
    for (states, out) in states.as_chunks().0.iter().zip(out.chunks_mut(N)) {
        out.copy_from_slice(&blocks(states)[..out.len()]);
    }
}
