//! Steps of the wall clock, noticed against the clock that never goes back.

use crate::packet::Moment;
use clew_packet::{SECOND_NS, Timestamp};
use std::time::Duration;

/// A smaller difference is drift, which the watch follows.
const STEP_MIN_NS: u64 = SECOND_NS / 2;

/// A step of the wall clock: somebody set it, or the machine slept while the other clock stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockStep {
    /// Whether the wall clock went back.
    pub is_back: bool,
    /// How far it went.
    pub by: Duration,
    /// What it said after the step.
    pub at: Timestamp,
}

/// What is known of the clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockState {
    /// How many steps there were.
    pub steps: u64,
    /// The last one.
    pub last: Option<ClockStep>,
}

/// Compares the two clocks.
#[derive(Clone, Copy, Debug)]
pub struct ClockWatch {
    seen: Moment,
    state: ClockState,
}

impl ClockWatch {
    /// Returns a watch that has seen no step.
    pub fn new(start: Moment) -> Self {
        Self {
            seen: start,
            state: ClockState::default(),
        }
    }

    /// Looks at both clocks. Returns the step of the wall clock since the last look, if there is one.
    pub fn see(&mut self, now: Moment) -> Option<ClockStep> {
        let elapsed = now.instant - self.seen.instant;
        let expected = self.seen.wall.after(elapsed.as_nanos() as u64);
        self.seen = now;
        let (back, forth) = (expected.since(now.wall), now.wall.since(expected));
        let by = back.max(forth);
        if by < STEP_MIN_NS {
            return None;
        }
        let step = ClockStep {
            is_back: back > 0,
            by: Duration::from_nanos(by),
            at: now.wall,
        };
        self.state.steps += 1;
        self.state.last = Some(step);
        Some(step)
    }

    /// Returns what is known of the clocks.
    pub const fn state(&self) -> ClockState {
        self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clew_wire::Instant;

    fn at(instant_ms: u64, wall_ms: u64) -> Moment {
        Moment {
            instant: Instant::from_nanos(instant_ms * 1_000_000),
            wall: Timestamp(wall_ms * 1_000_000),
        }
    }

    #[test]
    fn steps_are_noticed_in_both_directions_and_drift_is_not() {
        let mut watch = ClockWatch::new(at(0, 50_000));
        assert_eq!(watch.see(at(10_000, 60_100)), None, "drift");
        let back = watch.see(at(10_001, 50_101)).unwrap();
        assert!(back.is_back && back.by == Duration::from_secs(10));
        assert_eq!(watch.see(at(10_002, 50_102)), None, "said once");
        let forth = watch.see(at(10_003, 3_650_103)).unwrap();
        assert!(!forth.is_back && forth.by == Duration::from_secs(3_600));
        assert_eq!((watch.state().steps, watch.state().last), (2, Some(forth)));
    }
}
