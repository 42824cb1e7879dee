//! Tests that cannot run on this machine: each says so, and `./check` counts them.

use std::fs::OpenOptions;
use std::io::Write;
use std::{env, io, thread};

/// Names the file that `./check` counts in.
const FILE: &str = "CLEW_SKIPPED";

/// What network namespaces need.
#[allow(dead_code, reason = "not every test that skips needs them")]
pub const NAMESPACES: &str = "root and the command ip";

/// Says that the calling test is skipped, and what it needs.
pub fn skipped(need: &str) {
    let thread = thread::current();
    let test = thread.name().unwrap_or("a test");
    // Not by eprintln!, which is not seen of tests that pass.
    let _ = writeln!(io::stderr(), "SKIPPED: {test}: need {need}");
    let Some(path) = env::var_os(FILE) else {
        return;
    };
    let file = OpenOptions::new().append(true).create(true).open(path);
    let line = format!("{need}\t{test}\n");
    file.and_then(|mut file| file.write_all(line.as_bytes()))
        .expect("the file of ./check can be written");
}
