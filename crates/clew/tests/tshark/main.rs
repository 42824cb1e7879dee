//! What analysts see in Wireshark: `contrib/wireshark/clew.lua` against what clew itself reads and
//! says, and annotated files after they went through the tools of Wireshark.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

#[path = "../common/skipped.rs"]
mod skipped;

#[path = "../program/beginning.rs"]
mod beginning;
mod carriers;
mod damage;
mod fields;
mod files;
#[allow(dead_code, reason = "each test program uses its part")]
#[path = "../program/folder.rs"]
mod folder;
mod links;
mod reading;
mod shapes;
mod shark;
mod survive;
mod verdicts;
