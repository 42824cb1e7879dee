//! How an auditor without gamma finds the row of an opened base (spec 3.9): with Q = B^gamma, which
//! the manager gives and one pairing checks, no row takes a pairing.

use super::PublicKey;
use crate::Invalid;
use crate::curve::{FixedBase, G1, G2, PreparedG2, Scalar, secret_powers_of};
use crate::pairings::equal;
use alloc::vec::Vec;
use clew_wire::opaque;

/// A search for the row with one base, in one epoch.
pub struct Search {
    /// g1 V / Q.
    rest: G1,
    b: G1,
    powers: FixedBase,
}

impl PublicKey {
    /// Returns whether Q is B^gamma: e(Q, G2) = e(B, w).
    pub fn fits(&self, q: &G1, b: &G1) -> bool {
        let [standard, w] = [G2::generator(), self.w].map(|q| PreparedG2::new(&q));
        equal((q, &standard), (b, &w))
    }

    /// Prepares the search for the row with base B in this epoch.
    ///
    /// # Errors
    /// [`Invalid`] if Q is not B^gamma, or B is the identity.
    pub fn search(&self, q: &G1, b: &G1) -> Result<Search, Invalid> {
        if b.is_identity() || !self.fits(q, b) {
            return Err(Invalid);
        }
        Ok(Search {
            rest: self.base() - *q,
            b: *b,
            powers: FixedBase::new(b),
        })
    }
}

impl Search {
    /// Returns whether the row with C and x is the one: g1 V C B^(-x) = Q.
    pub fn row_fits(&self, c: &G1, x: &Scalar) -> bool {
        self.rest + *c == self.powers.mul(x)
    }

    /// Returns the place of the first row (C, x) that fits, faster than one by one.
    pub fn find(&self, rows: &[(G1, Scalar)]) -> Option<usize> {
        let xs: Vec<Scalar> = rows.iter().map(|(_, x)| *x).collect();
        let powers = secret_powers_of(&self.b, &xs);
        let mut fits = rows.iter().zip(powers);
        fits.position(|((c, _), power)| self.rest + *c == power)
    }
}

opaque!(Search);
