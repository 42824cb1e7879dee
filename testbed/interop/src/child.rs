//! The peer's process, with a script of ours around it: it says lines, and is told lines.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

pub struct Peer {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Peer {
    /// Starts a script with Node.js. Where the peer is, and its packages, says the environment; its diary
    /// goes to `diary`.
    pub fn start(script: &Path, arguments: &[String], diary: &Path) -> Result<Self, String> {
        let file = File::create(diary).map_err(|e| format!("{}: {e}", diary.display()))?;
        let mut child = Command::new("node")
            .arg("--no-deprecation")
            .arg(script)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(file)
            .spawn()
            .map_err(|e| format!("node: {e}"))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().ok_or("node has no output")?;
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let Some(said) = line.strip_prefix("interop ") else {
                    continue;
                };
                if sender.send(said.into()).is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            child,
            stdin,
            lines,
        })
    }

    /// What it said since it was asked last.
    pub fn said(&self) -> Vec<String> {
        self.lines.try_iter().collect()
    }

    pub fn tell(&mut self, line: &str) -> Result<(), String> {
        let stdin = self.stdin.as_mut().ok_or("node has no input")?;
        writeln!(stdin, "{line}").map_err(|e| format!("node: {e}"))
    }

    /// Whether it ended, which it does by itself only where it fails.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
