//! One pairing product, spread over the lanes.
#![allow(unsafe_code, reason = "calls of blst")]

use super::fp::Fp;
use super::kernel::{Kernel, LANES};
use super::limbs::{Row, WORDS};
use super::tower::{Fp12, Tower, from_fp6};
use alloc::vec::Vec;
use blst::{
    blst_fp2, blst_fp2_add, blst_fp2_inverse, blst_fp2_mul, blst_fp6, blst_fp12,
    blst_fp12_conjugate, blst_fp12_frobenius_map, blst_fp12_inverse, blst_fp12_mul, blst_fp12_one,
    blst_p1_affine,
};

/// Lines of one Miller loop: the loop count of BLS12-381 has 64 bits, 6 of them set.
pub const LINES: usize = 68;

/// The Miller loop as blst cuts it: after each addition, that many doublings.
/// z = -0xd201000000010000.
const DOUBLINGS_AFTER_ADDITION: [usize; 5] = [2, 3, 9, 32, 16];

/// The lines of a point of G2, each divided by its constant, so that a product with it takes two
/// products in Fp6 and no third (35 kB). The divisor is in Fp2, so the final exponentiation takes it away.
#[derive(Clone, Debug)]
pub struct Lines(Vec<[Row; LANES]>);

impl Lines {
    /// Reads what `blst_precompute_lines` made of a point. Returns `None` if a line has no constant:
    /// no point that was drawn at random has such a line.
    pub(super) fn new<K: Kernel>(kernel: K, lines: &[blst_fp6; LINES]) -> Option<Self> {
        let inverses = inverses(&lines.each_ref().map(|line| line.fp2[0]))?;
        let scaled = lines
            .iter()
            .zip(inverses)
            .map(|(line, inverse)| from_fp6(kernel, &scaled_line(line, &inverse)).to_rows());
        Some(Self(scaled.collect()))
    }
}

/// A point of G1, and the lines of its partner.
#[derive(Clone, Copy, Debug)]
pub struct Term<'a> {
    /// The point; the identity, (0, 0), is allowed.
    pub point: &'a blst_p1_affine,
    /// The lines.
    pub lines: &'a Lines,
}

/// Returns the product of the pairings of all terms, in the form that `blst_final_exp` gives it. Takes
/// a time that depends only on how many they are.
pub(super) fn product<K: Tower>(kernel: K, terms: &[Term<'_>]) -> blst_fp12 {
    let f = kernel.run(|| miller_loop(kernel, terms)).to_blst();
    let f = easy_part(&f);
    kernel
        .run(|| hard_part(&Fp12::from_blst(kernel, &f)))
        .to_blst()
}

fn miller_loop<K: Tower>(kernel: K, terms: &[Term<'_>]) -> Fp12<K> {
    let points: Vec<Fp<K>> = terms.iter().map(|term| slots(kernel, term.point)).collect();
    // SAFETY: blst returns a pointer to a constant of its own.
    let mut f = Fp12::from_blst(kernel, unsafe { &*blst_fp12_one() });
    let mut next = 0;
    let mut multiply = |f: &mut Fp12<K>| {
        for (term, point) in terms.iter().zip(&points) {
            let line = Fp::from_rows(kernel, term.lines.0[next].each_ref());
            *f = f.mul_by_line(&line.mul(point));
        }
        next += 1;
    };
    multiply(&mut f); // the first doubling, from f = 1
    for doublings in DOUBLINGS_AFTER_ADDITION {
        multiply(&mut f);
        for _ in 0..doublings {
            f = f.square();
            multiply(&mut f);
        }
    }
    f.conjugate() // the loop count is negative
}

/// The coordinates where a line takes them: at the identity both are zero, and the line is one.
fn slots<K: Kernel>(kernel: K, point: &blst_p1_affine) -> Fp<K> {
    const NONE: [u64; WORDS] = [0; WORDS];
    let (x, y) = (&point.x.l, &point.y.l);
    Fp::from_blst(kernel, [&NONE, &NONE, x, x, y, y, &NONE, &NONE])
}

/// `f^((p^6 - 1) (p^2 + 1))`, which has one inversion in Fp: blst's.
fn easy_part(f: &blst_fp12) -> blst_fp12 {
    let mut inverse = blst_fp12::default();
    let (mut conjugate, mut power) = (*f, blst_fp12::default());
    let (mut square, mut out) = (blst_fp12::default(), blst_fp12::default());
    // SAFETY: all pointers are to live values.
    unsafe {
        blst_fp12_inverse(&mut inverse, f);
        blst_fp12_conjugate(&mut conjugate);
        blst_fp12_mul(&mut power, &conjugate, &inverse);
        blst_fp12_frobenius_map(&mut square, &power, 2);
        blst_fp12_mul(&mut out, &square, &power);
    }
    out
}

/// `f^(3 (p^4 - p^2 + 1) / r)`, by powers of z: the exponent of `blst_final_exp`. (Hayashida, Hayasaka
/// and Teruya, "Efficient Final Exponentiation via Cyclotomic Structure for Pairings over Families of
/// Elliptic Curves": `(z - 1)^2 (z + p) (z^2 + p^2 - 1) + 3`.)
fn hard_part<K: Tower>(f: &Fp12<K>) -> Fp12<K> {
    let less_one = |f: &Fp12<K>| power_z(f).mul(&f.conjugate());
    let square = less_one(&less_one(f));
    let with_p = power_z(&square).mul(&square.frobenius(1));
    let with_squares = power_z(&power_z(&with_p))
        .mul(&with_p.frobenius(2))
        .mul(&with_p.conjugate());
    with_squares.mul(&f.cyclotomic_squares(1)).mul(f)
}

/// `f^z`.
fn power_z<K: Tower>(f: &Fp12<K>) -> Fp12<K> {
    let first = f.cyclotomic_squares(1);
    let power = DOUBLINGS_AFTER_ADDITION
        .into_iter()
        .fold(first, |power, n| power.mul(f).cyclotomic_squares(n));
    power.conjugate()
}

/// The line over its constant, with the factors -2 of x and 2 of y that blst's lines leave to the point.
fn scaled_line(line: &blst_fp6, inverse: &blst_fp2) -> blst_fp6 {
    let mut out = blst_fp6::default();
    for i in 1..3 {
        let once = mul(&line.fp2[i], inverse);
        // SAFETY: all pointers are to live values.
        unsafe { blst_fp2_add(&mut out.fp2[i], &once, &once) };
    }
    // SAFETY: the pointers are to one live value, which blst allows.
    unsafe { blst::blst_fp2_cneg(&mut out.fp2[1], &out.fp2[1], true) };
    out
}

/// Inverts all with one inversion (Montgomery's trick), or returns `None` if one is zero.
fn inverses(values: &[blst_fp2; LINES]) -> Option<[blst_fp2; LINES]> {
    if values.contains(&blst_fp2::default()) {
        return None;
    }
    let mut products = *values;
    for i in 1..LINES {
        products[i] = mul(&products[i - 1], &values[i]);
    }
    let mut inverse = blst_fp2::default();
    // SAFETY: both pointers are to live values.
    unsafe { blst_fp2_inverse(&mut inverse, &products[LINES - 1]) };
    for i in (1..LINES).rev() {
        products[i] = mul(&inverse, &products[i - 1]);
        inverse = mul(&inverse, &values[i]);
    }
    products[0] = inverse;
    Some(products)
}

fn mul(a: &blst_fp2, b: &blst_fp2) -> blst_fp2 {
    let mut product = blst_fp2::default();
    // SAFETY: all pointers are to live values.
    unsafe { blst_fp2_mul(&mut product, a, b) };
    product
}
