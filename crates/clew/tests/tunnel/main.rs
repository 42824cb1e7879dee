//! `clew tunnel` as a whole: servers, clients, directories, over the loopback interface.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod desk;
mod keys;
mod names;
mod status;
mod streams;
mod users;
