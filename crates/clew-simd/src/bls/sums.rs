//! Two sums of products over many points, as a batch of signatures needs them.

use super::curve::Projective;
use super::digits::{Pick, Picks, Table, signed_digits};
use super::kept::{self, Workspace};
use super::kernel::{Kernel, LANES};
use super::points::{in_lanes, is_identity, to_blst};
use super::tree::{Point, sum_groups};
use alloc::vec::Vec;
use blst::blst_p1_affine;

/// How many sums there are.
pub const SUMS: usize = 2;

/// A scalar `low + LAMBDA high`, or minus that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Halves<T> {
    /// Whether it is the negative.
    pub negative: bool,
    /// The two halves.
    pub halves: [T; 2],
}

/// A point with its power in each sum. (0, 0) is the identity.
#[derive(Clone, Copy, Debug)]
pub struct Long {
    /// The point.
    pub point: blst_p1_affine,
    /// Its powers.
    pub powers: [Halves<u128>; SUMS],
}

/// A point with a short power in the first sum. (0, 0) is the identity.
#[derive(Clone, Copy, Debug)]
pub struct Short {
    /// The point.
    pub point: blst_p1_affine,
    /// Its power.
    pub power: Halves<u64>,
}

/// Multiples of a point that has digits of 5 bits.
const ENTRIES: usize = 16;
const WINDOW: u32 = 5;
/// Digits of a half of 128 bits, and of 64.
const LONG: usize = 26;
const SHORT: usize = 13;

/// A group of picks for each digit and sum: digit j of sum s is group 2 j + s.
const GROUPS: usize = SUMS * LONG;

/// Vectors of each kind that are summed up together: their tables, of 25 kB, and sums fit into the
/// second cache.
const VECTORS: usize = 11;

/// Returns the two sums, each in eight parts: part i is that of the points i, i + 8, and so on of
/// both lists. Takes time that depends on points and powers.
pub fn two_sums<K: Kernel>(
    kernel: K,
    long: &[Long],
    short: &[Short],
) -> [[blst_p1_affine; LANES]; SUMS] {
    let sums = kept::with(|memory| {
        let mut chunk = Chunk {
            kernel,
            groups: core::array::from_fn(|_| Vec::new()),
            memory,
        };
        chunk.all(long, short)
    });
    let affine = Projective::to_affine(&sums);
    core::array::from_fn(|s| to_blst(&affine[s].0, affine[s].1))
}

fn part<T>(all: &[T], chunk: usize, length: usize) -> &[T] {
    let rest = all.get(chunk * length..).unwrap_or_default();
    &rest[..rest.len().min(length)]
}

/// Each window times its power of two (Horner's rule).
fn joined<K: Kernel>(kernel: K, windows: &[Point<K>]) -> [Projective<K>; SUMS] {
    let mut sums = [Projective::identity(kernel); SUMS];
    for (j, windows) in windows.chunks_exact(SUMS).enumerate().rev() {
        for (sum, window) in sums.iter_mut().zip(windows) {
            if j + 1 < LONG {
                (0..WINDOW).for_each(|_| sum.double());
            }
            sum.add_affine(&window.affine, window.identity);
        }
    }
    sums
}

/// Points that are summed up together.
struct Chunk<'a, K: Kernel> {
    kernel: K,
    groups: [Vec<Pick>; GROUPS],
    memory: &'a mut Workspace<K>,
}

/// Which table a pick means.
const OF_LONG: u8 = 0;
const OF_SHORT: u8 = 1;

impl<K: Kernel> Chunk<'_, K> {
    /// The sums of any number of points, chunk by chunk.
    fn all(&mut self, long: &[Long], short: &[Short]) -> [Projective<K>; SUMS] {
        const AT_ONCE: usize = VECTORS * LANES;
        let chunks = long.len().max(short.len()).div_ceil(AT_ONCE);
        if chunks == 0 {
            return [Projective::identity(self.kernel); SUMS];
        }
        let mut parts = Vec::with_capacity(chunks * GROUPS);
        for i in 0..chunks {
            let (long, short) = (part(long, i, AT_ONCE), part(short, i, AT_ONCE));
            parts.extend_from_slice(self.sums(long, short));
        }
        // The chunks' parts of each group, one behind the other.
        let by_group: Vec<Point<K>> = (0..GROUPS)
            .flat_map(|group| parts.iter().skip(group).step_by(GROUPS).copied())
            .collect();
        let mut sizes = [chunks as u32; GROUPS];
        let scratch = &mut self.memory.scratch;
        let windows = sum_groups(self.kernel, &mut sizes, by_group.as_slice(), scratch);
        joined(self.kernel, windows)
    }

    /// The sum of each group.
    fn sums(&mut self, long: &[Long], short: &[Short]) -> &[Point<K>] {
        let of_long = in_lanes(self.kernel, long.iter().map(|term| &term.point));
        let of_short = in_lanes(self.kernel, short.iter().map(|term| &term.point));
        let pairs = self.memory.tables_of_16.iter_mut().zip([of_long, of_short]);
        for (table, points) in pairs {
            table.fill(self.kernel, &points, &mut self.memory.scratch);
        }
        self.groups.iter_mut().for_each(Vec::clear);
        for (v, few) in long.chunks(LANES).enumerate() {
            self.pick_long(v, few);
        }
        for (v, few) in short.chunks(LANES).enumerate() {
            self.pick_short(v, few);
        }
        let Workspace {
            tables_of_16,
            picks,
            scratch,
            ..
        } = &mut *self.memory;
        picks.clear();
        let mut sizes = [1; GROUPS];
        for (group, size) in self.groups.iter_mut().zip(&mut sizes) {
            if group.is_empty() {
                group.push(Pick::NONE);
            }
            picks.extend_from_slice(group);
            *size = group.len() as u32;
        }
        let source = Picks {
            kernel: self.kernel,
            picks,
            tables: tables_of_16.each_ref().map(Table::entries),
        };
        sum_groups(self.kernel, &mut sizes, source, scratch)
    }

    fn pick_long(&mut self, v: usize, few: &[Long]) {
        for sum in 0..SUMS {
            let mut digits = [[[0; LANES]; LONG]; 2];
            for (lane, term) in few.iter().enumerate() {
                if !is_identity(&term.point) {
                    spread(&mut digits, lane, &term.powers[sum]);
                }
            }
            self.push(v, sum, OF_LONG, &digits);
        }
    }

    fn pick_short(&mut self, v: usize, few: &[Short]) {
        let mut digits = [[[0; LANES]; SHORT]; 2];
        for (lane, term) in few.iter().enumerate() {
            if !is_identity(&term.point) {
                let Halves { negative, halves } = term.power;
                let halves = halves.map(u128::from);
                spread(&mut digits, lane, &Halves { negative, halves });
            }
        }
        self.push(v, 0, OF_SHORT, &digits);
    }

    fn push<const N: usize>(
        &mut self,
        v: usize,
        sum: usize,
        table: u8,
        digits: &[[[i16; LANES]; N]; 2],
    ) {
        let places = core::array::from_fn(|lane| Table::<ENTRIES>::place(LANES * v + lane));
        for (half, digits) in digits.iter().enumerate() {
            for (j, digits) in digits.iter().enumerate() {
                let pick = Pick::new(table, places, *digits, half == 1);
                self.groups[SUMS * j + sum].push(pick);
            }
        }
    }
}

/// Writes the digits of both halves to a lane.
fn spread<const N: usize>(digits: &mut [[[i16; LANES]; N]; 2], lane: usize, power: &Halves<u128>) {
    for (digits, half) in digits.iter_mut().zip(power.halves) {
        let own = signed_digits::<WINDOW, N>(half);
        for (digits, digit) in digits.iter_mut().zip(own) {
            digits[lane] = if power.negative { -digit } else { digit };
        }
    }
}
