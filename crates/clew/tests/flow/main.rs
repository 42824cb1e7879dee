//! `clew flow` as a whole: on real captures, on files, on the network.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

#[path = "../common/skipped.rs"]
mod skipped;

mod captures;
mod files;
mod folder;
mod levels;
#[cfg(target_os = "linux")]
mod line;
#[cfg(target_os = "linux")]
mod multicast;
#[cfg(target_os = "linux")]
mod namespaces;
mod proofs;
mod relay;
