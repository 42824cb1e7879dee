//! What is counted in public (`spec/log.md` section 4).

use super::LogState;
use crate::entry::Asks;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use clew_wire::WallTime;

/// What the requests of a log came to, month by month.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts<M> {
    /// How many trustees make a quorum.
    pub threshold: u8,
    /// Openings and matches by the month in which the quorum was complete.
    pub months: BTreeMap<M, Month>,
    /// All requests.
    pub requests: u64,
    /// Requests whose warrant is not public yet.
    pub sealed: u64,
    /// Places of the requests that had to be unsealed and were not, ascending.
    pub overdue: Vec<u64>,
}

/// What was approved within a month.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Month {
    /// Openings.
    pub openings: u64,
    /// Matches.
    pub matches: u64,
    /// Signatures that the warrants of these cover.
    pub signatures: u64,
}

impl<M: Ord> Counts<M> {
    /// Counts the requests of a log at the time `now`, with quorums of `threshold` trustees. `month`
    /// names the month of a time: calendars are the caller's.
    pub fn of(
        state: &LogState,
        threshold: u8,
        now: WallTime,
        month: impl Fn(WallTime) -> M,
    ) -> Self {
        let mut counts = Self {
            threshold,
            months: BTreeMap::new(),
            requests: 0,
            sealed: 0,
            overdue: Vec::new(),
        };
        for (place, request) in state.requests() {
            counts.requests += 1;
            counts.sealed += u64::from(request.sealed.is_some());
            if request.is_overdue(now) {
                counts.overdue.push(place);
            }
            let Some(time) = request.approved(threshold) else {
                continue;
            };
            let month = counts.months.entry(month(time)).or_default();
            match request.asks {
                Asks::Opening => month.openings += 1,
                Asks::Match => month.matches += 1,
            }
            month.signatures += u64::from(request.signatures);
        }
        counts
    }
}
