use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A folder with a group and the key of one machine.
pub struct Folder(pub TempDir);

impl Folder {
    pub fn new() -> Self {
        Self::with("xr")
    }

    pub fn with(scheme: &str) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        let create = ["group", "create", "acme", "--name", "acme"];
        folder.yes(&[&create[..], &["--scheme", scheme]].concat());
        folder.yes(&["enrol", "acme", "web-1", "-o", "web-1.key"]);
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn clew(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_clew"));
        command
            .args(arguments)
            .current_dir(self.0.path())
            .stdin(Stdio::null());
        command
    }

    pub fn status(&self, arguments: &[&str]) -> i32 {
        self.clew(arguments)
            .status
            .code()
            .expect("clew is not killed by a signal")
    }

    pub fn yes(&self, arguments: &[&str]) -> String {
        let output = self.clew(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// What a command that fails says, with its exit status.
    pub fn no(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.clew(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let status = output
            .status
            .code()
            .expect("clew is not killed by a signal");
        assert_ne!(status, 0, "{arguments:?}");
        (status, said)
    }

    /// Signs `in` as `signed`.
    pub fn sign(&self, more: &[&str]) -> i32 {
        self.sign_as("in", "signed", more)
    }

    pub fn sign_as(&self, from: &str, to: &str, more: &[&str]) -> i32 {
        let sign = ["sign", "--key", "web-1.key", "--force", from, "-w", to];
        self.status(&[&sign, more].concat())
    }

    /// Verifies a capture: exit status, one object per packet, and the summary.
    pub fn verify(&self, name: &str) -> (i32, Vec<Value>, Value) {
        self.verify_with(name, &[])
    }

    pub fn verify_with(&self, name: &str, more: &[&str]) -> (i32, Vec<Value>, Value) {
        let verify = [
            "verify",
            "--group",
            "acme/public/group.clew",
            "--json",
            name,
        ];
        let output = self.clew(&[&verify, more].concat());
        let lines = String::from_utf8(output.stdout).unwrap();
        let mut objects: Vec<Value> = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let summary = objects.pop().unwrap()["summary"].take();
        (output.status.code().unwrap(), objects, summary)
    }
}
