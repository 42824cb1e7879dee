//! A signing key: the s_i, in tables modulo n or modulo both factors.

use super::products::Table;
use crate::effs::bn::{Modulus, Num};
use crate::effs::crt::Crt;
use crate::effs::primes::{Factors, residue};
use rand_chacha::ChaCha20Rng;

/// Where signing computes.
enum Ring {
    Whole([Modulus; 1]),
    Factors(Crt),
}

/// A residue modulo n, or one modulo each factor.
type Parts = Vec<Num>;

/// The s_i.
pub struct Secret {
    ring: Ring,
    /// For each modulus.
    tables: Vec<Table>,
}

impl Secret {
    /// Computes modulo n.
    pub fn whole(n: &Modulus, s: &[Num], width: usize) -> Self {
        Self {
            tables: vec![Table::new(n, s, width)],
            ring: Ring::Whole([Modulus::new(n.n())]),
        }
    }

    /// Computes modulo both factors.
    pub fn by_factors(factors: &Factors, s: [&[Num]; 2], width: usize) -> Self {
        let crt = Crt::new(factors);
        let tables = crt.primes.iter().zip(s);
        Self {
            tables: tables.map(|(p, s)| Table::new(p, s, width)).collect(),
            ring: Ring::Factors(crt),
        }
    }

    /// The same s_i modulo n.
    pub fn joined(&self, n: &Modulus, s: [&[Num]; 2], width: usize) -> Self {
        let pairs = s[0].iter().zip(s[1]);
        let s: Vec<Num> = pairs
            .map(|(p, q)| self.join(vec![p.clone(), q.clone()]))
            .collect();
        Self::whole(n, &s, width)
    }

    fn moduli(&self) -> &[Modulus] {
        match &self.ring {
            Ring::Whole(n) => n,
            Ring::Factors(crt) => &crt.primes,
        }
    }

    fn join(&self, mut parts: Parts) -> Num {
        let last = parts.pop().expect("a part");
        match (&self.ring, parts.pop()) {
            (Ring::Factors(crt), Some(first)) => crt.join(first, last),
            _ => last,
        }
    }

    /// r: drawn modulo each factor, which is the same as modulo n.
    pub fn random(&self, rng: &mut ChaCha20Rng) -> Parts {
        let moduli = self.moduli().iter();
        moduli.map(|modulus| residue(modulus.n(), rng)).collect()
    }

    /// x = r^2 mod n.
    pub fn square(&self, r: &Parts) -> Num {
        let square = |(modulus, r): (&Modulus, &Num)| {
            let mut x = r.clone();
            modulus.square(&mut x);
            modulus.multiply(&mut x, modulus.square_of_r());
            x
        };
        self.join(self.moduli().iter().zip(r).map(square).collect())
    }

    /// y = r times the s_i that the bits name.
    pub fn answer(&self, mut r: Parts, bits: &[u8]) -> Num {
        for ((modulus, table), r) in self.moduli().iter().zip(&self.tables).zip(&mut r) {
            table.multiply(modulus, r, bits);
        }
        self.join(r)
    }
}
