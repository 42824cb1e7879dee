//! The core of the live daemon, in a deterministic simulation.

mod attacks;
mod common;
mod sending;
mod traffic;
