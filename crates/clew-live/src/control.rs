//! The control socket: one request and one answer a connection, each one line of JSON.

use crate::status::{Filtered, Status};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::geteuid;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

/// Longest request, in bytes.
const REQUEST_MAX: u64 = 1 << 10;

/// Longest answer, in bytes.
const ANSWER_MAX: u64 = 16 << 20;

/// How long the other end may take.
const WAIT: Duration = Duration::from_secs(2);

/// What a daemon is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// What it does.
    Status,
    /// To read configuration, key and group files again.
    Reload,
    /// To take note of what the host's filter counted, which the daemon may not read itself.
    Filtered(Filtered),
}

/// What it answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// What it does.
    Status(Box<Status>),
    /// Done.
    Done,
    /// Not done, and why.
    Refused(String),
}

/// The socket of a running daemon.
#[derive(Debug)]
pub struct Control(UnixListener);

impl Control {
    /// Listens. The folder keeps all users away but its owner and root.
    ///
    /// # Errors
    /// The system's.
    pub fn listen(path: &Path) -> io::Result<Self> {
        // One that a killed daemon left; its lock is ours.
        match fs::remove_file(path) {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        Ok(Self(listener))
    }

    /// Answers one request, if there is one. Whoever asks badly gets no answer.
    pub fn answer(&self, answer: impl FnOnce(Request) -> Answer) {
        if let Ok((stream, _)) = self.0.accept() {
            // The other end went away: nobody is to be told.
            let _ = serve(&stream, answer);
        }
    }
}

impl std::os::fd::AsFd for Control {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn serve(stream: &UnixStream, answer: impl FnOnce(Request) -> Answer) -> io::Result<()> {
    let user = getsockopt(stream, PeerCredentials)?.uid();
    if user != 0 && user != geteuid().as_raw() {
        return Err(ErrorKind::PermissionDenied.into());
    }
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(WAIT))?;
    stream.set_write_timeout(Some(WAIT))?;
    let request = read_line(stream, REQUEST_MAX)?;
    let mut line = serde_json::to_string(&answer(serde_json::from_str(&request)?))?;
    line.push('\n');
    let mut stream = stream;
    stream.write_all(line.as_bytes())
}

/// Asks a running daemon.
///
/// # Errors
/// None runs, it does not answer, or the caller may not ask.
pub fn ask(path: &Path, request: Request) -> io::Result<Answer> {
    let stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(WAIT * 4))?;
    stream.set_write_timeout(Some(WAIT))?;
    let mut line = serde_json::to_string(&request)?;
    line.push('\n');
    (&stream).write_all(line.as_bytes())?;
    Ok(serde_json::from_str(&read_line(&stream, ANSWER_MAX)?)?)
}

fn read_line(stream: &UnixStream, most: u64) -> io::Result<String> {
    let mut line = String::new();
    BufReader::new(stream.take(most)).read_line(&mut line)?;
    match line.ends_with('\n') {
        true => Ok(line),
        false => Err(ErrorKind::UnexpectedEof.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn control() -> (tempfile::TempDir, std::path::PathBuf, Control) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control");
        let control = Control::listen(&path).unwrap();
        (folder, path, control)
    }

    /// Answers as long as `done` says.
    fn serve_until(control: &Control, is_done: impl Fn() -> bool) {
        while !is_done() {
            control.answer(|request| match request {
                Request::Status => Answer::Status(Box::default()),
                Request::Reload => Answer::Refused("no".into()),
                Request::Filtered(_) => Answer::Done,
            });
            thread::yield_now();
        }
    }

    #[test]
    fn requests_are_answered() {
        let (_folder, path, control) = control();
        let asked = thread::spawn(move || {
            [Request::Status, Request::Reload].map(|request| ask(&path, request).unwrap())
        });
        serve_until(&control, || asked.is_finished());
        let answers = asked.join().unwrap();
        assert_eq!(
            answers,
            [Answer::Status(Box::default()), Answer::Refused("no".into())]
        );
    }

    #[test]
    fn bad_requests_end_and_others_are_answered() {
        let (_folder, path, control) = control();
        let asked = thread::spawn(move || {
            for bad in [&b"\n"[..], b"{}\n", b"\xff\n", &[b'x'; 5000], b"\"status\""] {
                let mut stream = UnixStream::connect(&path).unwrap();
                // It may be closed already.
                let _ = stream.write_all(bad);
                let _ = stream.shutdown(std::net::Shutdown::Write);
                let mut text = String::new();
                let _ = stream.read_to_string(&mut text);
                assert_eq!(text, "");
            }
            ask(&path, Request::Status).unwrap()
        });
        serve_until(&control, || asked.is_finished());
        assert_eq!(asked.join().unwrap(), Answer::Status(Box::default()));
    }

    #[test]
    fn a_socket_that_a_killed_daemon_left_is_replaced() {
        let (_folder, path, control) = control();
        drop(control);
        assert!(path.exists());
        assert_eq!(
            ask(&path, Request::Status).unwrap_err().kind(),
            ErrorKind::ConnectionRefused
        );
        Control::listen(&path).unwrap();
    }
}
