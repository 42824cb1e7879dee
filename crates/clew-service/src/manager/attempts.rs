//! How often an invitation was tried.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Most rounds of one invitation within [`ATTEMPTS_TIME`].
const ATTEMPTS_MAX: u32 = 64;
pub(super) const ATTEMPTS_TIME: Duration = Duration::from_secs(3_600);
/// Invitations whose attempts are counted at once.
const ATTEMPTED_MAX: usize = 1 << 16;

/// By invitation: how many rounds since when.
#[derive(Default)]
pub(super) struct Attempts(HashMap<[u8; 32], (u32, Instant)>);

impl Attempts {
    /// Whether another round of an invitation is looked at: then it counts.
    pub(super) fn take(&mut self, nonce: [u8; 32]) -> bool {
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
        let may = entry.0 < ATTEMPTS_MAX;
        entry.0 += u32::from(may);
        may
    }

    /// Counts an invitation no more that there is not: anybody invents these.
    pub(super) fn forget(&mut self, nonce: &[u8; 32]) {
        self.0.remove(nonce);
    }
}
