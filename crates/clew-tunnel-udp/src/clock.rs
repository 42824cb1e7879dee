//! The clocks that engines are given.

use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clew_tunnel::engine::Now;
use clew_wire::{Instant, WallTime};

use crate::random::Random;

/// A start, time since then, and randomness.
pub struct Clock {
    start: std::time::Instant,
    random: Random,
}

impl Default for Clock {
    /// A clock that starts now.
    fn default() -> Self {
        Self {
            start: std::time::Instant::now(),
            random: Random::default(),
        }
    }
}

impl Clock {
    /// Reads both clocks.
    pub fn now(&mut self) -> Now<'_> {
        Now {
            instant: Instant::default() + self.start.elapsed(),
            wall: wall(),
            rng: &mut self.random,
        }
    }

    /// Returns an engine's instant.
    pub fn at(&self, instant: Instant) -> tokio::time::Instant {
        tokio::time::Instant::from_std(self.start + (instant - Instant::default()))
    }
}

/// Returns the time of day. If the clock is before 1970 it is 1970, when no record is valid yet.
pub fn wall() -> WallTime {
    let since = since_1970(SystemTime::now());
    WallTime::default() + since.unwrap_or_default()
}

/// Checks that the clock is not before 1970. Clients and servers begin with it.
///
/// # Errors
/// It is: no record would be valid.
pub(crate) fn check() -> io::Result<()> {
    since_1970(SystemTime::now()).map(drop)
}

fn since_1970(time: SystemTime) -> io::Result<Duration> {
    let before = |_| io::Error::other("the clock of this machine is before 1970");
    time.duration_since(UNIX_EPOCH).map_err(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_before_1970_is_an_error() {
        let second = Duration::from_secs(1);
        let refused = since_1970(UNIX_EPOCH - second).unwrap_err();
        assert!(refused.to_string().ends_with("before 1970"));
        assert_eq!(since_1970(UNIX_EPOCH + second).unwrap(), second);
        check().unwrap();
    }
}
