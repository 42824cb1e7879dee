//! The verifier: says yes or no.

use super::challenge::{CHALLENGE_BYTES, Challenge, Transcript, state};
use super::{INCREMENTAL_BYTES, IncrementalSignature, PublicKey, Signature};
use crate::curve::multiexp::{
    OddMultiples, WIDTH_FIXED, WIDTH_ONCE, WIDTH_SHORT, multiexp_vartime,
};
use crate::curve::{BaseTable, G1, G1_BYTES, G2, Gt, PreparedG2, Vectors, pairing_product};
use crate::{EpochId, Invalid};
use alloc::vec::Vec;
use clew_simd::Backend;
use clew_wire::opaque;
use rand_core::CryptoRng;

/// The public key of one epoch with its tables (0.45 MB, and 0.2 MB where the machine has vectors; to make
/// takes as long as two verifications).
pub struct VerifyingKey {
    pub(super) id: EpochId,
    /// g1 V.
    pub(super) base: OddMultiples,
    pub(super) h0: OddMultiples,
    pub(super) u: OddMultiples,
    pub(super) h: OddMultiples,
    backend: Backend,
    pub(super) lanes: Option<Lanes>,
    standard: PreparedG2,
    w: PreparedG2,
}

/// What eight signatures at once take.
pub(super) struct Lanes {
    pub(super) vectors: Vectors,
    pub(super) u: BaseTable,
}

impl VerifyingKey {
    /// Prepares a public key, which was checked when it was loaded.
    pub fn new(group: &PublicKey, id: EpochId) -> Self {
        Self::with_backend(group, id, Backend::best())
    }

    /// Prepares a public key for batches on this backend. The verdicts are the same on all.
    pub fn with_backend(group: &PublicKey, id: EpochId, backend: Backend) -> Self {
        let base = group.base();
        let [base, h0, u, h] =
            OddMultiples::of([&base, &group.h0, &group.u, &group.h], WIDTH_FIXED);
        let [standard, w] =
            [G2::generator(), group.w].map(|q| PreparedG2::with_backend(&q, backend));
        Self {
            id,
            base,
            h0,
            u,
            h,
            backend,
            lanes: Vectors::of(backend).map(|vectors| Lanes {
                vectors,
                u: BaseTable::new(vectors, &group.u),
            }),
            standard,
            w,
        }
    }

    /// Returns the backend that batches are verified on.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Verifies a signature (spec 3.4): the challenge first, with R1' derived; the pairing then.
    pub fn verify(&self, message: &[&[u8]], signature: &Signature) -> Result<(), Invalid> {
        self.check_derived(message, signature)?;
        self.check_pairing(signature)
    }

    /// Verifies the incremental form: the hash of the R1 that the signature carries first, without
    /// any group operation; then R1 = R1' and the pairing in random order.
    pub fn verify_incremental(
        &self,
        message: &[&[u8]],
        signature: &IncrementalSignature,
        rng: &mut impl CryptoRng,
    ) -> Result<(), Invalid> {
        self.check_carried(message, signature)?;
        let IncrementalSignature { signature, r1, .. } = signature;
        let check_r1 = || Invalid::unless(self.r1(signature) == *r1);
        if rng.next_u32() & 1 == 0 {
            check_r1()?;
            self.check_pairing(signature)
        } else {
            self.check_pairing(signature)?;
            check_r1()
        }
    }

    /// Returns whether c of an encoded incremental signature is the hash of what it carries: what a
    /// verifier can tell before it decodes anything.
    pub fn check_hash(
        &self,
        message: &[&[u8]],
        encoded: &[u8; INCREMENTAL_BYTES],
    ) -> Result<(), Invalid> {
        let (points, rest) = encoded.split_at(3 * G1_BYTES);
        let (points, _) = points.as_chunks();
        let r1 = encoded.last_chunk().ok_or(Invalid)?;
        let state = state(&self.id, &[points[0], points[1], *r1, points[2]]);
        Invalid::unless(Challenge::of(state, message).0 == rest[..CHALLENGE_BYTES])
    }

    /// c is the hash with R1', which is not the identity.
    fn check_derived(&self, message: &[&[u8]], signature: &Signature) -> Result<(), Invalid> {
        let r1 = encoded(&self.r1(signature))?;
        self.check_challenge(message, signature, &r1)
    }

    /// c is the hash with the R1 that is carried.
    pub(super) fn check_carried(
        &self,
        message: &[&[u8]],
        signature: &IncrementalSignature,
    ) -> Result<(), Invalid> {
        self.check_challenge(message, &signature.signature, &signature.encoded_r1)
    }

    /// R1' of one signature.
    pub(super) fn r1(&self, s: &Signature) -> G1 {
        let [t1] = OddMultiples::of_short([&s.t1], WIDTH_SHORT);
        self.r1_with(s, &t1)
    }

    /// R1' of each signature, whose tables are cheaper together.
    pub(super) fn r1_all(&self, signatures: &[&Signature]) -> Vec<G1> {
        let t1: Vec<G1> = signatures.iter().map(|s| s.t1).collect();
        let tables = OddMultiples::of_short_all(&t1, WIDTH_ONCE);
        let each = signatures.iter().zip(&tables);
        each.map(|(s, t1)| self.r1_with(s, t1)).collect()
    }

    /// R1' = u^sa T1^(-c)
    fn r1_with(&self, s: &Signature, t1: &OddMultiples) -> G1 {
        multiexp_vartime([(&self.u, s.s.a), (t1, -s.c.scalar())])
    }

    /// c is the hash with that R1.
    pub(super) fn check_challenge(
        &self,
        message: &[&[u8]],
        s: &Signature,
        encoded_r1: &[u8; G1_BYTES],
    ) -> Result<(), Invalid> {
        let state = state(&self.id, &transcript(s, encoded_r1));
        Invalid::unless(Challenge::of(state, message) == s.c)
    }

    /// e(T2^sx h^(-sd) h0^(-sy) (g1 V)^(-c) R3^(-1), G2) e(T2^c h^(-sa), w) = 1
    pub(super) fn check_pairing(&self, signature: &Signature) -> Result<(), Invalid> {
        let Signature { t2, r3, s, .. } = signature;
        let c = signature.c.scalar();
        let [t2] = OddMultiples::of([t2], WIDTH_ONCE);
        let in_g2 = multiexp_vartime([
            (&t2, s.x),
            (&self.h, -s.d),
            (&self.h0, -s.y),
            (&self.base, -c),
        ]);
        let in_w = multiexp_vartime([(&t2, c), (&self.h, -s.a)]);
        Invalid::unless(self.value(&(in_g2 - *r3), &in_w).is_identity())
    }

    /// e(in_g2, G2) e(in_w, w)
    pub(super) fn value(&self, in_g2: &G1, in_w: &G1) -> Gt {
        pairing_product([(in_g2, &self.standard), (in_w, &self.w)])
    }
}

/// R1' as it is hashed; refused if it is the identity.
pub(super) fn encoded(r1: &G1) -> Result<[u8; G1_BYTES], Invalid> {
    if r1.is_identity() {
        Err(Invalid)
    } else {
        Ok(r1.to_bytes())
    }
}

/// T1, T2, R1, R3 as they are hashed.
pub(super) fn transcript(s: &Signature, encoded_r1: &[u8; G1_BYTES]) -> Transcript {
    let [t1, t2, r3] = s.encoded;
    [t1, t2, *encoded_r1, r3]
}

opaque!(VerifyingKey);
