//! Signs and verifies frames from any source, on all cores and in bounded memory: the engine of the
//! program `clew`, for daemons, auditors and bindings.
//!
//! Frames come in batches, in the order of their arrival: records of a capture, datagrams of a
//! socket, anything that is [`AsFrame`]. The larger the batch, the less each frame costs.
//!
//! - [`Signers`] sign a batch: a [`Fate`] for each frame.
//! - A [`Verifier`] takes a batch and returns what it has concluded, in order. Some verdicts wait
//!   for frames of later batches; [`Verifier::finish`] ends that.
//! - A [`Keyring`] has the keys of group files ready for verifiers.
//! - [`captures`] does all of it to capture files, from their first record to the last.
//!
//! `examples/sign_live.rs` and `examples/verify_live.rs` do it to packets of a socket.
//!
//! # What holds
//!
//! - The crate reads no clock and no randomness, opens no file and prints nothing: wall time and
//!   generators are arguments, and what goes wrong is a value.
//! - What is kept between calls has a named maximum, however frames come: [`HELD_MAX`],
//!   [`HELD_BYTES_MAX`], [`PREPARED_MAX`], and those of [`clew_packet::Receiver`].
//! - Work is done by the threads of the `rayon` pool in which a call is made.

pub mod captures;
mod frame;
mod keyring;
mod sign;
mod verify;

pub use frame::{Arrival, AsFrame, Randomness, TimeSource};
pub use keyring::{Keyring, PREPARED_MAX, TwoHistories};
pub use sign::{Cover, Fate, Options, SignError, Signer, Signers, WindowSize};
pub use verify::{HELD_BYTES_MAX, HELD_MAX, Judged, Rules, Totals, Verifier};
