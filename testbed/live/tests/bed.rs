//! The program on a real kernel. It needs root, and the programs that README.md lists.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

#[path = "../../../crates/clew/tests/common/skipped.rs"]
mod skipped;

use std::fs;
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_live-bench");
const PATIENCE: Duration = Duration::from_secs(20);

fn run(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().unwrap()
}

fn namespaces() -> usize {
    let names = fs::read_dir("/run/netns").into_iter().flatten().flatten();
    let ours = names.filter(|name| name.file_name().to_string_lossy().starts_with("clewbed-"));
    ours.count()
}

fn is_root() -> bool {
    let is_root = nix::unistd::geteuid().is_root();
    if !is_root {
        skipped::skipped("root");
    }
    is_root
}

/// One after the other: there is one bed.
#[test]
fn networks_work_and_nothing_is_left_behind() {
    if !is_root() {
        return;
    }
    let works = run(&["works", "--systems", "none"]);
    let said = String::from_utf8_lossy(&works.stdout).into_owned();
    assert_eq!(works.status.code(), Some(0), "{said}");
    let rows: Vec<_> = said
        .lines()
        .filter(|line| line.starts_with("| none "))
        .collect();
    assert_eq!(rows.len(), 3, "{said}");
    assert!(
        rows.iter().all(|row| row.matches(" yes ").count() >= 7),
        "{said}"
    );
    assert_eq!(namespaces(), 0);

    let mut killed = Command::new(PROGRAM);
    let killed = killed.args([
        "throughput",
        "--systems",
        "none",
        "--rtt",
        "1ms",
        "--time",
        "60s",
    ]);
    let mut killed = killed.spawn().unwrap();
    let start = Instant::now();
    while namespaces() < 2 {
        assert!(start.elapsed() < PATIENCE, "no namespaces");
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(run(&["clean"]).status.code(), Some(2), "beside another run");
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(run(&["clean"]).status.code(), Some(0));
    assert_eq!(namespaces(), 0);
}

#[test]
fn bad_usage_says_what_to_do() {
    if !is_root() {
        return;
    }
    let unknown = run(&["latency", "--systems", "carrier-pigeon"]);
    let said = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert_eq!(unknown.status.code(), Some(2));
    assert!(
        said.contains("no system carrier-pigeon") && said.contains("hint: "),
        "{said}"
    );
    let missing = Command::new(PROGRAM)
        .arg("latency")
        .env("PATH", "/nowhere")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert_eq!(missing.status.code(), Some(2));
    assert!(
        said.contains("iperf3") && said.contains("apt-get install"),
        "{said}"
    );
}
