//! The line on a real kernel. It needs root.

#[path = "../../../crates/clew/tests/common/skipped.rs"]
mod skipped;

use line::{Threads, selftest};

#[test]
fn packets_meet_what_was_asked_for() {
    if !nix::unistd::geteuid().is_root() {
        skipped::skipped("root");
        return;
    }
    let findings = selftest(Threads::default()).unwrap();
    let wrong: Vec<_> = findings.iter().filter(|finding| !finding.holds).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(findings.len() >= 9);
}
