//! Secret keys: `spec/effs.md` section 3.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use crypto_bigint::BoxedUint;
use crypto_primes::hazmat::{SetBits, SmallFactorsSieveFactory};
use crypto_primes::{Flavor, is_prime, sieve_and_find};
use rand_core::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

use super::parameters::{Parameters, Rule};
use super::public::{BadKey, PublicKey, V};
use super::root;
use super::small::{is_square, primes};
use clew_simd::Backend;
use clew_simd::mont::words;
use clew_simd::mont::{Machine, Work};
use clew_wire::disclose;

/// Size of the seed that goes into each pool of nonces.
pub(super) const SEED_BYTES: usize = 32;

/// How much of |p - q|'s top bits may be zero (FIPS 186-5, A.1.3).
const CLOSE_BITS: usize = 100;

/// p, q, s_1 to s_k, and what nonces are drawn with. Wiped when it is dropped, and never printed.
#[derive(Clone)]
pub struct SecretKey {
    p: Zeroizing<Vec<u64>>,
    q: Zeroizing<Vec<u64>>,
    /// As [`root::roots`] has them.
    roots: Zeroizing<Vec<u64>>,
    seed: Zeroizing<[u8; SEED_BYTES]>,
    public: PublicKey,
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey({}, ..)", self.public.parameters())
    }
}

impl SecretKey {
    /// Draws a new key. That takes about a second.
    pub fn generate(parameters: Parameters, rng: &mut dyn CryptoRng) -> Self {
        let mut seed = Zeroizing::new([0; SEED_BYTES]);
        rng.fill_bytes(seed.as_mut_slice());
        loop {
            let [p, q] = [0, 1].map(|which| prime(parameters, which, rng));
            if let Ok(key) = Self::of(parameters, p, q, seed.clone()) {
                return key;
            }
        }
    }

    /// Of two primes; of others there would have to be roots all the same.
    fn of(
        parameters: Parameters,
        p: Zeroizing<Vec<u64>>,
        q: Zeroizing<Vec<u64>>,
        seed: Zeroizing<[u8; SEED_BYTES]>,
    ) -> Result<Self, BadKey> {
        let fits = is_as_the_rule_says(parameters.rule(), 0, &p)
            && is_as_the_rule_says(parameters.rule(), 1, &q)
            && are_apart(&p, &q);
        if !fits {
            return Err(BadKey::Secret);
        }
        let mut n = vec![0; parameters.size().words()];
        words::mul_add(&mut n, &p, &q);
        let v = match parameters.rule() {
            Rule::Paper => squares(&p, &q, parameters.k().into()),
            Rule::Williams => tweaked(&p, &q, parameters.k().into()),
        };
        let public = PublicKey::of(parameters, &n, &v).map_err(|_| BadKey::Secret)?;
        let find = FindRoots([&p, &q], public.v());
        let roots = parameters.size().run(Backend::best(), find);
        let roots = roots.ok_or(BadKey::Secret)?;
        Ok(Self {
            p,
            q,
            roots,
            seed,
            public,
        })
    }

    /// Reads a secret key whose public key this is.
    ///
    /// # Errors
    /// `secret`: it is not, or not of the right length.
    pub fn from_bytes(public: &PublicKey, bytes: &[u8]) -> Result<Self, BadKey> {
        let parameters = public.parameters();
        if bytes.len() != parameters.secret_key_bytes() {
            return Err(BadKey::Secret);
        }
        let half = parameters.size().bytes() / 2;
        let number = |bytes: &[u8]| {
            let mut number = Zeroizing::new(vec![0; half / 8]);
            words::read(&mut number, bytes);
            number
        };
        let (p, q) = (number(&bytes[..half]), number(&bytes[half..][..half]));
        let mut seed = Zeroizing::new([0; SEED_BYTES]);
        seed.copy_from_slice(&bytes[2 * half..]);
        let key = Self::of(parameters, p, q, seed)?;
        match key.public == *public {
            true => Ok(key),
            false => Err(BadKey::Secret),
        }
    }

    /// Returns the encoded secret key. Secret.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let half = self.public.parameters().size().bytes() / 2;
        let mut out = Zeroizing::new(vec![0; 2 * half]);
        words::write(&mut out[..half], &self.p);
        words::write(&mut out[half..], &self.q);
        out.extend_from_slice(self.seed.as_slice());
        out
    }

    /// Returns the public key.
    pub const fn public(&self) -> &PublicKey {
        &self.public
    }

    pub(super) fn primes(&self) -> [&[u64]; 2] {
        [&self.p, &self.q]
    }

    pub(super) fn roots(&self) -> &[u64] {
        &self.roots
    }

    pub(super) fn seed(&self) -> &[u8; SEED_BYTES] {
        &self.seed
    }
}

/// Finds the roots of these v modulo two primes.
struct FindRoots<'a>([&'a [u64]; 2], &'a [V]);

impl Work for FindRoots<'_> {
    type Out = Option<Zeroizing<Vec<u64>>>;
    fn run<M: Machine>(self) -> Self::Out {
        root::roots::<M::Half>(self.0, self.1)
    }
}

/// What p (0) and q (1) are modulo 8, as far as the rule says.
fn is_as_the_rule_says(rule: Rule, which: usize, prime: &[u64]) -> bool {
    let [lowest, .., highest] = prime else {
        return false;
    };
    let residue = match (rule, which) {
        (Rule::Paper, _) => lowest % 4 == 3,
        (Rule::Williams, 0) => lowest % 8 == 3,
        (Rule::Williams, _) => lowest % 8 == 7,
    };
    disclose::bit(u64::from(residue) & u64::from(highest >> 62 == 3))
}

pub(super) fn are_apart(p: &[u64], q: &[u64]) -> bool {
    let [mut distance, mut other] = [p, q].map(|prime| Zeroizing::new(prime.to_vec()));
    let borrow = words::sub(&mut distance, q);
    words::sub(&mut other, p);
    words::assign_if(borrow, &mut distance, &other);
    let lowest = (64 * p.len() - CLOSE_BITS) / 64;
    // The bits above those of the word that is cut.
    let cut = distance[lowest] >> ((64 * p.len() - CLOSE_BITS) % 64);
    let high = distance[lowest + 1..]
        .iter()
        .fold(cut, |all, word| all | word);
    disclose::bit(u64::from(high != 0))
}

/// A random prime of half the size, as the rule says.
fn prime(parameters: Parameters, which: usize, rng: &mut dyn CryptoRng) -> Zeroizing<Vec<u64>> {
    let words = parameters.size().words() / 2;
    let bits = 64 * words as u32;
    let factory = SmallFactorsSieveFactory::<BoxedUint>::new(Flavor::Any, bits, SetBits::TwoMsb);
    let fits = |_: &mut _, candidate: &BoxedUint| {
        let candidate_words = Zeroizing::new(digits(candidate));
        is_as_the_rule_says(parameters.rule(), which, &candidate_words)
            && is_prime(Flavor::Any, candidate)
    };
    let found = factory.and_then(|factory| sieve_and_find(rng, factory, fits));
    let mut found = found
        .ok()
        .flatten()
        .expect("there are such primes of every length");
    let prime = Zeroizing::new(digits(&found));
    found.zeroize();
    prime
}

/// The words of a library's number.
fn digits(number: &BoxedUint) -> Vec<u64> {
    let bytes: Zeroizing<Box<[u8]>> = Zeroizing::new(number.to_le_bytes());
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

/// The first k primes that are squares modulo p and q.
fn squares(p: &[u64], q: &[u64], k: usize) -> Vec<V> {
    let both = |l: u16| match l {
        // 2 is one modulo primes of 7 (mod 8), and not modulo those of 3.
        2 => (p[0] & q[0]) >> 2 & 1,
        _ => is_square(l, p) & is_square(l, q),
    };
    let is_found = |l: &u16| disclose::bit(both(*l));
    let found = primes().into_iter().filter(is_found).take(k);
    let positive = |magnitude| V {
        magnitude,
        negative: false,
    };
    found.map(positive).collect()
}

/// Of each of the first k odd primes, the one of l, -l, 2l, -2l that is a square modulo p and q: -1 is none
/// modulo either, and 2 is none modulo p but is one modulo q.
pub(super) fn tweaked(p: &[u64], q: &[u64], k: usize) -> Vec<V> {
    let odd = primes().into_iter().skip(1).take(k);
    let tweak = |l: u16| {
        let (of_p, of_q) = (is_square(l, p), is_square(l, q));
        V {
            magnitude: l << (of_p ^ of_q),
            negative: of_q == 0,
        }
    };
    odd.map(tweak).collect()
}
