//! The one home of the curve library: BLS12-381 by `blst`, behind types that cannot hold a bad
//! value.
//!
//! Every `unsafe` of the crate is in this module, and all of it is of one kind: a call into `blst`
//! with pointers to values that Rust owns for the length of the call.
//!
//! A [`G1`] or [`G2`] made from bytes is on the curve and in the subgroup of prime order `r`; a
//! [`Scalar`] is reduced. Secrets go through [`FixedBase`], [`G1::mul`], `secret_powers_of` or
//! `product_of_secret_powers`, which take the same time whatever the scalar is; `multiexp` is
//! for public values only, and its names say so.
#![allow(unsafe_code, reason = "calls into blst, each with its SAFETY line")]

/// An operator on two values, which is a function of blst.
macro_rules! binary_operator {
    ($T:ident: $Operator:ident::$name:ident is $function:path) => {
        impl ::core::ops::$Operator for $T {
            type Output = Self;
            fn $name(self, other: Self) -> Self {
                let mut out = Self::default();
                // SAFETY: all pointers are to live values.
                unsafe { $function(&mut out.0, &self.0, &other.0) };
                out
            }
        }
    };
}

/// What blst's functions do with the points of either group.
macro_rules! point_operations {
    (
        $T:ident, $generator:path, $mult:path, $is_inf:path, $is_equal:path, $add:path, $cneg:path
    ) => {
        impl $T {
            /// Returns the standard generator.
            pub fn generator() -> Self {
                // SAFETY: blst returns a pointer to a constant of its own.
                Self(unsafe { *$generator() })
            }

            /// Returns `scalar * self`, in constant time.
            pub fn mul(&self, scalar: &Scalar) -> Self {
                let bytes = scalar.to_le_bytes();
                let mut out = Self::default();
                // SAFETY: `bytes` has the 255 bits that are read.
                unsafe { $mult(&mut out.0, &self.0, bytes.as_ptr(), 255) };
                out
            }

            /// Returns whether this is the identity.
            pub fn is_identity(&self) -> bool {
                // SAFETY: the pointer is to a live value.
                unsafe { $is_inf(&self.0) }
            }
        }

        impl PartialEq for $T {
            fn eq(&self, other: &Self) -> bool {
                // SAFETY: both pointers are to live values.
                unsafe { $is_equal(&self.0, &other.0) }
            }
        }

        impl Eq for $T {}

        binary_operator!($T: Add::add is $add);

        impl ::core::ops::Neg for $T {
            type Output = Self;
            fn neg(mut self) -> Self {
                // SAFETY: the pointer is to a live value.
                unsafe { $cneg(&mut self.0, true) };
                self
            }
        }

        impl ::core::ops::Sub for $T {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                self + -other
            }
        }
    };
}

mod affine;
mod fixed_base;
mod g1;
mod g2;
mod glv;
mod gt;
mod lanes;
pub(crate) mod multiexp;
mod pippenger;
mod powers_of_base;
mod scalar;
mod secret_powers;

pub use fixed_base::FixedBase;
pub use g1::{G1, G1_BYTES};
pub use g2::G2;
pub(crate) use g2::G2_BYTES;
pub(crate) use gt::GT_BYTES;
pub use gt::{Gt, PreparedG2, pairing_product};
pub(crate) use lanes::{
    BaseTable, PART_COUNT, Product, SecretBase, SecretScalars, Sum, Terms, Vectors,
};
pub(crate) use powers_of_base::secret_powers_of;
pub use scalar::{SCALAR_BYTES, Scalar};
pub(crate) use secret_powers::product_of_secret_powers;
