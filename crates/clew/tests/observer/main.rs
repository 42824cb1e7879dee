//! `clew verify -i` as a whole: on wires between network namespaces. Needs root; elsewhere the tests say that
//! they were skipped.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail the test"
)]

#[path = "../common/skipped.rs"]
mod skipped;
#[path = "../common/systemd.rs"]
mod systemd;

mod evidence;
mod folder;
mod groups;
#[path = "../live/lan.rs"]
#[allow(
    dead_code,
    reason = "hosts that sign, as the tests of clew up have them"
)]
mod lan;
mod load;
mod offload;
mod service;
mod verdicts;
mod wire;
