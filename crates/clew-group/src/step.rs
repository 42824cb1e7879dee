//! Steps of the revocation chain (`spec/group-signature.md` 3.6), which scheme `xr` publishes.

use crate::curve::multiexp::multiexp_many_vartime;
use crate::curve::{G1, G1_BYTES, G2, PreparedG2, SCALAR_BYTES, Scalar, pairing_product};
use crate::wire::{Values, concat};
use crate::{DecodeError, EpochId, Invalid};
use alloc::vec::Vec;
use rand_core::CryptoRng;

/// Size of an encoded step: x* (32 bytes), V (48).
pub const STEP_BYTES: usize = SCALAR_BYTES + G1_BYTES;

/// One revocation: the revoked x*, which is public from here on, and V' = V^(1/(gamma+x*)).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    pub(crate) x: Scalar,
    pub(crate) v: G1,
}

impl Step {
    /// Decodes 80 bytes, with the checks of every value.
    ///
    /// # Errors
    /// [`DecodeError::Scalar`] if x* is zero.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut values = Values::exactly(STEP_BYTES, bytes)?;
        Ok(Self {
            x: values.secret()?,
            v: values.g1()?,
        })
    }

    /// Encodes as x* || V'.
    pub fn to_bytes(&self) -> [u8; STEP_BYTES] {
        concat(&[&self.x.to_bytes(), &self.v.to_bytes()])
    }

    /// Returns x*.
    pub fn x(&self) -> &Scalar {
        &self.x
    }

    /// Returns V', the V after this step.
    pub fn v(&self) -> &G1 {
        &self.v
    }
}

/// V of epoch 0, hashed from the nonce and the number 0; or of a rebase, from the nonce, the number of
/// its epoch and the id of that epoch's record. With the id in it, two histories of a group never
/// share the V of a rebase: a witness of one is none in the other.
pub(crate) fn hashed_v(domain: &[u8], nonce: &[u8; 32], rebase: Option<(u32, &EpochId)>) -> G1 {
    let (epoch, id) = rebase.map_or((0, &[][..]), |(epoch, id)| (epoch, &id.0[..]));
    G1::hash(domain, &[nonce, &epoch.to_be_bytes()[..], id].concat())
}

/// Checks whole chains of steps with two pairings.
///
/// `w` is G2^gamma. Each segment has the hashed V that it starts from, and its steps in order. For
/// a step from V to V', e(V', w G2^x*) = e(V, G2). The equations are multiplied with random weights
/// of 128 bits from `rng`, which must be unpredictable to whoever made the steps: a wrong chain
/// passes with a probability below 2^-127.
///
/// # Errors
/// [`Invalid`] if some step does not lead from its V to its V'.
pub fn check_steps(
    w: &G2,
    segments: &[(G1, &[Step])],
    rng: &mut impl CryptoRng,
) -> Result<(), Invalid> {
    let mut sums = Sums::default();
    for (start, steps) in segments {
        sums.add_segment(start, steps, rng);
    }
    let (in_w, in_g2) = sums.products();
    let [w, standard] = [*w, G2::generator()].map(|q| PreparedG2::new(&q));
    Invalid::unless(pairing_product([(&in_w, &w), (&in_g2, &standard)]).is_identity())
}

/// The powers of each V in both pairings, with d the weight of a step:
///
/// ```text
/// prod e(V'^d, w) e(V'^(d x*) V^(-d), G2)
/// ```
#[derive(Default)]
struct Sums {
    points: Vec<G1>,
    in_w: Vec<Scalar>,
    in_g2: Vec<Scalar>,
}

impl Sums {
    fn add_segment(&mut self, start: &G1, steps: &[Step], rng: &mut impl CryptoRng) {
        let mut power = Scalar::default();
        let mut before = Scalar::default();
        let mut point = *start;
        for step in steps {
            let d = Scalar::random_short(rng);
            self.push(&point, before, power - d);
            (point, before, power) = (step.v, d, d * step.x);
        }
        self.push(&point, before, power);
    }

    fn push(&mut self, point: &G1, in_w: Scalar, in_g2: Scalar) {
        self.points.push(*point);
        self.in_w.push(in_w);
        self.in_g2.push(in_g2);
    }

    fn products(&self) -> (G1, G1) {
        let product = |powers| multiexp_many_vartime(&self.points, powers);
        (product(&self.in_w), product(&self.in_g2))
    }
}
