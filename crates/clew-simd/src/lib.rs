//! Vector kernels: the same operation on many inputs at once, one in each lane of a vector.
//!
//! [`Backend`] names the instructions that a kernel uses, and is the only place that asks the
//! processor. All backends give the same bytes. A kernel without code for a backend runs the next
//! lower one that it has; [`Backend::Portable`] runs everywhere.
//!
//! Secrets decide no branch and no address in [`salsa20`], [`poly1305`], [`x25519`], [`mont`] and the field of [`bls`];
//! lengths and counts may.
//!
//! Reads no clock, no file and no randomness.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod backend;
pub mod bls;
pub mod hash;
pub mod mont;
pub mod poly1305;
pub mod salsa20;
#[cfg(target_arch = "x86_64")]
mod vector;
pub mod x25519;

pub use backend::Backend;
