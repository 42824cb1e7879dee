//! MinimaLT's tunnels (Petullo and others, *MinimaLT: Minimal-latency Networking Through Better
//! Security*, 2013): [`engine`] is the protocol, [`x25519`] has keys, and [`boxes`] NaCl's authenticated
//! encryption, for many packets at once (`docs/decisions/0014-tunnel-kernels.md`). The formats are those of
//! `spec/tunnel.md`: [`wire`] has packets and RPCs, [`record`] service records, [`keys`] keys and nonces.
//!
//! No IO, no clock, no randomness: all are arguments.
#![no_std]
#![deny(unreachable_pub)]

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
