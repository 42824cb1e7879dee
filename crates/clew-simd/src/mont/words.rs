//! Numbers of 64-bit words, least significant first. No branch and no address depends on a word;
//! lengths are public.

/// Adds `b` to `a` and returns the carry. Both have the same number of words.
#[inline(always)]
pub fn add(a: &mut [u64], b: &[u64]) -> u64 {
    let mut carry = 0;
    for (a, b) in a.iter_mut().zip(b) {
        let sum = u128::from(*a) + u128::from(*b) + carry;
        (*a, carry) = (sum as u64, sum >> 64);
    }
    carry as u64
}

/// Subtracts `b` from `a` and returns the borrow, 0 or 1. Both have the same number of words.
#[inline(always)]
pub fn sub(a: &mut [u64], b: &[u64]) -> u64 {
    let mut borrow = 0;
    for (a, b) in a.iter_mut().zip(b) {
        let (part, first) = a.overflowing_sub(*b);
        let (part, second) = part.overflowing_sub(borrow);
        (*a, borrow) = (part, u64::from(first) | u64::from(second));
    }
    borrow
}

/// Copies `b` to `a` if `choice` is 1, and leaves `a` if it is 0.
#[inline(always)]
pub fn assign_if(choice: u64, a: &mut [u64], b: &[u64]) {
    let mask = mask(choice);
    for (a, b) in a.iter_mut().zip(b) {
        *a ^= (*a ^ b) & mask;
    }
}

/// Adds `b` to `a` if `choice` is 1, and nothing if it is 0. Returns the carry.
#[inline(always)]
pub fn add_if(choice: u64, a: &mut [u64], b: &[u64]) -> u64 {
    let (mask, mut carry) = (mask(choice), 0);
    for (a, b) in a.iter_mut().zip(b) {
        let sum = u128::from(*a) + u128::from(*b & mask) + carry;
        (*a, carry) = (sum as u64, sum >> 64);
    }
    carry as u64
}

/// All ones for 1, nothing for 0, and nothing that a compiler makes a branch of.
#[inline(always)]
fn mask(choice: u64) -> u64 {
    core::hint::black_box(choice).wrapping_neg()
}

/// Reduces `a + top 2^(64 W)`, a number below 2n, to `a` below n.
#[inline(always)]
pub fn reduce_once(a: &mut [u64], top: u64, n: &[u64]) {
    let borrow = sub(a, n);
    add_if(borrow & (top ^ 1), a, n);
}

/// Returns 1 if `a` is less than `b`, else 0.
#[inline(always)]
pub fn less(a: &[u64], b: &[u64]) -> u64 {
    let mut borrow = 0;
    for (a, b) in a.iter().zip(b) {
        let (part, first) = a.overflowing_sub(*b);
        borrow = u64::from(first) | u64::from(part.overflowing_sub(borrow).1);
    }
    borrow
}

/// Adds the product of `a` and `b` to `out`, which has room for it; `a` has an even number of
/// words. Two rows go together, so that one does not wait for the other's carries.
#[inline(always)]
pub fn mul_add(out: &mut [u64], a: &[u64], b: &[u64]) {
    for (i, [low, high]) in a.as_chunks::<2>().0.iter().enumerate() {
        let (row, above) = out[2 * i..].split_at_mut(b.len());
        let (mut carry, mut carry_high, mut before) = (0, 0, 0u64);
        for (out, b) in row.iter_mut().zip(b) {
            let sum = u128::from(*low) * u128::from(*b) + u128::from(*out) + carry;
            let with_high =
                u128::from(*high) * u128::from(before) + u128::from(sum as u64) + carry_high;
            before = *b;
            (*out, carry, carry_high) = (with_high as u64, sum >> 64, with_high >> 64);
        }
        let mut rest = u128::from(*high) * u128::from(before) + carry + carry_high;
        for out in above {
            rest += u128::from(*out);
            (*out, rest) = (rest as u64, rest >> 64);
        }
    }
}

/// Doubles `a` modulo n, for `a` below n.
pub fn double_mod(a: &mut [u64], n: &[u64]) {
    let mut top = 0;
    for word in &mut *a {
        (*word, top) = (*word << 1 | top, *word >> 63);
    }
    reduce_once(a, top, n);
}

/// Returns `-1/n mod 2^64` of an odd n, given its lowest word. Newton's iteration doubles the bits
/// that are right.
pub const fn negated_inverse(n: u64) -> u64 {
    let (mut inverse, mut i) = (n, 0);
    while i < 6 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(n.wrapping_mul(inverse)));
        i += 1;
    }
    inverse.wrapping_neg()
}

/// Reads as many big-endian bytes as the words have.
#[inline]
pub fn read(out: &mut [u64], bytes: &[u8]) {
    for (word, bytes) in out.iter_mut().zip(bytes.rchunks_exact(8)) {
        *word = u64::from_be_bytes(bytes.try_into().expect("chunks have 8 bytes"));
    }
}

/// Writes them as big-endian bytes.
#[inline]
pub fn write(out: &mut [u8], words: &[u64]) {
    for (bytes, word) in out.rchunks_exact_mut(8).zip(words) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
}
