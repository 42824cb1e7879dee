//! The signature scheme of Feige, Fiat and Shamir with Wong and Lam's extensions, as their paper has it (3.1 to 3.3):
//! a textbook's, for the paper's tables alone. It has the defects that the design names: see `levels`.

mod products;
mod public;
mod secret;

use super::bn::{Modulus, Num};
use super::primes::{Factors, residue, small_squares};
use super::scheme::{Hash, Scheme};
use public::Public;
use rand_chacha::ChaCha20Rng;
use secret::Secret;

/// The paper's parameters: k factors and t rows, with k a multiple of 8.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shape {
    pub k: usize,
    pub t: usize,
}

/// Which of the paper's extensions (3.2) a key uses.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Speedups {
    /// Small primes as verification key.
    pub small: bool,
    /// Signing modulo both factors.
    pub crt: bool,
    /// Bits of precomputation: 1 is none.
    pub signing: usize,
    pub verifying: usize,
}

/// None: random s_i, and v_i of full length.
pub const BASIC: Speedups = Speedups {
    small: false,
    crt: false,
    signing: 1,
    verifying: 1,
};

/// What the paper calls eFFS from 3.3 on.
pub const EFFS: Speedups = Speedups {
    small: true,
    crt: true,
    signing: 8,
    verifying: 1,
};

/// A modulus, and small primes that are squares modulo it, with their inverses' roots: for several keys.
pub struct Material {
    factors: Factors,
    small: Vec<u64>,
    /// Of each small prime, modulo both factors.
    roots: [Vec<Num>; 2],
}

impl Material {
    pub fn new(factors: Factors, most: usize) -> Self {
        let small = small_squares(&factors, most);
        let of = |prime: &Num| {
            let modulus = Modulus::new(prime);
            // s = v^-(p + 1)/4, and the exponent is modulo p - 1.
            let mut quarter = prime.clone();
            quarter.add_word(1);
            let (quarter, _) = quarter.divided(&Num::from_word(4), modulus.scratch());
            let exponent = prime.minus(&Num::from_word(1)).minus(&quarter);
            let root = |small: &u64| modulus.power(&Num::from_word(*small), &exponent);
            small.iter().map(root).collect()
        };
        let roots = [of(&factors.p), of(&factors.q)];
        Self {
            factors,
            small,
            roots,
        }
    }

    pub fn factors(&self) -> &Factors {
        &self.factors
    }
}

/// A key pair.
pub struct Ffs {
    shape: Shape,
    hash: Hash,
    /// Whether signatures have x_2 to x_t, and so levels.
    levels: bool,
    n: Modulus,
    secret: Secret,
    public: Public,
    rng: ChaCha20Rng,
    sizes: [usize; 3],
}

impl Ffs {
    pub fn new(material: &Material, shape: Shape, speedups: Speedups, rng: ChaCha20Rng) -> Self {
        let (n, mut rng) = (Modulus::new(&material.factors.modulus()), rng);
        let (secret, public) = match speedups.small {
            true => small(material, &n, shape.k, speedups),
            false => basic(&n, shape.k, &mut rng),
        };
        let (bytes, bits) = (n.bytes(), shape.k * shape.t / 8);
        let large = (shape.k + 1) * bytes;
        // "Each component can be stored in 16 bits."
        let verification = match speedups.small {
            true => bytes + 2 * shape.k,
            false => large,
        };
        Self {
            shape,
            hash: Hash::of(n.n().bits()),
            levels: false,
            sizes: [large, verification, bits + shape.t * bytes],
            n,
            secret,
            public,
            rng,
        }
    }

    /// The same key, whose signatures have t levels (3.3).
    pub fn with_levels(mut self) -> Self {
        self.levels = true;
        self.sizes[2] += (self.shape.t - 1) * self.n.bytes();
        self
    }

    /// Verifies at a level: the first rows alone are computed, of the others the signature says what they are. One row of
    /// 32 bits is forged by trying, which the paper does not say.
    pub fn verify_level(&self, digest: &[u8], signature: &[u8], level: usize) -> bool {
        let Some(parts) = self.parts(signature).filter(|_| self.levels) else {
            return false;
        };
        let Some(first) = self.row(&parts, 0) else {
            return false;
        };
        let first = first.to_bytes(self.n.bytes());
        let rows = [digest, &first].into_iter().chain([parts.x]);
        self.challenge(rows) == parts.bits && self.raise(signature, 1, level)
    }

    /// Raises a signature from a level at which it was verified to a higher one.
    pub fn raise(&self, signature: &[u8], from: usize, to: usize) -> bool {
        let Some(parts) = self.parts(signature).filter(|_| self.levels) else {
            return false;
        };
        let bytes = self.n.bytes();
        (from..to).all(|row| {
            let z = self.row(&parts, row).map(|z| z.to_bytes(bytes));
            z.as_deref() == parts.x.chunks(bytes).nth(row - 1)
        })
    }

    fn parts<'a>(&self, signature: &'a [u8]) -> Option<Parts<'a>> {
        let (bits, rest) = signature.split_at_checked(self.shape.k * self.shape.t / 8)?;
        let (y, x) = rest.split_at_checked(self.shape.t * self.n.bytes())?;
        (signature.len() == self.sizes[2]).then_some(Parts { bits, y, x })
    }

    /// z of a row: y^2 times the v_i that its bits name.
    fn row(&self, parts: &Parts<'_>, row: usize) -> Option<Num> {
        let y = parts.y.chunks(self.n.bytes()).nth(row)?;
        let y = self.n.decode(y).filter(|y| !y.is_zero())?;
        let bits = parts.bits.chunks(self.shape.k / 8).nth(row)?;
        Some(self.public.row(&self.n, y, bits))
    }

    /// The first k t bits of the hash.
    fn challenge<'a>(&self, parts: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
        let mut challenge = self.hash.digest(parts);
        challenge.truncate(self.shape.k * self.shape.t / 8);
        challenge
    }
}

/// A signature's parts: b, y_1 to y_t, x_2 to x_t.
struct Parts<'a> {
    bits: &'a [u8],
    y: &'a [u8],
    x: &'a [u8],
}

impl Scheme for Ffs {
    fn sign(&mut self, digest: &[u8]) -> Vec<u8> {
        let bytes = self.n.bytes();
        let random = |_| self.secret.random(&mut self.rng);
        let random: Vec<_> = (0..self.shape.t).map(random).collect();
        let squares = random.iter().map(|r| self.secret.square(r).to_bytes(bytes));
        let squares: Vec<u8> = squares.flatten().collect();
        let challenge = self.challenge([digest, &squares]);
        let mut signature = challenge.clone();
        for (r, bits) in random.into_iter().zip(challenge.chunks(self.shape.k / 8)) {
            signature.extend(self.secret.answer(r, bits).to_bytes(bytes));
        }
        if self.levels {
            signature.extend(&squares[bytes..]);
        }
        signature
    }

    fn verify(&self, digest: &[u8], signature: &[u8]) -> bool {
        if self.levels {
            return self.verify_level(digest, signature, self.shape.t);
        }
        let Some(parts) = self.parts(signature) else {
            return false;
        };
        let mut squares = Vec::new();
        for row in 0..self.shape.t {
            let Some(z) = self.row(&parts, row) else {
                return false;
            };
            squares.extend(z.to_bytes(self.n.bytes()));
        }
        self.challenge([digest, &squares]) == parts.bits
    }

    fn sizes(&self) -> [usize; 3] {
        self.sizes
    }
}

/// Keys with random s_i, and v_i = s_i^-2 of full length.
fn basic(n: &Modulus, k: usize, rng: &mut ChaCha20Rng) -> (Secret, Public) {
    let mut pair = |_| {
        let s = residue(n.n(), rng);
        let mut square = n.entered(&s);
        n.multiply(&mut square, &s);
        (s, n.inverse(&square).expect("no factor of the modulus"))
    };
    let (s, v): (Vec<_>, Vec<_>) = (0..k).map(&mut pair).unzip();
    (Secret::whole(n, &s, 1), Public::large(n, &v))
}

/// Keys with the first small primes that have roots.
fn small(material: &Material, n: &Modulus, k: usize, speedups: Speedups) -> (Secret, Public) {
    let roots = [0, 1].map(|prime: usize| &material.roots[prime][..k]);
    let secret = Secret::by_factors(&material.factors, roots, speedups.signing);
    let secret = match speedups.crt {
        true => secret,
        false => secret.joined(n, roots, speedups.signing),
    };
    let public = Public::small(n, &material.small[..k], speedups.verifying);
    (secret, public)
}

#[cfg(test)]
mod tests {
    use super::super::scheme::tests::holds;
    use super::*;
    use crate::groups::rng;

    fn material(bits: usize) -> Material {
        Material::new(Factors::new(bits, &mut rng(bits as u64)), 128)
    }

    #[test]
    fn signs_with_all_speedups() {
        let small = Speedups {
            small: true,
            ..BASIC
        };
        let crt = Speedups { crt: true, ..small };
        let (four, eight) = [4, 8]
            .map(|bits| Speedups {
                signing: bits,
                verifying: bits,
                ..crt
            })
            .into();
        for (bits, shape) in [(384, (128, 1)), (512, (32, 4)), (1152, (128, 1))] {
            let (material, shape) = (
                material(bits),
                Shape {
                    k: shape.0,
                    t: shape.1,
                },
            );
            for speedups in [BASIC, small, crt, four, eight, EFFS] {
                let mut key = Ffs::new(&material, shape, speedups, rng(4));
                holds(&mut key, Hash::of(bits));
            }
        }
    }

    #[test]
    fn small_primes_fit_16_bits_as_the_paper_says() {
        let material = material(512);
        assert_eq!(material.small.len(), 128);
        assert!(material.small.iter().all(|small| *small < 1 << 16));
    }

    #[test]
    fn levels_are_verified_one_after_the_other() {
        let shape = Shape { k: 32, t: 4 };
        let mut key = Ffs::new(&material(512), shape, EFFS, rng(5)).with_levels();
        holds(&mut key, Hash::Md5);
        let digest = [7; 16];
        let good = key.sign(&digest);
        // The third row's y: 16 bytes of bits and two rows before it.
        let mut bad = good.clone();
        bad[16 + 2 * 64 + 9] ^= 1;
        assert!((1..=4).all(|level| key.verify_level(&digest, &good, level)));
        assert!(key.raise(&good, 1, 4) && key.raise(&good, 3, 4));
        assert!(key.verify_level(&digest, &bad, 2) && key.raise(&bad, 1, 2));
        assert!(!key.verify_level(&digest, &bad, 3) && !key.raise(&bad, 2, 3));
        assert!(key.raise(&bad, 3, 4));
    }
}
