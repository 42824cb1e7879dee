//! Formats and the engine of tunnels, from outside.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod engine;
mod keys;
mod packet;
mod puzzle;
mod record;
mod rpc;
mod values;
