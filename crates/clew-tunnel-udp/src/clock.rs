//! The clocks that engines are given.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use clew_tunnel::engine::Now;

use crate::random::Random;

/// A start, time since then, and randomness.
pub struct Clock {
    start: Instant,
    random: Random,
}

impl Default for Clock {
    /// A clock that starts now.
    fn default() -> Self {
        Self {
            start: Instant::now(),
            random: Random::default(),
        }
    }
}

impl Clock {
    /// Now.
    pub fn now(&mut self) -> Now<'_> {
        Now {
            instant: nanoseconds(self.start.elapsed().as_nanos()),
            wall: wall(),
            rng: &mut self.random,
        }
    }

    /// An engine's instant.
    pub fn at(&self, instant: u64) -> tokio::time::Instant {
        let since = std::time::Duration::from_nanos(instant);
        tokio::time::Instant::from_std(self.start + since)
    }
}

/// The time of day in nanoseconds since 1970.
pub fn wall() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    nanoseconds(since.map_or(0, |since| since.as_nanos()))
}

fn nanoseconds(nanoseconds: u128) -> u64 {
    u64::try_from(nanoseconds).unwrap_or(u64::MAX)
}
