//! Witnesses: what a credential needs beside it in one epoch (`spec/group-signature.md` 3.6).

use crate::curve::{G1, G1_BYTES, Scalar, product_of_secret_powers};
use crate::secret::shielded;
use crate::{DecodeError, Revoked, Step};
use alloc::vec::Vec;
use clew_wire::opaque;
use zeroize::{ZeroizeOnDrop, Zeroizing};

/// Size of an encoded witness.
pub const WITNESS_BYTES: usize = G1_BYTES;

/// W = V^(1/(gamma+x)), for one machine and one epoch. Wiped when dropped.
///
/// A witness of the issuer is checked by [`crate::SigningKey::new`] only. It signs nothing without
/// the member key.
#[derive(Clone, PartialEq, Eq, ZeroizeOnDrop)]
pub struct Witness(pub(crate) G1);

impl Witness {
    /// Decodes 48 bytes, with the checks of a point.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        G1::from_bytes(bytes).map(Self)
    }

    /// Encodes as 48 bytes.
    pub fn to_bytes(&self) -> [u8; WITNESS_BYTES] {
        self.0.to_bytes()
    }

    /// Returns the witness after `steps`, which follow the epoch of this one.
    ///
    /// Each step is W' = (V'/W)^(1/(x-x*)). With d_i = x - x*_i and s_j = d_j d_(j+1) .. d_k:
    ///
    /// ```text
    /// W_k = W^((-1)^k / s_1)  prod over j = 1..k of V_j^((-1)^(k-j) / s_j)
    /// ```
    /// Takes time that depends on the number of steps only. The result is as good as the steps are:
    /// [`crate::SigningKey::new`] checks it.
    ///
    /// # Errors
    /// [`Revoked`] if one of the steps revokes x.
    pub fn after(&self, x: &Scalar, steps: &[Step]) -> Result<Self, Revoked> {
        shielded(|| {
            let d = differences(x, steps);
            let mut inverse = Zeroizing::new(product(&d).invert().ok_or(Revoked)?);
            let mut powers = Zeroizing::new(Vec::with_capacity(steps.len() + 1));
            powers.push(negated_if(*inverse, steps.len() % 2 == 1));
            for (j, d) in d.iter().enumerate() {
                powers.push(negated_if(*inverse, (steps.len() - j).is_multiple_of(2)));
                *inverse = *inverse * *d;
            }
            Ok(self.combined(steps, &powers))
        })
    }

    /// Returns the witness before `steps`, which end at the epoch of this one.
    ///
    /// Each step back is W = V' / W'^(x-x*). With p_j = d_1 .. d_(j-1):
    ///
    /// ```text
    /// W = W_k^((-1)^k p_(k+1))  prod over j = 1..k of V_j^((-1)^(j-1) p_j)
    /// ```
    /// For a clock that went back, and for a machine that needs an epoch before it joined: what it
    /// signs there opens to it as everything else does.
    pub fn before(&self, x: &Scalar, steps: &[Step]) -> Self {
        shielded(|| {
            let d = differences(x, steps);
            let mut powers = Zeroizing::new(Vec::with_capacity(steps.len() + 1));
            powers.push(negated_if(product(&d), steps.len() % 2 == 1));
            let mut so_far = Zeroizing::new(Scalar::from_u128(1));
            for (j, d) in d.iter().enumerate() {
                powers.push(negated_if(*so_far, j % 2 == 1));
                *so_far = *so_far * *d;
            }
            self.combined(steps, &powers)
        })
    }

    /// The product of powers of W and of the V of each step.
    fn combined(&self, steps: &[Step], powers: &[Scalar]) -> Self {
        let points = core::iter::once(self.0).chain(steps.iter().map(|step| step.v));
        let points: Vec<G1> = points.collect();
        Self(product_of_secret_powers(&points, powers))
    }
}

/// x - x* of each step.
fn differences(x: &Scalar, steps: &[Step]) -> Zeroizing<Vec<Scalar>> {
    let mut out = Zeroizing::new(Vec::with_capacity(steps.len()));
    out.extend(steps.iter().map(|step| *x - step.x));
    out
}

fn product(factors: &[Scalar]) -> Scalar {
    let one = Scalar::from_u128(1);
    factors.iter().fold(one, |product, d| product * *d)
}

fn negated_if(scalar: Scalar, negative: bool) -> Scalar {
    if negative { -scalar } else { scalar }
}

opaque!(Witness);
