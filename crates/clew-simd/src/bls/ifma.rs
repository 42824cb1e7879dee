//! The field in AVX-512 IFMA, which multiplies eight pairs of 52-bit limbs and adds one half of each
//! product.
//!
//! Products go by columns, without carries: each of 16 columns has room for 2^11 halves. Reduction is
//! apart from them, so that a sum of products has one. The multiplier reads the lowest 52 bits of a word
//! only, so limbs must be carried before; the columns themselves may be signed.
#![allow(
    unsafe_code,
    reason = "vector loads and stores, and calls of what the processor was asked for"
)]

mod slots;
mod tower;

use core::arch::x86_64::*;

use super::kernel::{Kernel, LANES, Lanes, Signs};
use super::limbs::{BITS, LIMBS, MASK, P, P_INVERSE, Row};
use crate::Backend;
use crate::vector::wide::{self, V, add, splat, transposed, zero};

/// Proof that the processor has the instructions.
#[derive(Clone, Copy, Debug)]
pub struct Ifma(());

/// Eight numbers: a vector for each limb.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Numbers([V; LIMBS]);

/// Sums of halves of products: column i weighs 2^(52 i).
type Columns = [V; 2 * LIMBS];

impl Ifma {
    /// Returns the kernel if this machine has the instructions.
    pub fn new() -> Option<Self> {
        Backend::Avx512Ifma.is_available().then_some(Self(()))
    }
}

/// Safe functions of the kernel. Each takes the proof, or numbers that only the proof makes.
macro_rules! safe {
    ($($(#[$attribute:meta])* fn $name:ident $([$($generics:tt)*])? ($($argument:ident: $type:ty),*) -> $out:ty = $call:expr;)*) => {
        $(#[inline(always)]
        fn $name $(<$($generics)*>)? ($($argument: $type),*) -> $out {
            // SAFETY: numbers exist only where the processor has the features.
            unsafe { $call($($argument),*) }
        })*
    };
}

impl Kernel for Ifma {
    type Numbers = Numbers;

    #[inline(always)]
    fn of(_: &Numbers) -> Self {
        Self(())
    }

    #[inline(always)]
    fn run<T>(self, work: impl FnOnce() -> T) -> T {
        // SAFETY: the proof exists only where the processor has the features.
        unsafe { run(work) }
    }

    #[inline(always)]
    fn constant(self, number: &Row) -> Numbers {
        // SAFETY: the proof exists only where the processor has the features.
        unsafe { constant(number) }
    }

    #[inline(always)]
    fn from_rows(self, rows: [&Row; LANES]) -> Numbers {
        // SAFETY: the proof exists only where the processor has the features.
        unsafe { from_rows(rows) }
    }

    #[inline(always)]
    fn scan(self, entries: &[[Row; 2]], digits: &[i64; LANES]) -> ([Numbers; 2], Signs) {
        // SAFETY: the proof exists only where the processor has the features.
        unsafe { scan(entries, digits) }
    }

    safe! {
        fn to_rows(a: &Numbers) -> [Row; LANES] = to_rows;
        fn dot[const N: usize](a: [&Numbers; N], b: [&Numbers; N]) -> Numbers = dot;
        fn square(a: &Numbers) -> Numbers = square;
        fn product_less_8_squares(a: &Numbers, b: &Numbers, c: &Numbers) -> Numbers
            = product_less_8_squares;
        fn out_of_montgomery(a: &Numbers) -> Numbers = out_of_montgomery;
        fn sum[const N: usize, const M: usize](
            plus: [&Numbers; N], minus: [&Numbers; M], more: &Row
        ) -> Numbers = sum;
        fn times[const F: u64](a: &Numbers) -> Numbers = times::<F>;
        fn reduce_once(a: &Numbers) -> Numbers = reduce_once;
        fn reduce_coarsely(a: &Numbers) -> Numbers = reduce_coarsely;
        fn select(lanes: Lanes, a: &Numbers, b: &Numbers) -> Numbers = select;
        fn equal(a: &Numbers, number: &Row) -> Lanes = equal;
        fn lowest_limb_is(a: &Numbers, limb: u64) -> Lanes = lowest_limb_is;
        fn above(a: &Numbers, number: &Row) -> Lanes = above;
        fn permute(a: &Numbers, from: &[u64; LANES]) -> Numbers = permute;
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn run<T>(work: impl FnOnce() -> T) -> T {
    work()
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn constant(number: &Row) -> Numbers {
    let mut limbs = [zero(); LIMBS];
    for i in 0..LIMBS {
        limbs[i] = splat(number.0[i]);
    }
    Numbers(limbs)
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn from_rows(rows: [&Row; LANES]) -> Numbers {
    let mut vectors = [zero(); LANES];
    for i in 0..LANES {
        vectors[i] = load(rows[i]);
    }
    Numbers(transposed(vectors))
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn to_rows(a: &Numbers) -> [Row; LANES] {
    let vectors = transposed(a.0);
    let mut rows = [Row::ZERO; LANES];
    for i in 0..LANES {
        store(&mut rows[i], vectors[i]);
    }
    rows
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load(row: &Row) -> V {
    // SAFETY: a row is 64 aligned bytes.
    unsafe { _mm512_load_si512((&raw const row.0).cast()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn store(row: &mut Row, vector: V) {
    // SAFETY: a row is 64 aligned bytes.
    unsafe { _mm512_store_si512((&raw mut row.0).cast(), vector) };
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn low(sum: V, a: V, b: V) -> V {
    _mm512_madd52lo_epu64(sum, a, b)
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn high(sum: V, a: V, b: V) -> V {
    _mm512_madd52hi_epu64(sum, a, b)
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn sub(a: V, b: V) -> V {
    _mm512_sub_epi64(a, b)
}

/// What a signed limb has above its 52 bits.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn over(limb: V) -> V {
    _mm512_srai_epi64::<BITS>(limb)
}

/// Limbs below 2^52 of signed ones below 2^63, whose number is not negative.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn carried(mut limbs: [V; LIMBS]) -> Numbers {
    let mask = splat(MASK);
    for i in 0..LIMBS - 1 {
        limbs[i + 1] = add(limbs[i + 1], over(limbs[i]));
        limbs[i] = _mm512_and_si512(limbs[i], mask);
    }
    Numbers(limbs)
}

/// Adds a product: 16 halves to a column at most.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn add_product(columns: &mut Columns, a: &Numbers, b: &Numbers) {
    for i in 0..LIMBS {
        for j in 0..LIMBS {
            columns[i + j] = low(columns[i + j], a.0[i], b.0[j]);
        }
        for j in 0..LIMBS {
            columns[i + j + 1] = high(columns[i + j + 1], a.0[i], b.0[j]);
        }
    }
}

/// The columns of a square: products of different limbs once, and doubled. A macro: a function with
/// features cannot be inlined by force, and at its second use 16 vectors would go through memory.
macro_rules! square_columns {
    ($a:expr) => {{
        let a = &$a.0;
        let mut columns = [zero(); 2 * LIMBS];
        for i in 0..LIMBS {
            for j in i + 1..LIMBS {
                columns[i + j] = low(columns[i + j], a[i], a[j]);
            }
            for j in i + 1..LIMBS {
                columns[i + j + 1] = high(columns[i + j + 1], a[i], a[j]);
            }
        }
        for column in columns.iter_mut().skip(1) {
            *column = add(*column, *column);
        }
        for i in 0..LIMBS {
            columns[2 * i] = low(columns[2 * i], a[i], a[i]);
            columns[2 * i + 1] = high(columns[2 * i + 1], a[i], a[i]);
        }
        columns
    }};
}

/// Montgomery's reduction. The lowest column becomes a multiple of 2^52, so its carry is known
/// without the product: the column's own, rounded up.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn reduced(mut t: Columns) -> Numbers {
    let (inverse, mask) = (splat(P_INVERSE), splat(MASK));
    for i in 0..LIMBS {
        let q = low(zero(), t[i], inverse);
        let carry = over(add(t[i], mask));
        // The next column is waited for: its parts are added up in two chains.
        let side = low(carry, q, splat(P.0[1]));
        t[i + 1] = add(high(t[i + 1], q, splat(P.0[0])), side);
        for j in 2..LIMBS {
            t[i + j] = low(t[i + j], q, splat(P.0[j]));
        }
        for j in 1..LIMBS {
            t[i + j + 1] = high(t[i + j + 1], q, splat(P.0[j]));
        }
    }
    let [.., a, b, c, d, e, f, g, h] = t;
    carried([a, b, c, d, e, f, g, h])
}

/// Up to 64 products: a column takes 16 halves below 2^52 of each, and 16 of the reduction.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline(never)]
fn dot<const N: usize>(a: [&Numbers; N], b: [&Numbers; N]) -> Numbers {
    const { assert!(N <= 64, "columns hold the products") };
    let mut columns = [zero(); 2 * LIMBS];
    for n in 0..N {
        add_product(&mut columns, a[n], b[n]);
    }
    reduced(columns)
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline(never)]
fn square(a: &Numbers) -> Numbers {
    reduced(square_columns!(a))
}

/// Signed columns: the 52 bits that the multiplier reads, and arithmetic shifts, are right for both
/// signs. `p R` keeps the sum from being negative.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline(never)]
fn product_less_8_squares(a: &Numbers, b: &Numbers, c: &Numbers) -> Numbers {
    let mut columns = square_columns!(c);
    for column in &mut columns {
        *column = sub(zero(), _mm512_slli_epi64::<3>(*column));
    }
    for i in 0..LIMBS {
        columns[LIMBS + i] = add(columns[LIMBS + i], splat(P.0[i]));
    }
    add_product(&mut columns, a, b);
    reduced(columns)
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline(never)]
fn out_of_montgomery(a: &Numbers) -> Numbers {
    let mut columns = [zero(); 2 * LIMBS];
    columns[..LIMBS].copy_from_slice(&a.0);
    reduced(columns)
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn sum<const N: usize, const M: usize>(
    plus: [&Numbers; N],
    minus: [&Numbers; M],
    more: &Row,
) -> Numbers {
    let mut limbs = constant(more).0;
    for i in 0..LIMBS {
        for a in plus {
            limbs[i] = add(limbs[i], a.0[i]);
        }
        for a in minus {
            limbs[i] = sub(limbs[i], a.0[i]);
        }
    }
    carried(limbs)
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn times<const F: u64>(a: &Numbers) -> Numbers {
    let shift = const {
        let odd = F >> F.trailing_zeros();
        assert!((odd == 1 || odd == 3) && F < 64, "a factor of shifts");
        F.trailing_zeros() as u64
    };
    let mut limbs = a.0;
    for limb in &mut limbs {
        if F.count_ones() == 2 {
            *limb = add(*limb, add(*limb, *limb));
        }
        *limb = _mm512_sllv_epi64(*limb, splat(shift));
    }
    carried(limbs)
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn reduce_once(a: &Numbers) -> Numbers {
    let mut limbs = a.0;
    for i in 0..LIMBS {
        limbs[i] = sub(limbs[i], splat(P.0[i]));
    }
    let less = carried(limbs);
    let below_p = _mm512_movepi64_mask(less.0[LIMBS - 1]);
    select(below_p, &less, a)
}

/// Multiples of p by their limbs: what `reduce_coarsely` picks from.
static MULTIPLES: [Row; LIMBS] = {
    let mut rows = [Row::ZERO; LIMBS];
    let mut k = 0;
    while k < LANES {
        let multiple = Row::multiple_of_p(k as u64);
        let mut i = 0;
        while i < LIMBS {
            rows[i].0[k] = multiple.0[i];
            i += 1;
        }
        k += 1;
    }
    rows
};

/// The quotient by p is what the top limb shows, and never too large: P's top limb is rounded up.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn reduce_coarsely(a: &Numbers) -> Numbers {
    let scale = splat((1 << 32) / (P.0[LIMBS - 1] + 1));
    let quotient = _mm512_srli_epi64::<32>(_mm512_mul_epu32(a.0[LIMBS - 1], scale));
    let mut limbs = a.0;
    for i in 0..LIMBS {
        let multiple = _mm512_permutexvar_epi64(quotient, load(&MULTIPLES[i]));
        limbs[i] = sub(limbs[i], multiple);
    }
    carried(limbs)
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn select(lanes: Lanes, a: &Numbers, b: &Numbers) -> Numbers {
    let mut limbs = a.0;
    for i in 0..LIMBS {
        limbs[i] = _mm512_mask_blend_epi64(lanes, a.0[i], b.0[i]);
    }
    Numbers(limbs)
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn equal(a: &Numbers, number: &Row) -> Lanes {
    let mut different = zero();
    for i in 0..LIMBS {
        let limb = _mm512_xor_si512(a.0[i], splat(number.0[i]));
        different = _mm512_or_si512(different, limb);
    }
    _mm512_testn_epi64_mask(different, different)
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn lowest_limb_is(a: &Numbers, limb: u64) -> Lanes {
    _mm512_cmpeq_epi64_mask(a.0[0], splat(limb))
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn above(a: &Numbers, number: &Row) -> Lanes {
    let mut borrow = zero();
    for i in 0..LIMBS {
        borrow = over(add(sub(splat(number.0[i]), a.0[i]), borrow));
    }
    _mm512_movepi64_mask(borrow)
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn permute(a: &Numbers, from: &[u64; LANES]) -> Numbers {
    let from = wide::load(from);
    let mut limbs = a.0;
    for limb in &mut limbs {
        *limb = _mm512_permutexvar_epi64(from, *limb);
    }
    Numbers(limbs)
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn scan(entries: &[[Row; 2]], digits: &[i64; LANES]) -> ([Numbers; 2], Signs) {
    let digits = wide::load(&digits.map(|digit| digit as u64));
    let size = _mm512_abs_epi64(digits);
    let (mut x, mut y) = ([zero(); LIMBS], [zero(); LIMBS]);
    for (i, [entry_x, entry_y]) in (1..).zip(entries) {
        let wanted = _mm512_cmpeq_epi64_mask(size, splat(i));
        for limb in 0..LIMBS {
            x[limb] = _mm512_mask_mov_epi64(x[limb], wanted, splat(entry_x.0[limb]));
            y[limb] = _mm512_mask_mov_epi64(y[limb], wanted, splat(entry_y.0[limb]));
        }
    }
    let signs = Signs {
        negative: _mm512_movepi64_mask(digits),
        zero: _mm512_testn_epi64_mask(digits, digits),
    };
    ([Numbers(x), Numbers(y)], signs)
}
