//! A folder with the key of a server.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// How long a program has to say what a test waits for: long, for busy machines.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Folder(TempDir);

/// A command that was started. It ends with the test, whatever comes of that.
pub struct Started {
    child: Child,
    said: BufReader<ChildStderr>,
}

impl Started {
    fn new(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        Self { child, said }
    }

    /// The next line on standard error that has this. If none comes, the program is killed and the
    /// test fails with what it said.
    pub fn line(&mut self, has: &str) -> String {
        let (_found, waiting) = mpsc::channel::<()>();
        let id = self.child.id().to_string();
        thread::spawn(move || {
            if waiting.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                let _ = Command::new("kill").args(["-KILL", &id]).status();
            }
        });
        let mut all = String::new();
        loop {
            let mut line = String::new();
            let length = self.said.read_line(&mut line).unwrap();
            assert!(length > 0, "it ended without {has:?}: {all}");
            if line.contains(has) {
                return line.trim_end().to_owned();
            }
            all += &line;
        }
    }

    /// Asks it to stop: its exit status, and what it said at last.
    pub fn stop(&mut self) -> (i32, String) {
        let id = self.child.id().to_string();
        let killed = Command::new("kill").args(["-TERM", &id]).status();
        assert!(killed.unwrap().success());
        let mut said = String::new();
        self.said.read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code().unwrap(), said)
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Folder {
    /// A folder with `web.key`, of `web.example`.
    pub fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.yes("keygen server --host web.example -o web.key");
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, line: &str) -> Command {
        self.command_in(None, line)
    }

    /// A command, in a network namespace if one is named.
    fn command_in(&self, namespace: Option<&str>, line: &str) -> Command {
        let clew = env!("CARGO_BIN_EXE_clew");
        let mut command = match namespace {
            None => Command::new(clew),
            Some(name) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", name, clew]);
                command
            }
        };
        command
            .arg("tunnel")
            .args(line.split_whitespace())
            .current_dir(self.0.path())
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// The exit status, and standard error.
    pub fn status(&self, line: &str) -> (i32, String) {
        let output = self.run(line);
        let said = String::from_utf8(output.stderr).unwrap();
        (output.status.code().expect("it is not killed"), said)
    }

    /// Standard output of a command that succeeds.
    pub fn yes(&self, line: &str) -> String {
        let output = self.run(line);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{line}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// A new user: the public key.
    pub fn user(&self, file: &str) -> String {
        let said = self.yes(&format!("keygen user -o {file}"));
        said.trim_end().to_owned()
    }

    /// A new server: the public key.
    pub fn server(&self, line: &str) -> String {
        let said = self.yes(&format!("keygen server {line}"));
        let key = said
            .lines()
            .find_map(|line| line.trim().strip_prefix("key"));
        key.unwrap().trim().to_owned()
    }

    /// The exit status of a command whose standard error nobody reads.
    pub fn unheard(&self, line: &str) -> Option<i32> {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        self.command(line).stderr(writer).status().unwrap().code()
    }

    /// Starts a command and waits for a line on standard error.
    pub fn start(&self, line: &str, until: &str) -> Started {
        self.start_in(None, line, until)
    }

    /// The same, in a network namespace if one is named.
    pub fn start_in(&self, namespace: Option<&str>, line: &str, until: &str) -> Started {
        let mut started = Started::new(self.command_in(namespace, line));
        started.line(until);
        started
    }

    /// Starts a command.
    pub fn begin(&self, line: &str) -> Started {
        Started::new(self.command(line))
    }

    /// Serves as `web.example`, its record in `web.record`.
    pub fn serve(&self, more: &str) -> Started {
        let line = format!("serve --key web.key --listen 127.0.0.1:0 --record web.record {more}");
        self.start(&line, "for ")
    }

    /// Starts `connect` with `--listen`: the command, and the port.
    pub fn listen(&self, more: &str) -> (Started, String) {
        let line = format!("connect --record web.record --listen 127.0.0.1:0 {more}");
        let mut started = self.begin(&line);
        let line = started.line(" at ");
        let (_, at) = line.rsplit_once(" at ").unwrap();
        (started, at.to_owned())
    }

    /// Runs `connect` with this input.
    pub fn connect(&self, more: &str, input: &[u8]) -> Output {
        let mut command = self.command(&format!("connect {more}"));
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_vec());
        // Who is refused reads nothing.
        let writer = thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        output
    }

    /// What `connect` to `web.example` says: exit status and standard error.
    pub fn says(&self, more: &str) -> (i32, String) {
        let output = self.connect(&format!("--record web.record {more}"), b"hello");
        let said = String::from_utf8(output.stderr).unwrap();
        (output.status.code().unwrap(), said)
    }
}
