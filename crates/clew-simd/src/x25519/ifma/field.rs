//! Numbers modulo p = 2^255 - 19 in the lanes of vectors. Included once for each width, `super::vector`.

use super::vector::{V, above, add, add_high, add_low, below, nineteen_fold, splat, zero};
use crate::x25519::number::MASK;

/// A number whose limbs are below 2^51 + 2^18, and so can be multiplied.
#[derive(Clone, Copy)]
pub struct Tight(pub [V; 5]);

/// A number whose limbs are below 2^61.
#[derive(Clone, Copy)]
pub struct Wide(pub [V; 5]);

/// A multiple of p whose limbs are all above 2^61, and below 2^62: 2^11 p.
pub const BIAS: [u64; 5] = {
    let mut bias = [MASK << 11; 5];
    bias[0] = (MASK - 18) << 11;
    bias
};

impl Tight {
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    #[inline]
    pub fn wide(self) -> Wide {
        Wide(self.0)
    }

    /// Returns the product. Of the sums below, `low[k]` and `high[k]` have at most 5 terms below
    /// 2^52. The upper halves weigh 2^52 = 2 * 2^51, so that twice their sum belongs to the limb
    /// above.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    #[inline]
    pub fn times(&self, other: &Self) -> Wide {
        let (a, b) = (&self.0, &other.0);
        let (mut low, mut high) = ([zero(); 9], [zero(); 9]);
        for i in 0..5 {
            for j in 0..5 {
                low[i + j] = add_low(low[i + j], a[i], b[j]);
                high[i + j] = add_high(high[i + j], a[i], b[j]);
            }
        }
        folded(&low, &high)
    }
}

impl Wide {
    /// Every limb gives what is above 51 bits to the next, at once; the last one gives it 19 times to the
    /// first. Of limbs below 2^63 (a sum, or a difference with its bias) that is less than 2^12, so that
    /// limbs below 2^51 + 19 * 2^12 remain.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    #[inline]
    pub fn carried(&self) -> Tight {
        let mut limbs = self.0;
        let mut carries = self.0;
        for i in 0..5 {
            carries[i] = above(limbs[i]);
            limbs[i] = below(limbs[i]);
        }
        for i in 0..4 {
            limbs[i + 1] = add(limbs[i + 1], carries[i]);
        }
        limbs[0] = add_low(limbs[0], carries[4], splat(19));
        Tight(limbs)
    }
}

/// What the limbs of a product add up to. With limb k of `z` being `low[k] + 2 * high[k - 1]`, below
/// 15 * 2^52, limbs from 2^255 on count 19 times: all stay below 20 * 15 * 2^52 < 2^61.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
#[inline]
pub fn folded(low: &[V; 9], high: &[V; 9]) -> Wide {
    let mut z = [zero(); 10];
    z[0] = low[0];
    for k in 1..9 {
        z[k] = add(low[k], add(high[k - 1], high[k - 1]));
    }
    z[9] = add(high[8], high[8]);
    let mut limbs = [zero(); 5];
    for k in 0..5 {
        limbs[k] = add(z[k], nineteen_fold(z[k + 5]));
    }
    Wide(limbs)
}
