//! How often an invitation was tried.

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
#[derive(Default)]
pub(super) struct Attempts(HashMap<[u8; 32], (u32, Instant)>);

impl Attempts {
    /// Counts another round of an invitation, of which so many are in this batch already.
    ///
    /// # Errors
    /// Why it is not looked at; then it does not count.
    pub(super) fn take(&mut self, nonce: [u8; 32], batched: u32) -> Result<(), Problem> {
        if batched >= BATCHED_MAX {
            let why = "too many rounds of one invitation at once";
            return Err(Problem::busy(BUSY_SECONDS, why));
        }
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
        if entry.0 >= ATTEMPTS_MAX {
            return Err(too_many_attempts(ATTEMPTS_TIME));
        }
        entry.0 += 1;
        Ok(())
    }

    /// Counts an invitation no more that there is not: anybody invents these.
    pub(super) fn forget(&mut self, nonce: &[u8; 32]) {
        self.0.remove(nonce);
    }
}
