//! The core of the live daemon, in a deterministic simulation.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail the test"
)]

mod attacks;
mod busy;
mod common;
mod copies;
mod epochs;
mod fragments;
mod pools;
mod privacy;
mod sending;
mod spoofed;
mod traffic;
mod trailers;
mod windows;
