//! Records how the benchmark was built, and of which versions, for the head of every report.

use std::fmt::Write;
use std::process::Command;

/// The packages whose versions a reader must know.
const PEERS: [&str; 8] = [
    "quinn",
    "quinn-proto",
    "quinn-udp",
    "s2n-quic",
    "rustls",
    "tokio-rustls",
    "aws-lc-rs",
    "tokio",
];

fn main() {
    println!("cargo::rustc-env=BENCH_COMMIT={}", commit());
    println!("cargo::rustc-env=BENCH_RUSTC={}", rustc());
    println!("cargo::rustc-env=BENCH_PROFILE={}", profile());
    println!("cargo::rustc-env=BENCH_PEERS={}", peers());
    for path in ["src", "../../Cargo.lock", "../../crates/clew-tunnel/src"] {
        println!("cargo::rerun-if-changed={path}");
    }
}

fn peers() -> String {
    let lock = std::fs::read_to_string("../../Cargo.lock").unwrap_or_default();
    let mut versions = String::new();
    for package in lock.split("[[package]]") {
        let field = |name: &str| {
            let line = package.lines().find(|line| line.starts_with(name));
            line.and_then(|line| line.split('"').nth(1)).unwrap_or("?")
        };
        let name = field("name = ");
        if PEERS.contains(&name) {
            // Writing to a String does not fail.
            let _ = write!(versions, "{name} {}, ", field("version = "));
        }
    }
    versions.trim_end_matches(", ").to_owned()
}

fn commit() -> String {
    let Some(commit) = output("git", &["rev-parse", "--short=12", "HEAD"]) else {
        return "unknown".into();
    };
    let status = output(
        "git",
        &["status", "--porcelain", "--", "src", "../../Cargo.lock"],
    );
    let clean = status.is_some_and(|changes| changes.is_empty());
    if clean { commit } else { commit + "-dirty" }
}

fn rustc() -> String {
    output(&variable("RUSTC"), &["--version"]).unwrap_or_else(|| "unknown".into())
}

fn profile() -> String {
    let level = variable("OPT_LEVEL");
    format!("{}, opt-level {level}", variable("PROFILE"))
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
