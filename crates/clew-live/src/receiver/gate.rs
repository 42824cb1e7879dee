//! When a receiver is under load, and asks for cookies.

use clew_wire::Instant;
use std::time::Duration;

/// Signatures that wait longer than this are a sign of load.
pub const OVERLOAD_WAIT: Duration = Duration::from_millis(5);
/// How long there is load before senders are told a cookie.
const PATIENCE: Duration = Duration::from_millis(50);
/// How long they are told before datagrams without a cookie are dropped: honest senders lose none.
const WARNING: Duration = Duration::from_millis(250);
/// How long there is no load before the gate opens.
const CALM: Duration = Duration::from_secs(10);
/// More dropped datagrams than this in a second are load, too: without the gate they would be it.
const DROPPED_MAX: u32 = 100;

/// What a datagram without a good cookie gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gate {
    /// It is looked at.
    #[default]
    Open,
    /// It is looked at, and answered with a cookie.
    Warning,
    /// It is dropped, and answered with a cookie.
    Shut,
}

/// Moves the gate, with hysteresis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gatekeeper {
    gate: Gate,
    /// Since when there is load without a pause.
    busy_since: Option<Instant>,
    last_busy: Instant,
    /// Since when datagrams that were dropped are counted, and how many there were.
    dropped: (Instant, u32),
}

impl Gatekeeper {
    /// Returns an open gate.
    pub const fn new(now: Instant) -> Self {
        Self {
            gate: Gate::Open,
            busy_since: None,
            last_busy: now,
            dropped: (now, 0),
        }
    }

    /// Returns the gate.
    pub const fn gate(&self) -> Gate {
        self.gate
    }

    /// Looks at whether there is load now. Returns whether the gate was shut by it.
    pub fn see(&mut self, is_busy: bool, now: Instant) -> bool {
        if !is_busy {
            self.busy_since = None;
            if now - self.last_busy >= CALM {
                self.gate = Gate::Open;
            }
            return false;
        }
        let before = self.gate;
        self.last_busy = now;
        let lasted = now - *self.busy_since.get_or_insert(now);
        self.gate = match self.gate {
            Gate::Open if lasted >= PATIENCE => Gate::Warning,
            Gate::Warning if lasted >= PATIENCE + WARNING => Gate::Shut,
            gate => gate,
        };
        self.gate == Gate::Shut && before != Gate::Shut
    }

    /// Takes note of a datagram that the shut gate dropped.
    pub fn dropped(&mut self, now: Instant) {
        let (since, count) = &mut self.dropped;
        if now - *since >= Duration::from_secs(1) {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        if *count > DROPPED_MAX {
            self.last_busy = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn the_gate_shuts_after_a_warning_and_opens_when_it_is_calm() {
        let mut keeper = Gatekeeper::new(at(0));
        let mut see = |is_busy, ms| {
            keeper.see(is_busy, at(ms));
            keeper.gate()
        };
        assert_eq!(see(true, 0), Gate::Open);
        assert_eq!(see(false, 40), Gate::Open);
        assert_eq!(see(true, 60), Gate::Open, "a pause starts anew");
        assert_eq!(see(true, 110), Gate::Warning);
        assert_eq!(see(true, 359), Gate::Warning);
        assert_eq!(see(true, 360), Gate::Shut);
        assert_eq!(see(false, 400), Gate::Shut);
        assert_eq!(see(false, 10_359), Gate::Shut);
        assert_eq!(see(false, 10_360), Gate::Open);
    }

    #[test]
    fn a_flood_at_the_gate_keeps_it_shut() {
        let mut keeper = Gatekeeper::new(at(0));
        let shut = [0, 50, 300, 301].map(|ms| keeper.see(true, at(ms)));
        assert_eq!(shut, [false, false, true, false]);
        assert_eq!(keeper.gate(), Gate::Shut);
        (0..30_000).for_each(|ms| keeper.dropped(at(300 + ms)));
        keeper.see(false, at(30_300));
        assert_eq!(keeper.gate(), Gate::Shut, "a thousand a second");
        (0..110).for_each(|tenths| keeper.dropped(at(30_300 + tenths * 100)));
        keeper.see(false, at(41_300));
        assert_eq!(keeper.gate(), Gate::Open, "ten a second");
    }
}
