//! The one queue of what is due.

use alloc::collections::BTreeSet;
use clew_wire::Instant;

/// When each tunnel has something to do: one instant for each at most.
#[derive(Debug, Default)]
pub(super) struct Agenda(BTreeSet<(Instant, u32)>);

impl Agenda {
    /// Moves a tunnel from the instant it had to another, or to none.
    pub(super) fn move_to(&mut self, tunnel: u32, had: &mut Option<Instant>, at: Option<Instant>) {
        if *had == at {
            return;
        }
        if let Some(had) = *had {
            self.0.remove(&(had, tunnel));
        }
        if let Some(at) = at {
            self.0.insert((at, tunnel));
        }
        *had = at;
    }

    /// The earliest instant.
    pub(super) fn next(&self) -> Option<Instant> {
        self.0.first().map(|(at, _)| *at)
    }

    /// When the first one is due, and which tunnel that is. It remains until it is moved.
    pub(super) fn due(&self, now: Instant) -> Option<(Instant, u32)> {
        self.0.first().copied().filter(|(at, _)| *at <= now)
    }
}
