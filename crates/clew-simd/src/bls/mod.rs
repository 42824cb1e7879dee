//! BLS12-381 in lanes: the same computation on eight elements or points at once.
//!
//! | module | what |
//! |---|---|
//! | `limbs` | rows of 52-bit limbs, and the constants of the field |
//! | `kernel` | [`Kernel`]: all that a backend computes |
//! | `ifma` | the kernel in AVX-512 IFMA |
//! | `bound` | bounds of values, which debug builds check |
//! | `fp` | [`Fp`]: eight elements of the base field |
//! | `power` | powers with fixed exponents |
//! | `inverse` | one inversion for all |
//! | `curve` | points of G1's curve, and their formulas |
//! | `decode` | compressed points, checked for curve and subgroup |
//! | `points` | points from blst to lanes and back |
//! | `tree` | sums of affine points with shared inversions |
//! | `digits` | signed digits, and tables that they pick from |
//! | `comb` | products of a fixed base, with one of another point |
//! | `sums` | the two sums of a batch |
//! | `secret` | sums of products with secret scalars, in constant time |
//! | `tower` | [`Fp12`]: one element of Fp12 over the lanes |
//! | `pairing` | one pairing product, of lines that were prepared |
//! | `kept` | memory that is kept between calls |
//! | `engine` | [`Engine`]: what callers use |
//!
//! Formulas are generic over the kernel, and are not unsafe: numbers exist only where the processor has
//! the instructions. A function of many small operations does them within [`Kernel::run`], where the
//! compiler may use these instructions.

mod bound;
mod comb;
mod curve;
mod decode;
mod digits;
mod engine;
mod fp;
#[cfg(target_arch = "x86_64")]
mod ifma;
mod inverse;
mod kept;
mod kernel;
mod limbs;
mod pairing;
mod points;
mod power;
mod secret;
mod sums;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
mod tower;
mod tree;

pub use comb::{Comb, Task};
pub use decode::{Encoded, Refused};
pub use engine::Engine;
pub use fp::{BYTES, Fp, Plain};
#[cfg(target_arch = "x86_64")]
pub use ifma::Ifma;
pub use inverse::{invert_all, invert_nonzero};
pub use kernel::{Kernel, LANES, Lanes, Signs};
pub use limbs::{Row, WORDS};
pub use pairing::{LINES, Lines, Term};
pub use power::{Power, ROOT};
pub use secret::{Scalars, SecretSum, SecretTable, Summed, WINDOWS};
pub use sums::{Halves, Long, SUMS, Short};
pub use tower::{Fp12, Tower};
