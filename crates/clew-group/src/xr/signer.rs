//! The member: prepares precursors and signs.

mod eight;

use super::challenge::{self, Challenge, Transcript};
use super::signature::Responses;
use super::{IncrementalSignature, MemberKey, PublicKey, Signature};
use crate::curve::{FixedBase, G1, PART_COUNT, Scalar, Vectors};
use crate::secret::{Prover, Secret, shielded, shielded_shallow};
use crate::{EpochId, Invalid, Witness};
use alloc::vec::Vec;
use clew_simd::Backend;
use clew_wire::opaque;
use core::array;
use eight::Eight;
use rand_core::CryptoRng;
use sha2::Sha256;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// From so many precursors on, eight at once take less time than one by one.
const EIGHT_FROM: usize = 3;

/// Precursors that are made together.
const TOGETHER: usize = PART_COUNT;

/// A member key with its tables for one epoch (0.4 MB, and 0.9 MB where the machine has vectors). Signs in
/// constant time.
pub struct SigningKey {
    pub(super) key: MemberKey,
    pub(super) id: EpochId,
    u: FixedBase,
    h: FixedBase,
    h0: FixedBase,
    h_w: FixedBase,
    /// B = A W, the base that it signs with in this epoch.
    b: G1,
    powers_of_b: FixedBase,
    eight: Option<Eight>,
}

impl SigningKey {
    /// Prepares a key and its witness for the epoch of `group`, after the member's check
    /// ([`MemberKey::check`]): with values that do not fit, every signature would fail, or be
    /// marked by whoever made them. `group` is one of the group's: loading it checked that.
    pub fn new(
        group: &PublicKey,
        id: EpochId,
        key: MemberKey,
        witness: &Witness,
    ) -> Result<Self, Invalid> {
        Self::with_backend(group, id, key, witness, Backend::best())
    }

    /// Prepares a key as [`Self::new`] does, for many precursors on this backend.
    pub fn with_backend(
        group: &PublicKey,
        id: EpochId,
        key: MemberKey,
        witness: &Witness,
        backend: Backend,
    ) -> Result<Self, Invalid> {
        key.check(group, witness)?;
        let b = key.credential() + witness.0;
        if b.is_identity() {
            return Err(Invalid);
        }
        Ok(Self {
            id,
            u: FixedBase::new(&group.u),
            h: FixedBase::new(&group.h),
            h0: FixedBase::new(&group.h0),
            h_w: FixedBase::new(&group.h_w),
            powers_of_b: FixedBase::new(&b),
            eight: Vectors::of(backend).map(|vectors| Eight::new(vectors, group, &b)),
            b,
            key,
        })
    }

    /// Computes everything of one signature that does not depend on the message (Clue,
    /// "Precomputation").
    pub fn precursor(&self, rng: &mut impl CryptoRng) -> Precursor {
        self.precursor_from(&Secret::new(|| Nonces::random(rng)))
    }

    /// Computes many precursors, eight at once where the backend can. Takes constant time, but for their
    /// number.
    pub fn precursors(&self, count: usize, rng: &mut impl CryptoRng) -> Vec<Precursor> {
        let mut precursors = Vec::with_capacity(count);
        while precursors.len() < count {
            let few = (count - precursors.len()).min(TOGETHER);
            if self.eight.is_some() && few >= EIGHT_FROM {
                let nonces = Secret::new(|| array::from_fn(|_| Nonces::random(rng)));
                precursors.extend(self.precursors_from(&nonces).into_iter().take(few));
            } else {
                precursors.push(self.precursor(rng));
            }
        }
        precursors
    }

    /// Makes a precursor from each of the given nonces, as [`Self::precursor_from`] does.
    pub fn precursors_from(&self, nonces: &[Nonces; TOGETHER]) -> Vec<Precursor> {
        match &self.eight {
            Some(eight) => self.eight_precursors(eight, nonces),
            None => nonces.iter().map(|n| self.precursor_from(n)).collect(),
        }
    }

    /// Makes a precursor from given nonces, for vectors. Whoever signs two messages with the same
    /// nonces publishes the key.
    pub fn precursor_from(&self, n: &Nonces) -> Precursor {
        shielded(|| {
            let commitments = self.commitments(n);
            let state = challenge::state(&self.id, &commitments.encoded);
            Precursor::new(state, commitments, self.secrets(n))
        })
    }

    /// ```text
    /// T1 = u^alpha   T2 = B h^alpha   R1 = u^ra   R3 = T2^rx h^(-rd) h0^(-ry) h_w^(-ra)
    /// ```
    /// With alpha known, R3 is a product of fixed points: T2^rx = B^rx h^(alpha rx).
    pub(super) fn commitments(&self, n: &Nonces) -> Commitments {
        let points = [
            self.u.mul(&n.alpha),
            self.b + self.h.mul(&n.alpha),
            self.u.mul(&n.ra),
            self.powers_of_b.mul(&n.rx) + self.h.mul(&(n.alpha * n.rx - n.rd))
                - self.h0.mul(&n.ry)
                - self.h_w.mul(&n.ra),
        ];
        let encoded = G1::to_bytes_many(&points);
        Commitments { points, encoded }
    }

    /// In the order alpha, x, delta, y.
    pub(super) fn secrets(&self, n: &Nonces) -> Secret<Prover<4>> {
        let (x, y) = (self.key.x(), self.key.y());
        Secret::new(|| Prover {
            blinding: [n.ra, n.rx, n.rd, n.ry],
            witness: [n.alpha, *x, n.alpha * *x, *y],
        })
    }
}

opaque!(SigningKey);

/// The random values of one signature (spec 3.3). Wiped when dropped.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Nonces {
    /// alpha, of T1 and T2.
    pub alpha: Scalar,
    /// ra, of R1 and R3.
    pub ra: Scalar,
    /// rx, of R3.
    pub rx: Scalar,
    /// rd, of R3.
    pub rd: Scalar,
    /// ry, of R3.
    pub ry: Scalar,
}

impl Nonces {
    /// Draws all five, uniform and independent.
    pub fn random(rng: &mut impl CryptoRng) -> Self {
        Self {
            alpha: Scalar::random(rng),
            ra: Scalar::random(rng),
            rx: Scalar::random(rng),
            rd: Scalar::random(rng),
            ry: Scalar::random(rng),
        }
    }
}

opaque!(Nonces);

/// T1, T2, R1, R3.
pub(super) struct Commitments {
    pub(super) points: [G1; 4],
    pub(super) encoded: Transcript,
}

/// One signature but for the message. Signing consumes it, so that no precursor signs twice:
///
/// ```compile_fail,E0382
/// # fn f(precursor: clew_group::xr::Precursor) {
/// precursor.sign(&[b"one"]);
/// precursor.sign(&[b"two"]); // use of moved value
/// # }
/// ```
pub struct Precursor {
    state: Sha256,
    commitments: Commitments,
    secrets: Secret<Prover<4>>,
}

impl Precursor {
    pub(super) fn new(state: Sha256, commitments: Commitments, secrets: Secret<Prover<4>>) -> Self {
        Self {
            state,
            commitments,
            secrets,
        }
    }

    /// Signs the concatenation of `message`: one hash and four multiplications of scalars.
    pub fn sign(self, message: &[&[u8]]) -> Signature {
        self.sign_incremental(message).signature
    }

    /// Signs, and keeps R1 with the signature.
    pub fn sign_incremental(self, message: &[&[u8]]) -> IncrementalSignature {
        let Self {
            state,
            commitments,
            secrets,
        } = self;
        let c = Challenge::of(state, message);
        let [a, x, d, y] = shielded_shallow(|| secrets.responses(&c.scalar()));
        let [t1, t2, r1, r3] = commitments.points;
        let [encoded_t1, encoded_t2, encoded_r1, encoded_r3] = commitments.encoded;
        let signature = Signature {
            t1,
            t2,
            r3,
            encoded: [encoded_t1, encoded_t2, encoded_r3],
            c,
            s: Responses { a, x, d, y },
        };
        IncrementalSignature {
            signature,
            r1,
            encoded_r1,
        }
    }
}

opaque!(Precursor);
