//! `clew up` as a whole: hosts in network namespaces, each with a daemon of its own.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

#[path = "../common/skipped.rs"]
mod skipped;
#[path = "../common/systemd.rs"]
mod systemd;

mod addresses;
mod answers;
mod attacks;
mod changes;
mod configuration;
mod evidence;
mod failures;
mod faults;
mod floods;
mod force;
/// Signs what an attacker likes.
#[path = "../../../clew-live/examples/forge/forger.rs"]
mod forger;
mod hosts;
mod lan;
mod meant;
mod metrics;
mod others;
mod programs;
mod recoveries;
mod replace;
mod service;
mod sizes;
mod spoofed;
mod starts;
mod supervisor;
mod terminal;
mod traffic;
mod trailer;
mod troubles;
mod users;
mod ways;
