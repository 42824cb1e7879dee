//! Records how the program was built, for the head of every report.

use std::process::Command;

/// What a record's figures come from: this program, and the systems that it starts.
const MEASURED: &[&str] = &["src", "../line/src", "../../crates", "../../Cargo.lock"];

fn main() {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let rustc = output(&variable("RUSTC"), &["--version"]);
    let profile = format!(
        "{}, opt-level {}",
        variable("PROFILE"),
        variable("OPT_LEVEL")
    );
    println!(
        "cargo::rustc-env=BENCH_RUSTC={}",
        rustc.unwrap_or_else(unknown)
    );
    println!("cargo::rustc-env=BENCH_PROFILE={profile}");
    println!("cargo::rustc-env=BENCH_COMMIT={}", commit());
    // A commit changes the last one.
    for path in MEASURED.iter().chain(&["../../.git/logs/HEAD"]) {
        println!("cargo::rerun-if-changed={path}");
    }
}

fn commit() -> String {
    let Some(commit) = output("git", &["rev-parse", "--short=12", "HEAD"]) else {
        return unknown();
    };
    let status = ["status", "--porcelain", "--"];
    let changes = output("git", &[&status, MEASURED].concat());
    let is_clean = changes.is_some_and(|changes| changes.is_empty());
    if is_clean { commit } else { commit + "-dirty" }
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

fn unknown() -> String {
    "unknown".into()
}
