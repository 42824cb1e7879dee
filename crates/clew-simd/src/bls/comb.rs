//! Products `b base + c point` of a fixed base and other points: R1' of many signatures.

use super::curve::Projective;
use super::decode::{Encoded, encode};
use super::digits::{Entry, Pick, Picks, Table, signed_digits};
use super::kept::{self, Workspace};
use super::kernel::{Kernel, LANES};
use super::points::{in_lanes, is_identity};
use super::sums::Halves;
use super::tree::{Scratch, sum_groups};
use alloc::vec::Vec;
use blst::blst_p1_affine;

/// Bases at 2^0, 2^64, 2^128 and 2^192 times the base.
const BASES: usize = 4;

/// Multiples of each: digits have 8 bits.
const MULTIPLES: usize = 128;

/// Multiples of other points: digits have 4 bits.
const ENTRIES: usize = 8;
const WINDOW: u32 = 4;

/// Digits of 64 bits, and one for the carry.
const DIGITS: usize = 17;

/// Vectors whose inversions are shared.
const AT_ONCE: usize = 16;

/// The table of a fixed base: 98 kB.
#[derive(Debug)]
pub struct Comb(Vec<Entry>);

/// A product to be made.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// The base's power, little-endian.
    pub of_base: [u8; 32],
    /// The other point; (0, 0) is the identity.
    pub point: blst_p1_affine,
    /// Its power.
    pub power: Halves<u64>,
}

impl Comb {
    /// Makes the table of 2^(64 i) times the base for i from 0 to 3, none of which is the identity.
    pub fn new<K: Kernel>(kernel: K, bases: &[blst_p1_affine; BASES]) -> Self {
        let mut table = Table::<MULTIPLES>::default();
        let points = in_lanes(kernel, bases.iter());
        table.fill(kernel, &points, &mut Scratch::default());
        let mut entries = table.entries().to_vec();
        entries.truncate(BASES * MULTIPLES);
        entries.shrink_to_fit();
        Self(entries)
    }

    /// Returns each product encoded, or nothing for the identity. Takes time that depends on points and
    /// powers.
    pub fn products<K: Kernel>(&self, kernel: K, tasks: &[Task]) -> Vec<Option<Encoded>> {
        let mut products = Vec::with_capacity(tasks.len().div_ceil(LANES));
        kept::with(|memory| {
            for tasks in tasks.chunks(AT_ONCE * LANES) {
                self.add_products(kernel, tasks, memory, &mut products);
            }
        });
        encoded(&products, tasks.len())
    }

    fn add_products<K: Kernel>(
        &self,
        kernel: K,
        tasks: &[Task],
        memory: &mut Workspace<K>,
        products: &mut Vec<Projective<K>>,
    ) {
        let Workspace {
            tables_of_8: table,
            picks,
            scratch,
            ..
        } = memory;
        let points = in_lanes(kernel, tasks.iter().map(|task| &task.point));
        table.fill(kernel, &points, scratch);
        picks.clear();
        let vectors = tasks.chunks(LANES).enumerate();
        let sizes = vectors.flat_map(|(v, tasks)| pick(picks, v, tasks));
        let mut sizes: Vec<u32> = sizes.collect();
        let source = Picks {
            kernel,
            picks,
            tables: [table.entries(), &self.0],
        };
        let sums = sum_groups(kernel, &mut sizes, source, scratch);
        for sums in sums.chunks_exact(DIGITS) {
            let mut product = Projective::identity(kernel);
            for (i, sum) in sums.iter().enumerate().rev() {
                if i + 1 < DIGITS {
                    (0..WINDOW).for_each(|_| product.double());
                }
                product.add_affine(&sum.affine, sum.identity);
            }
            products.push(product);
        }
    }
}

/// Which table a pick means.
const OF_POINTS: u8 = 0;
const OF_BASE: u8 = 1;

/// Picks of a vector, by the digit's weight 2^(4 i), and how many each weight has. The base's digits of
/// 8 bits stand at every other weight.
fn pick(picks: &mut Vec<Pick>, v: usize, tasks: &[Task]) -> [u32; DIGITS] {
    let mut of_point = [[[0; LANES]; DIGITS]; 2];
    let mut of_base = [[0; LANES]; 32];
    for (lane, task) in tasks.iter().enumerate() {
        for (digits, digit) in of_base.iter_mut().zip(byte_digits(&task.of_base)) {
            digits[lane] = digit;
        }
        if is_identity(&task.point) {
            continue;
        }
        for (digits, half) in of_point.iter_mut().zip(task.power.halves) {
            let own = signed_digits::<WINDOW, DIGITS>(u128::from(half));
            for (digits, digit) in digits.iter_mut().zip(own) {
                digits[lane] = if task.power.negative { -digit } else { digit };
            }
        }
    }
    let places = core::array::from_fn(|lane| Table::<ENTRIES>::place(LANES * v + lane));
    core::array::from_fn(|i| {
        let before = picks.len();
        for (half, digits) in of_point.iter().enumerate() {
            picks.push(Pick::new(OF_POINTS, places, digits[i], half == 1));
        }
        if i % 2 == 0 && i + 1 < DIGITS {
            for base in 0..BASES {
                let places = [Table::<MULTIPLES>::place(base); LANES];
                picks.push(Pick::new(OF_BASE, places, of_base[8 * base + i / 2], false));
            }
        }
        (picks.len() - before) as u32
    })
}

/// A number below 2^255 as 32 signed digits of 8 bits, lowest first; the last is from 0 to 128.
fn byte_digits(bytes: &[u8; 32]) -> [i16; 32] {
    let mut carry = 0;
    core::array::from_fn(|i| {
        let digit = i16::from(bytes[i]) + carry;
        carry = i16::from(i < 31 && digit >= 128);
        digit - (carry << 8)
    })
}

/// The first `length` points of the vectors, with one inversion.
fn encoded<K: Kernel>(points: &[Projective<K>], length: usize) -> Vec<Option<Encoded>> {
    let mut out = Vec::with_capacity(LANES * points.len());
    for (points, identity) in Projective::to_affine(points) {
        let encoded = encode(&points).into_iter().enumerate();
        out.extend(encoded.map(|(lane, bytes)| (identity >> lane & 1 == 0).then_some(bytes)));
    }
    out.truncate(length);
    out
}
