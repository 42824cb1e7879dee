//! Montgomery's product in 64-bit words, for every machine.

use super::{Kernel, Modulus, words};
use crate::Backend;

/// Numbers of W words; R is 2^(64 W), and all results are below n.
#[derive(Clone, Copy, Debug)]
pub struct Portable<const W: usize>;

impl<const W: usize> Kernel for Portable<W> {
    type Number = [u64; W];
    const R_BITS: usize = 64 * W;
    const NAME: &'static str = Backend::Portable.name();

    fn available() -> bool {
        true
    }

    fn load(words: &[u64]) -> [u64; W] {
        let mut number = [0; W];
        number[..words.len()].copy_from_slice(words);
        number
    }

    fn store(number: &[u64; W], words: &mut [u64]) -> u64 {
        words.copy_from_slice(number);
        0
    }

    fn multiply<const S: usize>(
        n: [&Modulus<Self>; S],
        a: [&[u64; W]; S],
        b: [&[u64; W]; S],
    ) -> [[u64; W]; S] {
        core::array::from_fn(|s| product(n[s], a[s], b[s]))
    }

    fn sum(n: &Modulus<Self>, a: &[u64; W], b: &[u64; W]) -> [u64; W] {
        let (mut sum, mut other) = (*a, *b);
        words::reduce_once(&mut sum, 0, &n.number);
        words::reduce_once(&mut other, 0, &n.number);
        let top = words::add(&mut sum, &other);
        words::reduce_once(&mut sum, top, &n.number);
        sum
    }

    fn difference(n: &Modulus<Self>, a: &[u64; W], b: &[u64; W]) -> [u64; W] {
        let (mut difference, mut other) = (*a, *b);
        words::reduce_once(&mut other, 0, &n.number);
        let borrow = words::sub(&mut difference, &other);
        words::add_if(borrow, &mut difference, &n.number);
        difference
    }
}

/// Word by word, product and reduction by turns (CIOS: Koc, Acar and Kaliski, 1996, section 5). `t` stays
/// below 2n while a or b is below n: its top bit is `top`.
fn product<const W: usize>(n: &Modulus<Portable<W>>, a: &[u64; W], b: &[u64; W]) -> [u64; W] {
    let (modulus, mut t, mut top) = (&n.number, [0; W], 0);
    for b in b {
        let low = u128::from(a[0]) * u128::from(*b) + u128::from(t[0]);
        let m = (low as u64).wrapping_mul(n.k0);
        let reduced = u128::from(m) * u128::from(modulus[0]) + u128::from(low as u64);
        let (mut ab, mut mn) = (low >> 64, reduced >> 64);
        for j in 1..W {
            let sum = u128::from(a[j]) * u128::from(*b) + u128::from(t[j]) + ab;
            ab = sum >> 64;
            let sum = u128::from(m) * u128::from(modulus[j]) + u128::from(sum as u64) + mn;
            (t[j - 1], mn) = (sum as u64, sum >> 64);
        }
        let sum = ab + mn + u128::from(top);
        (t[W - 1], top) = (sum as u64, (sum >> 64) as u64);
    }
    words::reduce_once(&mut t, top, modulus);
    t
}
