//! The cryptographic kernels of MinimaLT's tunnels (Petullo and others, *MinimaLT: Minimal-latency
//! Networking Through Better Security*, 2013): [`x25519`] for many peers at once, and [`boxes`], NaCl's
//! authenticated encryption, for many packets at once (`docs/decisions/0014-tunnel-kernels.md`).
//!
//! No IO, no clock, no randomness: all are arguments.
#![no_std]

#[cfg(test)]
extern crate std;

pub mod boxes;
pub mod x25519;
