//! Recorded runs of benchmarks: one format for all programs, and the tables of pages made from it.
//!
//! `clew-bench` and `testbed/tunnel-bench` print a [`Record`]; [`pages`] reads those in
//! `tools/bench/recorded`.

mod machine;
pub mod pages;
mod record;
pub mod table;

pub use machine::{Build, Run};
pub use record::{Record, Row};
