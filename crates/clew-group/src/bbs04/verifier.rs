//! The verifier: says yes or no.

use super::challenge::{Encryption, challenge, state, state_of_bytes};
use super::{
    Commitments, INCREMENTAL_BYTES, IncrementalSignature, PublicKey, SIGNATURE_BYTES, Signature,
};
use crate::curve::multiexp::{OddMultiples, WIDTH_FIXED, WIDTH_ONCE, multiexp_vartime};
use crate::curve::{G1, G1_BYTES, G2, GT_BYTES, PreparedG2, SCALAR_BYTES, pairing_product};
use crate::{EpochId, Invalid};
use clew_wire::opaque;
use core::cell::OnceCell;
use rand_core::CryptoRng;

/// The public key of one epoch with its tables (0.45 MB; to make takes about as long as to verify).
pub struct VerifyingKey {
    id: EpochId,
    /// g1 V.
    base: OddMultiples,
    h: OddMultiples,
    u: OddMultiples,
    v: OddMultiples,
    g2: PreparedG2,
    w: PreparedG2,
}

impl VerifyingKey {
    /// Prepares a public key.
    pub fn new(group: &PublicKey, id: EpochId) -> Self {
        let base = group.base();
        let [base, h, u, v] =
            OddMultiples::of([&base, &group.h, &group.u, &group.opener_v], WIDTH_FIXED);
        let [g2, w] = [G2::generator(), group.w].map(|q| PreparedG2::new(&q));
        Self {
            id,
            base,
            h,
            u,
            v,
            g2,
            w,
        }
    }

    /// Verifies a signature (section 4): derives R1'..R5' and accepts if they hash to c.
    pub fn verify(&self, message: &[&[u8]], signature: &Signature) -> Result<(), Invalid> {
        let equations = Equations::with_tables(self, signature);
        let [r1, r2, r4, r5] = G1::to_bytes_many(&[
            equations.r1(),
            equations.r2(),
            equations.r4(),
            equations.r5(),
        ]);
        let commitments = Commitments {
            r1,
            r2,
            r3: equations.r3(),
            r4,
            r5,
        };
        self.check_challenge(message, signature, &commitments)
    }

    /// Verifies a signature in Clue's incremental form: the hash of the R's that it carries first,
    /// then each R against the derived one in random order; the first mismatch rejects.
    pub fn verify_incremental(
        &self,
        message: &[&[u8]],
        signature: &IncrementalSignature,
        rng: &mut impl CryptoRng,
    ) -> Result<(), Invalid> {
        let IncrementalSignature {
            signature,
            commitments,
        } = signature;
        self.check_challenge(message, signature, commitments)?;
        let equations = Equations::new(self, signature);
        let holds = |j: usize| match j {
            1 => equations.r1().to_bytes() == commitments.r1,
            2 => equations.r2().to_bytes() == commitments.r2,
            3 => equations.r3() == commitments.r3,
            4 => equations.r4().to_bytes() == commitments.r4,
            _ => equations.r5().to_bytes() == commitments.r5,
        };
        Invalid::unless(random_order(rng).into_iter().all(holds))
    }

    /// Returns whether c of an encoded incremental signature is the hash of what it carries: what a
    /// verifier can tell before it decodes anything.
    pub fn check_hash(
        &self,
        message: &[&[u8]],
        encoded: &[u8; INCREMENTAL_BYTES],
    ) -> Result<(), Invalid> {
        let (signature, commitments) = encoded.split_at(SIGNATURE_BYTES);
        let (t, scalars) = signature.split_at(3 * G1_BYTES);
        let derived = challenge(state_of_bytes(&self.id, t, commitments), message);
        Invalid::unless(derived.to_bytes() == scalars[..SCALAR_BYTES])
    }

    fn check_challenge(
        &self,
        message: &[&[u8]],
        signature: &Signature,
        commitments: &Commitments,
    ) -> Result<(), Invalid> {
        let encoded_t: &Encryption = &signature.encoded_t;
        let derived = challenge(state(&self.id, encoded_t, commitments), message);
        Invalid::unless(derived == signature.c)
    }
}

opaque!(VerifyingKey);

/// 1..=5 in random order (Fisher and Yates).
fn random_order(rng: &mut impl CryptoRng) -> [usize; 5] {
    let mut order = [1, 2, 3, 4, 5];
    for last in (1..order.len()).rev() {
        let other = rng.next_u32() as usize % (last + 1);
        order.swap(last, other);
    }
    order
}

/// The five equations of Verify for one signature, each computed when asked for.
struct Equations<'a> {
    key: &'a VerifyingKey,
    s: &'a Signature,
    /// Tables of T1, T2 and T3, which serve two equations each.
    tables: [OnceCell<OddMultiples>; 3],
}

impl<'a> Equations<'a> {
    /// For a verifier that may stop early: each table is made when first used.
    fn new(key: &'a VerifyingKey, s: &'a Signature) -> Self {
        let tables = Default::default();
        Self { key, s, tables }
    }

    /// For a verifier that needs all five: the tables are cheaper together.
    fn with_tables(key: &'a VerifyingKey, s: &'a Signature) -> Self {
        let tables = OddMultiples::of([&s.t1, &s.t2, &s.t3], WIDTH_ONCE).map(OnceCell::from);
        Self { key, s, tables }
    }

    fn t1(&self) -> &OddMultiples {
        self.tables[0].get_or_init(|| table(&self.s.t1))
    }

    fn t2(&self) -> &OddMultiples {
        self.tables[1].get_or_init(|| table(&self.s.t2))
    }

    fn t3(&self) -> &OddMultiples {
        self.tables[2].get_or_init(|| table(&self.s.t3))
    }

    /// R1' = u^s_alpha / T1^c
    fn r1(&self) -> G1 {
        multiexp_vartime([(&self.key.u, self.s.s.alpha), (self.t1(), -self.s.c)])
    }

    /// R2' = v^s_beta / T2^c
    fn r2(&self) -> G1 {
        multiexp_vartime([(&self.key.v, self.s.s.beta), (self.t2(), -self.s.c)])
    }

    /// R3' = e(T3,g2)^s_x e(h,w)^(-s_alpha-s_beta) e(h,g2)^(-s_delta1-s_delta2) (e(T3,w)/e(g1 V,g2))^c
    ///     = e(T3^s_x h^(-s_delta1-s_delta2) (g1 V)^(-c), g2) e(T3^c h^(-s_alpha-s_beta), w)
    fn r3(&self) -> [u8; GT_BYTES] {
        let (key, c, s) = (self.key, self.s.c, &self.s.s);
        let in_g2 = multiexp_vartime([
            (self.t3(), s.x),
            (&key.h, -(s.delta1 + s.delta2)),
            (&key.base, -c),
        ]);
        let in_w = multiexp_vartime([(self.t3(), c), (&key.h, -(s.alpha + s.beta))]);
        pairing_product([(&in_g2, &key.g2), (&in_w, &key.w)]).to_bytes()
    }

    /// R4' = T1^s_x u^(-s_delta1)
    fn r4(&self) -> G1 {
        multiexp_vartime([(self.t1(), self.s.s.x), (&self.key.u, -self.s.s.delta1)])
    }

    /// R5' = T2^s_x v^(-s_delta2)
    fn r5(&self) -> G1 {
        multiexp_vartime([(self.t2(), self.s.s.x), (&self.key.v, -self.s.s.delta2)])
    }
}

fn table(point: &G1) -> OddMultiples {
    let [table] = OddMultiples::of([point], WIDTH_ONCE);
    table
}
