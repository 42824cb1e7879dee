//! How much authors wrote of late.

use clew_log::entry::Logged;
use clew_wire::WallTime;
use std::collections::HashMap;
use std::time::Duration;

/// Most entries in an hour of one author who is not the manager.
pub const ENTRIES_PER_HOUR_MAX: u32 = 3_600;
/// Most bytes of an author's entries in an hour, if it is not the manager: 64 warrants of the largest size.
pub const BYTES_PER_HOUR_MAX: usize = 1 << 20;
const HOUR: Duration = Duration::from_secs(3_600);

/// What authors wrote within an hour. It has authors of the log only.
#[derive(Debug, Default)]
pub(super) struct Recent(HashMap<[u8; 32], Written>);

#[derive(Debug, Default)]
struct Written {
    since: WallTime,
    entries: u32,
    bytes: usize,
}

impl Recent {
    /// Counts an entry. Returns `false` if its author wrote too much in this hour.
    pub(super) fn count(&mut self, logged: &Logged, now: WallTime) -> bool {
        let written = self.0.entry(logged.entry.author).or_default();
        if now - written.since >= HOUR || now < written.since {
            *written = Written {
                since: now,
                ..Written::default()
            };
        }
        written.entries = written.entries.saturating_add(1);
        written.bytes = written.bytes.saturating_add(logged.encode().len());
        written.entries <= ENTRIES_PER_HOUR_MAX && written.bytes <= BYTES_PER_HOUR_MAX
    }
}
