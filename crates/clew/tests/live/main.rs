//! `clew up` as a whole: hosts in network namespaces, each with a daemon of its own.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod attacks;
mod changes;
mod configuration;
mod failures;
mod hosts;
mod lan;
mod service;
mod sizes;
mod trailer;
