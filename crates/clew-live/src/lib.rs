//! Live attribution: every IP packet that leaves is signed, every packet that arrives is verified
//! before an application sees it (Clue, 2011). `spec/carriers.md` is the format.
//!
//! The crate has two halves:
//!
//! - The *core* has no IO and no clock: packets, times and randomness are arguments, so that a
//!   simulation drives it. the sender cuts clear packets into blocks and signs them; the receiver
//!   looks at datagrams, verifies them in batches, and releases packets in order.
//! - The *carriers* read and write the packets of a host, and the daemon joins both.

mod buffers;
pub mod carrier;
pub mod clock;
pub mod config;
pub mod control;
pub mod daemon;
mod ecn;
pub mod files;
pub mod histogram;
pub mod identity;
pub mod ip_fragments;
mod listener;
mod mss;
mod netfilter;
pub mod packet;
pub mod pool;
mod prefixes;
pub mod receiver;
pub mod sender;
pub mod setup;
pub mod status;
mod sys;
#[cfg(test)]
mod test_packets;
pub mod unkept;
pub mod visible;

pub use listener::adopt_listener;
