//! The control socket: one request and one answer a connection, each one line of JSON.

use crate::status::{Filtered, Status};
use crate::visible::visible_json;
use nix::libc;
use nix::sys::socket::{
    self, AddressFamily, SockFlag, SockType, UnixAddr, getsockopt, socket, sockopt::PeerCredentials,
};
use nix::unistd::geteuid;
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

/// Longest request, in bytes.
const REQUEST_MAX: u64 = 1 << 10;

/// Longest answer, in bytes: twice what the most peers and prefixes need.
const ANSWER_MAX: u64 = 1 << 20;

/// How long the other end may be silent.
const WAIT: Duration = Duration::from_secs(2);

/// How long a whole answer may take.
const ANSWER: Duration = Duration::from_secs(5);

/// How long it may take if files have to be read before.
const ANSWER_OF_RELOAD: Duration = Duration::from_secs(30);

/// Why nobody is asked.
const NOT_ITS_SOCKET: &str = "its control file is not a socket of the data plane's user: clew down, then clew up, \
                              and look for who changed it";

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

/// Asks a running daemon. Its answer has no control characters: the data plane may be somebody else's by now.
///
/// # Errors
/// None runs, it does not answer in time, or the caller may not ask.
pub fn ask(path: &Path, request: Request) -> io::Result<Answer> {
    let wait = match request {
        Request::Reload => ANSWER_OF_RELOAD,
        Request::Status | Request::Filtered(_) => ANSWER,
    };
    ask_within(path, request, wait)
}

fn ask_within(path: &Path, request: Request, wait: Duration) -> io::Result<Answer> {
    let until = Instant::now() + wait;
    let stream = connect(path)?;
    stream.set_write_timeout(Some(WAIT))?;
    let mut line = serde_json::to_string(&request)?;
    line.push('\n');
    (&stream).write_all(line.as_bytes())?;
    let limited = Limited {
        stream: &stream,
        until,
    };
    // What is no part of an answer takes no memory.
    let answer: Answer = serde_json::from_str(&read_line(limited, ANSWER_MAX)?)?;
    let answer = visible_json(serde_json::to_value(answer)?);
    Ok(serde_json::from_value(answer)?)
}

/// Connects without waiting: a daemon that takes no connections any more would be waited for without end.
fn connect(path: &Path) -> io::Result<UnixStream> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let connecting = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    let place = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_PATH | libc::O_NOFOLLOW)
        .open(path)?;
    if !place.metadata()?.file_type().is_socket() {
        return Err(io::Error::other(NOT_ITS_SOCKET));
    }
    // The file that was looked at, whatever has its name by now.
    let at = format!("/proc/self/fd/{}", place.as_raw_fd());
    socket::connect(connecting.as_raw_fd(), &UnixAddr::new(at.as_str())?)?;
    let stream = UnixStream::from(connecting);
    refuse_others(path, &stream)?;
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// Refuses a socket that somebody else listens with than the owner of the folder, who is the data plane's user. Root
/// would ask programs that answer root alone.
fn refuse_others(path: &Path, stream: &UnixStream) -> io::Result<()> {
    let folder = path.parent().ok_or(ErrorKind::InvalidInput)?;
    let owner = fs::symlink_metadata(folder)?.uid();
    match getsockopt(stream, PeerCredentials)?.uid() == owner {
        true => Ok(()),
        false => Err(io::Error::other(NOT_ITS_SOCKET)),
    }
}

/// A stream that is read until a time, however slowly the other end writes.
struct Limited<'a> {
    stream: &'a UnixStream,
    until: Instant,
}

impl Read for Limited<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(buffer)
    }
}

fn read_line(stream: impl Read, most: u64) -> io::Result<String> {
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
    use crate::config::{PEERS_MAX, PREFIXES_MAX};
    use crate::status::PeerStatus;
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

    /// What a data plane answers that is somebody else's.
    fn answered_by(
        speak: impl FnOnce(UnixStream) + Send,
        wait: Duration,
    ) -> (io::Result<Answer>, Duration) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control");
        let listener = UnixListener::bind(&path).unwrap();
        let begin = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| {
                let stream = listener.accept().unwrap().0;
                // A socket that is closed with something unread resets the other end.
                read_line(&stream, REQUEST_MAX).unwrap();
                speak(stream);
            });
            let answer = ask_within(&path, Request::Status, wait);
            (answer, begin.elapsed())
        })
    }

    #[test]
    fn an_answer_controls_no_terminal() {
        let status = Status {
            name: "\u{1b}]0;x\u{7}\n".into(),
            ..Status::default()
        };
        let line = serde_json::to_string(&Answer::Status(Box::new(status))).unwrap();
        let speak = move |mut stream: UnixStream| writeln!(stream, "{line}").unwrap();
        let Answer::Status(status) = answered_by(speak, ANSWER).0.unwrap() else {
            panic!("another answer")
        };
        assert_eq!(status.name, "\\u{1b}]0;x\\u{7}\\n");
    }

    /// The most that a configuration may have, with the longest names.
    #[test]
    fn the_longest_answer_has_room_and_a_longer_one_ends() {
        let prefixes = PREFIXES_MAX / PEERS_MAX;
        let address: std::net::SocketAddr = "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535"
            .parse()
            .unwrap();
        let peer = PeerStatus {
            prefixes: vec![format!("{}/128", address.ip()); prefixes],
            endpoint: Some(address),
            is_learned: false,
            path_mtu: u16::MAX,
            packets: u64::MAX,
            seconds_ago: Some(u64::MAX),
        };
        let status = Status {
            peers: vec![peer; PEERS_MAX],
            ..Status::default()
        };
        let line = |status: &Status| {
            serde_json::to_string(&Answer::Status(Box::new(status.clone()))).unwrap()
        };
        let longest = line(&status);
        assert!(longest.len() as u64 * 2 < ANSWER_MAX, "{}", longest.len());
        let speak = move |mut stream: UnixStream| writeln!(stream, "{longest}").unwrap();
        assert_eq!(
            answered_by(speak, ANSWER).0.unwrap(),
            Answer::Status(Box::new(status))
        );
        let speak = |mut stream: UnixStream| {
            // It is closed before all is written.
            let _ = writeln!(stream, "[{}0]", "0,".repeat(ANSWER_MAX as usize));
        };
        let kind = answered_by(speak, ANSWER).0.unwrap_err().kind();
        assert_eq!(kind, ErrorKind::UnexpectedEof);
    }

    /// A byte now and then, for much longer than the whole answer may take.
    #[test]
    fn an_answer_has_one_deadline() {
        let speak = |mut stream: UnixStream| {
            while stream.write_all(b" ").is_ok() {
                thread::sleep(Duration::from_millis(50));
            }
        };
        let (answer, took) = answered_by(speak, Duration::from_secs(1));
        let kind = answer.unwrap_err().kind();
        assert!(
            matches!(kind, ErrorKind::TimedOut | ErrorKind::WouldBlock),
            "{kind}"
        );
        assert!(took < Duration::from_secs(20), "{took:?}");
    }

    /// Connections that nobody takes fill the queue. To wait for room would hold up the caller without end.
    #[test]
    fn a_daemon_that_takes_no_connection_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control");
        let flags = SockFlag::SOCK_CLOEXEC;
        let listener = socket(AddressFamily::Unix, SockType::Stream, flags, None).unwrap();
        socket::bind(listener.as_raw_fd(), &UnixAddr::new(&path).unwrap()).unwrap();
        socket::listen(&listener, socket::Backlog::new(0).unwrap()).unwrap();
        let _first = UnixStream::connect(&path).unwrap();
        let (answered, answer) = std::sync::mpsc::channel();
        thread::spawn(move || answered.send(ask(&path, Request::Status).map(drop)));
        let answer = answer.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(answer.unwrap_err().kind(), ErrorKind::WouldBlock);
    }

    /// A data plane that is somebody else's has root connect to another program, in two ways.
    #[test]
    fn sockets_of_others_are_not_asked() {
        let (folder, path, control) = control();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let is_asked = |path: &Path| {
            let path = path.to_owned();
            let asked = thread::spawn(move || ask(&path, Request::Status));
            serve_until(&control, || asked.is_finished());
            asked.join().unwrap()
        };
        is_asked(&path).unwrap();
        assert!(
            is_asked(&link)
                .unwrap_err()
                .to_string()
                .contains(NOT_ITS_SOCKET)
        );
        // Whoever may give a folder away sees that its owner counts.
        if !geteuid().is_root() {
            return;
        }
        std::os::unix::fs::chown(folder.path(), Some(65_534), None).unwrap();
        assert!(
            is_asked(&path)
                .unwrap_err()
                .to_string()
                .contains(NOT_ITS_SOCKET)
        );
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
