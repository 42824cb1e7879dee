//! Captures from outside: real files, files built byte by byte, damaged and hostile ones.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod ahead;
mod annotated;
mod built;
mod damage;
mod files;
mod hostile;
mod pipes;
mod support;

#[path = "../../../../fuzz/src/capture.rs"]
mod fuzz;
