//! Eight points at once in AVX-512 IFMA: the Montgomery ladder of RFC 7748, one point in each lane, on
//! numbers of five limbs of 51 bits.
//!
//! The multiplier takes the lowest 52 bits of each factor and adds the lower or the upper 52 of their
//! product's 104 to a word. So a factor's limbs must be below 2^52, [`Tight`], and sums, differences
//! and products are [`Wide`] until [`Wide::carried`] makes them so: the types keep the bounds.
#![allow(
    unsafe_code,
    reason = "vector loads and stores, and the call of what the processor was asked for"
)]

use core::arch::x86_64::*;

use zeroize::Zeroize;

use super::limbs::{self, Limbs, MASK};
use super::{BYTES, LANES};

type V = __m512i;

cpufeatures::new!(cpu, "avx512f", "avx512dq", "avx512ifma");

/// Whether this processor has what is needed.
pub fn available() -> bool {
    cpu::get()
}

/// What each secret and the u-coordinate beside it give; of small order, zeros.
pub fn products(
    secrets: &[&[u8; BYTES]; LANES],
    publics: &[[u8; BYTES]; LANES],
) -> [[u8; BYTES]; LANES] {
    assert!(available(), "a path is one that the machine has");
    let mut bits = bits(secrets);
    // SAFETY: the processor has the features.
    let mut product = unsafe { ladder(&bits, &limbs::of_bytes(publics)) };
    bits.zeroize();
    let bytes = core::array::from_fn(|lane| limbs::to_bytes(&product, lane));
    product.zeroize();
    bytes
}

/// A number for each bit of the clamped secrets: bit i is that of lane i.
fn bits(secrets: &[&[u8; BYTES]; LANES]) -> [u8; 256] {
    let mut bits = [0; 256];
    for (lane, secret) in secrets.iter().enumerate() {
        let bit = |i: usize| match i {
            0..=2 | 255 => 0,
            254 => 1,
            _ => secret[i / 8] >> (i % 8) & 1,
        };
        for (i, bits) in bits.iter_mut().enumerate() {
            *bits |= bit(i) << lane;
        }
    }
    bits
}

/// A number whose limbs are below 2^51 + 2^18, and so can be multiplied.
#[derive(Clone, Copy)]
struct Tight([V; 5]);

/// A number whose limbs are below 2^61.
#[derive(Clone, Copy)]
struct Wide([V; 5]);

/// A multiple of p whose limbs are all above 2^61, and below 2^62: 2^11 p.
const BIAS: [u64; 5] = {
    let mut bias = [MASK << 11; 5];
    bias[0] = (MASK - 18) << 11;
    bias
};

impl Tight {
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    #[inline]
    fn wide(self) -> Wide {
        Wide(self.0)
    }

    /// The product. Of the sums below, `low[k]` and `high[k]` have at most 5 terms below 2^52. The upper
    /// halves weigh 2^52 = 2 * 2^51, so that twice their sum belongs to the limb above.
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    #[inline]
    fn times(&self, other: &Self) -> Wide {
        let (a, b) = (&self.0, &other.0);
        let (mut low, mut high) = ([zero(); 9], [zero(); 9]);
        for i in 0..5 {
            for j in 0..5 {
                low[i + j] = _mm512_madd52lo_epu64(low[i + j], a[i], b[j]);
                high[i + j] = _mm512_madd52hi_epu64(high[i + j], a[i], b[j]);
            }
        }
        folded(&low, &high)
    }

    /// The square: products of different limbs once, and doubled. The sums are those of `times`.
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    #[inline]
    fn squared(&self) -> Wide {
        let a = &self.0;
        let (mut low, mut high) = ([zero(); 9], [zero(); 9]);
        for i in 0..5 {
            for j in i + 1..5 {
                low[i + j] = _mm512_madd52lo_epu64(low[i + j], a[i], a[j]);
                high[i + j] = _mm512_madd52hi_epu64(high[i + j], a[i], a[j]);
            }
        }
        for k in 1..8 {
            low[k] = add(low[k], low[k]);
            high[k] = add(high[k], high[k]);
        }
        for i in 0..5 {
            low[2 * i] = _mm512_madd52lo_epu64(low[2 * i], a[i], a[i]);
            high[2 * i] = _mm512_madd52hi_epu64(high[2 * i], a[i], a[i]);
        }
        folded(&low, &high)
    }

    /// `self + 121666 * other`, the constant being (A + 2) / 4 of the curve. Limbs stay below
    /// 2^52 + 2^52 + 38 * 2^18.
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    #[inline]
    fn plus_scaled(&self, other: &Self) -> Wide {
        let factor = splat(121_666);
        let mut sum = self.0;
        let mut high = [zero(); 5];
        for i in 0..5 {
            sum[i] = _mm512_madd52lo_epu64(sum[i], other.0[i], factor);
            high[i] = _mm512_madd52hi_epu64(high[i], other.0[i], factor);
        }
        for i in 0..4 {
            sum[i + 1] = add(sum[i + 1], add(high[i], high[i]));
        }
        sum[0] = _mm512_madd52lo_epu64(sum[0], high[4], splat(38));
        Wide(sum)
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    #[inline]
    fn squared_often(self, n: usize) -> Self {
        let mut power = self;
        for _ in 0..n {
            power = power.squared().carried();
        }
        power
    }

    /// The inverse, `self^(p - 2)`; that of 0 is 0. The powers are named by their exponents: `e5` is
    /// 2^5 - 1, and so on.
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    #[inline]
    fn inverted(&self) -> Self {
        let two = self.squared_often(1);
        let nine = two.squared_often(2).times(self).carried();
        let eleven = nine.times(&two).carried();
        let e5 = eleven.squared_often(1).times(&nine).carried();
        let e10 = e5.squared_often(5).times(&e5).carried();
        let e20 = e10.squared_often(10).times(&e10).carried();
        let e40 = e20.squared_often(20).times(&e20).carried();
        let e50 = e40.squared_often(10).times(&e10).carried();
        let e100 = e50.squared_often(50).times(&e50).carried();
        let e200 = e100.squared_often(100).times(&e100).carried();
        let e250 = e200.squared_often(50).times(&e50).carried();
        e250.squared_often(5).times(&eleven).carried()
    }
}

impl Wide {
    /// Every limb gives what is above 51 bits to the next, at once; the last one gives it 19 times to the
    /// first. Of limbs below 2^63 (a sum, or a difference with its bias) that is less than 2^12, so that
    /// limbs below 2^51 + 19 * 2^12 remain.
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    #[inline]
    fn carried(&self) -> Tight {
        let mut limbs = self.0;
        let mut above = self.0;
        for i in 0..5 {
            above[i] = _mm512_srli_epi64::<51>(limbs[i]);
            limbs[i] = _mm512_and_si512(limbs[i], splat(MASK));
        }
        for i in 0..4 {
            limbs[i + 1] = add(limbs[i + 1], above[i]);
        }
        limbs[0] = _mm512_madd52lo_epu64(limbs[0], above[4], splat(19));
        Tight(limbs)
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    #[inline]
    fn plus(&self, other: &Self) -> Tight {
        let mut sum = self.0;
        for (a, b) in sum.iter_mut().zip(&other.0) {
            *a = add(*a, *b);
        }
        Self(sum).carried()
    }

    /// The difference, and a multiple of p so that no limb is negative.
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    #[inline]
    fn minus(&self, other: &Self) -> Tight {
        let mut difference = self.0;
        for i in 0..5 {
            difference[i] = _mm512_sub_epi64(add(self.0[i], splat(BIAS[i])), other.0[i]);
        }
        Self(difference).carried()
    }

    /// Exchanges the numbers of lanes whose bit is 1.
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
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

/// What the limbs of a product add up to. With limb k of `z` being `low[k] + 2 * high[k - 1]`, below
/// 15 * 2^52, limbs from 2^255 on count 19 times: all stay below 20 * 15 * 2^52 < 2^61.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
#[inline]
fn folded(low: &[V; 9], high: &[V; 9]) -> Wide {
    let mut z = [zero(); 10];
    z[0] = low[0];
    for k in 1..9 {
        z[k] = add(low[k], add(high[k - 1], high[k - 1]));
    }
    z[9] = add(high[8], high[8]);
    let mut limbs = [zero(); 5];
    for k in 0..5 {
        let over = z[k + 5];
        limbs[k] = add(z[k], _mm512_mullo_epi64(over, splat(19)));
    }
    Wide(limbs)
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
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    #[inline]
    fn swap(&mut self, lanes: u8) {
        self.x2.swap(&mut self.x3, lanes);
        self.z2.swap(&mut self.z3, lanes);
    }

    /// A step of the ladder: doubles the first point and adds both (RFC 7748, section 5, whose names
    /// these are; `z_2 = E * (BB + 121666 * E)` is the same as its `E * (AA + 121665 * E)`).
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
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

/// The u-coordinates of the products, below 2^52 in each limb.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn ladder(bits: &[u8; 256], u: &Limbs) -> Limbs {
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
    let inverse = points.z2.carried().inverted();
    let product = points.x2.carried().times(&inverse).carried();
    store(&product)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load(limbs: &Limbs) -> [V; 5] {
    let mut vectors = [zero(); 5];
    for (vector, limb) in vectors.iter_mut().zip(limbs) {
        // SAFETY: 64 bytes are read, of an array of 8 words.
        *vector = unsafe { _mm512_loadu_si512(limb.as_ptr().cast()) };
    }
    vectors
}

#[target_feature(enable = "avx512f")]
#[inline]
fn store(number: &Tight) -> Limbs {
    let mut limbs = Limbs::default();
    for (limb, vector) in limbs.iter_mut().zip(number.0) {
        // SAFETY: 64 bytes are written, to an array of 8 words.
        unsafe { _mm512_storeu_si512(limb.as_mut_ptr().cast(), vector) };
    }
    limbs
}

#[target_feature(enable = "avx512f")]
#[inline]
fn zero() -> V {
    _mm512_setzero_si512()
}

#[target_feature(enable = "avx512f")]
#[inline]
fn splat(word: u64) -> V {
    _mm512_set1_epi64(word as i64)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn add(a: V, b: V) -> V {
    _mm512_add_epi64(a, b)
}
