//! Waiting for descriptors, for a time, or for another thread.

use clew_wire::Instant;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::TimeSpec;
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
        // Whole milliseconds would double the wait of small packets for each other.
        match ppoll(&mut all, Some(TimeSpec::from_duration(wait)), None) {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A wait of less than a millisecond is not rounded up, and one without end is not turned down.
    #[test]
    fn waits_end_at_their_time_and_at_a_wake() {
        let wake = Wake::new().unwrap();
        let nobody = std::iter::empty::<BorrowedFd<'_>>;
        let wait = |micros: u64| {
            let begin = std::time::Instant::now();
            let until = Some(Instant::from_nanos(micros * 1_000));
            wake.wait(nobody(), until, Instant::from_nanos(0)).unwrap();
            begin.elapsed()
        };
        let shortest = (0..50).map(|_| wait(200)).min().unwrap();
        assert!(shortest >= Duration::from_micros(200), "{shortest:?}");
        assert!(shortest < Duration::from_millis(1), "{shortest:?}");
        wake.wake();
        assert!(wait(60_000_000) < TURN, "it was woken");
        assert!(wait(60_000_000) >= TURN, "that wake is spent");
    }
}
