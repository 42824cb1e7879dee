//! Records how the benchmark was built, for the head of every report.

use std::path::Path;
use std::process::Command;

/// What the figures depend on; a change there makes a build `dirty`.
const MEASURED: [&str; 3] = ["../../crates", "../bench", "../../Cargo.lock"];

fn main() {
    println!("cargo::rustc-env=BENCH_COMMIT={}", commit());
    println!("cargo::rustc-env=BENCH_RUSTC={}", rustc());
    println!("cargo::rustc-env=BENCH_PROFILE={}", profile());
    for path in MEASURED {
        println!("cargo::rerun-if-changed={path}");
    }
    // The log of HEAD grows with every commit, also in a second work tree.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"]).unwrap_or_default();
    if Path::new(&log).exists() {
        println!("cargo::rerun-if-changed={log}");
    }
}

fn commit() -> String {
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else {
        return "unknown".into();
    };
    let status = git(&[&["status", "--porcelain", "--"][..], &MEASURED].concat());
    let clean = status.is_some_and(|changes| changes.is_empty());
    if clean { commit } else { commit + "-dirty" }
}

fn rustc() -> String {
    output(&variable("RUSTC"), &["--version"]).unwrap_or_else(|| "unknown".into())
}

fn profile() -> String {
    format!(
        "{}, opt-level {}",
        variable("PROFILE"),
        variable("OPT_LEVEL")
    )
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

fn git(arguments: &[&str]) -> Option<String> {
    output("git", arguments)
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
