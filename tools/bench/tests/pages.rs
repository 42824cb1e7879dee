//! The tables of pages are those of the recorded runs.

use std::process::Command;

#[test]
fn pages_show_what_was_recorded() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clew-bench"));
    let output = command.args(["pages", "--check"]).output();
    let output = output.expect("the program runs");
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{why}");
}
