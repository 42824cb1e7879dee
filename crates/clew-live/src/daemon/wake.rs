//! Waiting for descriptors, for a time, or for another thread.

use clew_wire::Instant;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// Longest wait, so that each loop shows that it turns.
pub const TURN: Duration = Duration::from_millis(500);

/// Ends another thread's wait.
#[derive(Debug)]
pub struct Wake(EventFd);

impl Wake {
    /// Makes one.
    ///
    /// # Errors
    /// The system has no descriptor to give.
    pub fn new() -> io::Result<Self> {
        let flags = EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC;
        Ok(Self(EventFd::from_flags(flags)?))
    }

    /// Ends the wait that is under way, or else the next one.
    pub fn wake(&self) {
        // It fails only if the counter is full: then the other is woken already.
        let _ = self.0.write(1);
    }

    /// Waits until a descriptor has something to read, somebody wakes, or `until` is there.
    ///
    /// # Errors
    /// The system's.
    pub fn wait<'a>(
        &'a self,
        descriptors: impl Iterator<Item = BorrowedFd<'a>>,
        until: Option<Instant>,
        now: Instant,
    ) -> io::Result<()> {
        let own = [self.0.as_fd()];
        let all = descriptors.chain(own);
        let mut all: Vec<_> = all.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        let wait = until.map_or(TURN, |until| (until - now).min(TURN));
        // A wait that ends early would only begin again.
        let millis = u16::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u16::MAX);
        match poll(&mut all, PollTimeout::from(millis)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(other) => return Err(other.into()),
        }
        let _ = self.0.read();
        Ok(())
    }
}

/// Waits a while until a descriptor takes more. Returns whether it does.
pub fn writable<'a>(descriptors: impl Iterator<Item = BorrowedFd<'a>>, wait: Duration) -> bool {
    let mut all: Vec<_> = descriptors
        .map(|fd| PollFd::new(fd, PollFlags::POLLOUT))
        .collect();
    let millis = u16::try_from(wait.as_millis()).unwrap_or(u16::MAX);
    poll(&mut all, PollTimeout::from(millis)).is_ok_and(|ready| ready > 0)
}
