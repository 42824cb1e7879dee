//! One point, whose four multiplications that do not wait for each other have a lane each.
#![allow(unsafe_code, reason = "the call of what the processor was asked for")]

use core::arch::x86_64::*;

use zeroize::Zeroize;

use super::v256 as vector;
use crate::Backend;
use crate::x25519::BYTES;
use crate::x25519::number::{Number, quotients};
use field::{BIAS, Tight, Wide};
use vector::{V, add, splat, zero};

#[path = "field.rs"]
#[allow(clippy::duplicate_mod, reason = "once for each width")]
mod field;

/// Returns the product of the secret and the u-coordinate; zeros for a point of small order.
pub fn product(secret: &[u8; BYTES], public: &[u8; BYTES]) -> [u8; BYTES] {
    Backend::Avx512Ifma.require();
    // SAFETY: the processor has the features.
    let (mut x, mut z) = unsafe { ladder(secret, &Number::from_bytes(public)) };
    let [product] = quotients(&[x], &[z]);
    x.zeroize();
    z.zeroize();
    product
}

impl Wide {
    /// The numbers of these lanes. `FROM` has two bits for each lane, the lowest lane's first.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    #[inline]
    fn lanes<const FROM: i32>(&self) -> Self {
        Self(self.0.map(|limb| _mm256_permute4x64_epi64::<FROM>(limb)))
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    #[inline]
    fn plus(&self, other: &Self) -> Self {
        let mut sum = self.0;
        for (a, b) in sum.iter_mut().zip(other.0) {
            *a = add(*a, b);
        }
        Self(sum)
    }

    /// In each lane the sum, the difference and a multiple of p, or the first number alone.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    #[inline]
    fn with(&self, other: &Self, signs: &Signs) -> Self {
        let mut limbs = self.0;
        for (i, limb) in limbs.iter_mut().enumerate() {
            // Without carry -b is !b + 1, and 1 is in the bias.
            let kept = _mm256_and_si256(other.0[i], signs.kept);
            let signed = _mm256_xor_si256(kept, signs.negative);
            *limb = add(add(*limb, signs.bias[i]), signed);
        }
        Self(limbs)
    }
}

impl Tight {
    /// The number of the lowest lane.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    #[inline]
    fn first(&self) -> Number {
        Number(self.0.map(|limb| _mm256_extract_epi64::<0>(limb) as u64))
    }

    /// The numbers of these lanes.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    #[inline]
    fn lanes(&self, from: V) -> Self {
        Self(self.0.map(|limb| _mm256_permutexvar_epi64(from, limb)))
    }

    /// This, but the other one's numbers in lanes whose bit is 1.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    #[inline]
    fn or<const LANES: u8>(&self, other: &Self) -> Self {
        let mut limbs = self.0;
        for (a, b) in limbs.iter_mut().zip(other.0) {
            *a = _mm256_mask_blend_epi64(LANES, *a, b);
        }
        Self(limbs)
    }
}

/// What [`Wide::with`] does in each lane.
struct Signs {
    kept: V,
    negative: V,
    bias: [V; 5],
}

impl Signs {
    /// -1, 0 or 1 of each lane.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    #[inline]
    fn new(signs: [i64; 4]) -> Self {
        Self {
            kept: lanes(signs.map(|sign| -(sign & 1))),
            negative: lanes(signs.map(|sign| sign >> 1)),
            bias: BIAS.map(|bias| lanes(signs.map(|sign| (bias + 1) as i64 & sign >> 1))),
        }
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
#[inline]
fn lanes([a, b, c, d]: [i64; 4]) -> V {
    _mm256_set_epi64x(d, c, b, a)
}

/// The product, whose u-coordinate is `x / z`. Names are those of RFC 7748, section 5, and
/// `z_2 = E * (BB + 121666 * E)` is the same as its `E * (AA + 121665 * E)`. Between steps, `x` has
/// `x_2, x_2, x_3, x_3` and `z` the like.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
fn ladder(secret: &[u8; BYTES], u: &Number) -> (Number, Number) {
    let x1 = Tight(u.0.map(|limb| splat(limb)));
    let one = Tight(Number::ONE.0.map(|limb| splat(limb)));
    let none = Tight([zero(); 5]);
    let scale = Tight(Number([121_666, 0, 0, 0, 0]).0.map(|limb| splat(limb)));
    let alternately = Signs::new([1, -1, 1, -1]);
    let last_two = Signs::new([0, 1, -1, -1]);

    let (mut x, mut z) = (one.or::<0b1100>(&x1).wide(), none.or::<0b1100>(&one).wide());
    let mut swapped = 0;
    for i in (0..255).rev() {
        let bit = i64::from(super::bit(secret, i));
        let swap = 2 * (bit ^ swapped);
        swapped = bit;
        // A, B, C, D. To be swapped are the points, hence A with C and B with D: then DA is the other's CB.
        // As what counts is their sum and the square of their difference, only AA and BB are to be others.
        let sums = x.with(&z, &alternately).carried();
        let doubled = sums.lanes(lanes([swap, 1 + swap, 3, 2]));
        let added = sums.lanes(lanes([swap, 1 + swap, 0, 1]));
        let products = doubled.times(&added); // AA, BB, DA, CB
        let first = products.lanes::<0b00_10_10_00>(); // AA, DA, DA, AA
        let second = products.lanes::<0b01_11_11_01>(); // BB, CB, CB, BB
        let sums = first.with(&second, &last_two).carried(); // AA, DA + CB, DA - CB, E
        let second = second.carried();
        let factors = second.or::<0b0110>(&sums).or::<0b1000>(&scale);
        let products = sums.times(&factors); // x_2, x_3, (DA - CB)^2, 121666 E
        let e = sums.lanes(lanes([3; 4])).or::<0b1100>(&x1);
        let bb = second.lanes(lanes([0; 4])).or::<0b1100>(&none);
        let factors = products.lanes::<0b10_10_11_11>().plus(&bb.wide());
        x = products.lanes::<0b01_01_00_00>();
        z = e.times(&factors.carried());
    }
    let last = lanes([2 * swapped; 4]);
    (
        x.carried().lanes(last).first(),
        z.carried().lanes(last).first(),
    )
}
