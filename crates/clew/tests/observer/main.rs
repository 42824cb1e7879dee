//! `clew verify -i` as a whole: on wires between network namespaces. Needs root; elsewhere the tests say that
//! they were skipped.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail the test"
)]

mod evidence;
mod folder;
mod groups;
mod load;
mod verdicts;
mod wire;
