//! Requests on a board that reorders, doubles and withholds posts, with trustees that are killed.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod log;
mod run;
mod sealing;
mod states;
