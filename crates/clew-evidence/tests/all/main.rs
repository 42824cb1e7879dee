//! The integration tests of `clew-evidence`, one binary: linking is what takes the time.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod attacks;
mod caveats;
mod checkpoints;
mod combine;
mod common;
mod evidence_layout;
mod group_file;
mod hostile;
mod judge;
mod register;
mod revocation;
mod shares;
