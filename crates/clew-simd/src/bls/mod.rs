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
//! | `tower` | [`Fp12`]: one element of Fp12 over the lanes |
//! | `pairing` | one pairing product, of lines that were prepared |
//!
//! Formulas are generic over the kernel, and are not unsafe: numbers exist only where the processor has
//! the instructions. A function of many small operations does them within [`Kernel::run`], where the
//! compiler may use these instructions.

mod bound;
mod fp;
#[cfg(target_arch = "x86_64")]
mod ifma;
mod inverse;
mod kernel;
mod limbs;
mod pairing;
#[cfg(all(test, target_arch = "x86_64"))]
mod pairing_tests;
mod power;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
mod tower;

pub use fp::{BYTES, Fp, Plain};
#[cfg(target_arch = "x86_64")]
pub use ifma::Ifma;
pub use inverse::{invert_all, invert_nonzero};
pub use kernel::{Kernel, LANES, Lanes};
pub use limbs::{Row, WORDS};
pub use pairing::{LINES, Lines, Term};
pub use power::{Power, ROOT};
pub use tower::{Fp12, Tower};
