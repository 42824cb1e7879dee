//! When a receiver is under load, and asks for cookies.

use clew_wire::Instant;
use std::time::Duration;

/// Signatures that wait longer than this are a sign of load.
pub const LOAD_WAIT: Duration = Duration::from_millis(5);
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
pub(crate) struct Load {
    gate: Gate,
    /// Since when there is load without a pause.
    busy_since: Option<Instant>,
    last_busy: Instant,
    /// Since when datagrams that were dropped are counted, and how many there were.
    dropped: (Instant, u32),
}

impl Load {
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

    /// Looks at whether there is load now.
    pub fn see(&mut self, is_busy: bool, now: Instant) {
        if !is_busy {
            self.busy_since = None;
            if now - self.last_busy >= CALM {
                self.gate = Gate::Open;
            }
            return;
        }
        self.last_busy = now;
        let lasted = now - *self.busy_since.get_or_insert(now);
        self.gate = match self.gate {
            Gate::Open if lasted >= PATIENCE => Gate::Warning,
            Gate::Warning if lasted >= PATIENCE + WARNING => Gate::Shut,
            gate => gate,
        };
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
        let mut load = Load::new(at(0));
        let mut see = |is_busy, ms| {
            load.see(is_busy, at(ms));
            load.gate()
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
        let mut load = Load::new(at(0));
        [0, 50, 300].iter().for_each(|ms| load.see(true, at(*ms)));
        assert_eq!(load.gate(), Gate::Shut);
        (0..30_000).for_each(|ms| load.dropped(at(300 + ms)));
        load.see(false, at(30_300));
        assert_eq!(load.gate(), Gate::Shut, "a thousand a second");
        (0..100).for_each(|tenths| load.dropped(at(30_300 + tenths * 100)));
        load.see(false, at(40_300));
        assert_eq!(load.gate(), Gate::Open, "ten a second");
    }
}
