//! The core of the live daemon, in a deterministic simulation.

mod common;
mod traffic;
