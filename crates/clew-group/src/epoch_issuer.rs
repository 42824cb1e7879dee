//! The issuer in one epoch: the one place that witnesses and bases come from.

use crate::curve::{G1, G1_BYTES, Scalar, secret_powers_of};
use crate::secret::{Secret, shielded, shielded_shallow};
use crate::{Revoked, Witness};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use clew_wire::disclose;
use clew_wire::opaque;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// The issuer in one epoch, of either scheme. It knows who is revoked at or before that epoch, and
/// refuses each of them: a witness or a base of a revoked row would revive its key. Holds gamma,
/// and is wiped when dropped.
pub struct EpochIssuer {
    gamma: Secret<Scalar>,
    v: G1,
    /// Hashes of x: how long a look-up takes says nothing of the x that is looked up.
    revoked: BTreeSet<[u8; 32]>,
}

impl EpochIssuer {
    pub(crate) fn new(
        gamma: &Secret<Scalar>,
        v: &G1,
        revoked: impl IntoIterator<Item = Scalar>,
    ) -> Self {
        Self {
            gamma: gamma.clone(),
            v: *v,
            revoked: revoked.into_iter().map(|x| hash(&x)).collect(),
        }
    }

    /// Returns W = V^(1/(gamma+x)), for a row of the register with this x.
    ///
    /// # Errors
    /// [`Revoked`] if x is revoked in this epoch, or is -gamma.
    pub fn witness(&self, x: &Scalar) -> Result<Witness, Revoked> {
        self.check(x)?;
        shielded(|| {
            let inverse = Zeroizing::new((*self.gamma + *x).invert().ok_or(Revoked)?);
            Ok(Witness(self.v.mul(&inverse)))
        })
    }

    /// Returns B = A W, the base that the machine with credential `a` and this x signs with.
    ///
    /// # Errors
    /// As [`Self::witness`].
    pub fn base(&self, a: &G1, x: &Scalar) -> Result<G1, Revoked> {
        Ok(*a + self.witness(x)?.0)
    }

    /// Returns the witness of each x, or `None` where [`Self::witness`] refuses.
    pub fn witnesses(&self, xs: &[Scalar]) -> Vec<Option<Witness>> {
        let points = self.points(xs).into_iter();
        points.map(|point| point.map(Witness)).collect()
    }

    /// Returns the same witnesses encoded, with one inversion for many.
    pub fn witness_bytes(&self, xs: &[Scalar]) -> Vec<Option<[u8; G1_BYTES]>> {
        encoded(self.points(xs))
    }

    /// Returns the encoded base of each row (A, x), for the index by which an opened base finds its
    /// row; `None` where [`Self::base`] refuses.
    pub fn bases(&self, rows: &[(G1, Scalar)]) -> Vec<Option<[u8; G1_BYTES]>> {
        let xs = shielded_shallow(|| {
            let mut xs = Zeroizing::new(Vec::with_capacity(rows.len()));
            xs.extend(rows.iter().map(|(_, x)| *x));
            xs
        });
        let points = self.points(&xs).into_iter().zip(rows);
        encoded(points.map(|(w, (a, _))| Some(*a + w?)).collect())
    }

    fn check(&self, x: &Scalar) -> Result<(), Revoked> {
        if self.revoked.contains(&hash(x)) {
            Err(Revoked)
        } else {
            Ok(())
        }
    }

    /// V^(1/(gamma+x)) of each x that is not refused.
    fn points(&self, xs: &[Scalar]) -> Vec<Option<G1>> {
        shielded(|| {
            let mut inverses = Zeroizing::new(Vec::with_capacity(xs.len()));
            inverses.extend(xs.iter().map(|x| *self.gamma + *x));
            Scalar::invert_all(&mut inverses);
            let points = secret_powers_of(&self.v, &inverses).into_iter().zip(xs);
            points
                .map(|(point, x)| {
                    let is_identity = disclose::bit(point.is_identity().into());
                    (self.check(x).is_ok() && !is_identity).then_some(point)
                })
                .collect()
        })
    }
}

/// SHA-256 of x, by which revoked rows are known. It takes no secret to tell it: whoever has the row's
/// x can compute it, and nobody else learns x from it.
fn hash(x: &Scalar) -> [u8; 32] {
    let mut hash: [u8; 32] = Sha256::digest(Zeroizing::new(x.to_bytes())).into();
    disclose::bytes(&mut hash);
    hash
}

/// Encodes the points that are there.
fn encoded(points: Vec<Option<G1>>) -> Vec<Option<[u8; G1_BYTES]>> {
    let there: Vec<G1> = points.iter().flatten().copied().collect();
    let mut bytes = G1::to_bytes_all(&there).into_iter();
    let each = points.iter().map(|point| point.and_then(|_| bytes.next()));
    each.collect()
}

opaque!(EpochIssuer);
