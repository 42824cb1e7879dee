//! What the administrator chooses.

use crate::receiver::queue::VerificationBudget;
use clew_packet::{Acceptance, SECOND_NS, Timestamp, Windows};

/// What becomes of packets that arrive.
///
/// What comes through a carrier over UDP and does not verify is never delivered, whatever the policy:
/// anybody could send packets into the host that way. `Enforce` and `Monitor` differ in packets that
/// come without a carrier, which do not pass here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InboundPolicy {
    /// Packets without a signature are dropped.
    Enforce,
    /// They arrive as they would without clew.
    #[default]
    Monitor,
    /// Datagrams of carriers are dropped and counted, too.
    Off,
}

/// What a receiver accepts, and how much work it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InboundOptions {
    /// What becomes of packets that arrive.
    pub policy: InboundPolicy,
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
            policy: InboundPolicy::default(),
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
