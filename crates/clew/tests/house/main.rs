//! The rules of the house: who may depend on whom, what stands where, how large it may grow, and how
//! pages are written. Each failure is a sentence that says what to do.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod messages;
mod packages;
mod prose;
mod sections;
mod source;
mod threats;

use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use cargo_metadata::{Metadata, MetadataCommand, Package};

/// What is shipped, and the programs beside it. For this platform only: what others need may not be on
/// this machine, and tests stay offline.
static WORKSPACE: LazyLock<Metadata> = LazyLock::new(|| {
    let rustc = Command::new("rustc")
        .args(["--print", "host-tuple"])
        .output();
    let host = String::from_utf8(rustc.expect("rustc runs").stdout).unwrap();
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut command = MetadataCommand::new();
    command.manifest_path(root.join("Cargo.toml"));
    let only_host = ["--offline", "--filter-platform", host.trim()];
    command.other_options(only_host.map(String::from));
    command.exec().expect("cargo knows its workspace")
});

/// All packages of this project.
fn members() -> Vec<&'static Package> {
    WORKSPACE.workspace_packages()
}

#[track_caller]
fn nothing(broken: Vec<String>) {
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}
