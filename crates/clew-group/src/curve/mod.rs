//! The one home of the curve library: BLS12-381 by `blst`, behind types that cannot hold a bad
//! value.
//!
//! Every `unsafe` of the crate is in this module, and all of it is of one kind: a call into `blst`
//! with pointers to values that Rust owns for the length of the call.
//!
//! A [`G1`] or [`G2`] made from bytes is on the curve and in the subgroup of prime order `r`; a
//! [`Scalar`] is reduced. Secrets go through [`FixedBase`], [`G1::mul`], [`secret_powers_of`] or
//! [`product_of_secret_powers`], which take the same time whatever the scalar is; [`multiexp`] is
//! for public values only, and its names say so.
#![allow(unsafe_code, reason = "calls into blst, each with its SAFETY line")]

mod affine;
mod fixed_base;
mod g1;
mod g2;
mod glv;
mod gt;
pub mod multiexp;
mod pippenger;
mod powers_of_base;
mod scalar;
mod secret_powers;

pub use fixed_base::FixedBase;
pub use g1::{G1, G1_BYTES};
pub use g2::{G2, G2_BYTES};
pub use gt::{GT_BYTES, Gt, PreparedG2, pairing_product};
pub use powers_of_base::secret_powers_of;
pub use scalar::{SCALAR_BYTES, Scalar};
pub use secret_powers::product_of_secret_powers;
