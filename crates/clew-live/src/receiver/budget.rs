//! CPU time as tokens.

use clew_wire::Instant;
use std::time::Duration;

/// How much of a second's time may be saved up, and owed: a fifth.
const BURST_DIVISOR: u32 = 5;

/// So much time a second. It is charged after the fact, so that it can be owed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    per_second: Duration,
    left_ns: i64,
    at: Instant,
}

impl Budget {
    /// Returns a full budget.
    pub fn new(per_second: Duration, now: Instant) -> Self {
        Self {
            per_second,
            left_ns: signed(per_second / BURST_DIVISOR),
            at: now,
        }
    }

    /// Returns whether something is left.
    pub fn has(&mut self, now: Instant) -> bool {
        self.refill(now);
        self.left_ns > 0
    }

    /// Takes from it.
    pub fn charge(&mut self, spent: Duration, now: Instant) {
        self.refill(now);
        self.left_ns = self.left_ns.saturating_sub(signed(spent));
    }

    /// Replaces what was charged in advance with what was spent.
    pub fn correct(&mut self, charged: Duration, spent: Duration, now: Instant) {
        self.refill(now);
        let difference = signed(charged).saturating_sub(signed(spent));
        self.left_ns = self.left_ns.saturating_add(difference).min(self.burst_ns());
    }

    fn refill(&mut self, now: Instant) {
        let elapsed = (now - self.at).as_nanos().min(u128::from(u32::MAX));
        let gained = elapsed * self.per_second.as_nanos() / 1_000_000_000;
        let gained = i64::try_from(gained).unwrap_or(i64::MAX);
        if gained > 0 {
            self.left_ns = self.left_ns.saturating_add(gained).min(self.burst_ns());
            self.at = now;
        }
    }

    fn burst_ns(&self) -> i64 {
        signed(self.per_second / BURST_DIVISOR)
    }
}

fn signed(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

/// So many events a second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventRate(Budget, Duration);

impl EventRate {
    /// Returns a rate of `per_second` events.
    pub fn new(per_second: u32, now: Instant) -> Self {
        let one = Duration::from_secs(1) / per_second.max(1);
        Self(Budget::new(Duration::from_secs(1), now), one)
    }

    /// Counts an event. Returns whether it is within the rate.
    pub fn allows(&mut self, now: Instant) -> bool {
        let allows = self.0.has(now);
        if allows {
            self.0.charge(self.1, now);
        }
        allows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn a_budget_is_spent_and_comes_back() {
        let mut budget = Budget::new(Duration::from_millis(500), at(0));
        budget.charge(Duration::from_millis(150), at(0));
        assert!(
            !budget.has(at(0)),
            "a fifth of it at once, and 50 ms are owed"
        );
        assert!(!budget.has(at(100)) && budget.has(at(101)));
        budget.charge(Duration::from_millis(10), at(101));
        budget.correct(Duration::from_millis(10), Duration::ZERO, at(101));
        assert!(budget.has(at(101)), "what was not spent comes back");
        budget.correct(Duration::from_secs(9), Duration::ZERO, at(101));
        budget.charge(Duration::from_millis(101), at(101));
        assert!(!budget.has(at(101)), "nothing is saved up beyond the burst");
    }

    #[test]
    fn a_rate_lets_so_many_through() {
        let mut rate = EventRate::new(1_000, at(0));
        let allowed = (0..100_000).filter(|i| rate.allows(at(i / 10))).count();
        assert!((9_900..=10_300).contains(&allowed), "{allowed} in 10 s");
    }
}
