//! Flow signatures (`spec/flow-signature.md`): one signature covers a block of packets, each of which
//! stays verifiable alone. The signer is known. The trees are those of `clew-tree`.
//!
//! [`FlowSender`] signs blocks, [`FlowReceiver`] verifies packets in bounded memory, [`effs`] is the
//! signature scheme of Wong and Lam.
//!
//! No IO, no clock, no randomness: all are arguments.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod distribution;
pub mod effs;
pub mod manifest;
mod reason;
mod receiver;
pub mod rtp;
mod schedule;
mod sender;
mod signing;
mod wire;

pub use clew_wire::{Instant, WallTime};
pub use distribution::Distribution;
pub use reason::{Counters, Reason, Verdict};
pub use receiver::{
    Acceptance, BLOCKS_MAX, Effort, FLOWS_MAX, Finding, FlowReceiver, Lost, WAITING_MAX,
};
pub use schedule::{Schedule, delay_bound};
pub use sender::{FlowSender, Unsignable};
pub use signing::{BlockSigner, BlockVerifier, Ed25519Signer};
pub use wire::{
    Algorithm, BadDescriptor, CODED_COUNT_MIN, Carriage, Chaining, Coded, Descriptor, FIXED_BYTES,
    Fixed, KeyId, NAME_BYTES_MAX, NEEDED_MIN, SIGNATURE_BYTES_MAX, SignaturePart, SignedPacket,
    TIMESTAMP_BYTES,
};
