//! Messages whose cause others can repeat as often as they like.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Least time between two messages of one cause.
const PAUSE: Duration = Duration::from_secs(60);

/// When a message was last said, and how often it was not since.
#[derive(Debug, Default)]
pub struct Rarely(Mutex<Option<(Instant, u64)>>);

impl Rarely {
    /// Says a message if it was not said for a minute; it is told how many others were not said.
    pub fn tell(&self, say: impl FnOnce(u64)) {
        if let Some(others) = self.turn(Instant::now()) {
            say(others);
        }
    }

    fn turn(&self, now: Instant) -> Option<u64> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *last {
            Some((at, others)) if now < *at + PAUSE => {
                *others += 1;
                None
            }
            last => {
                let others = last.map_or(0, |(_, others)| others);
                *last = Some((now, 0));
                Some(others)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_said_is_counted() {
        let (rarely, now) = (Rarely::default(), Instant::now());
        assert_eq!(rarely.turn(now), Some(0));
        assert_eq!(rarely.turn(now + PAUSE / 2), None);
        assert_eq!(rarely.turn(now + PAUSE / 2), None);
        assert_eq!(rarely.turn(now + PAUSE), Some(2));
        assert_eq!(rarely.turn(now + 2 * PAUSE), Some(0));
    }
}
