//! Locks that the kernel releases when their process ends, and that name it.

use super::{Place, SetupError};
use crate::sys;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use nix::sys::signal::Signal;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How often to look whether a process has ended.
const LOOK: Duration = Duration::from_millis(20);

/// Held while a process runs.
#[derive(Debug)]
pub struct Lock(File);

impl Lock {
    /// Locks a file, without waiting. The lock goes as soon as this process closes the file, however often it is open.
    pub(super) fn of(file: File) -> io::Result<Self> {
        fcntl(&file, FcntlArg::F_SETLK(&whole(libc::F_WRLCK)))?;
        Ok(Self(file))
    }

    /// Returns whether the file still has a name.
    pub(super) fn has_name(&self) -> io::Result<bool> {
        Ok(self.0.metadata()?.nlink() > 0)
    }
}

impl Place {
    /// Locks the place for the process that runs the data plane.
    ///
    /// # Errors
    /// It is not set up, or another process holds the lock.
    pub fn lock_daemon(&self) -> Result<Lock, SetupError> {
        self.lock(&self.daemon_lock())
    }

    /// A lock that the kernel releases when the process ends, however it ends.
    pub(super) fn lock(&self, path: &Path) -> Result<Lock, SetupError> {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let file = self.failed(path, options.mode(0o600).open(path))?;
        match Lock::of(file) {
            Ok(lock) => Ok(lock),
            Err(_) => {
                self.refuse_running(path)?;
                let error = io::Error::from(ErrorKind::WouldBlock);
                self.failed(path, Err(error))
            }
        }
    }

    pub(super) fn refuse_running(&self, path: &Path) -> Result<(), SetupError> {
        match holder(path) {
            Some(process) => Err(SetupError::Runs {
                name: self.name.clone(),
                process,
            }),
            None => Ok(()),
        }
    }

    /// Returns the processes that hold the locks: who supervises, and who runs the data plane.
    pub fn processes(&self) -> [Option<i32>; 2] {
        [self.supervisor_lock(), self.daemon_lock()].map(|path| holder(&path))
    }

    /// Sends a signal to one of these processes, and never to another one. Returns whether there is one.
    ///
    /// # Errors
    /// The system's.
    pub fn signal(&self, which: usize, signal: Signal) -> io::Result<bool> {
        let locks = [self.supervisor_lock(), self.daemon_lock()];
        let lock = locks.get(which);
        lock.map_or(Ok(false), |path| signal_holder(path, signal))
    }
}

/// Waits until no process holds a lock, for so long at most.
pub(super) fn wait_for_end(path: &Path, most: Duration) {
    let end = Instant::now() + most;
    while holder(path).is_some() && Instant::now() < end {
        thread::sleep(LOOK);
    }
}

pub(super) fn whole(kind: i32) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}

/// The process that holds a lock, if it runs as the user whom the file belongs to.
///
/// The kernel says which process locked. But that one may have left the lock to others that share its table of files:
/// after its end, its number may be of any process. Of a lock on an open file, or of one in another PID namespace, the
/// kernel names no process, but -1 or 0: a signal to these would reach every process, or the caller's own.
pub(super) fn holder(path: &Path) -> Option<i32> {
    let file = OpenOptions::new().read(true).write(true).open(path).ok()?;
    let owner = file.metadata().ok()?.uid();
    let mut lock = whole(libc::F_WRLCK);
    fcntl(&file, FcntlArg::F_GETLK(&mut lock)).ok()?;
    let is_process = i32::from(lock.l_type) != libc::F_UNLCK && lock.l_pid > 1;
    (is_process && runs_as(lock.l_pid, owner)).then_some(lock.l_pid)
}

/// Sends a signal to the process that holds a lock, and to no other one. Returns whether there is one.
fn signal_holder(path: &Path, signal: Signal) -> io::Result<bool> {
    let Some(process) = holder(path) else {
        return Ok(false);
    };
    let opened = gone(sys::open_process(process))?;
    // Before it was opened, another process may have got its number.
    let Some(opened) = opened.filter(|_| holder(path) == Some(process)) else {
        return Ok(false);
    };
    let sent = gone(sys::signal_process(opened.as_fd(), signal))?;
    Ok(sent.is_some())
}

/// `None` if the process has ended.
fn gone<T>(done: io::Result<T>) -> io::Result<Option<T>> {
    match done {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
        done => done.map(Some),
    }
}

/// Whether a process has all its privileges from this user.
fn runs_as(process: i32, user: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    users.is_some_and(|users| {
        let mut users = users.split_whitespace();
        users.all(|one| one.parse() == Ok(user))
    })
}
