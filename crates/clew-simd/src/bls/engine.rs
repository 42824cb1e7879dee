//! What callers use: computations on lists of any length, compiled once for each kernel.

use super::comb::{Comb, Task};
use super::decode::{Encoded, Refused, decode};
#[cfg(target_arch = "x86_64")]
use super::ifma::Ifma;
use super::kernel::LANES;
use super::pairing::{LINES, Lines, Term, product};
use super::points::to_blst;
use super::secret::{SecretSum, SecretTable, Summed, WINDOWS, secret_sums};
use super::sums::{Long, SUMS, Short, two_sums};
use crate::Backend;
use alloc::vec::Vec;
use blst::{blst_fp6, blst_fp12, blst_p1_affine};

/// The kernel of a backend. Points are blst's: affine, (0, 0) being the identity.
#[derive(Clone, Copy, Debug)]
pub enum Engine {
    /// AVX-512 IFMA.
    #[cfg(target_arch = "x86_64")]
    Ifma(Ifma),
}

/// Calls the function with the kernel.
macro_rules! with {
    ($engine:expr, $kernel:ident => $call:expr) => {
        match $engine {
            #[cfg(target_arch = "x86_64")]
            Engine::Ifma($kernel) => $call,
        }
    };
}

impl Engine {
    /// Returns the backend's engine. Returns `None` if the backend has no kernel for this curve, or
    /// the machine lacks it: then blst computes one by one.
    pub fn new(backend: Backend) -> Option<Self> {
        match backend {
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512Ifma => Ifma::new().map(Self::Ifma),
            _ => None,
        }
    }

    /// Decodes compressed points, and checks curve and subgroup. Takes time that depends on the points.
    pub fn decode(self, encoded: &[&Encoded]) -> Vec<Result<blst_p1_affine, Refused>> {
        with!(self, kernel => {
            let mut points = Vec::with_capacity(encoded.len());
            // Two vectors in step: the roots' chains overlap.
            for few in encoded.chunks(2 * LANES) {
                let before = points.len();
                let (first, second) = few.split_at(few.len().min(LANES));
                if second.is_empty() {
                    push(&mut points, decode(kernel, [eight(first)]));
                } else {
                    push(&mut points, decode(kernel, [eight(first), eight(second)]));
                }
                points.truncate(before + few.len());
            }
            points
        })
    }

    /// Makes the table of a base: of its multiples by 2^(64 i).
    pub fn comb(self, bases: &[blst_p1_affine; 4]) -> Comb {
        with!(self, kernel => Comb::new(kernel, bases))
    }

    /// Returns `of_base * base + power * point` of each task, encoded; nothing for the identity. Takes time
    /// that depends on points and powers.
    pub fn products(self, comb: &Comb, tasks: &[Task]) -> Vec<Option<Encoded>> {
        with!(self, kernel => comb.products(kernel, tasks))
    }

    /// Makes the table of a base for secret scalars: of its multiples by 2^(6 i).
    pub fn secret_table(self, bases: &[blst_p1_affine; WINDOWS]) -> SecretTable {
        with!(self, kernel => SecretTable::new(kernel, bases))
    }

    /// Returns each sum of products, in every lane. Takes constant time, but for the number of products.
    pub fn secret_sums(self, sums: &[SecretSum<'_>]) -> Vec<Summed> {
        with!(self, kernel => secret_sums(kernel, sums))
    }

    /// Prepares a point of G2, of which `blst_precompute_lines` made these lines. Returns `None` if a line
    /// has no constant: no point that was drawn at random has such a line.
    pub fn lines(self, lines: &[blst_fp6; LINES]) -> Option<Lines> {
        with!(self, kernel => Lines::new(kernel, lines))
    }

    /// Returns the product of the pairings of all terms, as `blst_final_exp` gives it. Takes time that
    /// depends only on how many they are.
    pub fn pairing_product(self, terms: &[Term<'_>]) -> blst_fp12 {
        with!(self, kernel => product(kernel, terms))
    }

    /// Returns two sums, each in eight parts: part i is that of the points i, i + 8, and so on of both
    /// lists. Takes time that depends on points and powers.
    pub fn two_sums(self, long: &[Long], short: &[Short]) -> [[blst_p1_affine; LANES]; SUMS] {
        with!(self, kernel => two_sums(kernel, long, short))
    }
}

/// Appends the points of N vectors, with why some are none.
fn push<K: super::Kernel, const N: usize>(
    points: &mut Vec<Result<blst_p1_affine, Refused>>,
    (vectors, verdicts): ([super::curve::Affine<K>; N], super::decode::Verdicts<N>),
) {
    for (vector, verdicts) in vectors.iter().zip(verdicts) {
        let pairs = to_blst(vector, 0).into_iter().zip(verdicts);
        points.extend(pairs.map(|(point, verdict)| verdict.map(|()| point)));
    }
}

/// Up to eight, the first one again in lanes without any.
fn eight<'a>(few: &[&'a Encoded]) -> [&'a Encoded; LANES] {
    core::array::from_fn(|lane| *few.get(lane).unwrap_or(&few[0]))
}
