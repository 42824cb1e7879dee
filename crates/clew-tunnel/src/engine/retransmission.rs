//! How long an answer may take: RFC 6298, by `spec/tunnel.md` section 7.3.

use core::time::Duration;

use crate::limits::{RTO_FIRST, RTO_MAX, RTO_MIN};

/// Least addition to the smoothed round trip.
const GRANULARITY: Duration = Duration::from_millis(1);

/// More of them make no difference: RTO_MIN becomes more than RTO_MAX by fewer.
const DOUBLINGS: u8 = 16;

/// The retransmission timer's length.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Timeout {
    /// SRTT and RTTVAR, from the first measurement on.
    measured: Option<(Duration, Duration)>,
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
    pub(super) fn measure(&mut self, trip: Duration) {
        self.measured = Some(match self.measured {
            None => (trip, trip / 2),
            Some((srtt, var)) => {
                let var = (var * 3 + srtt.abs_diff(trip)) / 4;
                ((srtt * 7 + trip) / 8, var)
            }
        });
    }

    /// SRTT, once it was measured.
    pub(super) fn round_trip(&self) -> Option<Duration> {
        self.measured.map(|(srtt, _)| srtt)
    }

    /// How long to wait.
    pub(super) fn length(&self) -> Duration {
        let base = self.measured.map_or(RTO_FIRST, |(srtt, var)| {
            (srtt + GRANULARITY.max(var * 4)).max(RTO_MIN)
        });
        let doubled = base.saturating_mul(1 << self.ran_out.min(DOUBLINGS));
        doubled.min(RTO_MAX.max(base))
    }
}
