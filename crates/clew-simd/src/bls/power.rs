//! Powers with fixed exponents.

use super::fp::Fp;
use super::kernel::Kernel;
use super::limbs::{P_WORDS, WORDS};

/// Odd powers up to 2^WINDOW - 1 are kept.
const WINDOW: usize = 5;

/// Steps that are enough for any exponent of 384 bits.
const STEPS: usize = 384 / WINDOW + 1;

/// A fixed exponent as a plan of sliding windows.
#[derive(Debug)]
pub struct Power {
    /// The odd power to begin with.
    first: usize,
    steps: [Step; STEPS],
    length: usize,
}

/// So many squarings, then a product with an odd power, unless that is zero.
#[derive(Clone, Copy, Debug)]
struct Step {
    squarings: usize,
    odd: usize,
}

/// (p + 1) / 4: the square root, of what is a square, as p is 3 modulo 4.
pub static ROOT: Power = {
    let mut exponent = [0; WORDS];
    let mut i = 0;
    while i < WORDS {
        let above = if i + 1 < WORDS {
            P_WORDS[i + 1] << 62
        } else {
            0
        };
        exponent[i] = P_WORDS[i] >> 2 | above;
        i += 1;
    }
    // p ends in 11: a quarter of it, rounded down, is one too small.
    exponent[0] += 1;
    Power::new(&exponent)
};

impl Power {
    const fn new(exponent: &[u64; WORDS]) -> Self {
        let none = Step {
            squarings: 0,
            odd: 0,
        };
        let mut plan = Self {
            first: 0,
            steps: [none; STEPS],
            length: 0,
        };
        let (mut squarings, mut i) = (0, 64 * WORDS);
        while i > 0 {
            if bit(exponent, i - 1) == 0 {
                squarings += 1;
                i -= 1;
                continue;
            }
            let mut low = i.saturating_sub(WINDOW);
            while bit(exponent, low) == 0 {
                low += 1;
            }
            let (mut odd, mut k) = (0, i);
            while k > low {
                k -= 1;
                odd = 2 * odd + bit(exponent, k);
            }
            if plan.first == 0 {
                plan.first = odd;
            } else {
                plan.push(Step {
                    squarings: squarings + i - low,
                    odd,
                });
            }
            (squarings, i) = (0, low);
        }
        plan.push(Step { squarings, odd: 0 });
        plan
    }

    const fn push(&mut self, step: Step) {
        self.steps[self.length] = step;
        self.length += 1;
    }

    /// Raises the elements of N vectors in step: the processor overlaps their chains.
    pub fn of<K: Kernel, const N: usize>(&self, bases: &[Fp<K>; N]) -> [Fp<K>; N] {
        let squares = bases.map(|base| base.square());
        let mut odd = [*bases; 1 << (WINDOW - 1)];
        for k in 1..odd.len() {
            for n in 0..N {
                odd[k][n] = odd[k - 1][n].mul(&squares[n]);
            }
        }
        let mut power = odd[self.first / 2];
        for step in &self.steps[..self.length] {
            for _ in 0..step.squarings {
                for power in &mut power {
                    *power = power.square();
                }
            }
            if step.odd != 0 {
                for n in 0..N {
                    power[n] = power[n].mul(&odd[step.odd / 2][n]);
                }
            }
        }
        power
    }
}

const fn bit(exponent: &[u64; WORDS], i: usize) -> usize {
    (exponent[i / 64] >> (i % 64) & 1) as usize
}
