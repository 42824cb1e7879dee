//! A verification key: the v_i, of full length or small primes.

use super::products::{Table, index, subsets};
use crate::effs::bn::{Modulus, Num};

/// So many primes are below 2^64 together, as each is below 2^16.
const PRIMES: usize = 4;

/// The v_i.
pub enum Public {
    Large(Table),
    Small(Small),
}

impl Public {
    pub fn large(n: &Modulus, v: &[Num]) -> Self {
        Self::Large(Table::new(n, v, 1))
    }

    /// With products of so many primes precomputed.
    pub fn small(n: &Modulus, v: &[u64], width: usize) -> Self {
        let times = |product: &u128, prime: &u64| product * u128::from(*prime);
        let groups = subsets(v, width, || 1, times);
        let mut powers = vec![n.square_of_r().clone()];
        // As many as the longest product has parts, and one more, as parts are not always full.
        let bits: u32 = v.iter().map(|prime| 64 - prime.leading_zeros()).sum();
        let words = (n.words() - 1).max(2) / 2 * 2;
        for _ in 0..=(bits as usize).div_ceil(words * 32) {
            powers.push(n.entered(&powers[powers.len() - 1]));
        }
        Self::Small(Small {
            width,
            together: PRIMES.div_ceil(width),
            products: groups.concat(),
            powers,
        })
    }

    /// y^2 times the v_i that the bits name, modulo n.
    pub fn row(&self, n: &Modulus, y: Num, bits: &[u8]) -> Num {
        let mut z = y;
        n.square(&mut z);
        match self {
            Self::Large(table) => {
                table.multiply(n, &mut z, bits);
                n.multiply(&mut z, n.square_of_r());
            }
            Self::Small(small) => small.multiply(n, &mut z, bits),
        }
        z
    }
}

/// Small primes, whose product is an integer first: it needs no modulus as long as it fits a residue's words.
pub struct Small {
    width: usize,
    /// Groups whose primes together are shorter than 128 bits, whatever the bits are.
    together: usize,
    /// Group by group.
    products: Vec<u128>,
    /// R^2, R^3, ...: what sets right that z and each part of the product were multiplied without their R.
    powers: Vec<Num>,
}

impl Small {
    /// Multiplies z/R by R and the primes that the bits name.
    fn multiply(&self, n: &Modulus, z: &mut Num, bits: &[u8]) {
        let parts = self.parts(n.words(), bits);
        for part in &parts {
            n.multiply(z, &Num::from_words(part));
        }
        n.multiply(z, &self.powers[parts.len()]);
    }

    /// The product in parts of so many words.
    fn parts(&self, words: usize, bits: &[u8]) -> Vec<Vec<u64>> {
        let mut parts = vec![vec![0; words]];
        parts[0][0] = 1;
        let (mut used, mut product) = (1, 1_u128);
        let mut flush = |factor: u128| {
            if used + 2 > words {
                parts.push(vec![0; words]);
                used = 1;
                parts.last_mut().expect("a part")[0] = 1;
            }
            let part = parts.last_mut().expect("a part");
            used = times(part, used, factor);
        };
        let count = self.products.len() >> self.width;
        for first in (0..count).step_by(self.together) {
            let groups = first..count.min(first + self.together);
            let chosen = groups.map(|group| {
                let place = group << self.width | index(bits, self.width, group);
                self.products[place]
            });
            let factor = match self.width {
                0..=PRIMES => chosen.map(|small| small as u64).product::<u64>().into(),
                _ => chosen.product::<u128>(),
            };
            // Then the product is shorter than 128 bits.
            if product.leading_zeros() + factor.leading_zeros() < 128 {
                flush(product);
                product = factor;
            } else {
                product *= factor;
            }
        }
        flush(product);
        parts
    }
}

/// Multiplies a number, of which so many words are in use and two more are there, and says how many are then.
fn times(words: &mut [u64], used: usize, factor: u128) -> usize {
    let [low, high] = [factor as u64, (factor >> 64) as u64].map(u128::from);
    let (mut carry, mut before) = (0_u128, 0_u128);
    for word in &mut words[..used + 1] {
        // Own word by the low half, the word before it by the high one.
        let own = u128::from(*word);
        let first = own * low + (carry & u128::from(u64::MAX));
        let second = before * high + u128::from(first as u64);
        carry = (carry >> 64) + (first >> 64) + (second >> 64);
        *word = second as u64;
        before = own;
    }
    // The word above those in use was zero: what is left is the carry.
    words[used + 1] = carry as u64;
    let top = words[..used + 2].iter().rposition(|word| *word != 0);
    top.map_or(1, |top| top + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::groups::rng;
    use rand_core::Rng as _;

    #[test]
    fn parts_are_products() {
        let modulus = Modulus::new(&Num::from_bytes(&[0xff; 96]));
        let mut rng = rng(6);
        let (mut words, mut used, mut expected) = (vec![0; 12], 1, Num::from_word(1));
        words[0] = 1;
        for _ in 0..5 {
            let factor = u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64());
            used = times(&mut words, used, factor);
            let other = Num::from_words(&[factor as u64, (factor >> 64) as u64]);
            expected = expected.times(&other, modulus.scratch());
            assert!(Num::from_words(&words) == expected && used <= 12);
        }
        words.fill(u64::MAX);
        words[10..].fill(0);
        let all = Num::from_words(&words);
        let expected = all.times(&Num::from_words(&[u64::MAX; 2]), modulus.scratch());
        assert_eq!(times(&mut words, 10, u128::MAX), 12);
        assert!(Num::from_words(&words) == expected, "carries");
    }
}
