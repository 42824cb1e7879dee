//! The clocks that engines are given.

use std::time::{SystemTime, UNIX_EPOCH};

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

/// Returns the time of day.
pub fn wall() -> WallTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    WallTime::default() + since.unwrap_or_default()
}
