//! Multiplication modulo odd numbers (Montgomery, 1985), in the way that is the fastest here. No branch and no
//! address depends on a number.
//!
//! Bounds: [`Kernel::multiply`] takes factors whose product is below R n and makes what is below 2n, or below n
//! where R is hardly larger than n ([`Portable`]). So it takes all that it made; and it takes any number of a
//! modulus's words, if the other factor is made by it or stands in the [`Modulus`]. Where R is 2^16 n and more
//! (IFMA), it takes sums of a few of them, too.

#[cfg(target_arch = "x86_64")]
mod ifma;
mod portable;
mod run;
#[cfg(test)]
mod tests;
pub mod words;

use alloc::vec;
use alloc::vec::Vec;
use clew_wire::disclose;
use core::fmt;
use zeroize::{Zeroize, Zeroizing};

#[cfg(target_arch = "x86_64")]
pub use ifma::Ifma;
pub use portable::Portable;
pub use run::{Machine, Work, run_2048, run_3072};

/// A way to multiply numbers of one size.
pub trait Kernel: Sized + Copy + fmt::Debug + Send + Sync + 'static {
    /// A number, in limbs of the kernel's.
    type Number: Copy + Zeroize + fmt::Debug + AsRef<[u64]> + AsMut<[u64]> + Send + Sync + 'static;

    /// R is 2 to this.
    const R_BITS: usize;

    /// Words of a modulus.
    const WORDS: usize = Self::R_BITS / 64;

    /// Its name.
    const NAME: &'static str;

    /// Whether this processor has it.
    fn available() -> bool;

    /// The number of these words.
    fn load(words: &[u64]) -> Self::Number;

    /// The words of a number, and the one above them.
    fn store(number: &Self::Number, words: &mut [u64]) -> u64;

    /// `a b / R` modulo n, of S products at once.
    fn multiply<const S: usize>(
        n: [&Modulus<Self>; S],
        a: [&Self::Number; S],
        b: [&Self::Number; S],
    ) -> [Self::Number; S];

    /// The product of all factors of each of eight chains, with one R lost for each factor but the first.
    fn chains(n: [&Modulus<Self>; 8], factors: &[[&Self::Number; 8]]) -> [Self::Number; 8] {
        let first = factors[0].map(|factor| *factor);
        let rest = &factors[1..];
        rest.iter().fold(first, |product, factor| {
            Self::multiply(n, product.each_ref(), *factor)
        })
    }

    /// `a + b`, of products or numbers of a modulus's words; it is no larger than what one factor may be.
    fn sum(n: &Modulus<Self>, a: &Self::Number, b: &Self::Number) -> Self::Number;

    /// `a - b`, of products or numbers of a modulus's words; it is no larger than what one factor may be.
    fn difference(n: &Modulus<Self>, a: &Self::Number, b: &Self::Number) -> Self::Number;
}

/// An odd number whose top bit is set, and what products modulo it need. Wiped when it is dropped.
pub struct Modulus<K: Kernel> {
    words: Zeroizing<Vec<u64>>,
    number: K::Number,
    /// `-1/n` modulo 2^64; kernels of shorter digits take its low bits.
    k0: u64,
    /// R, R^2, and R times what the first word too many counts.
    one: K::Number,
    r2: K::Number,
    above: K::Number,
}

impl<K: Kernel> fmt::Debug for Modulus<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Modulus(.. {} words)", self.words.len())
    }
}

impl<K: Kernel> Drop for Modulus<K> {
    fn drop(&mut self) {
        self.number.zeroize();
        self.k0.zeroize();
        self.one.zeroize();
        self.r2.zeroize();
        self.above.zeroize();
    }
}

impl<K: Kernel> Modulus<K> {
    /// Creates the modulus with these words, least significant first. Returns `None` if it is even
    /// or has fewer bits than its words, or if the processor lacks the kernel.
    pub fn new(words: &[u64]) -> Option<Self> {
        let (lowest, highest) = (words.first()?, words.last()?);
        let has_all_bits = disclose::bit(lowest & highest >> 63);
        if words.len() != K::WORDS || !has_all_bits || !K::available() {
            return None;
        }
        // 2^(64 W) - n, and from there on doubled.
        let mut power = Zeroizing::new(vec![0; words.len()]);
        words::sub(&mut power, words);
        let mut doubled = |times| {
            (0..times).for_each(|_| words::double_mod(&mut power, words));
            K::load(&power)
        };
        Some(Self {
            number: K::load(words),
            k0: words::negated_inverse(*lowest),
            one: doubled(K::R_BITS - 64 * K::WORDS),
            above: doubled(64 * K::WORDS),
            r2: doubled(K::R_BITS - 64 * K::WORDS),
            words: Zeroizing::new(words.to_vec()),
        })
    }

    /// Returns the words of the modulus, least significant first.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns the Montgomery product `a b / R`.
    pub fn product(&self, a: &K::Number, b: &K::Number) -> K::Number {
        let [product] = K::multiply([self], [a], [b]);
        product
    }

    /// Returns `R^e` modulo n, for e of 2 or more. A product with it gives the Montgomery form of a
    /// number that lacks `e - 1` factors R.
    pub fn power_of_r(&self, e: usize) -> K::Number {
        (2..e).fold(self.r2, |power, _| self.product(&power, &self.r2))
    }

    /// Returns R modulo n: the one in Montgomery form.
    pub const fn one(&self) -> &K::Number {
        &self.one
    }

    /// Returns `R^2` modulo n. A product with it gives the Montgomery form of a number.
    pub const fn r2(&self) -> &K::Number {
        &self.r2
    }

    /// Returns the value, in Montgomery form, of a number that stands above all words of the
    /// modulus.
    pub const fn above(&self) -> &K::Number {
        &self.above
    }

    /// Returns `a R`: the Montgomery form of `a`.
    pub fn montgomery(&self, a: &K::Number) -> K::Number {
        self.product(a, &self.r2)
    }

    /// Writes the words of a number below 2n, reduced below n, to `out`.
    pub fn canonical(&self, a: &K::Number, out: &mut [u64]) {
        let out = &mut out[..K::WORDS];
        let top = K::store(a, out);
        words::reduce_once(out, top, &self.words[..K::WORDS]);
    }

    /// Writes the words of a number in Montgomery form, out of that form, to `out`.
    pub fn plain(&self, a: &K::Number, out: &mut [u64]) {
        self.canonical(&self.product(a, &K::load(&[1])), out);
    }
}

/// Words of the longest modulus.
pub const WORDS_MAX: usize = 48;

/// Returns `base^exponent` modulo each n, in Montgomery form. All exponents have the same number of
/// words.
pub fn powers<K: Kernel, const S: usize>(
    n: [&Modulus<K>; S],
    base: [&K::Number; S],
    exponent: [&[u64]; S],
) -> [K::Number; S] {
    let mut table = [n.map(|n| n.one); 16];
    for i in 1..16 {
        table[i] = K::multiply(n, table[i - 1].each_ref(), base);
    }
    let mut power = table[0];
    for nibble in (0..16 * exponent[0].len()).rev() {
        for _ in 0..4 {
            power = K::multiply(n, power.each_ref(), power.each_ref());
        }
        let digits = exponent.map(|words| words[nibble / 16] >> (nibble % 16 * 4) & 15);
        let mut factor = table[0];
        for (i, entry) in table.iter().enumerate() {
            for s in 0..S {
                let is_it = u64::from(core::hint::black_box(digits[s]) == i as u64);
                words::assign_if(is_it, factor[s].as_mut(), entry[s].as_ref());
            }
        }
        power = K::multiply(n, power.each_ref(), factor.each_ref());
        factor.iter_mut().for_each(Zeroize::zeroize);
    }
    table.iter_mut().flatten().for_each(Zeroize::zeroize);
    power
}
