//! Trees, their cache and coding, against their definitions and against attackers.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod carriage;
mod node_cache;
mod tree;
