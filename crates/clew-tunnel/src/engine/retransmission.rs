//! How long an answer may take: RFC 6298, by `spec/tunnel.md` section 7.3.

use super::time::MILLISECOND;
use crate::limits::{RTO_FIRST, RTO_MAX, RTO_MIN};

/// Least addition to the smoothed round trip.
const GRANULARITY: u64 = MILLISECOND;

/// More of them make no difference: RTO_MIN becomes RTO_MAX by fewer.
const DOUBLINGS: u8 = 16;

/// The retransmission timer's length, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Timeout {
    /// SRTT and RTTVAR, from the first measurement on.
    measured: Option<(u64, u64)>,
    /// How often it has run out since an answer came.
    pub ran_out: u8,
}

impl Timeout {
    /// Nothing was measured.
    pub(super) const fn new() -> Self {
        Self {
            measured: None,
            ran_out: 0,
        }
    }

    /// A round trip was measured, of a packet that was sent once.
    pub(super) fn measure(&mut self, trip: u64) {
        self.measured = Some(match self.measured {
            None => (trip, trip / 2),
            Some((srtt, var)) => {
                let var = (3 * var + srtt.abs_diff(trip)) / 4;
                ((7 * srtt + trip) / 8, var)
            }
        });
    }

    /// SRTT, once it was measured.
    pub(super) fn round_trip(&self) -> Option<u64> {
        self.measured.map(|(srtt, _)| srtt)
    }

    /// How long to wait.
    pub(super) fn length(&self) -> u64 {
        let base = self.measured.map_or(RTO_FIRST, |(srtt, var)| {
            (srtt + GRANULARITY.max(4 * var)).max(RTO_MIN)
        });
        let doubled = base.saturating_mul(1 << self.ran_out.min(DOUBLINGS));
        doubled.min(RTO_MAX)
    }
}
