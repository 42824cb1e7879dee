//! What only the inside can be asked.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use super::nonce::Pool;
use super::root::Roots;
use super::signer::{Engine as _, Parts};
use super::verifier::{Columns, Commit as _};
use super::*;
use alloc::vec::Vec;
use clew_simd::Backend;
use clew_simd::mont::{Kernel, Machine, Modulus, Portable, Work, words};
use core::cell::Cell;
use num_bigint::BigUint;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::collections::BTreeSet;

type Half = Portable<16>;
type Full = Portable<32>;

const HERE: Instance = Instance([1; 32]);

fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

fn big(words: &[u64]) -> BigUint {
    let bytes = words.iter().flat_map(|word| word.to_le_bytes());
    BigUint::from_bytes_le(&bytes.collect::<Vec<u8>>())
}

fn key(name: &str, rule: Rule) -> SecretKey {
    let parameters: Parameters = name.parse().unwrap();
    SecretKey::generate(parameters.with_rule(rule), &mut rng(5))
}

/// The roots are what the equations say of them, and so is what is made of them.
#[test]
fn numbers_are_those_of_the_equations() {
    for rule in [Rule::Paper, Rule::Williams] {
        let key = key("effs-2048(128,1)", rule);
        let [p, q] = key.primes();
        let n = big(key.public().n());
        assert_eq!(big(p) * big(q), n);
        let roots = Roots::<Half>::new(key.primes(), key.roots());
        let one = roots.moduli_by_turns().map(|prime| *prime.one());
        let combined = |row: &[u8]| {
            let product = roots.product(row, &[one[0], one[1]]);
            // Without the R of the one.
            let [p, q] =
                [0, 1].map(|i| roots.moduli_by_turns()[i].product(&product[i], &Half::load(&[1])));
            let mut out = [0; 32];
            roots.combine(&[p, q], &mut out);
            big(&out)
        };
        for (j, v) in key.public().v().iter().enumerate() {
            let mut row = [0; 16];
            row[j / 8] |= 0x80 >> (j % 8);
            let s = combined(&row);
            let magnitude = BigUint::from(v.magnitude);
            let v = if v.negative {
                &n - magnitude
            } else {
                magnitude
            };
            // s^2 v = 1, and s is a square itself modulo both.
            assert_eq!(&s * &s * v % &n, BigUint::from(1u32));
            for prime in [p, q] {
                let euler = (big(prime) - 1u32) / 2u32;
                assert_eq!(s.modpow(&euler, &big(prime)), BigUint::from(1u32));
            }
        }
    }
}

/// z by both ways and by the library, for challenges of all kinds and the largest v that there may be.
#[test]
fn commitments_are_those_of_the_library() {
    for name in [
        "effs-2048(128,1)",
        "effs-2048(256,1)",
        "effs-2048(16,8)",
        "effs-3072(256,1)",
    ] {
        let parameters: Parameters = name.parse().unwrap();
        let size = parameters.size();
        let rng = &mut rng(9);
        let mut n: Vec<u64> = (0..size.words()).map(|_| rng.next_u64()).collect();
        n[0] = n[0] / 8 * 8 + 5;
        n[size.words() - 1] |= 1 << 63;
        let largest = small::primes();
        let largest = &largest[largest.len() - usize::from(parameters.k())..];
        let positive = |magnitude: &u16| public::V {
            magnitude: *magnitude,
            negative: false,
        };
        let v: Vec<_> = largest.iter().map(positive).collect();
        let williams: Vec<u8> = (0..parameters.k() / 4)
            .map(|_| rng.next_u32() as u8)
            .collect();
        let paper = PublicKey::of(parameters, &n, &v).unwrap();
        let mut bytes = paper.as_bytes()[..5 + size.bytes()].to_vec();
        bytes[0] += 1;
        bytes.extend(williams);
        let keys = [paper, PublicKey::from_bytes(&bytes).unwrap()];
        for key in keys {
            for fill in [Some(0xff), Some(0), Some(0x80), None, None, None] {
                let row: Vec<u8> = (0..parameters.row_bytes())
                    .map(|_| fill.unwrap_or(rng.next_u32() as u8))
                    .collect();
                let mut y: Vec<u64> = (0..size.words()).map(|_| rng.next_u64()).collect();
                y[size.words() - 1] >>= 2;
                let mut expected = big(&y) * big(&y) % big(&n);
                for (j, v) in key.v().iter().enumerate() {
                    if row[j / 8] & 0x80 >> (j % 8) != 0 {
                        let magnitude = BigUint::from(v.magnitude);
                        let v = if v.negative {
                            big(&n) - magnitude
                        } else {
                            magnitude
                        };
                        expected = expected * v % big(&n);
                    }
                }
                assert_eq!(commitment(&key, &row, &y), expected, "{name} {row:x?}");
            }
        }
    }
}

/// z in all ways that there are, which agree.
fn commitment(key: &PublicKey, row: &[u8], y: &[u64]) -> BigUint {
    struct Commit<'a>(&'a PublicKey, &'a [u8], &'a [u64]);
    impl Work for Commit<'_> {
        type Out = BigUint;
        fn run<M: Machine>(self) -> BigUint {
            let mut z = alloc::vec![0; self.2.len()];
            let columns = Columns::<M::Full>::new(self.0);
            columns.commitment(self.1, self.2, &mut z).unwrap();
            big(&z)
        }
    }
    let size = key.parameters().size();
    let all = Backend::multipliers().map(|backend| size.run(backend, Commit(key, row, y)));
    let found: BTreeSet<BigUint> = all.collect();
    assert_eq!(found.len(), 1, "the ways differ");
    found.into_iter().next().unwrap()
}

/// Products in vectors may come out as b + q: that is b, modulo q alone.
#[test]
fn what_is_combined_is_reduced_before() {
    fn holds<H: Kernel>(key: &SecretKey) {
        if !H::available() {
            return;
        }
        let [p, q] = key.primes();
        let roots = Roots::<H>::new(key.primes(), key.roots());
        let [a, b] = [H::load(&[7]), H::load(&[5])];
        let more = H::sum(roots.moduli_by_turns()[1], &b, &H::load(q));
        for b in [b, more] {
            let mut out = [0; 32];
            roots.combine(&[a, b], &mut out);
            assert_eq!(big(&out) % big(p), BigUint::from(7u32));
            assert_eq!(big(&out) % big(q), BigUint::from(5u32));
        }
    }
    let key = key("effs-2048(16,8)", Rule::Paper);
    holds::<Half>(&key);
    #[cfg(target_arch = "x86_64")]
    holds::<clew_simd::mont::Ifma<24, 3, 20>>(&key);
}

/// n = p q, and all v are as the rule gives them; but p is composite, and there are no roots.
#[test]
fn composite_primes_are_no_secret() {
    let key = key("effs-2048(16,8)", Rule::Williams);
    let (parameters, [p, q]) = (key.public().parameters(), key.primes());
    let mut p = p.to_vec();
    for _ in 0..20 {
        p[0] += 8;
        let mut n = [0; 32];
        words::mul_add(&mut n, &p, q);
        let v = secret::tweaked(&p, q, 16);
        let public = PublicKey::of(parameters, &n, &v).unwrap();
        let mut bytes = key.to_bytes();
        words::write(&mut bytes[..128], &p);
        assert_eq!(
            SecretKey::from_bytes(&public, &bytes).unwrap_err(),
            BadKey::Secret
        );
    }
}

std::thread_local! {
    /// Products that still go right on this thread.
    static UNTIL_FAULT: Cell<u32> = const { Cell::new(u32::MAX) };
}

/// A machine that errs once: a bit of one product flips.
#[derive(Clone, Copy, Debug)]
struct Faulty;

impl Kernel for Faulty {
    type Number = [u64; 16];
    const R_BITS: usize = 1024;
    const NAME: &'static str = "faulty";

    fn available() -> bool {
        true
    }

    fn load(words: &[u64]) -> [u64; 16] {
        Half::load(words)
    }

    fn store(number: &[u64; 16], words: &mut [u64]) -> u64 {
        Half::store(number, words)
    }

    fn multiply<const S: usize>(
        n: [&Modulus<Self>; S],
        a: [&[u64; 16]; S],
        b: [&[u64; 16]; S],
    ) -> [[u64; 16]; S] {
        core::array::from_fn(|s| {
            let n = Modulus::<Portable<16>>::new(n[s].words()).unwrap();
            let mut product = n.product(a[s], b[s]);
            let left = UNTIL_FAULT.get();
            UNTIL_FAULT.set(left.wrapping_sub(1));
            product[3] ^= u64::from(left == 0) << 40;
            product
        })
    }

    fn sum(n: &Modulus<Self>, a: &[u64; 16], b: &[u64; 16]) -> [u64; 16] {
        Half::sum(&Modulus::new(n.words()).unwrap(), a, b)
    }

    fn difference(n: &Modulus<Self>, a: &[u64; 16], b: &[u64; 16]) -> [u64; 16] {
        Half::difference(&Modulus::new(n.words()).unwrap(), a, b)
    }
}

/// Whatever product goes wrong while y is computed, the signature is not let out. With one that was, the
/// factors would be.
#[test]
fn faults_are_caught_before_release() {
    let key = key("effs-2048(32,4)", Rule::Paper);
    let mut parts = Parts::<Faulty, Full>::new(&key);
    let verifier = Verifier::new(key.public());
    let mut sign = |fault: u32, with_nonces: bool| {
        let mut out = Vec::new();
        if with_nonces {
            UNTIL_FAULT.set(fault);
        }
        parts.prepare(HERE, &mut rng(1));
        UNTIL_FAULT.set(fault);
        let signed = parts.append(b"message", HERE, &mut rng(1), &mut out);
        let used = fault.wrapping_sub(UNTIL_FAULT.replace(u32::MAX));
        signed.map(|()| (out, used))
    };
    let (signature, products) = sign(u32::MAX - 1, false).unwrap();
    assert!(verifier.verify(b"message", &signature, 4).is_ok());
    assert!(products > 4 * 8, "{products}");
    for fault in 0..products {
        assert_eq!(sign(fault, false), Err(Fault), "at product {fault}");
    }
    assert!(sign(products, false).is_ok());
    // An r that is another than was drawn is as good, while x is its square.
    let with_nonces = (0..40).map(|fault| sign(fault, true));
    let (held, refused): (Vec<_>, Vec<_>) = with_nonces.partition(Result::is_ok);
    let holds = |signed: &Result<(Vec<u8>, u32), Fault>| {
        let (signature, _) = signed.as_ref().unwrap();
        verifier.verify(b"message", signature, 4).is_ok()
    };
    assert!(held.iter().all(holds) && refused.len() > 10);
}

/// That this attack is one: y that is wrong modulo p alone, beside the x that t-level signatures show.
#[test]
fn a_fault_that_is_let_out_tells_the_factors() {
    let key = key("effs-2048(128,1)", Rule::Paper);
    let [p, q] = key.primes().map(big);
    let n = &p * &q;
    let r = BigUint::from(0xc1e3u32).pow(100);
    let x = &r * &r % &n;
    let q_inverse = q.modinv(&p).unwrap();
    let (a, b) = ((&r + 1u32) % &p, &r % &q);
    let y = ((a + &p - &b % &p) * q_inverse % &p) * &q + b;
    let difference = (&y * &y + &n - x) % &n;
    assert_eq!(gcd(difference, n), q);
}

fn gcd(mut a: BigUint, mut b: BigUint) -> BigUint {
    while a != BigUint::ZERO {
        (a, b) = (&b % &a, a);
    }
    b
}

/// Nonces are those of their squares, each is drawn once, and none of another instance is used.
#[test]
fn nonces_are_used_once_and_here() {
    let key = key("effs-2048(128,1)", Rule::Paper);
    let n = big(key.public().n());
    let roots = Roots::<Half>::new(key.primes(), key.roots());
    let draw = |pool: &mut Pool<Half>, instance, rng: &mut ChaCha20Rng| {
        let nonce = pool.take(&roots, instance, rng);
        let mut r = [0; 32];
        roots.combine(&nonce.r, &mut r);
        let r = big(&r);
        assert_eq!(big(&nonce.x[..32]), &r * &r % &n);
        r
    };
    let (mut pool, mut seen) = (Pool::new(key.seed()), BTreeSet::new());
    for _ in 0..POOL_MAX + 20 {
        assert!(seen.insert(draw(&mut pool, HERE, &mut rng(1))));
    }
    // A copy of the process has the same pool, and draws another.
    let mut fork = Pool::new(key.seed());
    fork.fill(&roots, HERE, &mut rng(1));
    let mut same = Pool::new(key.seed());
    same.fill(&roots, HERE, &mut rng(1));
    assert_eq!(
        draw(&mut fork, HERE, &mut rng(2)),
        draw(&mut same, HERE, &mut rng(3))
    );
    let there = Instance([2; 32]);
    assert_ne!(
        draw(&mut fork, there, &mut rng(2)),
        draw(&mut same, HERE, &mut rng(2))
    );
    // The same randomness in another instance, or with another seed, is another nonce.
    let [mut one, mut other, mut third] = [key.seed(), key.seed(), &[0; 32]].map(Pool::new);
    let first = draw(&mut one, HERE, &mut rng(4));
    assert_ne!(first, draw(&mut other, there, &mut rng(4)));
    assert_ne!(first, draw(&mut third, HERE, &mut rng(4)));
}

/// p and q whose top hundred bits are the same are too near each other.
#[test]
fn primes_stand_apart() {
    let bytes = key("effs-2048(128,1)", Rule::Paper).to_bytes();
    let mut words = alloc::vec![0; 32];
    words::read(&mut words, &bytes[..256]);
    assert!(secret::are_apart(&words[..16], &words[16..]));
    let near = |bit: usize| {
        let mut other = words[..16].to_vec();
        other[bit / 64] ^= 1 << (bit % 64);
        secret::are_apart(&words[..16], &other)
    };
    assert!(near(925) && !near(923) && !near(100));
}
