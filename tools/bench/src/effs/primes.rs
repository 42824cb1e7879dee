//! Primes: those of a modulus, from a seed, and the small ones that are verification keys.

use super::bn::{Num, Scratch};
use rand_chacha::ChaCha20Rng;
use rand_core::Rng as _;

/// Both factors of a modulus are this modulo 12: Blum's, so that a root is one power, and with an inverse of RSA's
/// exponent 3. So RSA and FFS can have the same modulus.
const RESIDUE: u64 = 11;
const STEP: u64 = 12;

/// The two prime factors of a modulus.
pub struct Factors {
    pub p: Num,
    pub q: Num,
}

impl Factors {
    /// Of a modulus of exactly so many bits.
    pub fn new(bits: usize, rng: &mut ChaCha20Rng) -> Self {
        let p = factor(bits / 2, rng);
        let other = |q: &Num| *q != p;
        let q = std::iter::repeat_with(|| factor(bits / 2, rng)).find(other);
        Self {
            q: q.expect("there are other primes"),
            p,
        }
    }

    pub fn modulus(&self) -> Num {
        self.p.times(&self.q, &Scratch::new())
    }
}

/// A number of exactly so many bits, a multiple of 8, the highest two set.
pub fn large(bits: usize, rng: &mut ChaCha20Rng) -> Num {
    let mut bytes = vec![0; bits / 8];
    rng.fill_bytes(&mut bytes);
    bytes[0] |= 0xc0;
    Num::from_bytes(&bytes)
}

/// A residue that is not zero, as many words long as the modulus.
pub fn residue(modulus: &Num, rng: &mut ChaCha20Rng) -> Num {
    let bits = modulus.bits();
    let mut bytes = vec![0; bits.div_ceil(8)];
    loop {
        rng.fill_bytes(&mut bytes);
        bytes[0] &= 0xff >> (8 * bytes.len() - bits);
        let number = Num::from_bytes(&bytes);
        if number < *modulus && !number.is_zero() {
            return number;
        }
    }
}

fn factor(bits: usize, rng: &mut ChaCha20Rng) -> Num {
    let scratch = Scratch::new();
    let mut candidate = large(bits, rng);
    let rest = candidate.rest_by_word(STEP);
    candidate.add_word((RESIDUE + STEP - rest) % STEP);
    while !candidate.is_prime(&scratch) {
        candidate.add_word(STEP);
    }
    candidate
}

/// The first so many primes that are squares modulo both factors, the paper's verification key.
pub fn small_squares(factors: &Factors, count: usize) -> Vec<u64> {
    let is_prime = |n: &u64| {
        (2..)
            .take_while(|d| d * d <= *n)
            .all(|d| !n.is_multiple_of(d))
    };
    let is_square = |n: &u64| [&factors.p, &factors.q].iter().all(|p| is_square(*n, p));
    let squares = (2..).filter(is_prime).filter(is_square);
    squares.take(count).collect()
}

/// Whether a small prime is a square modulo a prime that is 3 modulo 4: by reciprocity, which leaves powers modulo
/// the small one.
fn is_square(small: u64, prime: &Num) -> bool {
    if small == 2 {
        return prime.rest_by_word(8) == 7;
    }
    let rest = prime.rest_by_word(small);
    let euler = (1..=(small - 1) / 2).fold(1, |power, _| power * rest % small);
    (euler == 1) == (small % 4 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effs::bn::Modulus;
    use crate::groups::rng;

    #[test]
    fn small_squares_have_roots() {
        let factors = Factors::new(384, &mut rng(1));
        assert_eq!(factors.modulus().bits(), 384);
        for small in small_squares(&factors, 40).into_iter().map(Num::from_word) {
            for prime in [&factors.p, &factors.q] {
                let modulus = Modulus::new(prime);
                // (p + 1) / 4
                let mut exponent = prime.clone();
                exponent.add_word(1);
                let (exponent, rest) = exponent.divided(&Num::from_word(4), modulus.scratch());
                assert!(rest.is_zero());
                let root = modulus.power(&small, &exponent);
                assert!(modulus.power(&root, &Num::from_word(2)) == small);
            }
        }
    }
}
