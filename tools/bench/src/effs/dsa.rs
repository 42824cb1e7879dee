//! DSA as FIPS 186 has it, with a subgroup of 160 bits, and of 256 bits for moduli above 1024, as a textbook has it: the
//! library makes no parameters below 512 bits.

use super::bn::{Modulus, Num};
use super::primes::{large, residue};
use super::scheme::Scheme;
use rand_chacha::ChaCha20Rng;

/// A key pair with its own parameters.
pub struct Dsa {
    p: Modulus,
    q: Modulus,
    g: Num,
    /// Secret x times R modulo q, and y = g^x.
    secret: Num,
    public: Num,
    /// q - 2.
    inverting: Num,
    rng: ChaCha20Rng,
}

impl Dsa {
    pub fn new(bits: usize, mut rng: ChaCha20Rng) -> Self {
        let q = subgroup(if bits > 1024 { 256 } else { 160 }, &mut rng);
        let p = field(bits, &q, &mut rng);
        let one = Num::from_word(1);
        let (cofactor, _) = p.n().minus(&one).divided(q.n(), p.scratch());
        let mut generators = (2..).map(|h| p.power(&Num::from_word(h), &cofactor));
        let g = generators.find(|g| *g != one).expect("a generator");
        let x = residue(q.n(), &mut rng);
        Self {
            public: p.power(&g, &x),
            secret: q.entered(&x),
            inverting: q.n().minus(&Num::from_word(2)),
            p,
            q,
            g,
            rng,
        }
    }

    /// As much of a digest as q has bits.
    fn message(&self, digest: &[u8]) -> Num {
        let most = digest.len().min(self.q.bytes());
        self.q.rest(&Num::from_bytes(&digest[..most]))
    }

    /// R/a modulo q, by Fermat's power: the library's other way takes longer.
    fn inverse(&self, a: &Num) -> Num {
        let power = self.q.power(a, &self.inverting);
        self.q.entered(&power)
    }
}

/// The order of the subgroup.
fn subgroup(bits: usize, rng: &mut ChaCha20Rng) -> Modulus {
    let mut q = large(bits, rng);
    q.add_word(1 - q.rest_by_word(2));
    let scratch = super::bn::Scratch::new();
    while !q.is_prime(&scratch) {
        q.add_word(2);
    }
    Modulus::new(&q)
}

/// A prime p with q a divisor of p - 1.
fn field(bits: usize, q: &Modulus, rng: &mut ChaCha20Rng) -> Modulus {
    let (step, start) = (q.n().plus(q.n()), large(bits, rng));
    let (_, rest) = start.divided(&step, q.scratch());
    let mut p = start.minus(&rest);
    p.add_word(1);
    while !p.is_prime(q.scratch()) {
        p = p.plus(&step);
    }
    Modulus::new(&p)
}

impl Scheme for Dsa {
    fn sign(&mut self, digest: &[u8]) -> Vec<u8> {
        let (p, q, message) = (&self.p, &self.q, self.message(digest));
        loop {
            let k = residue(q.n(), &mut self.rng);
            let r = q.rest(&p.power(&self.g, &k));
            let mut s = r.clone();
            // x r, then (m + x r) / k.
            q.multiply(&mut s, &self.secret);
            let mut s = q.rest(&s.plus(&message));
            q.multiply(&mut s, &self.inverse(&k));
            if !r.is_zero() && !s.is_zero() {
                return [r, s].map(|part| part.to_bytes(q.bytes())).concat();
            }
        }
    }

    fn verify(&self, digest: &[u8], signature: &[u8]) -> bool {
        let (p, q) = (&self.p, &self.q);
        if signature.len() != 2 * q.bytes() {
            return false;
        }
        let (r, s) = signature.split_at(q.bytes());
        let [Some(r), Some(s)] = [r, s].map(|part| q.decode(part)) else {
            return false;
        };
        if r.is_zero() || s.is_zero() {
            return false;
        }
        let inverse = self.inverse(&s);
        let [u, w] = [self.message(digest), r.clone()].map(|mut part| {
            q.multiply(&mut part, &inverse);
            part
        });
        // R g^u, then g^u y^w.
        let mut product = p.entered(&p.power(&self.g, &u));
        p.multiply(&mut product, &p.power(&self.public, &w));
        q.rest(&product) == r
    }

    fn sizes(&self) -> [usize; 3] {
        // p, q, g, and x or y.
        let (p, q) = (self.p.bytes(), self.q.bytes());
        [2 * p + 2 * q, 3 * p + q, 2 * q]
    }
}

#[cfg(test)]
mod tests {
    use super::super::scheme::{Hash, tests::holds};
    use super::*;
    use crate::groups::rng;

    #[test]
    fn signs() {
        for (bits, hash) in [(384, Hash::Md5), (512, Hash::Md5), (1152, Hash::Sha256)] {
            holds(&mut Dsa::new(bits, rng(bits as u64)), hash);
        }
    }
}
