//! Where what was computed from secrets becomes public: nothing else may decide a branch or an address.
//!
//! It is read from a table of all bytes, each in its own place. So `clew-ct`, which follows secrets, sees in these
//! functions, and in no others, an address that depends on one; and what is read there is no secret to it any more.

use core::hint::black_box;

const BYTES: [u8; 256] = {
    let (mut bytes, mut i) = ([0; 256], 0);
    while i < bytes.len() {
        bytes[i] = i as u8;
        i += 1;
    }
    bytes
};
static ALL: [u8; 256] = BYTES;

/// Replaces each byte by itself, read from a table of all bytes: the result counts as public.
#[inline(never)]
pub fn bytes(bytes: &mut [u8]) {
    let all = black_box(&ALL);
    for byte in bytes {
        *byte = all[usize::from(*byte)];
    }
}

/// Returns whether `bit` is 1, and makes the answer public.
#[inline(never)]
pub fn bit(bit: u64) -> bool {
    black_box(&ALL)[usize::from(bit as u8)] == 1
}
