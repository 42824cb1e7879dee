//! The integration tests of `clew-packet`, one binary: linking is what takes the time.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod anonymity;
mod asked;
mod bytes;
mod captures;
mod carriers;
mod carriers_fragments;
mod carriers_rules;
mod coded;
mod coded_rules;
mod common;
mod marks;
mod message;
mod modes;
mod oracle;
mod properties;
mod receiver;
mod refused;
mod schemes;
mod unsigned;
