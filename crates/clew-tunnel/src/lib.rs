//! The cryptographic kernels of MinimaLT's tunnels (Petullo and others, *MinimaLT: Minimal-latency
//! Networking Through Better Security*, 2013): [`x25519`] for many peers at once, and [`boxes`], NaCl's
//! authenticated encryption, for many packets at once (`docs/decisions/0014-tunnel-kernels.md`). Upon them
//! stand the formats of `spec/tunnel.md`: [`wire`] has packets and RPCs, [`record`] service records,
//! [`keys`] keys and nonces, [`authenticator`] and [`puzzle`] what their names say.
//!
//! No IO, no clock, no randomness: all are arguments.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod authenticator;
pub mod boxes;
pub mod engine;
pub mod keys;
pub mod limits;
pub mod puzzle;
mod reason;
pub mod record;
pub mod wire;
pub mod x25519;

pub use reason::{Counters, Reason};
