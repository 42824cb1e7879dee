//! Both kernels against each other and a library of big numbers.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use super::*;
use num_bigint::BigUint;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A number of so many words: random, or with long runs of ones and zeros.
fn random(rng: &mut ChaCha20Rng, words: usize) -> Vec<u64> {
    let runs = rng.next_u32().is_multiple_of(2);
    let word = |_| match (runs, rng.next_u32() % 4) {
        (true, 0) => 0,
        (true, 1 | 2) => u64::MAX,
        _ => rng.next_u64(),
    };
    (0..words).map(word).collect()
}

fn modulus(rng: &mut ChaCha20Rng, words: usize) -> Vec<u64> {
    let mut n = random(rng, words);
    n[0] |= 1;
    n[words - 1] |= 1 << 63;
    n
}

fn big(words: &[u64]) -> BigUint {
    let bytes = words.iter().flat_map(|word| word.to_le_bytes());
    BigUint::from_bytes_le(&bytes.collect::<Vec<u8>>())
}

/// The kernel's products of random numbers are the library's, however many are made at once.
fn multiplies<K: Kernel>(words: usize) {
    if !K::available() {
        std::println!("skipped: this processor has no {}", K::NAME);
        return;
    }
    let rng = &mut ChaCha20Rng::seed_from_u64(words as u64);
    for _ in 0..200 {
        let moduli: [Vec<u64>; 4] = core::array::from_fn(|_| modulus(rng, words));
        let n = moduli.each_ref().map(|n| Modulus::<K>::new(n).unwrap());
        // One factor may be any number of as many words.
        let a: [Vec<u64>; 4] = core::array::from_fn(|_| random(rng, words));
        let b: [BigUint; 4] = core::array::from_fn(|s| big(&random(rng, words)) % big(&moduli[s]));
        let load = |number: &BigUint| K::load(&number.to_u64_digits());
        let numbers = [a.each_ref().map(|a| K::load(a)), b.each_ref().map(load)];
        let [x, y] = &numbers;
        let four = K::multiply(n.each_ref(), x.each_ref(), y.each_ref());
        let both = K::multiply([&n[0], &n[1]], [&x[0], &x[1]], [&y[0], &y[1]]);
        let eight = [0, 1, 2, 3, 0, 1, 2, 3];
        let chains = K::chains(
            eight.map(|s| &n[s]),
            &[
                eight.map(|s| &x[s]),
                eight.map(|s| &y[s]),
                eight.map(|s| &four[s]),
            ],
        );
        for s in 0..4 {
            let longer = n[s].product(&four[s], &four[s]);
            assert_eq!(chains[s].as_ref(), longer.as_ref());
            assert_eq!(chains[s + 4].as_ref(), longer.as_ref());
            let single = n[s].product(&x[s], &y[s]);
            assert_eq!(single.as_ref(), four[s].as_ref());
            assert!(s > 1 || both[s].as_ref() == single.as_ref());
            // Of products again, and then without Rs.
            let square = n[s].product(&single, &single);
            let (mut out, mut plain) = (vec![0; words], vec![0; words]);
            n[s].canonical(&n[s].product(&square, &n[s].power_of_r(4)), &mut out);
            let modulus = big(&moduli[s]);
            let product = big(&a[s]) * &b[s];
            assert_eq!(big(&out), &product * &product % &modulus);
            n[s].plain(&n[s].montgomery(&x[s]), &mut plain);
            assert_eq!(big(&plain), big(&a[s]) % &modulus);
            n[s].plain(&n[s].montgomery(&K::sum(&n[s], &single, &square)), &mut out);
            n[s].canonical(&single, &mut plain);
            let mut rest = vec![0; words];
            n[s].canonical(&square, &mut rest);
            assert_eq!(big(&out), (big(&plain) + big(&rest)) % &modulus);
            let less = K::difference(&n[s], &single, &square);
            n[s].plain(&n[s].montgomery(&less), &mut out);
            assert_eq!(big(&out), (big(&plain) + &modulus - big(&rest)) % &modulus);
        }
    }
}

fn raises<K: Kernel>(words: usize) {
    if !K::available() {
        return;
    }
    let rng = &mut ChaCha20Rng::seed_from_u64(3);
    let [one, other] = [modulus(rng, words), modulus(rng, words)];
    let n = [
        Modulus::<K>::new(&one).unwrap(),
        Modulus::<K>::new(&other).unwrap(),
    ];
    let exponents = [random(rng, words), random(rng, words)];
    let base = [K::load(&[7]), K::load(&[65_521])];
    let base = [n[0].montgomery(&base[0]), n[1].montgomery(&base[1])];
    let [first, second] = exponents.each_ref();
    let found = powers(n.each_ref(), base.each_ref(), [first, second]);
    for (s, base) in [7u32, 65_521].into_iter().enumerate() {
        let mut out = vec![0; words];
        n[s].plain(&found[s], &mut out);
        let expected = BigUint::from(base).modpow(&big(&exponents[s]), &big(n[s].words()));
        assert_eq!(big(&out), expected);
    }
}

#[test]
fn products_are_the_librarys() {
    multiplies::<Portable<16>>(16);
    multiplies::<Portable<24>>(24);
    multiplies::<Portable<32>>(32);
    multiplies::<Portable<48>>(48);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn products_in_vectors_are_the_librarys() {
    multiplies::<Ifma<24, 3, 20>>(16);
    multiplies::<Ifma<32, 4, 30>>(24);
    multiplies::<Ifma<40, 5, 40>>(32);
    multiplies::<Ifma<64, 8, 60>>(48);
}

#[test]
fn powers_are_the_librarys() {
    raises::<Portable<16>>(16);
    raises::<Portable<24>>(24);
    #[cfg(target_arch = "x86_64")]
    raises::<Ifma<24, 3, 20>>(16);
    #[cfg(target_arch = "x86_64")]
    raises::<Ifma<32, 4, 30>>(24);
}

/// The largest numbers that come up: all ones.
#[test]
fn carries_go_all_the_way() {
    fn holds<K: Kernel>(words: usize) {
        if !K::available() {
            return;
        }
        let all = vec![u64::MAX; words];
        let n = Modulus::<K>::new(&all).unwrap();
        let mut a = K::load(&all);
        let mut expected = BigUint::ZERO;
        for _ in 0..4 {
            let mut out = vec![0; words];
            a = n.product(&a, &a);
            n.plain(&a, &mut out);
            assert_eq!(big(&out), expected);
            // n - 1 is a root of one.
            let mut last = all.clone();
            last[0] -= 1;
            a = n.montgomery(&K::load(&last));
            expected = BigUint::from(1u32);
        }
    }
    holds::<Portable<16>>(16);
    holds::<Portable<48>>(48);
    #[cfg(target_arch = "x86_64")]
    holds::<Ifma<24, 3, 20>>(16);
    #[cfg(target_arch = "x86_64")]
    holds::<Ifma<64, 8, 60>>(48);
}

#[test]
fn what_is_no_modulus() {
    let good = [3, 1 << 63];
    assert!(Modulus::<Portable<2>>::new(&good).is_some());
    for bad in [&[2, 1 << 63][..], &[3, 1 << 62], &[3, 5, 1 << 63], &[]] {
        assert!(Modulus::<Portable<2>>::new(bad).is_none());
    }
}
