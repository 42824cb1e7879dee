//! Sums of products of fixed bases with secret scalars, eight at once and in constant time.
//!
//! A base's table is one for all lanes. Each lane takes its entry by a mask, and every entry is read.
//! Additions are complete, and inversions take constant time: scalars decide no branch and no address.

use super::curve::{Affine, Projective};
use super::decode::{Encoded, encode};
use super::fp::Fp;
use super::kernel::{Kernel, LANES};
use super::limbs::Row;
use super::points::{in_lanes, to_blst};
use super::tree::{Scratch, multiples};
use alloc::vec::Vec;
use blst::blst_p1_affine;
use zeroize::{Zeroize, Zeroizing};

/// Bits of a digit.
const WINDOW: usize = 6;

/// Digits of a scalar of 255 bits; the last one takes the carry.
pub const WINDOWS: usize = 43;

/// Multiples of each window's base: digits are from -31 to 32.
const ENTRIES: usize = 1 << (WINDOW - 1);

/// A scalar of each lane, little-endian and below 2^255.
pub type Scalars = [[u8; 32]; LANES];

/// The table of a fixed base: 176 kB.
#[derive(Debug)]
pub struct SecretTable(Vec<[Row; 2]>);

/// A sum of products, in each lane.
#[derive(Clone, Copy, Debug)]
pub struct SecretSum<'a> {
    /// A point to begin with, the same in all lanes.
    pub start: Option<&'a blst_p1_affine>,
    /// Tables with their scalars.
    pub products: &'a [(&'a SecretTable, &'a Scalars)],
}

/// A sum in each lane, and its encoding.
#[derive(Clone, Copy, Debug)]
pub struct Summed {
    /// The points; (0, 0) is the identity.
    pub points: [blst_p1_affine; LANES],
    /// Their encodings; useless for the identity.
    pub encoded: [Encoded; LANES],
}

impl SecretTable {
    /// Makes the table of 2^(6 i) times the base for i from 0 to 42, none of which is the identity. The
    /// steps are the same for every base, but with a probability of 2^-38: where one limb of a difference
    /// looks like that of zero.
    pub fn new<K: Kernel>(kernel: K, bases: &[blst_p1_affine; WINDOWS]) -> Self {
        let points = in_lanes(kernel, bases.iter());
        let mut scratch = Scratch::default();
        let all = multiples(kernel, points.iter().copied(), ENTRIES as u32, &mut scratch);
        let mut entries = alloc::vec![[Row::ZERO; 2]; points.len() * LANES * ENTRIES];
        for (i, multiple) in all.chunks_exact(points.len()).enumerate() {
            for (v, point) in multiple.iter().enumerate() {
                let (x, y) = (point.affine.x.to_rows(), point.affine.y.to_rows());
                for lane in 0..LANES {
                    entries[(LANES * v + lane) * ENTRIES + i] = [x[lane], y[lane]];
                }
            }
        }
        entries.truncate(WINDOWS * ENTRIES);
        entries.shrink_to_fit();
        Self(entries)
    }
}

/// Returns each sum, all with one inversion. Takes constant time, but for the number of products.
pub fn secret_sums<K: Kernel>(kernel: K, sums: &[SecretSum<'_>]) -> Vec<Summed> {
    let mut totals = Zeroized(Vec::with_capacity(sums.len()));
    for sum in sums {
        totals.0.push(Projective::identity(kernel));
        let total = totals.0.last_mut().expect("it was pushed");
        if let Some(start) = sum.start {
            let x = Fp::from_blst(kernel, [&start.x.l; LANES]);
            let y = Fp::from_blst(kernel, [&start.y.l; LANES]);
            total.add_affine(&Affine { x, y }, 0);
        }
        for (table, scalars) in sum.products {
            add_product(kernel, total, table, scalars);
        }
    }
    let affine = Projective::to_affine(&totals.0);
    let summed = affine.iter().map(|(points, identity)| Summed {
        points: to_blst(points, *identity),
        encoded: encode(points),
    });
    summed.collect()
}

fn add_product<K: Kernel>(
    kernel: K,
    total: &mut Projective<K>,
    table: &SecretTable,
    scalars: &Scalars,
) {
    let mut digits = Zeroizing::new([[0i64; LANES]; WINDOWS]);
    for (lane, scalar) in scalars.iter().enumerate() {
        write_digits(&mut digits, lane, scalar);
    }
    for (window, digits) in table.0.chunks_exact(ENTRIES).zip(digits.iter()) {
        let (point, zero) = scan(kernel, window, digits);
        total.add_affine(&point, zero);
    }
}

/// The multiple that each lane's digit asks for, and the lanes whose digit is zero.
#[inline(never)]
fn scan<K: Kernel>(
    kernel: K,
    window: &[[Row; 2]],
    digits: &[i64; LANES],
) -> (Affine<K>, super::Lanes) {
    kernel.run(
        #[inline(always)]
        || {
            let (x, y, signs) = Fp::scan(kernel, window, digits);
            let y = y.select(signs.negative, &y.neg::<2>());
            (Affine { x, y }, signs.zero)
        },
    )
}

/// Writes a lane's digits, lowest first, without a branch.
fn write_digits(digits: &mut [[i64; LANES]; WINDOWS], lane: usize, scalar: &[u8; 32]) {
    let mut bytes = Zeroizing::new([0; 34]);
    bytes[..32].copy_from_slice(scalar);
    let mut carry = 0;
    for (i, digits) in digits.iter_mut().enumerate() {
        let (byte, bit) = (i * WINDOW / 8, i * WINDOW % 8);
        let bits = u16::from_le_bytes([bytes[byte], bytes[byte + 1]]) >> bit;
        let window = i64::from(bits & ((1 << WINDOW) - 1)) + carry;
        // One above 32.
        carry = (window + ENTRIES as i64 - 1) >> WINDOW;
        digits[lane] = window - (carry << WINDOW);
    }
}

/// Points that are overwritten when they are dropped.
struct Zeroized<K: Kernel>(Vec<Projective<K>>);

impl<K: Kernel> Drop for Zeroized<K> {
    fn drop(&mut self) {
        for point in &mut self.0 {
            *point = core::hint::black_box(Projective::identity(point.x.kernel()));
        }
    }
}

impl Zeroize for Summed {
    fn zeroize(&mut self) {
        self.encoded.zeroize();
        for point in &mut self.points {
            point.x.l.zeroize();
            point.y.l.zeroize();
        }
    }
}
