//! Services as processes that talk to each other: a log, its witnesses, an auditor, and those who
//! write entries. Nothing that was acknowledged is lost, and a second history is caught.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod answers;
mod browser;
mod cases;
mod crowds;
mod defences;
mod ends;
mod faults;
mod floods;
mod folder;
mod forks;
mod independent;
mod managed;
mod members;
mod requests;
mod rings;
#[path = "../common/skipped.rs"]
mod skipped;
mod story;
#[path = "../common/systemd.rs"]
mod systemd;
mod trustees;
mod units;
