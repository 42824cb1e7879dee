//! What a backend must compute: all instructions stand behind this trait.

use super::limbs::{LIMBS, Row};
use core::fmt;

/// Elements in a vector.
pub const LANES: usize = 8;

/// One bit for each lane: bit i is that of lane i.
pub type Lanes = u8;

/// Of a digit in each lane.
#[derive(Clone, Copy, Debug)]
pub struct Signs {
    /// The lanes below zero.
    pub negative: Lanes,
    /// The lanes of zero.
    pub zero: Lanes,
}

/// A backend's arithmetic on eight numbers. A value of the type proves that the processor has the
/// instructions.
///
/// Numbers have eight limbs of 52 bits and are not negative; all that a function takes and makes is
/// below 2^416. `Fp` keeps their bounds, and only it calls these. Products are Montgomery's,
/// with R = 2^416. Time depends on no number.
pub trait Kernel: Copy + fmt::Debug + Send + Sync + 'static {
    /// Eight numbers.
    type Numbers: Copy + fmt::Debug + Send + Sync + 'static;

    /// Returns the proof that made these numbers possible.
    fn of(numbers: &Self::Numbers) -> Self;

    /// Runs `work` where the compiler may use the instructions: code of many small operations.
    fn run<T>(self, work: impl FnOnce() -> T) -> T;

    /// Returns the number in all lanes.
    fn constant(self, number: &Row) -> Self::Numbers;

    /// Returns the numbers of the rows, each in its lane.
    fn read_rows(self, rows: [&Row; LANES]) -> Self::Numbers;

    /// Returns the number of each lane.
    fn to_rows(numbers: &Self::Numbers) -> [Row; LANES];

    /// Returns the sum of the products, divided by R: below (1 + sum / (R p)) p.
    fn dot<const N: usize>(a: [&Self::Numbers; N], b: [&Self::Numbers; N]) -> Self::Numbers;

    /// Returns `a^2 / R`.
    fn square(a: &Self::Numbers) -> Self::Numbers;

    /// Returns `(a b - 8 c^2) / R + p`, for `8 c^2` below `R p`.
    fn product_less_8_squares(
        a: &Self::Numbers,
        b: &Self::Numbers,
        c: &Self::Numbers,
    ) -> Self::Numbers;

    /// Returns `a / R` modulo p, at most p.
    fn out_of_montgomery(a: &Self::Numbers) -> Self::Numbers;

    /// Returns the sum of `plus`, less the sum of `minus`, plus `more`.
    fn sum<const N: usize, const M: usize>(
        plus: [&Self::Numbers; N],
        minus: [&Self::Numbers; M],
        more: &Row,
    ) -> Self::Numbers;

    /// Returns `F a`, where F is 2^k or 3 * 2^k and below 2^6.
    fn times<const F: u64>(a: &Self::Numbers) -> Self::Numbers;

    /// Returns a number below 2 p modulo p.
    fn reduce_once(a: &Self::Numbers) -> Self::Numbers;

    /// Returns a number below 8 p less a multiple of p: below (1 + 1/128) p.
    fn reduce_coarsely(a: &Self::Numbers) -> Self::Numbers;

    /// Returns `b` in these lanes, `a` in the others.
    fn select(lanes: Lanes, a: &Self::Numbers, b: &Self::Numbers) -> Self::Numbers;

    /// Returns the lanes whose number is this one.
    fn equal(a: &Self::Numbers, number: &Row) -> Lanes;

    /// Returns the lanes whose lowest limb is this one.
    fn lowest_limb_is(a: &Self::Numbers, limb: u64) -> Lanes;

    /// Returns the lanes whose number is above this one.
    fn above(a: &Self::Numbers, number: &Row) -> Lanes;

    /// Returns x and y of the entry that each lane's digit asks for: of entry `|digit| - 1`, or zeros if
    /// the digit is 0. Reads all entries.
    fn scan(self, entries: &[[Row; 2]], digits: &[i64; LANES]) -> ([Self::Numbers; 2], Signs);

    /// Returns, in lane i, the number of lane `from[i]`.
    fn permute(a: &Self::Numbers, from: &[u64; LIMBS]) -> Self::Numbers;
}
