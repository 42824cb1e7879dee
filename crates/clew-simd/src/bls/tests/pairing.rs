//! Fp12 and pairings, against blst.

use crate::bls::pairing::{LINES, Lines, Term, product};
use crate::bls::tower::{FROBENIUS, Fp12, from_fp6};
use crate::bls::{Fp, Ifma, WORDS, limbs};
use blst::*;
use proptest::prelude::*;
use std::vec::Vec;

/// Elements with zeros, ones and the largest values among their coefficients.
fn fp12() -> impl Strategy<Value = blst_fp12> {
    let value = prop_oneof![
        4 => prop::array::uniform4(any::<u64>()).prop_map(|w| scaled(&[w[0], w[1], w[2], w[3], w[0] ^ w[2], w[1] >> 4])),
        1 => (0u64..3).prop_map(|k| scaled(&[k, 0, 0, 0, 0, 0])),
        1 => (1u64..3).prop_map(|k| {
            let mut words = limbs::P_WORDS;
            words[0] -= k;
            scaled(&words)
        }),
    ];
    prop::collection::vec(value, 12).prop_map(|values| {
        let mut f = blst_fp12::default();
        let all = f.fp6.iter_mut().flat_map(|fp6| &mut fp6.fp2);
        for (to, from) in all.flat_map(|fp2| &mut fp2.fp).zip(values) {
            *to = from;
        }
        f
    })
}

fn scaled(words: &[u64; WORDS]) -> blst_fp {
    let mut out = blst_fp::default();
    // SAFETY: six words are read.
    unsafe { blst_fp_from_uint64(&mut out, words.as_ptr()) };
    out
}

/// Calls a function of blst that writes its first argument.
macro_rules! blst {
    ($function:ident($($argument:expr),*)) => {{
        let mut out = Default::default();
        #[allow(unused_unsafe, reason = "calls within calls")]
        // SAFETY: all pointers are to live values, and to as many bytes as are read.
        unsafe {
            $function(&mut out, $($argument),*)
        };
        out
    }};
}

fn conjugate(f: &blst_fp12) -> blst_fp12 {
    let mut out = *f;
    // SAFETY: the pointer is to a live value.
    unsafe { blst_fp12_conjugate(&mut out) };
    out
}

/// An element of the cyclotomic subgroup.
fn cyclotomic(f: &blst_fp12) -> blst_fp12 {
    let power = blst!(blst_fp12_mul(&conjugate(f), &blst!(blst_fp12_inverse(f))));
    blst!(blst_fp12_mul(
        &power,
        &blst!(blst_fp12_frobenius_map(&power, 2))
    ))
}

fn one() -> blst_fp12 {
    // SAFETY: blst returns a pointer to a constant of its own.
    unsafe { *blst_fp12_one() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn arithmetic_is_blsts(f in fp12(), g in fp12()) {
        let Some(kernel) = Ifma::new() else { return Ok(()) };
        let [a, b] = [&f, &g].map(|f| Fp12::from_blst(kernel, f));
        prop_assert_eq!(a.to_blst(), f);
        prop_assert_eq!(a.mul(&b).to_blst(), blst!(blst_fp12_mul(&f, &g)));
        prop_assert_eq!(a.square().to_blst(), blst!(blst_fp12_sqr(&f)));
        prop_assert_eq!(a.conjugate().to_blst(), conjugate(&f));
        for times in 1..=3 {
            prop_assert_eq!(a.frobenius(times).to_blst(), blst!(blst_fp12_frobenius_map(&f, times)));
        }
    }

    #[test]
    fn lines_are_sparse_factors(f in fp12(), g in fp12()) {
        let Some(kernel) = Ifma::new() else { return Ok(()) };
        let mut line = g.fp6[0];
        line.fp2[0] = one().fp6[0].fp2[0];
        let expected: blst_fp12 = blst!(blst_fp12_mul_by_xy00z0(&f, &line));
        // What a line has in slot 0 does not count.
        for line in [line, blst_fp6 { fp2: [g.fp6[1].fp2[0], line.fp2[1], line.fp2[2]] }] {
            let product = Fp12::from_blst(kernel, &f).mul_by_line(&from_fp6(kernel, &line));
            prop_assert_eq!(product.to_blst(), expected);
        }
    }

    #[test]
    fn cyclotomic_squares_are_blsts(f in fp12()) {
        let Some(kernel) = Ifma::new() else { return Ok(()) };
        prop_assume!(f != blst_fp12::default());
        let mut expected = cyclotomic(&f);
        let squared = Fp12::from_blst(kernel, &expected).cyclotomic_squares(9);
        for _ in 0..9 {
            expected = blst!(blst_fp12_cyclotomic_sqr(&expected));
        }
        prop_assert_eq!(squared.to_blst(), expected);
    }

    #[test]
    fn results_are_factors_again(f in fp12(), g in fp12()) {
        let Some(kernel) = Ifma::new() else { return Ok(()) };
        // Numbers grow to what the functions allow, and no further.
        let (mut a, b) = (Fp12::from_blst(kernel, &f), Fp12::from_blst(kernel, &g));
        let mut expected = f;
        for _ in 0..20 {
            a = a.mul(&b).conjugate().square().conjugate().mul(&a.conjugate());
            let product = blst!(blst_fp12_mul(&expected, &g));
            let square = blst!(blst_fp12_sqr(&conjugate(&product)));
            expected = blst!(blst_fp12_mul(&conjugate(&square), &conjugate(&expected)));
        }
        prop_assert_eq!(a.to_blst(), expected);
    }

    #[test]
    fn pairing_products_are_blsts(scalars in prop::array::uniform6(any::<u64>())) {
        let Some(kernel) = Ifma::new() else { return Ok(()) };
        let points = [0, 1, 2].map(|i| g1(scalars[i]));
        let partners = [3, 4, 5].map(|i| lines_of(scalars[i] | 1));
        let lines = partners.each_ref().map(|lines| Lines::new(kernel, lines).unwrap());
        for n in 0..=3 {
            let terms: Vec<_> = points[..n].iter().zip(&lines).map(|(point, lines)| Term { point, lines }).collect();
            let mut f = one();
            for (point, lines) in points[..n].iter().zip(&partners) {
                let loops: blst_fp12 = blst!(blst_miller_loop_lines(lines.as_ptr(), point));
                f = blst!(blst_fp12_mul(&f, &loops));
            }
            prop_assert_eq!(product(kernel, &terms), blst!(blst_final_exp(&f)));
        }
    }
}

fn g1(scalar: u64) -> blst_p1_affine {
    let bytes = scalar.to_le_bytes();
    let point: blst_p1 = blst!(blst_p1_mult(blst_p1_generator(), bytes.as_ptr(), 64));
    blst!(blst_p1_to_affine(&point))
}

fn lines_of(scalar: u64) -> [blst_fp6; LINES] {
    let bytes = scalar.to_le_bytes();
    let point: blst_p2 = blst!(blst_p2_mult(blst_p2_generator(), bytes.as_ptr(), 64));
    let point: blst_p2_affine = blst!(blst_p2_to_affine(&point));
    let mut lines = [blst_fp6::default(); LINES];
    // SAFETY: there is room for 68 lines.
    unsafe { blst_precompute_lines(lines.as_mut_ptr(), &point) };
    lines
}

#[test]
fn inverse_points_cancel() {
    let Some(kernel) = Ifma::new() else { return };
    let lines = Lines::new(kernel, &lines_of(77)).unwrap();
    let point = g1(5);
    let mut negative = point;
    // SAFETY: both pointers are to live values.
    unsafe { blst_fp_cneg(&mut negative.y, &point.y, true) };
    let identity = blst_p1_affine::default();
    let term = |point| Term {
        point,
        lines: &lines,
    };
    let of = |points: &[_]| {
        let terms: Vec<_> = points.iter().map(|point| term(*point)).collect();
        product(kernel, &terms)
    };
    assert_eq!(of(&[&point, &negative]), one());
    assert_ne!(of(&[&point, &point]), one());
    assert_eq!(of(&[&identity]), one());
    assert_eq!(of(&[&identity, &point]), of(&[&point]));
}

#[test]
fn a_line_without_a_constant_is_not_taken() {
    let Some(kernel) = Ifma::new() else { return };
    let mut lines = lines_of(77);
    lines[40].fp2[0] = blst_fp2::default();
    assert!(Lines::new(kernel, &lines).is_none());
}

#[test]
fn factors_of_the_frobenius_are_powers_of_xi() {
    let Some(kernel) = Ifma::new() else { return };
    for k in 0..6 {
        // w^k to the power of p has the factor as its coefficient.
        let mut f = blst_fp12::default();
        f.fp6[k % 2].fp2[k / 2].fp[0] = one().fp6[0].fp2[0].fp[0];
        let power: blst_fp12 = blst!(blst_fp12_frobenius_map(&f, 1));
        let words = Fp::from_rows(kernel, FROBENIUS[k % 2].each_ref()).to_blst();
        let expected = power.fp6[k % 2].fp2[k / 2].fp;
        assert_eq!(
            [words[k / 2 * 2], words[k / 2 * 2 + 1]],
            [expected[0].l, expected[1].l]
        );
    }
}
