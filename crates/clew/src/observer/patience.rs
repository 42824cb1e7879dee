//! How long a packet waits for others of its block.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Longest wait: a sender ends its blocks within milliseconds.
pub const WAIT_MAX: Duration = Duration::from_secs(1);

/// Packets that come within this time count as one group, so that memory is bounded.
const STEP: Duration = Duration::from_millis(10);

/// When packets came, by a clock that never goes back.
#[derive(Debug, Default)]
pub struct Patience {
    groups: VecDeque<(Instant, usize)>,
}

impl Patience {
    /// So many packets came.
    pub fn came(&mut self, packets: usize, now: Instant) {
        match self.groups.back_mut() {
            Some((at, count)) if now.saturating_duration_since(*at) < STEP => *count += packets,
            _ if packets > 0 => self.groups.push_back((now, packets)),
            _ => {}
        }
    }

    /// How many packets, the last ones, may still wait.
    pub fn may_wait(&mut self, now: Instant) -> usize {
        let is_over = |at: Instant| now.saturating_duration_since(at) >= WAIT_MAX;
        while self.groups.front().is_some_and(|(at, _)| is_over(*at)) {
            self.groups.pop_front();
        }
        self.groups.iter().map(|(_, count)| count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_wait_for_a_second() {
        let (mut patience, begin) = (Patience::default(), Instant::now());
        let at = |ms| begin + Duration::from_millis(ms);
        patience.came(3, at(0));
        patience.came(2, at(5));
        patience.came(0, at(300));
        patience.came(7, at(600));
        assert_eq!(patience.may_wait(at(999)), 12);
        assert_eq!(patience.may_wait(at(1000)), 7);
        assert_eq!(patience.may_wait(at(1599)), 7);
        assert_eq!(patience.may_wait(at(1600)), 0);
    }

    #[test]
    fn memory_is_bounded() {
        let (mut patience, begin) = (Patience::default(), Instant::now());
        for us in 0..1_000_000 {
            let now = begin + Duration::from_micros(us * 5);
            patience.came(1, now);
            if us % 1000 == 0 {
                patience.may_wait(now);
            }
        }
        assert!(patience.groups.len() <= 102, "{}", patience.groups.len());
    }
}
