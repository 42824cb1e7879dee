//! Numbers modulo p = 2^255 - 19, one at a time: what comes before and after a ladder in vectors.

use subtle::{ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroize;

use super::BYTES;

/// The lowest 51 bits: a whole limb.
pub const MASK: u64 = (1 << 51) - 1;

/// A number as limbs of 51 bits, the lowest first. They are below 2^52, and it may be p or more.
#[derive(Clone, Copy, Zeroize)]
pub struct Number(pub [u64; 5]);

impl Number {
    pub const ONE: Self = Self([1, 0, 0, 0, 0]);

    /// Decodes a u-coordinate. The topmost bit is ignored.
    pub fn from_bytes(bytes: &[u8; BYTES]) -> Self {
        let mut words = [0; 4];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        let [a, b, c, d] = words;
        let limbs = [a, a >> 51 | b << 13, b >> 38 | c << 26, c >> 25 | d << 39];
        let [h0, h1, h2, h3] = limbs.map(|limb| limb & MASK);
        Self([h0, h1, h2, h3, d >> 12 & MASK])
    }

    /// Returns the one number below p that this stands for.
    pub fn to_bytes(self) -> [u8; BYTES] {
        let mut h = self.0;
        // The first pass leaves limbs of 51 bits but for h0 < 2^51 + 38. The second leaves no exception: if
        // its carry runs through all limbs to the top, h0 became less than 38 on the way.
        h[0] += 19 * carry(&mut h);
        h[0] += 19 * carry(&mut h);
        // 1 if the number is p or more: then 19 more reach 2^255, and what is above that falls away.
        let over = h.iter().fold(19, |carry, limb| (limb + carry) >> 51);
        h[0] += 19 * over;
        carry(&mut h);
        let [a, b, c, d, e] = h;
        let words = [
            a | b << 51,
            b >> 13 | c << 38,
            c >> 26 | d << 25,
            d >> 39 | e << 12,
        ];
        let mut bytes = [0; BYTES];
        for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
        bytes
    }

    fn times(&self, other: &Self) -> Self {
        let ([a0, a1, a2, a3, a4], [b0, b1, b2, b3, b4]) = (self.0, other.0);
        // What is above 2^255 counts 19 times.
        let [c1, c2, c3, c4] = [b1, b2, b3, b4].map(|limb| 19 * limb);
        carried([
            wide(a0, b0) + wide(a4, c1) + wide(a3, c2) + wide(a2, c3) + wide(a1, c4),
            wide(a1, b0) + wide(a0, b1) + wide(a4, c2) + wide(a3, c3) + wide(a2, c4),
            wide(a2, b0) + wide(a1, b1) + wide(a0, b2) + wide(a4, c3) + wide(a3, c4),
            wide(a3, b0) + wide(a2, b1) + wide(a1, b2) + wide(a0, b3) + wide(a4, c4),
            wide(a4, b0) + wide(a3, b1) + wide(a2, b2) + wide(a1, b3) + wide(a0, b4),
        ])
    }

    fn squared(&self) -> Self {
        let [a0, a1, a2, a3, a4] = self.0;
        let [d0, d1, d2, d3] = [a0, a1, a2, a3].map(|limb| 2 * limb);
        let [c3, c4] = [a3, a4].map(|limb| 19 * limb);
        carried([
            wide(a0, a0) + wide(d1, c4) + wide(d2, c3),
            wide(a3, c3) + wide(d0, a1) + wide(d2, c4),
            wide(a1, a1) + wide(d0, a2) + wide(d3, c4),
            wide(a4, c4) + wide(d0, a3) + wide(d1, a2),
            wide(a2, a2) + wide(d0, a4) + wide(d1, a3),
        ])
    }

    fn squared_often(mut self, n: usize) -> Self {
        for _ in 0..n {
            self = self.squared();
        }
        self
    }

    /// The inverse, `self^(p - 2)`; that of 0 is 0. The powers are named by their exponents: `e5` is
    /// 2^5 - 1, and so on.
    fn inverted(&self) -> Self {
        let two = self.squared();
        let nine = two.squared_often(2).times(self);
        let eleven = nine.times(&two);
        let e5 = eleven.squared().times(&nine);
        let e10 = e5.squared_often(5).times(&e5);
        let e20 = e10.squared_often(10).times(&e10);
        let e40 = e20.squared_often(20).times(&e20);
        let e50 = e40.squared_often(10).times(&e10);
        let e100 = e50.squared_often(50).times(&e50);
        let e200 = e100.squared_often(100).times(&e100);
        let e250 = e200.squared_often(50).times(&e50);
        e250.squared_often(5).times(&eleven)
    }
}

/// Returns the quotients `x / z`; 0 where z is. One inversion for all (Montgomery's trick): of the
/// product of all z, of which each z is a part, and a 1 in the place of each 0.
pub fn quotients<const N: usize>(x: &[Number; N], z: &[Number; N]) -> [[u8; BYTES]; N] {
    let mut z = *z;
    let is_zero = z.map(|z| z.to_bytes().ct_eq(&[0; BYTES]));
    let mut before = [Number::ONE; N];
    let mut all = Number::ONE;
    for i in 0..N {
        for (limb, one) in z[i].0.iter_mut().zip(Number::ONE.0) {
            limb.conditional_assign(&one, is_zero[i]);
        }
        before[i] = all;
        all = all.times(&z[i]);
    }
    let mut inverse = all.inverted();
    let mut quotients = [[0; BYTES]; N];
    for i in (0..N).rev() {
        quotients[i] = x[i].times(&inverse).times(&before[i]).to_bytes();
        for byte in &mut quotients[i] {
            byte.conditional_assign(&0, is_zero[i]);
        }
        inverse = inverse.times(&z[i]);
    }
    z.zeroize();
    before.zeroize();
    all.zeroize();
    inverse.zeroize();
    quotients
}

fn wide(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}

/// Of sums below 2^113 (five products of a limb and nineteen times another), limbs below 2^51 + 2^14.
fn carried(mut sums: [u128; 5]) -> Number {
    for i in 0..4 {
        sums[i + 1] += sums[i] >> 51;
    }
    let mut limbs = sums.map(|sum| sum as u64 & MASK);
    limbs[0] += 19 * (sums[4] >> 51) as u64;
    limbs[1] += limbs[0] >> 51;
    limbs[0] &= MASK;
    Number(limbs)
}

/// Makes limbs of 51 bits, and returns what is above 2^255.
fn carry(h: &mut [u64; 5]) -> u64 {
    let mut carry = 0;
    for limb in h {
        *limb += carry;
        carry = *limb >> 51;
        *limb &= MASK;
    }
    carry
}
