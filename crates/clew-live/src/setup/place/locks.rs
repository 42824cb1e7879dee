//! Locks that the kernel releases when their process ends, and that name it.

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
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

/// The process that holds a lock. The kernel says who, so nobody can name another process.
///
/// Of a lock on an open file, or of one in another PID namespace, the kernel names no process, but -1 or 0:
/// a signal to these would reach every process, or the caller's own.
pub(super) fn holder(path: &Path) -> Option<i32> {
    let file = OpenOptions::new().read(true).write(true).open(path).ok()?;
    let mut lock = whole(libc::F_WRLCK);
    fcntl(&file, FcntlArg::F_GETLK(&mut lock)).ok()?;
    (i32::from(lock.l_type) != libc::F_UNLCK && lock.l_pid > 1).then_some(lock.l_pid)
}
