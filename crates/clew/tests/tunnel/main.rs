//! `clew tunnel` as a whole: servers, clients, directories, over the loopback interface.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

#[path = "../common/skipped.rs"]
mod skipped;

mod first_byte;
mod floods;
mod folder;
mod idle;
mod keys;
mod moves;
mod names;
mod namespaces;
mod nat;
mod renewal;
mod restarts;
mod status;
mod streams;
mod traces;
mod users;
