//! Points of E: y^2 = x^3 + 4 over the base field, one in each lane.
//!
//! [`Projective`] has the complete formulas of Renes, Costello and Batina (EUROCRYPT 2016, algorithms 8
//! and 9, for a = 0): right for all points of odd order, and E has no others. Their outputs are sums of two
//! products each, so that mixed addition takes 11 products and 8 reductions.
//! [`Jacobian`] has cheaper doublings and incomplete additions, for the subgroup check only, where an
//! exception is a refusal.

use super::fp::Fp;
use super::inverse::invert_all;
use super::kernel::{Kernel, Lanes};
use super::limbs::Row;
use alloc::vec::Vec;

/// Finite points.
#[derive(Clone, Copy, Debug)]
pub struct Affine<K: Kernel> {
    pub x: Fp<K>,
    pub y: Fp<K>,
}

/// The points (X/Z, Y/Z); the identity has Z = 0.
#[derive(Clone, Copy, Debug)]
pub struct Projective<K: Kernel> {
    pub x: Fp<K>,
    pub y: Fp<K>,
    pub z: Fp<K>,
}

/// The points (X/Z^2, Y/Z^3), or an exception where Z = 0.
#[derive(Clone, Copy, Debug)]
pub struct Jacobian<K: Kernel> {
    pub x: Fp<K>,
    pub y: Fp<K>,
    pub z: Fp<K>,
}

/// 4 in Montgomery form.
pub const FOUR: Row = Row::power_of_two(418);

/// BETA, a cube root of one, in Montgomery form: (BETA x, y) is (z^2 - 1) (x, y) in the subgroup.
pub const BETA: Row = Row::from_words(&[
    0x739a_4246_57e2_5648,
    0x99e0_e2c7_5706_049e,
    0x1728_6a96_4b59_0852,
    0x69ec_7cb3_3aa8_d9cf,
    0x2935_e995_b239_c7e0,
    0x1760_182f_aa0f_f3c3,
]);

/// BETA^2.
pub const BETA_SQUARED: Row = Row::from_words(&[
    0xbb6d_75aa_ff33_455f,
    0xfa07_9fd0_9535_6b7c,
    0xcf0a_3d69_7953_a2f6,
    0xf7de_3465_fe7c_1080,
    0x4701_f71f_d689_6ec3,
    0x07d9_1d9d_d9cc_1727,
]);

impl<K: Kernel> Affine<K> {
    /// Returns these points, but the others in these lanes.
    #[inline(always)]
    pub fn select(&self, lanes: Lanes, other: &Self) -> Self {
        Self {
            x: self.x.select(lanes, &other.x),
            y: self.y.select(lanes, &other.y),
        }
    }
}

impl<K: Kernel> Projective<K> {
    /// Returns the identity in all lanes.
    pub fn identity(kernel: K) -> Self {
        Self {
            x: Fp::zero(kernel),
            y: Fp::one(kernel),
            z: Fp::zero(kernel),
        }
    }

    /// Doubles (algorithm 9).
    #[inline(never)]
    pub fn double(&mut self) {
        self.x.kernel().run(
            #[inline(always)]
            || {
                let yy = self.y.square();
                let zz = self.z.square();
                let yz = self.y.mul(&self.z);
                let xy = self.x.mul(&self.y);
                let b3zz = zz.times::<12>();
                let eight = yy.times::<8>();
                let less = yy.sub::<37>(&b3zz.times::<3>());
                let more = yy.add(&b3zz);
                self.x = less.mul(&xy).times::<2>();
                self.y = Fp::dot([&b3zz, &less], [&eight, &more]);
                self.z = yz.mul(&eight);
            },
        );
    }

    /// Adds the others (algorithm 8), which are finite, but not in the lanes of `skipped`.
    #[inline(never)]
    pub fn add_affine(&mut self, other: &Affine<K>, skipped: Lanes) {
        self.x.kernel().run(
            #[inline(always)]
            || {
                let xx = self.x.mul(&other.x);
                let yy = self.y.mul(&other.y);
                let cross = self.x.add(&self.y).mul(&other.x.add(&other.y));
                let yz = other.y.mul(&self.z).add(&self.y);
                let xz = other.x.mul(&self.z).add(&self.x);
                let xy = Fp::sum::<1, 2, 3>([&cross], [&xx, &yy]);
                let b3z = self.z.times::<12>();
                let xx3 = xx.times::<3>();
                let more = yy.add(&b3z);
                let less = yy.sub::<13>(&b3z);
                let b3xz = xz.times::<12>();
                let minus = b3xz.neg::<50>();
                let x = Fp::dot([&xy, &yz], [&less, &minus]);
                let y = Fp::dot([&less, &xx3], [&more, &b3xz]);
                let z = Fp::dot([&more, &xx3], [&yz, &xy]);
                self.x = x.select(skipped, &self.x);
                self.y = y.select(skipped, &self.y);
                self.z = z.select(skipped, &self.z);
            },
        );
    }

    /// Brings points to affine form with one inversion, and returns the lanes of identities beside
    /// each: these become (0, 0).
    pub fn to_affine(points: &[Self]) -> Vec<(Affine<K>, Lanes)> {
        let mut inverses: Vec<Fp<K>> = points.iter().map(|point| point.z).collect();
        invert_all(&mut inverses, &mut Vec::new());
        let pairs = points.iter().zip(&inverses);
        let affine = pairs.map(|(point, inverse)| {
            let (x, y) = (point.x.mul(inverse), point.y.mul(inverse));
            (Affine { x, y }, inverse.zeros())
        });
        affine.collect()
    }
}

impl<K: Kernel> Jacobian<K> {
    /// Doubles: no exception, as E has no point of order 2, and Z = 0 stays.
    #[inline(never)]
    pub fn double(&mut self) {
        self.x.kernel().run(
            #[inline(always)]
            || {
                // The order keeps independent products between those that wait for each other.
                let xx = self.x.square();
                let yy = self.y.square();
                let e = xx.times::<3>();
                let ee = e.square();
                let d = self.x.mul(&yy.times::<4>());
                let x = Fp::sum::<1, 2, 3>([&ee], [&d, &d]);
                self.z = self.y.times::<2>().mul(&self.z);
                self.y = Fp::product_less_8_squares(&e, &d.sub::<5>(&x), &yy);
                self.x = x;
            },
        );
    }

    /// Adds the others; Z = 0 where they are equal or opposite, or where it was 0.
    #[inline(never)]
    pub fn add_affine(&mut self, other: &Affine<K>) {
        self.x.kernel().run(
            #[inline(always)]
            || {
                let zz = self.z.square();
                let u = other.x.mul(&zz);
                let s = other.y.mul(&zz.mul(&self.z));
                let h = u.sub::<7>(&self.x);
                let r = s.sub::<3>(&self.y);
                *self = Self::joined(&self.x, &self.y, &h, &r, &self.z.mul(&h));
            },
        );
    }

    /// The same for a point in this form, with the square and the cube of its Z.
    #[inline(never)]
    pub fn add(&mut self, other: &Self, [zz, zzz]: [&Fp<K>; 2]) {
        self.x.kernel().run(
            #[inline(always)]
            || {
                let own_zz = self.z.square();
                let u = self.x.mul(zz);
                let s = self.y.mul(zzz);
                let other_u = other.x.mul(&own_zz);
                let other_s = other.y.mul(&own_zz.mul(&self.z));
                let h = other_u.sub::<2>(&u);
                let r = other_s.sub::<2>(&s);
                *self = Self::joined(&u, &s, &h, &r, &self.z.mul(&other.z).mul(&h));
            },
        );
    }

    #[inline(always)]
    fn joined(u: &Fp<K>, s: &Fp<K>, h: &Fp<K>, r: &Fp<K>, z: &Fp<K>) -> Self {
        let hh = h.square();
        let hhh = h.mul(&hh);
        let v = u.mul(&hh);
        let x = Fp::sum::<1, 3, 5>([&r.square()], [&hhh, &v, &v]);
        let y = Fp::dot([r, s], [&v.sub::<7>(&x), &hhh.neg::<2>()]);
        Self { x, y, z: *z }
    }
}
