//! How often an invitation is tried: one that is tried without end must not keep other devices waiting.

use super::refusal::{BUSY_SECONDS, too_many_attempts};
use crate::http::Problem;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Most rounds of one invitation within [`ATTEMPTS_TIME`].
const ATTEMPTS_MAX: u32 = 64;
const ATTEMPTS_TIME: Duration = Duration::from_secs(3_600);
/// Most rounds of one invitation in one batch: each after the first is a transaction of its own, for which
/// other devices wait.
const BATCHED_MAX: u32 = 16;
/// Invitations whose attempts are counted at once.
const ATTEMPTED_MAX: usize = 1 << 16;

/// By invitation: how many rounds since when.
#[derive(Debug, Default)]
pub(super) struct Attempts(HashMap<[u8; 32], (u32, Instant)>);

impl Attempts {
    /// Whether another round of an invitation is looked at, with so many of it in this batch.
    pub(super) fn may_try(&self, nonce: &[u8; 32], batched: u32) -> Result<(), Problem> {
        let tried = self.0.get(nonce);
        let tried = tried.filter(|(_, since)| since.elapsed() <= ATTEMPTS_TIME);
        let tried = tried.map_or(0, |(tried, _)| *tried);
        if tried + batched >= ATTEMPTS_MAX {
            return Err(too_many_attempts(ATTEMPTS_TIME));
        }
        match batched < BATCHED_MAX {
            true => Ok(()),
            false => {
                let why = "too many rounds of one invitation at once";
                Err(Problem::busy(BUSY_SECONDS, why))
            }
        }
    }

    /// Counts a round of an invitation that there is: others anybody invents.
    pub(super) fn tried(&mut self, nonce: [u8; 32]) {
        if self.0.len() >= ATTEMPTED_MAX {
            self.0
                .retain(|_, (_, since)| since.elapsed() <= ATTEMPTS_TIME);
        }
        if self.0.len() >= ATTEMPTED_MAX {
            self.0.clear();
        }
        let entry = self.0.entry(nonce).or_insert((0, Instant::now()));
        if entry.1.elapsed() > ATTEMPTS_TIME {
            *entry = (0, Instant::now());
        }
        entry.0 += 1;
    }
}
