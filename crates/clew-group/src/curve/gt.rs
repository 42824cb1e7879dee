//! The pairing and its target group.

use super::affine::to_affine;
use super::{G1, G2};
use alloc::vec;
use alloc::vec::Vec;
use blst::{
    blst_bendian_from_fp12, blst_final_exp, blst_fp_add, blst_fp_cneg, blst_fp_mul, blst_fp6,
    blst_fp12, blst_fp12_conjugate, blst_fp12_is_equal, blst_fp12_is_one, blst_fp12_mul,
    blst_fp12_mul_by_xy00z0, blst_fp12_sqr, blst_p1_affine, blst_p1_affine_is_inf,
    blst_precompute_lines,
};
use clew_simd::Backend;
use clew_simd::bls::{Engine, Lines};
use clew_wire::opaque;

/// Size of an encoded element of GT: twelve field elements of 48 bytes, uncompressed, in the order
/// that `spec/group-signature.md` section 2 gives.
pub(crate) const GT_BYTES: usize = 576;

/// Lines of one Miller loop: the loop count of BLS12-381 has 64 bits, 6 of them set.
const LINES: usize = 68;

/// The Miller loop as blst cuts it: after each addition, that many doublings.
/// z = -0xd201000000010000.
const DOUBLINGS_AFTER_ADDITION: [usize; 5] = [2, 3, 9, 32, 16];

/// An element of GT.
#[derive(Clone, Copy)]
pub struct Gt(blst_fp12);

impl Gt {
    /// Encodes as 576 bytes.
    pub fn to_bytes(&self) -> [u8; GT_BYTES] {
        let mut bytes = [0; GT_BYTES];
        // SAFETY: `bytes` has the 576 bytes that are written.
        unsafe { blst_bendian_from_fp12(bytes.as_mut_ptr(), &self.0) };
        bytes
    }

    /// Returns whether this is the identity.
    pub fn is_identity(&self) -> bool {
        // SAFETY: the pointer is to a live value.
        unsafe { blst_fp12_is_one(&self.0) }
    }

    /// Returns `1/self`: the conjugate, because elements of GT have norm one.
    pub fn inverse(&self) -> Self {
        let mut out = self.0;
        // SAFETY: the pointer is to a live value.
        unsafe { blst_fp12_conjugate(&mut out) };
        Self(out)
    }

    /// Returns the product of two elements.
    pub fn mul(&self, other: &Self) -> Self {
        let mut out = blst_fp12::default();
        // SAFETY: all pointers are to live values.
        unsafe { blst_fp12_mul(&mut out, &self.0, &other.0) };
        Self(out)
    }
}

impl PartialEq for Gt {
    fn eq(&self, other: &Self) -> bool {
        // SAFETY: both pointers are to live values.
        unsafe { blst_fp12_is_equal(&self.0, &other.0) }
    }
}

impl Eq for Gt {}

opaque!(Gt);

/// A point of G2 with the lines of its Miller loop computed (19 kB, and 35 kB in lanes).
#[derive(Clone)]
pub struct PreparedG2 {
    lines: Vec<blst_fp6>,
    /// The same for vector lanes, if the backend has them.
    in_lanes: Option<Lines>,
}

impl PreparedG2 {
    /// Computes the lines; `point` must not be the identity (no decoded point is).
    pub fn new(point: &G2) -> Self {
        Self::with_backend(point, Backend::best())
    }

    /// Computes the lines as [`Self::new`] does, for pairings on this backend.
    pub(crate) fn with_backend(point: &G2, backend: Backend) -> Self {
        assert!(!point.is_identity(), "the identity of G2 has no lines");
        let mut lines = vec![blst_fp6::default(); LINES];
        // SAFETY: `lines` has room for the 68 lines that are written.
        unsafe { blst_precompute_lines(lines.as_mut_ptr(), &point.to_affine()) };
        let in_lanes = Engine::new(backend).and_then(|engine| {
            let lines = lines.first_chunk()?;
            engine.lines(lines)
        });
        Self { lines, in_lanes }
    }
}

opaque!(PreparedG2);

/// Returns the product of e(P, Q) over all pairs: one Miller loop whose squarings all pairs share,
/// and one final exponentiation. The time depends only on the number of pairs: a signer's points
/// are secret, even whether one is the identity.
pub fn pairing_product<const N: usize>(pairs: [(&G1, &PreparedG2); N]) -> Gt {
    let points = to_affine(&pairs.map(|(p, _)| *p));
    let prepared = pairs.map(|(_, q)| q);
    product_in_lanes(&points, &prepared).unwrap_or_else(|| product_by_blst(&points, &prepared))
}

/// Returns `None` if this machine has no lanes, or a point has no lines for them.
fn product_in_lanes(points: &[blst_p1_affine], prepared: &[&PreparedG2]) -> Option<Gt> {
    let engine = Engine::new(Backend::best())?;
    let pairs = points.iter().zip(prepared);
    let terms: Option<Vec<_>> = pairs
        .map(|(point, q)| {
            let lines = q.in_lanes.as_ref()?;
            Some(clew_simd::bls::Term { point, lines })
        })
        .collect();
    Some(Gt(engine.pairing_product(&terms?)))
}

fn product_by_blst(points: &[blst_p1_affine], prepared: &[&PreparedG2]) -> Gt {
    let pairs = points.iter().zip(prepared);
    let terms: Vec<Term<'_>> = pairs
        .map(|(p, q)| Term {
            point: doubled(p),
            identity: mask_of_identity(p),
            lines: &q.lines,
        })
        .collect();
    final_exponentiation(&miller_loop(&terms))
}

/// (-2x, 2y) of a point of G1, by which blst's lines are scaled, and the lines of its partner.
struct Term<'a> {
    point: blst_p1_affine,
    /// All bits are set for the identity, whose lines are one.
    identity: u64,
    lines: &'a [blst_fp6],
}

fn mask_of_identity(p: &blst_p1_affine) -> u64 {
    // SAFETY: the pointer is to a live value. The time does not depend on it.
    let is_identity = unsafe { blst_p1_affine_is_inf(p) };
    u64::from(is_identity).wrapping_neg()
}

fn doubled(p: &blst_p1_affine) -> blst_p1_affine {
    let mut out = blst_p1_affine::default();
    // SAFETY: all pointers are to live values.
    unsafe {
        blst_fp_add(&mut out.x, &p.x, &p.x);
        let x = out.x;
        blst_fp_cneg(&mut out.x, &x, true);
        blst_fp_add(&mut out.y, &p.y, &p.y);
    }
    out
}

fn miller_loop(terms: &[Term<'_>]) -> blst_fp12 {
    // SAFETY: blst returns a pointer to a constant of its own.
    let mut f = unsafe { *blst::blst_fp12_one() };
    let mut line = 0;
    let mut multiply = |f: &mut blst_fp12| {
        for term in terms {
            multiply_by_line(f, &term.lines[line], term);
        }
        line += 1;
    };
    multiply(&mut f); // the first doubling, from f = 1
    for doublings in DOUBLINGS_AFTER_ADDITION {
        multiply(&mut f);
        for _ in 0..doublings {
            let square = f;
            // SAFETY: both pointers are to live values.
            unsafe { blst_fp12_sqr(&mut f, &square) };
            multiply(&mut f);
        }
    }
    // SAFETY: the pointer is to a live value. The loop count is negative.
    unsafe { blst_fp12_conjugate(&mut f) };
    f
}

/// Evaluates one line at the point and multiplies it into `f`: the last two of its three values take
/// a coordinate each, both zero at the identity, and the first becomes one there.
fn multiply_by_line(f: &mut blst_fp12, line: &blst_fp6, term: &Term<'_>) {
    let mut at = *line;
    let before = *f;
    // SAFETY: blst returns a pointer to a constant of its own.
    let one = unsafe { &(*blst::blst_fp12_one()).fp6[0].fp2[0] };
    for (value, one) in at.fp2[0].fp.iter_mut().zip(&one.fp) {
        for (limb, one) in value.l.iter_mut().zip(one.l) {
            *limb ^= (*limb ^ one) & term.identity;
        }
    }
    // SAFETY: all pointers are to live values.
    unsafe {
        for i in 0..2 {
            blst_fp_mul(&mut at.fp2[1].fp[i], &line.fp2[1].fp[i], &term.point.x);
            blst_fp_mul(&mut at.fp2[2].fp[i], &line.fp2[2].fp[i], &term.point.y);
        }
        blst_fp12_mul_by_xy00z0(f, &before, &at);
    }
}

fn final_exponentiation(f: &blst_fp12) -> Gt {
    let mut out = blst_fp12::default();
    // SAFETY: both pointers are to live values.
    unsafe { blst_final_exp(&mut out, f) };
    Gt(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::Scalar;
    use blst::{blst_miller_loop, blst_p1_affine_generator, blst_p2_affine_generator};

    fn pairing(p: &G1, q: &G2) -> Gt {
        pairing_product([(p, &PreparedG2::new(q))])
    }

    #[test]
    fn both_paths_give_the_same() {
        let g1 = G1::generator();
        let prepared =
            [3, 5, 7].map(|k| PreparedG2::new(&G2::generator().mul(&Scalar::from_u128(k))));
        let prepared = prepared.each_ref();
        let points = [
            Scalar::from_u128(11),
            Scalar::from_u128(13),
            Scalar::from_u128(0),
        ];
        let points = to_affine(&points.map(|k| g1.mul(&k)));
        for n in 0..=3 {
            let Some(in_lanes) = product_in_lanes(&points[..n], &prepared[..n]) else {
                return;
            };
            assert_eq!(
                in_lanes,
                product_by_blst(&points[..n], &prepared[..n]),
                "{n} pairs"
            );
        }
    }

    #[test]
    fn it_is_blsts_pairing() {
        let mut f = blst_fp12::default();
        // SAFETY: blst returns pointers to constants of its own.
        unsafe {
            blst_miller_loop(
                &mut f,
                blst_p2_affine_generator(),
                blst_p1_affine_generator(),
            )
        };
        assert_eq!(
            pairing(&G1::generator(), &G2::generator()),
            final_exponentiation(&f)
        );
    }

    #[test]
    fn it_is_bilinear_over_products() {
        let (a, b) = (
            Scalar::from_u128(0x1234_5678_9abc),
            Scalar::from_u128(987_654_321),
        );
        let (g1, g2) = (G1::generator(), G2::generator());
        assert_eq!(
            pairing(&g1.mul(&a), &g2.mul(&b)),
            pairing(&g1.mul(&(a * b)), &g2)
        );
        let (p, q) = (PreparedG2::new(&g2), PreparedG2::new(&g2.mul(&b)));
        let product = pairing_product([(&g1.mul(&a), &p), (&g1, &q)]);
        assert_eq!(product, pairing(&g1.mul(&(a + b)), &g2));
        assert!(pairing_product([(&g1.mul(&b), &p), (&-g1, &q)]).is_identity());
        assert_eq!(pairing(&-g1, &g2), pairing(&g1, &g2).inverse());
        let with_identity = [(&g1, &q), (&G1::default(), &p), (&g1.mul(&a), &p)];
        assert_eq!(pairing_product(with_identity), product);
        assert!(pairing_product([(&G1::default(), &p), (&G1::default(), &q)]).is_identity());
    }
}
