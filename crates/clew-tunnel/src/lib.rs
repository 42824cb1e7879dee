//! MinimaLT's tunnels without IO (Petullo and others, *MinimaLT: Minimal-latency Networking Through
//! Better Security*, 2013): formats, cryptography, and the engines of clients and servers. The
//! specification is `spec/tunnel.md`.
//!
//! - [`engine`] is the client and the server: datagrams and the time in, datagrams and events out.
//! - [`wire`] has packets and RPCs, [`record`] service records, [`keys`] keys and nonces.
//! - [`authenticator`] shows a server who a user is, [`puzzle`] is work that a server asks for.
//! - [`x25519`] serves many peers at once, and [`boxes`], NaCl's authenticated encryption, many
//!   packets at once, with the kernels of `clew-simd`.
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
