//! The integration tests of `clew-group`, one binary: linking is what takes the time.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod any;
mod bbs04;
mod common;
mod dkg;
mod dropped_rules;
mod forgeries;
mod matching;
mod quorum;
mod steps;
mod textbook;
mod unlinkable;
mod xr;
mod xr_attacks;
mod xr_batch;
mod xr_decoding;
mod xr_epochs;
mod xr_join;
mod xr_textbook;
