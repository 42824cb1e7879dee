//! RSA with exponent 3 and the Chinese remainder theorem, as a textbook has it, on the products and powers that the
//! other schemes have; and the library's own, which has vector instructions for some sizes, and blinding.

use super::bn::{LibraryRsa, Modulus, Num};
use super::crt::Crt;
use super::primes::Factors;
use super::scheme::Scheme;

/// The paper's public exponent, "to obtain its fastest verification time".
const EXPONENT: u64 = 3;

/// A key pair.
pub struct Rsa {
    n: Modulus,
    crt: Crt,
    /// d modulo p - 1 and q - 1.
    exponents: [Num; 2],
}

impl Rsa {
    pub fn new(factors: &Factors) -> Self {
        Self {
            n: Modulus::new(&factors.modulus()),
            crt: Crt::new(factors),
            exponents: [&factors.p, &factors.q].map(private),
        }
    }
}

/// 1/3 modulo p - 1 for p = 2 mod 3: (2 (p - 1) + 1) / 3.
fn private(prime: &Num) -> Num {
    let modulus = Modulus::new(prime);
    let mut twice = prime.plus(prime);
    twice = twice.minus(&Num::from_word(1));
    let (exponent, rest) = twice.divided(&Num::from_word(EXPONENT), modulus.scratch());
    assert!(rest.is_zero(), "the prime is 2 modulo 3");
    exponent
}

/// PKCS #1 without naming the hash function, for which 384 bits have no room.
fn padded(digest: &[u8], length: usize) -> Vec<u8> {
    let mut padded = vec![0xff; length];
    padded[..2].copy_from_slice(&[0, 1]);
    let rest = length - digest.len();
    padded[rest - 1] = 0;
    padded[rest..].copy_from_slice(digest);
    padded
}

impl Scheme for Rsa {
    fn sign(&mut self, digest: &[u8]) -> Vec<u8> {
        let message = Num::from_bytes(&padded(digest, self.n.bytes()));
        let of = |modulus: &Modulus, exponent| modulus.power(&modulus.rest(&message), exponent);
        let [p, q] = &self.crt.primes;
        let [dp, dq] = &self.exponents;
        let signature = self.crt.join(of(p, dp), of(q, dq));
        signature.to_bytes(self.n.bytes())
    }

    fn verify(&self, digest: &[u8], signature: &[u8]) -> bool {
        let Some(signature) = self.n.decode(signature) else {
            return false;
        };
        // R s, then R s^2, then s^3.
        let mut power = signature.clone();
        self.n.multiply(&mut power, self.n.square_of_r());
        self.n.square(&mut power);
        self.n.multiply(&mut power, &signature);
        let bytes = self.n.bytes();
        power.to_bytes(bytes) == padded(digest, bytes)
    }

    fn sizes(&self) -> [usize; 3] {
        // n and d; n, as the exponent is fixed.
        [2, 1, 1].map(|numbers| numbers * self.n.bytes())
    }
}

/// The same keys in the hands of the library.
pub struct OfLibrary {
    key: LibraryRsa,
    bytes: usize,
}

impl OfLibrary {
    /// `None` if the library refuses so short a key.
    pub fn new(factors: &Factors) -> Option<Self> {
        let Factors { p, q } = factors;
        let (n, one) = (factors.modulus(), Num::from_word(1));
        let scratch = super::bn::Scratch::new();
        let phi = p.minus(&one).times(&q.minus(&one), &scratch);
        // d = (2 phi + 1) / 3, as phi is 1 modulo 3.
        let mut d = phi.plus(&phi);
        d.add_word(1);
        let (d, _) = d.divided(&Num::from_word(EXPONENT), &scratch);
        let [dp, dq] = [p, q].map(private);
        let modulus = Modulus::new(p);
        let inverse = modulus.inverse(&modulus.rest(q))?;
        let e = Num::from_word(EXPONENT);
        let key = LibraryRsa::new([&n, &e, &d, p, q, &dp, &dq, &inverse])?;
        Some(Self {
            key,
            bytes: n.bits().div_ceil(8),
        })
    }
}

impl Scheme for OfLibrary {
    fn sign(&mut self, digest: &[u8]) -> Vec<u8> {
        self.key.sign(&padded(digest, self.bytes))
    }

    fn verify(&self, digest: &[u8], signature: &[u8]) -> bool {
        self.key.open(signature) == Some(padded(digest, self.bytes))
    }

    fn sizes(&self) -> [usize; 3] {
        [2, 1, 1].map(|numbers| numbers * self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::scheme::{Hash, tests::holds};
    use super::*;
    use crate::groups::rng;

    #[test]
    fn signs_and_the_library_agrees() {
        for bits in [384, 512, 1024] {
            let factors = Factors::new(bits, &mut rng(bits as u64));
            let hash = Hash::of(bits);
            let mut own = Rsa::new(&factors);
            holds(&mut own, hash);
            let mut library = OfLibrary::new(&factors).expect("a key that it takes");
            holds(&mut library, hash);
            let digest = hash.digest([&b"one"[..]]);
            assert_eq!(own.sign(&digest), library.sign(&digest));
        }
    }
}
