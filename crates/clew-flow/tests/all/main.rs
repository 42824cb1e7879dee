//! Flow signatures and eFFS from outside.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod effs;
mod engine;
