//! The paper's scheme as it is written (3.1 to 3.3), with none of the repairs: for showing what goes wrong.

use md5::{Digest as _, Md5};
use num_bigint::BigUint;
use sha2::Sha256;

/// n and v, and for the signer s.
pub struct Naive {
    pub n: BigUint,
    pub v: Vec<u32>,
    pub s: Vec<BigUint>,
    pub k: usize,
    pub t: usize,
}

/// b, all y, x_2 to x_t.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    pub b: Vec<bool>,
    pub y: Vec<BigUint>,
    pub x: Vec<BigUint>,
}

/// Two primes of 3 modulo 4.
const P: u64 = 0xffff_ffff_ffff_fa43;
const Q: u64 = 0xffff_ffff_ffff_f9bf;

impl Naive {
    /// A key with small primes: nothing here depends on their size.
    pub fn new(k: usize, t: usize) -> Self {
        let (p, q) = (next_blum(P), next_blum(Q));
        let n = &p * &q;
        let one = BigUint::from(1u32);
        let is_square = |v: u32, prime: &BigUint| {
            BigUint::from(v).modpow(&((prime - &one) / 2u32), prime) == one
        };
        let v: Vec<u32> = (2..)
            .filter(|v| (2..*v).all(|d| v % d != 0))
            .filter(|v| is_square(*v, &p) && is_square(*v, &q))
            .take(k)
            .collect();
        let root = |v: &u32| {
            let inverse = BigUint::from(*v).modinv(&n).unwrap();
            let [a, b] = [&p, &q].map(|prime| inverse.modpow(&((prime + &one) / 4u32), prime));
            // Wong and Lam, 3.2.
            (a + &p - &b % &p) % &p * q.modinv(&p).unwrap() % &p * &q + b
        };
        let s = v.iter().map(root).collect();
        Self { n, v, s, k, t }
    }

    /// The first k t bits of h(m, x_1, .., x_t).
    pub fn hash(&self, m: &[u8], x: &[BigUint]) -> Vec<bool> {
        let mut hash = Sha256::new_with_prefix(m);
        x.iter().for_each(|x| hash.update(x.to_bytes_be()));
        let bytes = hash.finalize();
        (0..self.k * self.t)
            .map(|i| bytes[i / 8] >> (7 - i % 8) & 1 == 1)
            .collect()
    }

    pub fn row<'a>(&self, b: &'a [bool], i: usize) -> &'a [bool] {
        &b[i * self.k..][..self.k]
    }

    pub fn sign(&self, m: &[u8], r: &[BigUint]) -> Signature {
        let x: Vec<BigUint> = r.iter().map(|r| r * r % &self.n).collect();
        let b = self.hash(m, &x);
        let y = (0..self.t).map(|i| {
            let chosen = self.row(&b, i).iter().zip(&self.s).filter(|(b, _)| **b);
            chosen.fold(r[i].clone(), |y, (_, s)| y * s % &self.n)
        });
        Signature {
            y: y.collect(),
            x: x[1..].to_vec(),
            b,
        }
    }

    /// `y^2 v_1^b_1 .. v_k^b_k`.
    pub fn z(&self, y: &BigUint, row: &[bool]) -> BigUint {
        let chosen = row.iter().zip(&self.v).filter(|(b, _)| **b);
        chosen.fold(y * y % &self.n, |z, (_, v)| z * v % &self.n)
    }

    /// Verification at a level (3.3).
    pub fn verify(&self, m: &[u8], signature: &Signature, level: usize) -> bool {
        let z = |i: usize| self.z(&signature.y[i], self.row(&signature.b, i));
        let x = [vec![z(0)], signature.x.clone()].concat();
        (1..level).all(|i| z(i) == signature.x[i - 1]) && self.hash(m, &x) == signature.b
    }
}

fn next_blum(from: u64) -> BigUint {
    let mut candidate = from | 3;
    loop {
        let number = BigUint::from(candidate);
        let exponent = BigUint::from((candidate - 1) / 2);
        let minus_one = BigUint::from(candidate - 1);
        let passes = |base: u32| {
            let power = BigUint::from(base).modpow(&exponent, &number);
            power == BigUint::from(1u32) || power == minus_one
        };
        if (2..40).all(passes) {
            return number;
        }
        candidate -= 4;
    }
}

pub fn md5(bytes: &[u8]) -> [u8; 16] {
    Md5::digest(bytes).into()
}
