//! The tower in AVX-512 IFMA: four elements of Fp2 in a vector, real and imaginary parts side by side.
//!
//! Moves between slots, and sums, cost little beside products, so products are what is saved: 5
//! vectors of them multiply two elements of Fp12, 3 square one. Sums go without carries where no product
//! follows, in limbs that are signed.
#![allow(
    clippy::needless_range_loop,
    reason = "limbs of several vectors in step"
)]

use core::arch::x86_64::*;

use super::slots::{
    Limbs, REAL, imaginary, less, negative, order, picked, plus, real, slot, slots, swapped,
    tripled, xi_times,
};
use super::{Columns, Ifma, Numbers, add_product, carried, dot, high, low, reduced, sub};
use crate::bls::limbs::{LIMBS, P, Row};
use crate::bls::tower::Tower;
use crate::vector::wide::{add, splat, zero};

/// Lanes of slots.
const SLOT_0: u8 = 0x03;
const SLOT_1: u8 = 0x0c;
const SLOT_2: u8 = 0x30;
const SLOT_3: u8 = 0xc0;

impl Tower for Ifma {
    #[inline(always)]
    fn multiply(f: &[Numbers; 2], g: &[Numbers; 2]) -> [Numbers; 2] {
        // SAFETY: numbers exist only where the processor has the features.
        unsafe { multiply(f, g) }
    }

    #[inline(always)]
    fn square(f: &[Numbers; 2]) -> [Numbers; 2] {
        // SAFETY: numbers exist only where the processor has the features.
        unsafe { square(f) }
    }

    #[inline(always)]
    fn multiply_by_line(f: &[Numbers; 2], line: &Numbers) -> [Numbers; 2] {
        // SAFETY: numbers exist only where the processor has the features.
        unsafe { multiply_by_line(f, line) }
    }

    #[inline(always)]
    fn cyclotomic_squares(f: &[Numbers; 2], count: usize) -> [Numbers; 2] {
        // SAFETY: numbers exist only where the processor has the features.
        unsafe { cyclotomic_squares(f, count) }
    }

    #[inline(always)]
    fn conjugate(f: &[Numbers; 2]) -> [Numbers; 2] {
        // SAFETY: numbers exist only where the processor has the features.
        unsafe { [f[0], normal::<512>(&negative(&f[1].0))] }
    }

    #[inline(always)]
    fn frobenius(f: &[Numbers; 2], factors: &[Numbers; 2]) -> [Numbers; 2] {
        // SAFETY: numbers exist only where the processor has the features.
        unsafe {
            [
                conjugate_product(&f[0], &factors[0]),
                conjugate_product(&f[1], &factors[1]),
            ]
        }
    }
}

/// Karatsuba's products on both levels: 18 in Fp2, of which 9 stand in slots 0 to 2 of three vectors,
/// three in their slots 3, and 6 in two more.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline(never)]
fn multiply(f: &[Numbers; 2], g: &[Numbers; 2]) -> [Numbers; 2] {
    let (f, g) = (Operands::of(f), Operands::of(g));
    let [low_half, high_half, both] = [0, 1, 2].map(|i| product(&f.main[i], &g.main[i]));
    let cross = product(&f.cross, &g.cross).0;
    let cross_both = product(&f.cross_of_sum, &g.cross_of_sum).0;
    let [cross_low, cross_high, cross_both] = [
        slots::<{ order(0, 0, 1, 1) }>(&cross),
        slots::<{ order(2, 2, 3, 3) }>(&cross),
        slots::<{ order(0, 0, 1, 1) }>(&cross_both),
    ];
    let first = Sum::gathered(&low_half.0, &cross_low);
    let second = Sum::gathered(&high_half.0, &cross_high).total();
    let mixed = Sum::gathered(
        &less(&less(&both.0, &low_half.0), &high_half.0),
        &less(&less(&cross_both, &cross_low), &cross_high),
    );
    [
        normal::<64>(&first.plus_v_times(&second).total()),
        normal::<64>(&mixed.total()),
    ]
}

/// `(f0 + f1) (f0 + v f1) - f0 f1 - v f0 f1` and `2 f0 f1`.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline(never)]
fn square(f: &[Numbers; 2]) -> [Numbers; 2] {
    let sum = carried(plus(&f[0].0, &f[1].0));
    let twisted = carried(plus(&f[0].0, &v_times::<512>(&f[1]).0));
    let [(a, a_cross), (b, b_cross)] = [with_cross(&f[0]), with_cross(&f[1])];
    let [(s, s_cross), (t, t_cross)] = [with_cross(&sum), with_cross(&twisted)];
    let (halves, whole) = (product(&a, &b), product(&s, &t));
    let cross = product(&joined(&a_cross, &s_cross), &joined(&b_cross, &t_cross)).0;
    let halves = Sum::gathered(&halves.0, &slots::<{ order(0, 0, 1, 1) }>(&cross)).total();
    let whole = Sum::gathered(&whole.0, &slots::<{ order(2, 2, 3, 3) }>(&cross));
    let rest = whole.plus_v_times(&negative(&halves)).total();
    [
        normal::<64>(&less(&rest, &halves)),
        normal::<64>(&plus(&halves, &halves)),
    ]
}

/// `f (1 + y v + z v w)`, with y and z in slots 1 and 2 of the line.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline(never)]
fn multiply_by_line(f: &[Numbers; 2], line: &Numbers) -> [Numbers; 2] {
    let y = Numbers(slots::<{ order(1, 1, 1, 1) }>(&line.0));
    let z = Numbers(slots::<{ order(2, 2, 2, 2) }>(&line.0));
    let [first, second] = [v_times::<512>(&f[0]), v_times::<512>(&f[1])];
    let twice = v_times::<2048>(&second);
    let even = sum_of_products([&first, &twice], [&y, &z]);
    let odd = sum_of_products([&second, &first], [&y, &z]);
    [
        small(&carried(plus(&f[0].0, &even.0))),
        small(&carried(plus(&f[1].0, &odd.0))),
    ]
}

/// Granger and Scott's squaring, so many times: in pairs (a, b) of three slots each, which stand for
/// (z0, z2, z4) and (z1, z3, z5) of an element whose halves are (z0, z4, z3) and (z2, z1, z5).
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline(never)]
fn cyclotomic_squares(f: &[Numbers; 2], count: usize) -> [Numbers; 2] {
    let mut a = small(&Numbers(picked::<0, 4, 1>(&f[0].0, &f[1].0)));
    let mut b = small(&Numbers(picked::<5, 2, 6>(&f[0].0, &f[1].0)));
    for _ in 0..count {
        (a, b) = cyclotomic_square(&a, &b);
    }
    [
        Numbers(picked::<0, 2, 5>(&a.0, &b.0)),
        Numbers(picked::<1, 4, 6>(&a.0, &b.0)),
    ]
}

/// Three squarings in Fp4, then `3 t -+ 2 z`. Numbers below 3 p in and out.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn cyclotomic_square(a: &Numbers, b: &Numbers) -> (Numbers, Numbers) {
    let (a_square, b_square) = (squares(a).0, squares(b).0);
    let both = squares(&carried(plus(&a.0, &b.0))).0;
    let even = plus(&a_square, &xi_times(&b_square));
    let odd = less(&less(&both, &a_square), &b_square);
    let (mut new_a, mut new_b) = (
        picked::<0, 6, 1>(&even, &odd),
        picked::<4, 2, 5>(&even, &odd),
    );
    let twisted = xi_times(&new_a);
    for i in 0..LIMBS {
        let t = tripled(_mm512_mask_blend_epi64(SLOT_1, new_a[i], twisted[i]));
        let z = add(a.0[i], a.0[i]);
        new_a[i] = _mm512_mask_add_epi64(sub(t, z), SLOT_1, t, z);
        let (t, z) = (tripled(new_b[i]), add(b.0[i], b.0[i]));
        new_b[i] = _mm512_mask_sub_epi64(add(t, z), SLOT_1, t, z);
    }
    (small(&normal::<64>(&new_a)), small(&normal::<64>(&new_b)))
}

/// What a factor in Fp12 puts into Karatsuba's products.
struct Operands {
    /// Both halves and their sum, each with `c1 + c2` in slot 3.
    main: [Numbers; 3],
    /// `c0 + c1` and `c0 + c2` of both halves.
    cross: Numbers,
    /// The same of their sum, in slots 0 and 1.
    cross_of_sum: Numbers,
}

impl Operands {
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    #[inline]
    fn of(f: &[Numbers; 2]) -> Self {
        let [(low_half, low_cross), (high_half, high_cross)] =
            [with_cross(&f[0]), with_cross(&f[1])];
        let sum = carried(plus(&low_half.0, &high_half.0));
        Self {
            main: [low_half, high_half, sum],
            cross: joined(&low_cross, &high_cross),
            cross_of_sum: carried(plus(&low_cross.0, &high_cross.0)),
        }
    }
}

/// `plain + xi * times_xi`, of signed limbs.
struct Sum {
    plain: Limbs,
    times_xi: Limbs,
}

impl Sum {
    /// The product in Fp6, of `(v0, v1, v2, c12)` and, in slots 1 and 2, `c01` and `c02`: where v are
    /// the products of coefficients and c those of their sums.
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    #[inline]
    fn gathered(products: &Limbs, cross: &Limbs) -> Self {
        let (mut plain, mut times_xi) = (*products, *products);
        for i in 0..LIMBS {
            let v = products[i];
            let [v0, v1, v2] = [
                slot::<{ order(0, 0, 0, 0) }>(v),
                slot::<{ order(1, 1, 1, 1) }>(v),
                slot::<{ order(2, 2, 2, 2) }>(v),
            ];
            // v0, c01 - v0 - v1, c02 - v0 - v2 + v1
            let c = _mm512_mask_blend_epi64(SLOT_0, cross[i], v);
            let c = _mm512_mask_sub_epi64(c, SLOT_1 | SLOT_2, c, add(v, v0));
            plain[i] = _mm512_mask_add_epi64(c, SLOT_2, c, v1);
            // c12 - v1 - v2, v2, 0
            let c = _mm512_maskz_shuffle_i64x2::<{ order(3, 2, 0, 0) }>(SLOT_0 | SLOT_1, v, v);
            times_xi[i] = _mm512_mask_sub_epi64(c, SLOT_0, c, add(v1, v2));
        }
        Self { plain, times_xi }
    }

    /// Adds `v * other`: v times `(a, b, c)` is `(xi c, a, b)`.
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    #[inline]
    fn plus_v_times(mut self, other: &Limbs) -> Self {
        let turned = slots::<{ order(2, 0, 1, 3) }>(other);
        for i in 0..LIMBS {
            let (plain, xi) = (self.plain[i], self.times_xi[i]);
            self.plain[i] = _mm512_mask_add_epi64(plain, SLOT_1 | SLOT_2, plain, turned[i]);
            self.times_xi[i] = _mm512_mask_add_epi64(xi, SLOT_0, xi, turned[i]);
        }
        self
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    #[inline]
    fn total(&self) -> Limbs {
        plus(&self.plain, &xi_times(&self.times_xi))
    }
}

/// An element of Fp6 with `c1 + c2` in slot 3, and `(c0 + c1, c0 + c2)` in slots 0 and 1.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn with_cross(a: &Numbers) -> (Numbers, Numbers) {
    let left = slots::<{ order(0, 0, 1, 1) }>(&a.0);
    let right = slots::<{ order(1, 2, 2, 2) }>(&a.0);
    let cross = carried(plus(&left, &right));
    let mut main = *a;
    for i in 0..LIMBS {
        main.0[i] = _mm512_mask_blend_epi64(SLOT_3, a.0[i], cross.0[i]);
    }
    (main, cross)
}

/// Slots 0 and 1 of both.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn joined(a: &Numbers, b: &Numbers) -> Numbers {
    let mut out = *a;
    for i in 0..LIMBS {
        out.0[i] = _mm512_shuffle_i64x2::<{ order(0, 1, 0, 1) }>(a.0[i], b.0[i]);
    }
    out
}

/// The product in each slot, below 2.01 p.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline(never)]
fn product(a: &Numbers, b: &Numbers) -> Numbers {
    sum_of_products([a], [b])
}

/// The sum of products in each slot, below 2.01 p: `p R` keeps it from being negative.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn sum_of_products<const N: usize>(a: [&Numbers; N], b: [&Numbers; N]) -> Numbers {
    let mut columns: Columns = [zero(); 2 * LIMBS];
    for n in 0..N {
        add_product(&mut columns, &imaginary(a[n]), &swapped(b[n]));
    }
    for column in &mut columns {
        *column = _mm512_mask_sub_epi64(*column, REAL, zero(), *column);
    }
    for i in 0..LIMBS {
        columns[LIMBS + i] = add(columns[LIMBS + i], splat(P.0[i]));
    }
    for n in 0..N {
        add_product(&mut columns, &real(a[n]), b[n]);
    }
    reduced(columns)
}

/// The square in each slot of numbers below 64 p: `(r + i) (r - i)` and `2 r i`.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn squares(a: &Numbers) -> Numbers {
    const MORE: Row = Row::multiple_of_p(64);
    let swapped = swapped(a);
    let sums = carried(plus(&real(a).0, &swapped.0));
    let mut rest = a.0;
    for i in 0..LIMBS {
        let lifted = add(rest[i], splat(MORE.0[i]));
        rest[i] = _mm512_mask_sub_epi64(rest[i], REAL, lifted, swapped.0[i]);
    }
    dot([&sums], [&carried(rest)])
}

/// The product of the conjugate in each slot, of numbers below 512 p, with a factor.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn conjugate_product(a: &Numbers, factor: &Numbers) -> Numbers {
    const MORE: Row = Row::multiple_of_p(512);
    let mut limbs = a.0;
    for i in 0..LIMBS {
        limbs[i] = _mm512_mask_sub_epi64(limbs[i], !REAL, splat(MORE.0[i]), limbs[i]);
    }
    product(&carried(limbs), factor)
}

/// v times an element of Fp6 of numbers below `BOUND * p`: below three times that.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn v_times<const BOUND: u64>(a: &Numbers) -> Numbers {
    let turned = slots::<{ order(2, 0, 1, 3) }>(&a.0);
    let mut out = xi_times(&turned);
    for i in 0..LIMBS {
        out[i] = _mm512_mask_blend_epi64(SLOT_0, turned[i], out[i]);
    }
    normal::<BOUND>(&out)
}

/// Numbers of signed limbs, none of them below `-MORE * p`, with that added.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn normal<const MORE: u64>(limbs: &Limbs) -> Numbers {
    let more = const { Row::multiple_of_p(MORE) };
    let mut out = *limbs;
    for i in 0..LIMBS {
        out[i] = add(out[i], splat(more.0[i]));
    }
    carried(out)
}

/// The same elements, of numbers below 2^11 p, below 3 p: the quotient by p is what the top limb shows,
/// and never too large.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn small(a: &Numbers) -> Numbers {
    const SCALE: u64 = (1 << 52) / (P.0[LIMBS - 1] + 1);
    let quotient = high(zero(), a.0[LIMBS - 1], splat(SCALE));
    let mut multiple = [zero(); LIMBS];
    for i in 0..LIMBS {
        multiple[i] = low(multiple[i], quotient, splat(P.0[i]));
    }
    for i in 1..LIMBS {
        multiple[i] = high(multiple[i], quotient, splat(P.0[i - 1]));
    }
    carried(less(&a.0, &multiple))
}
