//! blst's points, and points that no honest party makes.

use crate::bls::{BYTES, Encoded, Halves};
use blst::*;
use std::sync::LazyLock;
use std::vec::Vec;

/// A point of the curve, in blst's form.
#[derive(Clone, Copy, Debug)]
pub struct Point(pub blst_p1);

impl Point {
    pub fn identity() -> Self {
        Self(blst_p1::default())
    }

    pub fn generator() -> Self {
        // SAFETY: blst returns a pointer to a constant.
        Self(unsafe { *blst_p1_generator() })
    }

    pub fn from_affine(affine: &blst_p1_affine) -> Self {
        let mut out = blst_p1::default();
        // SAFETY: both pointers are to live values.
        unsafe { blst_p1_from_affine(&mut out, affine) };
        Self(out)
    }

    pub fn affine(&self) -> blst_p1_affine {
        let mut out = blst_p1_affine::default();
        // SAFETY: both pointers are to live values.
        unsafe { blst_p1_to_affine(&mut out, &self.0) };
        out
    }

    pub fn encoded(&self) -> Encoded {
        let mut out = [0; BYTES];
        // SAFETY: 48 bytes are written.
        unsafe { blst_p1_compress(out.as_mut_ptr(), &self.0) };
        out
    }

    pub fn add(&self, other: &Self) -> Self {
        let mut out = blst_p1::default();
        // SAFETY: all pointers are to live values.
        unsafe { blst_p1_add_or_double(&mut out, &self.0, &other.0) };
        Self(out)
    }

    pub fn negated_if(mut self, negative: bool) -> Self {
        // SAFETY: the pointer is to a live value.
        unsafe { blst_p1_cneg(&mut self.0, negative) };
        self
    }

    /// Times a number, little-endian: by doubling and adding, so that it is right outside of the
    /// subgroup, too.
    pub fn times(&self, number: &[u8]) -> Self {
        let bits = number
            .iter()
            .rev()
            .flat_map(|byte| (0..8).rev().map(move |i| byte >> i & 1));
        bits.fold(Self::identity(), |sum, bit| {
            let twice = sum.add(&sum);
            if bit == 1 { twice.add(self) } else { twice }
        })
    }

    pub fn times_halves(&self, power: &Halves<u128>) -> Self {
        let [low, high] = power.halves.map(u128::to_le_bytes);
        let image = self.times(&LAMBDA.to_le_bytes());
        let sum = self.times(&low).add(&image.times(&high));
        sum.negated_if(power.negative)
    }

    pub fn is_identity(&self) -> bool {
        // SAFETY: the pointer is to a live value.
        unsafe { blst_p1_is_inf(&self.0) }
    }
}

impl PartialEq for Point {
    fn eq(&self, other: &Self) -> bool {
        // SAFETY: both pointers are to live values.
        unsafe { blst_p1_is_equal(&self.0, &other.0) }
    }
}

const Z: u128 = 0xd201_0000_0001_0000;
pub const LAMBDA: u128 = Z * Z - 1;

/// The primes of the cofactor (z - 1)^2 / 3.
pub const PRIMES: [u64; 5] = [3, 11, 10_177, 859_267, 52_437_899];

/// The group order r, little-endian.
pub const ORDER: [u8; 32] = {
    let words = [
        0xffff_ffff_0000_0001u64,
        0x53bd_a402_fffe_5bfe,
        0x3339_d808_09a1_d805,
        0x73ed_a753_299d_7d48,
    ];
    let mut bytes = [0; 32];
    let mut i = 0;
    while i < 32 {
        bytes[i] = (words[i / 8] >> (8 * (i % 8))) as u8;
        i += 1;
    }
    bytes
};

/// Points of the curve with small x, some in no subgroup.
pub fn of_small_x(count: usize) -> Vec<Point> {
    let read = |x: u16| {
        let mut bytes = [0; BYTES];
        bytes[0] = 0x80;
        bytes[BYTES - 2..].copy_from_slice(&x.to_be_bytes());
        uncompressed(&bytes).ok()
    };
    (1..u16::MAX)
        .filter_map(read)
        .take(count)
        .map(|point| Point::from_affine(&point))
        .collect()
}

/// A point of each prime order that divides the cofactor.
pub static TORSION: LazyLock<Vec<(u64, Point)>> = LazyLock::new(torsion);

fn torsion() -> Vec<(u64, Point)> {
    let any = of_small_x(24);
    let of = |prime: u64| {
        let points = any.iter().map(|point| {
            // (z - 1)^2 / 3 r kills every point, so what remains after all but `prime` has its order or less.
            let without = PRIMES.iter().filter(|other| **other != prime);
            let rest = without.fold(point.times(&ORDER), |rest, other| {
                let bytes = other.to_le_bytes();
                rest.times(&bytes).times(&bytes)
            });
            let next = rest.times(&prime.to_le_bytes());
            if next.is_identity() { rest } else { next }
        });
        let mut points = points.filter(|point| !point.is_identity());
        (
            prime,
            points.next().expect("some point has a part of that order"),
        )
    };
    PRIMES.into_iter().map(of).collect()
}

/// blst's decoder, curve only.
pub fn uncompressed(bytes: &Encoded) -> Result<blst_p1_affine, BLST_ERROR> {
    let mut point = blst_p1_affine::default();
    // SAFETY: 48 bytes are read.
    match unsafe { blst_p1_uncompress(&mut point, bytes.as_ptr()) } {
        BLST_ERROR::BLST_SUCCESS => Ok(point),
        error => Err(error),
    }
}

pub fn is_in_group(point: &blst_p1_affine) -> bool {
    // SAFETY: the pointer is to a live value.
    unsafe { blst_p1_affine_in_g1(point) }
}
