//! What the manager does, in its store and with what it gives to machines and trustees. One program,
//! because each costs a link.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod backup;
mod batch;
mod board;
mod catch_up;
mod clock;
mod common;
mod connection;
mod end;
mod join;
mod keys;
mod log;
mod opening_key;
mod postgres;
mod promise;
mod rebase;
mod register;
mod retention;
mod revoke;
mod store;
mod threats;
mod trustee;
mod update;
mod upgrade;

#[path = "../../../clew/tests/common/skipped.rs"]
mod skipped;

#[path = "../../../clew-trustee/tests/dkg/run.rs"]
#[allow(dead_code, reason = "the tests of clew-trustee use the rest")]
mod run;
