//! Eight points at once, one in each lane.
#![allow(unsafe_code, reason = "the call of what the processor was asked for")]

use core::arch::x86_64::*;

use zeroize::Zeroize;

use super::v512 as vector;
use crate::Backend;
use crate::vector::wide;
use crate::x25519::number::{Number, quotients};
use crate::x25519::{BYTES, LANES};
use field::{BIAS, Tight, Wide, folded};
use vector::{V, add, add_high, add_low, splat, sub, zero};

#[path = "field.rs"]
#[allow(clippy::duplicate_mod, reason = "once for each width")]
mod field;

/// Limb by limb, each of all lanes: what a vector holds.
type Limbs = [[u64; LANES]; 5];

/// Returns the product of each secret and the u-coordinate in its place; zeros for points of small
/// order.
pub fn products(
    secrets: &[&[u8; BYTES]; LANES],
    publics: &[&[u8; BYTES]; LANES],
) -> [[u8; BYTES]; LANES] {
    Backend::Avx512Ifma.require();
    let u = limbs(&publics.map(Number::from_bytes));
    let mut bits = bits(secrets);
    // SAFETY: the processor has the features.
    let (mut x, mut z) = unsafe { ladder(&bits, &u) };
    let products = quotients(&numbers(&x), &numbers(&z));
    bits.zeroize();
    x.zeroize();
    z.zeroize();
    products
}

fn limbs(numbers: &[Number; LANES]) -> Limbs {
    core::array::from_fn(|limb| numbers.map(|number| number.0[limb]))
}

fn numbers(limbs: &Limbs) -> [Number; LANES] {
    core::array::from_fn(|lane| Number(limbs.map(|limb| limb[lane])))
}

/// A number for each bit of the clamped secrets: bit i is that of lane i.
fn bits(secrets: &[&[u8; BYTES]; LANES]) -> [u8; 256] {
    let mut bits = [0; 256];
    for (lane, secret) in secrets.iter().enumerate() {
        for (i, bits) in bits.iter_mut().enumerate() {
            *bits |= super::bit(secret, i) << lane;
        }
    }
    bits
}

impl Tight {
    /// The square: products of different limbs once, and doubled. The sums are those of `times`.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    #[inline]
    fn squared(&self) -> Wide {
        let a = &self.0;
        let (mut low, mut high) = ([zero(); 9], [zero(); 9]);
        for i in 0..5 {
            for j in i + 1..5 {
                low[i + j] = add_low(low[i + j], a[i], a[j]);
                high[i + j] = add_high(high[i + j], a[i], a[j]);
            }
        }
        for k in 1..8 {
            low[k] = add(low[k], low[k]);
            high[k] = add(high[k], high[k]);
        }
        for i in 0..5 {
            low[2 * i] = add_low(low[2 * i], a[i], a[i]);
            high[2 * i] = add_high(high[2 * i], a[i], a[i]);
        }
        folded(&low, &high)
    }

    /// `self + 121666 * other`, the constant being (A + 2) / 4 of the curve. Limbs stay below
    /// 2^52 + 2^52 + 38 * 2^18.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    #[inline]
    fn plus_scaled(&self, other: &Self) -> Wide {
        let factor = splat(121_666);
        let mut sum = self.0;
        let mut high = [zero(); 5];
        for i in 0..5 {
            sum[i] = add_low(sum[i], other.0[i], factor);
            high[i] = add_high(high[i], other.0[i], factor);
        }
        for i in 0..4 {
            sum[i + 1] = add(sum[i + 1], add(high[i], high[i]));
        }
        sum[0] = add_low(sum[0], high[4], splat(38));
        Wide(sum)
    }
}

impl Wide {
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    #[inline]
    fn plus(&self, other: &Self) -> Tight {
        let mut sum = self.0;
        for (a, b) in sum.iter_mut().zip(&other.0) {
            *a = add(*a, *b);
        }
        Self(sum).carried()
    }

    /// The difference, and a multiple of p so that no limb is negative.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    #[inline]
    fn minus(&self, other: &Self) -> Tight {
        let mut difference = self.0;
        for i in 0..5 {
            difference[i] = sub(add(self.0[i], splat(BIAS[i])), other.0[i]);
        }
        Self(difference).carried()
    }

    /// Exchanges the numbers of lanes whose bit is 1.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    #[inline]
    fn swap(&mut self, other: &mut Self, lanes: u8) {
        for (a, b) in self.0.iter_mut().zip(&mut other.0) {
            (*a, *b) = (
                _mm512_mask_blend_epi64(lanes, *a, *b),
                _mm512_mask_blend_epi64(lanes, *b, *a),
            );
        }
    }
}

/// Two points of a lane's multiples, whose difference is the public key: `x / z` are their
/// u-coordinates.
struct Points {
    x2: Wide,
    z2: Wide,
    x3: Wide,
    z3: Wide,
}

impl Points {
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    #[inline]
    fn swap(&mut self, lanes: u8) {
        self.x2.swap(&mut self.x3, lanes);
        self.z2.swap(&mut self.z3, lanes);
    }

    /// A step of the ladder: doubles the first point and adds both (RFC 7748, section 5, whose names
    /// these are; `z_2 = E * (BB + 121666 * E)` is the same as its `E * (AA + 121665 * E)`).
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    #[inline]
    fn step(&mut self, x1: &Tight) {
        let (a, b) = (self.x2.plus(&self.z2), self.x2.minus(&self.z2));
        let (c, d) = (self.x3.plus(&self.z3), self.x3.minus(&self.z3));
        let (da, cb) = (d.times(&a), c.times(&b));
        let (aa, bb) = (a.squared().carried(), b.squared().carried());
        self.x3 = da.plus(&cb).squared();
        self.z3 = da.minus(&cb).squared().carried().times(x1);
        self.x2 = aa.times(&bb);
        let e = aa.wide().minus(&bb.wide());
        self.z2 = e.times(&bb.plus_scaled(&e).carried());
    }
}

/// The products, whose u-coordinates are `x / z`.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
fn ladder(bits: &[u8; 256], u: &Limbs) -> (Limbs, Limbs) {
    let x1 = Tight(load(u));
    let mut one = [zero(); 5];
    one[0] = splat(1);
    let mut points = Points {
        x2: Wide(one),
        z2: Wide([zero(); 5]),
        x3: x1.wide(),
        z3: Wide(one),
    };
    let mut swapped = 0;
    for &bits in bits[..255].iter().rev() {
        points.swap(bits ^ swapped);
        swapped = bits;
        points.step(&x1);
    }
    points.swap(swapped);
    (store(&points.x2.carried()), store(&points.z2.carried()))
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load(limbs: &Limbs) -> [V; 5] {
    let mut vectors = [zero(); 5];
    for (vector, limb) in vectors.iter_mut().zip(limbs) {
        *vector = wide::load(limb);
    }
    vectors
}

#[target_feature(enable = "avx512f")]
#[inline]
fn store(number: &Tight) -> Limbs {
    let mut limbs = Limbs::default();
    for (limb, vector) in limbs.iter_mut().zip(number.0) {
        *limb = wide::store(vector);
    }
    limbs
}
