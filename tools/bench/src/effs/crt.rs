//! The Chinese remainder theorem: a residue modulo n = p q from those modulo p and q.

use super::bn::{Modulus, Num};
use super::primes::Factors;

/// The factors, and what joining needs.
pub struct Crt {
    pub primes: [Modulus; 2],
    /// R/q modulo p.
    inverse: Num,
}

impl Crt {
    pub fn new(factors: &Factors) -> Self {
        let primes = [&factors.p, &factors.q].map(Modulus::new);
        let p = &primes[0];
        let inverse = p.inverse(&p.rest(&factors.q));
        let inverse = p.entered(&inverse.expect("two primes"));
        Self { primes, inverse }
    }

    /// The paper's (a - b) q q' + b, where q' = 1/q modulo p. Multiplying by q' before subtracting reduces b, too.
    pub fn join(&self, mut a: Num, b: Num) -> Num {
        let [p, q] = &self.primes;
        let mut other = b.clone();
        p.multiply(&mut a, &self.inverse);
        p.multiply(&mut other, &self.inverse);
        p.difference(&a, &other).times(q.n(), p.scratch()).plus(&b)
    }
}
