//! Flows from sender to receiver: over a line that loses, exchanges, repeats and changes packets,
//! and against somebody who means it.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod attack;
mod coded;
mod effs;
mod format;
mod line;
mod manifests;
mod rules;
mod setup;
