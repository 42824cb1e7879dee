//! A folder with the key of a flow.

use serde_json::Value;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

/// Real captures.
pub const CAPTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/captures");

/// One with a flow of UDP datagrams, both ways.
pub const QUIC: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/captures/tcpdump--quic_handshake.pcap"
);

pub struct Folder(TempDir);

/// A command that was started. It ends with the test, whatever comes of that: one that is left would keep the
/// test's output open, and who reads it waiting.
pub struct Started(Child);

impl Deref for Started {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Started {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Folder {
    /// A folder with `camera.key` and `camera.flow`.
    pub fn new(keygen: &[&str]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.yes(&[&["keygen", "camera"], keygen].concat());
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.0.path())
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        let all = [&["flow"], arguments].concat();
        self.command(env!("CARGO_BIN_EXE_clew"), &all)
            .output()
            .unwrap()
    }

    pub fn status(&self, arguments: &[&str]) -> i32 {
        self.run(arguments).status.code().expect("it is not killed")
    }

    /// Standard output of a command that succeeds.
    pub fn yes(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Starts a command, in a network namespace if one is named.
    pub fn start(&self, namespace: Option<&str>, arguments: &[&str]) -> Started {
        let clew = env!("CARGO_BIN_EXE_clew");
        let mut command = match namespace {
            None => self.command(clew, &[]),
            Some(name) => self.command("ip", &["netns", "exec", name, clew]),
        };
        let command = command.arg("flow").args(arguments);
        Started(command.stderr(Stdio::piped()).spawn().unwrap())
    }

    /// What `verify --json` says: status, packets, summary.
    pub fn verify(&self, signed: &str, more: &[&str]) -> (i32, Vec<Value>, Value) {
        let verify = ["verify", "--flow", "camera.flow", signed, "--json"];
        let output = self.run(&[&verify, more].concat());
        let text = String::from_utf8(output.stdout).unwrap();
        let mut lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let summary = lines.pop().unwrap()["summary"].take();
        (output.status.code().unwrap(), lines, summary)
    }
}
