//! What the administrator chooses.

use crate::config::InboundMode;
use crate::receiver::queue::VerificationBudget;
use clew_packet::{Acceptance, SECOND_NS, Timestamp, Windows};

/// What a receiver accepts, and how much work it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InboundOptions {
    /// What becomes of packets that arrive. What comes in a carrier and does not verify is never
    /// delivered: `Enforce` and `Monitor` differ in packets beside the carrier, which do not pass here.
    pub policy: InboundMode,
    /// How much time verification may take.
    pub budget: VerificationBudget,
    /// How far a timestamp may be from the clock, in nanoseconds.
    pub tolerance_ns: u64,
    /// The senders' resolution, in nanoseconds.
    pub resolution_ns: u64,
    /// How long an epoch is accepted after its successor started, in nanoseconds.
    pub grace_ns: u64,
    /// What to make of windows whose packets wait together.
    pub windows: Windows,
}

impl Default for InboundOptions {
    /// Those of `spec/packet-trailer.md` 6, monitor, and no overall budget.
    fn default() -> Self {
        Self {
            policy: InboundMode::default(),
            budget: VerificationBudget::default(),
            tolerance_ns: 30 * SECOND_NS,
            resolution_ns: SECOND_NS,
            grace_ns: 60 * SECOND_NS,
            windows: Windows::Alone,
        }
    }
}

impl InboundOptions {
    /// Returns what a receiver that starts at that time accepts.
    pub(super) fn acceptance(&self, start: Timestamp) -> Acceptance {
        Acceptance {
            tolerance_ns: self.tolerance_ns,
            resolution_ns: self.resolution_ns,
            grace_ns: self.grace_ns,
            ..Acceptance::live(start)
        }
    }
}
