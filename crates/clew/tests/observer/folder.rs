//! A folder with a group, a machine and captures, and observers that run in it.

use crate::wire::{INTERFACE, Wire};
use clew_capture::Reader;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub const GROUP: &str = "acme/public/group.clew";

/// Of Ethernet frames.
pub const CAPTURE: &str = "zeek--ssh-ssh.pcap";

/// Longest wait for what an observer says or does.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct Folder(pub TempDir);

impl Folder {
    pub fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.yes("group create acme --name acme");
        folder.yes("enrol acme web-1 -o web-1.key");
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_clew"));
        let words = line.split_whitespace();
        command
            .args(words)
            .current_dir(self.0.path())
            .stdin(Stdio::null());
        command
    }

    pub fn yes(&self, line: &str) -> String {
        let output = self.command(line).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{line}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The first packets of a capture, signed now: the file and the frames.
    pub fn signed(&self, name: &str, packets: usize, mode: &str) -> Vec<Vec<u8>> {
        let capture = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/captures")
            .join(CAPTURE);
        let reader = Reader::new(fs::File::open(capture).unwrap()).unwrap();
        let records = reader.map(Result::unwrap).take(packets + 1);
        let bytes: Vec<u8> = records.flat_map(|record| record.bytes().to_vec()).collect();
        fs::write(self.path("clear"), bytes).unwrap();
        self.yes(&format!(
            "sign --key web-1.key --time now --force clear -w {name} {mode}"
        ));
        self.frames(name)
    }

    /// The frames of a capture.
    pub fn frames(&self, name: &str) -> Vec<Vec<u8>> {
        frames_of(&self.path(name))
    }

    /// Verdict and reason of each packet of a file.
    pub fn verdicts(&self, name: &str) -> Vec<(String, String)> {
        let line = format!("verify --group {GROUP} --max-age 10m --json {name}");
        let output = self.command(&line).output().unwrap();
        verdicts(&String::from_utf8(output.stdout).unwrap())
    }

    /// Starts an observer of the wire.
    pub fn observe(&self, wire: &Wire, more: &str) -> Observer {
        self.observe_at(wire, INTERFACE, more)
    }

    pub fn observe_at(&self, wire: &Wire, interface: &str, more: &str) -> Observer {
        let mut observer = self.start(wire, interface, more);
        observer.wait_for("observing");
        observer
    }

    /// Starts an observer that may refuse.
    pub fn start(&self, wire: &Wire, interface: &str, more: &str) -> Observer {
        let clew = env!("CARGO_BIN_EXE_clew");
        let mut command = Command::new("ip");
        command.args([
            "netns",
            "exec",
            wire.observed(),
            clew,
            "verify",
            "-i",
            interface,
        ]);
        command
            .args(["--max-age", "10m"])
            .args(more.split_whitespace());
        if !more.contains("--group") {
            command.args(["--group", GROUP]);
        }
        if !more.contains("--duration") {
            command.args(["--duration", "60s"]);
        }
        if !more.contains("--format") {
            command.arg("--json");
        }
        command.current_dir(self.0.path()).stdin(Stdio::null());
        Observer::new(command)
    }
}

/// An observer that runs, and what it has said.
pub struct Observer {
    child: Child,
    errors: Receiver<String>,
    pub said: Vec<String>,
}

impl Observer {
    pub fn new(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, errors) = channel();
        thread::spawn(move || {
            for line in stderr.lines() {
                let _ = sender.send(line.unwrap());
            }
        });
        Self {
            child,
            errors,
            said: Vec::new(),
        }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it says so.
    pub fn wait_for(&mut self, what: &str) {
        while !self.said.last().is_some_and(|line| line.contains(what)) {
            match self.errors.recv_timeout(PATIENCE) {
                Ok(line) => self.said.push(line),
                Err(error) => panic!("{what}: {error}; it said {:?}", self.said),
            }
        }
    }

    /// Listens for a while.
    pub fn listen(&mut self, time: Duration) {
        let ends = Instant::now() + time;
        while let Ok(line) = self
            .errors
            .recv_timeout(ends.saturating_duration_since(Instant::now()))
        {
            self.said.push(line);
        }
    }

    /// How many lines it said with that text, so far.
    pub fn times(&self, what: &str) -> usize {
        self.said.iter().filter(|line| line.contains(what)).count()
    }

    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill")
            .args([&format!("-{name}"), &id])
            .status();
        assert!(sent.unwrap().success());
    }

    /// Waits for its end, whatever ended it.
    pub fn wait(&mut self) {
        self.child.wait().unwrap();
    }

    pub fn stdout(&mut self) -> ChildStdout {
        self.child.stdout.take().unwrap()
    }

    /// Waits for its end: the exit status, and what it wrote.
    pub fn end(&mut self) -> (i32, String) {
        let mut text = String::new();
        if let Some(mut stdout) = self.child.stdout.take() {
            stdout.read_to_string(&mut text).unwrap();
        }
        let status = self.child.wait().unwrap();
        loop {
            match self.errors.recv_timeout(PATIENCE) {
                Ok(line) => self.said.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("standard error stays open"),
            }
        }
        let said = &self.said;
        (
            status.code().unwrap_or_else(|| panic!("killed: {said:?}")),
            text,
        )
    }

    /// Interrupts it, and waits for its end.
    pub fn interrupt(&mut self) -> (i32, String) {
        self.signal("INT");
        self.end()
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The frames of a capture.
pub fn frames_of(path: &Path) -> Vec<Vec<u8>> {
    let reader = Reader::new(fs::File::open(path).unwrap()).unwrap();
    let records = reader.map(Result::unwrap);
    let packets = records.filter(|record| record.packet().is_some());
    packets.map(|record| record.data().to_vec()).collect()
}

/// Where an observer serves its metrics, as it said.
pub fn metrics_at(said: &[String]) -> String {
    let mut lines = said.iter();
    let at = lines.find_map(|line| line.strip_prefix("metrics: http://"));
    at.unwrap().strip_suffix("/metrics").unwrap().to_owned()
}

/// What `/metrics` says; from within the observer's namespace.
pub fn metrics(said: &[String]) -> String {
    let mut stream = TcpStream::connect(metrics_at(said)).unwrap();
    let ask = b"GET /metrics HTTP/1.1\r\nHost: clew\r\n\r\n";
    stream.write_all(ask).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// The objects of JSON Lines.
pub fn objects(text: &str) -> Vec<Value> {
    let objects = text.lines().map(|line| serde_json::from_str(line).unwrap());
    objects.collect()
}

/// Verdict and reason of each packet.
pub fn verdicts(text: &str) -> Vec<(String, String)> {
    let objects = objects(text);
    let packets = objects
        .iter()
        .filter(|object| object.get("verdict").is_some());
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    packets
        .map(|p| (word(&p["verdict"]), word(&p["reason"])))
        .collect()
}

/// The summary at the end.
pub fn summary(text: &str) -> Value {
    objects(text).pop().unwrap()["summary"].take()
}

/// Waits until a file has so many lines.
pub fn wait_for_lines(path: &Path, lines: usize) {
    let ends = Instant::now() + PATIENCE;
    while fs::read_to_string(path).map_or(0, |text| text.lines().count()) < lines {
        assert!(
            Instant::now() < ends,
            "{} has no {lines} lines",
            path.display()
        );
        thread::sleep(Duration::from_millis(20));
    }
}
