//! Scalars in signed digits, and tables that digits pick from.

use super::curve::{Affine, BETA};
use super::fp::Fp;
use super::kernel::{Kernel, LANES, Lanes};
use super::limbs::Row;
use super::tree::{Point, Scratch, Source, multiples};
use alloc::vec;
use alloc::vec::Vec;

/// x, y and BETA x of a multiple: rows, since eight loads and a transposition take a quarter of the
/// time of eight gathers.
pub type Entry = [Row; 3];

/// Returns `k` as the sum of N digits times 2^(W i), lowest first. They are from -2^(W-1) up to below
/// 2^(W-1), but the last is what remains: up to 2^(W-1), if k has W N - 1 bits at most.
pub fn signed_digits<const W: u32, const N: usize>(k: u128) -> [i16; N] {
    let mut carry = 0;
    core::array::from_fn(|i| {
        let bits = k.checked_shr(W * i as u32).unwrap_or(0) as i16 & ((1 << W) - 1);
        let digit = bits + carry;
        carry = i16::from(i + 1 < N && digit >= 1 << (W - 1));
        digit - (carry << W)
    })
}

/// The multiples 1 to `ENTRIES` of points, each with its image under the endomorphism.
#[derive(Debug)]
pub struct Table<const ENTRIES: usize>(Vec<Entry>);

impl<const ENTRIES: usize> Default for Table<ENTRIES> {
    fn default() -> Self {
        // One that nobody asks for: what is the identity still reads an entry.
        Self(vec![[Row::ZERO; 3]])
    }
}

impl<const ENTRIES: usize> Table<ENTRIES> {
    /// Fills it with the multiples of these points, none of them the identity.
    pub fn fill<K: Kernel>(&mut self, kernel: K, points: &[Affine<K>], scratch: &mut Scratch<K>) {
        if points.is_empty() {
            return;
        }
        let multiples = multiples(kernel, points.iter().copied(), ENTRIES as u32, scratch);
        let beta = Fp::constant(kernel, &BETA);
        let length = LANES * ENTRIES * points.len();
        if self.0.len() < length {
            self.0.resize(length, [Row::ZERO; 3]);
        }
        kernel.run(
            #[inline(always)]
            || {
                for (i, multiple) in multiples.chunks_exact(points.len()).enumerate() {
                    for (v, Point { affine, .. }) in multiple.iter().enumerate() {
                        let image = affine.x.mul(&beta);
                        let rows = [affine.x.to_rows(), affine.y.to_rows(), image.to_rows()];
                        for lane in 0..LANES {
                            let place = (LANES * v + lane) * ENTRIES + i;
                            self.0[place] = rows.map(|rows| rows[lane]);
                        }
                    }
                }
            },
        );
    }

    /// Returns the place of a point's multiples; lane l of vector v holds point 8 v + l.
    pub const fn place(point: usize) -> usize {
        point * ENTRIES
    }

    /// Returns the entries.
    pub fn entries(&self) -> &[Entry] {
        &self.0
    }
}

/// Multiples of eight points, one in each lane: decided once, read twice.
#[derive(Clone, Copy, Debug)]
pub struct Pick {
    places: [u32; LANES],
    negative: Lanes,
    identity: Lanes,
    /// The row of x: of the point, or of its image.
    row: u8,
    /// Which table.
    table: u8,
}

/// The row of x in an entry.
const PLAIN: u8 = 0;
const IMAGE: u8 = 2;

impl Pick {
    /// The identity in all lanes.
    pub const NONE: Self = Self {
        places: [0; LANES],
        negative: 0,
        identity: Lanes::MAX,
        row: PLAIN,
        table: 0,
    };

    /// Picks, in each lane, the digit's multiple of the point whose multiples begin at the place; of
    /// its image, if that is asked for.
    #[inline]
    pub fn new(table: u8, places: [usize; LANES], digits: [i16; LANES], image: bool) -> Self {
        let mut pick = Self {
            places: [0; LANES],
            negative: 0,
            identity: 0,
            row: if image { IMAGE } else { PLAIN },
            table,
        };
        for (lane, digit) in digits.into_iter().enumerate() {
            let entry = usize::from(digit.unsigned_abs()).saturating_sub(1);
            pick.places[lane] = (places[lane] + entry) as u32;
            pick.negative |= Lanes::from(digit < 0) << lane;
            pick.identity |= Lanes::from(digit == 0) << lane;
        }
        pick
    }
}

/// Picks as the points of a sum.
#[derive(Clone, Copy, Debug)]
pub struct Picks<'a, K: Kernel> {
    pub kernel: K,
    pub picks: &'a [Pick],
    /// The tables that a pick names.
    pub tables: [&'a [Entry]; 2],
}

impl<K: Kernel> Picks<'_, K> {
    #[inline(always)]
    fn coordinate(&self, pick: &Pick, row: usize) -> Fp<K> {
        let entries = self.tables[usize::from(pick.table & 1)];
        let rows = pick.places.map(|place| &entries[place as usize][row]);
        Fp::from_rows(self.kernel, rows)
    }
}

impl<K: Kernel> Source<K> for Picks<'_, K> {
    type Point = Point<K>;

    #[inline(always)]
    fn x(&self, number: u32) -> (Fp<K>, Lanes) {
        let pick = &self.picks[number as usize];
        (
            self.coordinate(pick, usize::from(pick.row & 2)),
            pick.identity,
        )
    }

    #[inline(always)]
    fn point(&self, number: u32) -> Point<K> {
        let pick = &self.picks[number as usize];
        let (x, identity) = self.x(number);
        let y = self.coordinate(pick, 1);
        let y = y.select(pick.negative, &y.neg::<2>());
        Point {
            affine: Affine { x, y },
            identity,
        }
    }
}
