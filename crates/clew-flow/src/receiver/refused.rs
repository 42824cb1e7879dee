//! Signatures that do not hold, and how many are looked at.

use core::time::Duration;

use crate::reason::Reason;
use crate::wire::Carriage;
use clew_tree::LruMap;
use clew_wire::WallTime;

/// Refused signatures that are remembered: about 400 kB.
const REFUSED_MAX: usize = 4096;

/// What was refused before is refused again without a look, for the same reason.
#[derive(Debug)]
pub(crate) struct Refused(LruMap<[u8; 32], Reason>);

impl Refused {
    pub const fn new() -> Self {
        Self(LruMap::new())
    }

    pub fn get(&self, name: &[u8; 32]) -> Option<Reason> {
        self.0.get(name).copied()
    }

    pub fn insert(&mut self, name: [u8; 32], reason: Reason) {
        self.0.entry(name, || reason);
        if self.0.count() > REFUSED_MAX {
            self.0.pop_oldest();
        }
    }
}

/// How many signatures a receiver verifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Signatures in a row, at most: the reserve.
    pub reserve: u32,
    /// Signatures a second, besides one for each valid packet.
    pub per_second: u32,
}

impl Default for Effort {
    /// 256 in reserve, 1,000 a second: a few per cent of a core with Ed25519.
    fn default() -> Self {
        Self {
            reserve: 256,
            per_second: 1_000,
        }
    }
}

/// What is left of it: a bucket of tokens.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    effort: Effort,
    tokens: u32,
    /// Up to when the time's tokens were given.
    given: Option<WallTime>,
}

const SECOND_NS: u64 = 1_000_000_000;

impl Budget {
    pub fn new(effort: Effort) -> Self {
        Self {
            effort,
            tokens: effort.reserve,
            given: None,
        }
    }

    /// Adds effort for a valid packet.
    pub fn earn(&mut self) {
        self.tokens = self.tokens.saturating_add(1).min(self.effort.reserve);
    }

    /// Returns whether one more signature may be verified at this time.
    pub fn spend(&mut self, now: WallTime) -> bool {
        self.refill(now);
        match self.tokens.checked_sub(1) {
            Some(left) => {
                self.tokens = left;
                true
            }
            None => false,
        }
    }

    fn refill(&mut self, now: WallTime) {
        let given = *self.given.get_or_insert(now);
        let Some(each) = SECOND_NS.checked_div(self.effort.per_second.into()) else {
            return;
        };
        let each = each.max(1);
        let due = (now - given).as_nanos() as u64 / each;
        if due > 0 {
            let room = u64::from(self.effort.reserve - self.tokens);
            self.tokens += due.min(room) as u32;
            self.given = Some(given + Duration::from_nanos(due * each));
        }
    }
}

/// That of full packets, and that of coded ones, which cost whoever forges them more: the first does
/// not use up the second.
#[derive(Clone, Debug)]
pub(crate) struct Budgets {
    full: Budget,
    coded: Budget,
}

impl Budgets {
    pub fn new(effort: Effort) -> Self {
        let full = Budget::new(effort);
        let coded = full.clone();
        Self { full, coded }
    }

    /// Adds effort for a valid packet.
    pub fn earn(&mut self) {
        self.full.earn();
        self.coded.earn();
    }

    /// Returns the budget from which a packet with this carriage takes.
    pub fn of(&mut self, carriage: Carriage) -> &mut Budget {
        match carriage {
            Carriage::Coded(_) => &mut self.coded,
            Carriage::Full | Carriage::Sparse => &mut self.full,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_refusal_is_forgotten() {
        let mut refused = Refused::new();
        let name = |n: usize| {
            let mut name = [0; 32];
            name[..8].copy_from_slice(&n.to_be_bytes());
            name
        };
        (0..=REFUSED_MAX).for_each(|n| refused.insert(name(n), Reason::BadSignature));
        // The first reason stays.
        refused.insert(name(REFUSED_MAX), Reason::Weak);
        assert_eq!(refused.get(&name(0)), None);
        assert_eq!(refused.get(&name(1)), Some(Reason::BadSignature));
        assert_eq!(refused.get(&name(REFUSED_MAX)), Some(Reason::BadSignature));
        assert_eq!(refused.0.count(), REFUSED_MAX);
    }

    #[test]
    fn effort_is_bounded_and_comes_back() {
        let effort = Effort {
            reserve: 3,
            per_second: 10,
        };
        let mut budget = Budget::new(effort);
        let spent = |budget: &mut Budget, now| {
            let now = WallTime::from_nanos(now);
            (0..100).filter(|_| budget.spend(now)).count()
        };
        assert_eq!(spent(&mut budget, 0), 3);
        assert_eq!(spent(&mut budget, SECOND_NS / 10 - 1), 0);
        assert_eq!(spent(&mut budget, SECOND_NS / 10), 1);
        budget.earn();
        assert_eq!(spent(&mut budget, SECOND_NS / 10), 1);
        assert_eq!(
            spent(&mut budget, 100 * SECOND_NS),
            3,
            "no more than the reserve"
        );
        assert_eq!(
            spent(&mut budget, 50 * SECOND_NS),
            0,
            "a clock that goes back gives nothing"
        );
    }
}
