//! The member: prepares precursors and signs.

use super::challenge::{self, Encryption};
use super::signature::Responses;
use super::{Commitments, IncrementalSignature, MemberKey, PublicKey, Signature};
use crate::curve::{FixedBase, G1, G2, Gt, PreparedG2, Scalar, pairing_product};
use crate::secret::{Prover, Secret, shielded, shielded_shallow};
use crate::{EpochId, Invalid, Witness};
use clew_wire::opaque;
use rand_core::CryptoRng;
use sha2::Sha256;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// A member key with its tables for one epoch (0.4 MB). Signs in constant time.
pub struct SigningKey {
    key: MemberKey,
    id: EpochId,
    u: FixedBase,
    v: FixedBase,
    h: FixedBase,
    /// B = A W, the base that it signs with in this epoch.
    b: G1,
    powers_of_b: FixedBase,
    g2: PreparedG2,
    w: PreparedG2,
}

impl SigningKey {
    /// Prepares a key and its witness for the epoch of `group`, after the member's check
    /// ([`MemberKey::check`]): with values that do not fit, every signature would fail, or be
    /// marked by whoever made them.
    pub fn new(
        group: &PublicKey,
        id: EpochId,
        key: MemberKey,
        witness: &Witness,
    ) -> Result<Self, Invalid> {
        key.check(group, witness)?;
        let b = key.credential() + witness.0;
        if b.is_identity() {
            return Err(Invalid);
        }
        Ok(Self {
            id,
            u: FixedBase::new(&group.u),
            v: FixedBase::new(&group.opener_v),
            h: FixedBase::new(&group.h),
            powers_of_b: FixedBase::new(&b),
            b,
            g2: PreparedG2::new(&G2::generator()),
            w: PreparedG2::new(&group.w),
            key,
        })
    }

    /// Computes everything of one signature that does not depend on the message (Clue,
    /// "Precomputation").
    pub fn precursor(&self, rng: &mut impl CryptoRng) -> Precursor {
        self.precursor_from(&Secret::new(|| Nonces::random(rng)))
    }

    /// Makes a precursor from given nonces, for vectors. Whoever signs two messages with the same
    /// nonces publishes the key.
    ///
    /// ```text
    /// T1 = u^alpha   T2 = v^beta   T3 = B h^(alpha+beta)
    /// R1 = u^r_alpha   R2 = v^r_beta
    /// R3 = e(T3,g2)^r_x e(h,w)^(-r_alpha-r_beta) e(h,g2)^(-r_delta1-r_delta2)
    /// R4 = T1^r_x u^(-r_delta1)   R5 = T2^r_x v^(-r_delta2)
    /// ```
    /// With the exponents known, each of these is a product of fixed points:
    /// T3^r_x = B^r_x h^((alpha+beta) r_x), T1^r_x = u^(alpha r_x), T2^r_x = v^(beta r_x).
    pub fn precursor_from(&self, n: &Nonces) -> Precursor {
        shielded(|| {
            let points = self.points(n);
            let [t1, t2, t3, r1, r2, r4, r5] = G1::to_bytes_many(&points);
            let encoded_t = [t1, t2, t3];
            let commitments = Commitments {
                r1,
                r2,
                r3: self.r3(n).to_bytes(),
                r4,
                r5,
            };
            Precursor {
                state: challenge::state(&self.id, &encoded_t, &commitments),
                t: [points[0], points[1], points[2]],
                encoded_t,
                commitments,
                secrets: self.secrets(n),
            }
        })
    }

    /// T1, T2, T3, R1, R2, R4, R5.
    fn points(&self, n: &Nonces) -> [G1; 7] {
        [
            self.u.mul(&n.alpha),
            self.v.mul(&n.beta),
            self.b + self.h.mul(&(n.alpha + n.beta)),
            self.u.mul(&n.r_alpha),
            self.v.mul(&n.r_beta),
            self.u.mul(&(n.alpha * n.r_x - n.r_delta1)),
            self.v.mul(&(n.beta * n.r_x - n.r_delta2)),
        ]
    }

    fn r3(&self, n: &Nonces) -> Gt {
        let of_h = (n.alpha + n.beta) * n.r_x - n.r_delta1 - n.r_delta2;
        let in_g2 = self.powers_of_b.mul(&n.r_x) + self.h.mul(&of_h);
        let in_w = self.h.mul(&-(n.r_alpha + n.r_beta));
        pairing_product([(&in_g2, &self.g2), (&in_w, &self.w)])
    }

    /// In the order alpha, beta, x, delta1, delta2.
    fn secrets(&self, n: &Nonces) -> Secret<Prover<5>> {
        let x = self.key.x();
        Secret::new(|| Prover {
            blinding: [n.r_alpha, n.r_beta, n.r_x, n.r_delta1, n.r_delta2],
            witness: [n.alpha, n.beta, *x, *x * n.alpha, *x * n.beta],
        })
    }
}

opaque!(SigningKey);

/// The random values of one signature (section 4). Wiped when dropped.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Nonces {
    /// alpha, of T1.
    pub alpha: Scalar,
    /// beta, of T2.
    pub beta: Scalar,
    /// r_alpha, of R1.
    pub r_alpha: Scalar,
    /// r_beta, of R2.
    pub r_beta: Scalar,
    /// r_x, of R3, R4 and R5.
    pub r_x: Scalar,
    /// r_delta1, of R3 and R4.
    pub r_delta1: Scalar,
    /// r_delta2, of R3 and R5.
    pub r_delta2: Scalar,
}

impl Nonces {
    /// Draws all seven, uniform and independent.
    pub fn random(rng: &mut impl CryptoRng) -> Self {
        Self {
            alpha: Scalar::random(rng),
            beta: Scalar::random(rng),
            r_alpha: Scalar::random(rng),
            r_beta: Scalar::random(rng),
            r_x: Scalar::random(rng),
            r_delta1: Scalar::random(rng),
            r_delta2: Scalar::random(rng),
        }
    }
}

opaque!(Nonces);

/// One signature but for the message. Signing consumes it, so that no precursor signs twice:
///
/// ```compile_fail
/// # fn f(precursor: clew_group::bbs04::Precursor) {
/// precursor.sign(&[b"one"]);
/// precursor.sign(&[b"two"]); // use of moved value
/// # }
/// ```
pub struct Precursor {
    state: Sha256,
    t: [G1; 3],
    encoded_t: Encryption,
    commitments: Commitments,
    secrets: Secret<Prover<5>>,
}

impl Precursor {
    /// Signs the concatenation of `message`: one hash and five multiplications of scalars.
    pub fn sign(self, message: &[&[u8]]) -> Signature {
        self.sign_incremental(message).signature
    }

    /// Signs, and keeps R1..R5 with the signature.
    pub fn sign_incremental(self, message: &[&[u8]]) -> IncrementalSignature {
        let Self {
            state,
            t: [t1, t2, t3],
            encoded_t,
            commitments,
            secrets,
        } = self;
        let c = challenge::challenge(state, message);
        let [alpha, beta, x, delta1, delta2] = shielded_shallow(|| secrets.responses(&c));
        let signature = Signature {
            t1,
            t2,
            t3,
            encoded_t,
            c,
            s: Responses {
                alpha,
                beta,
                x,
                delta1,
                delta2,
            },
        };
        IncrementalSignature {
            signature,
            commitments,
        }
    }
}

opaque!(Precursor);
