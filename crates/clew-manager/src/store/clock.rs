//! Whether the clock that a change is dated with can be believed (`spec/manager-service.md` section 7).
//!
//! What is dated wrongly cannot be taken back: an epoch, a row, a deletion. So each is judged by all that
//! the store has seen of time. `issuer/clock` keeps the last time that was believed, and how long the host
//! had been up then.

use super::revoke::AHEAD_NS;
use super::{Locked, Store};
use crate::error::StoreError;
use clew_evidence::GroupFile;
use clew_keys::files::{self, IfExists, MODE_SECRET};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// The last time that was believed, within the group's directory.
const CLOCK: &str = "issuer/clock";

/// How far a clock may be from what it was, plus the time that the host was up since: 1 hour.
pub const STEP_NS: u64 = 3_600 * 1_000_000_000;

/// How far a clock may be ahead of all that the store has seen, if the host was started since: 1 day.
pub const IDLE_NS: u64 = 24 * STEP_NS;

/// How often the time that is believed is kept, at most: 1 minute.
const KEPT_NS: u64 = 60 * 1_000_000_000;

/// How long a host has been up. Nobody sets that, and every process sees the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uptime {
    /// Id of this start of the host.
    pub boot: String,
    /// The time since then, sleep included.
    pub since: Duration,
}

static UPTIME: OnceLock<fn() -> Option<Uptime>> = OnceLock::new();

/// Says how this process learns how long its host has been up. Until it is called, stores judge clocks by
/// what they have seen alone. Only the first call counts.
pub fn judge_clocks_by(uptime: fn() -> Option<Uptime>) {
    let _ = UPTIME.set(uptime);
}

/// A time that was believed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sighting {
    /// Nanoseconds since 1970.
    time: u64,
    uptime: Option<Uptime>,
}

impl Sighting {
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace();
        let time = words.next()?.parse().ok()?;
        let uptime = match (words.next(), words.next()) {
            (Some(boot), Some(since)) => Some(Uptime {
                boot: boot.to_owned(),
                since: Duration::from_nanos(since.parse().ok()?),
            }),
            _ => None,
        };
        Some(Self { time, uptime })
    }

    fn text(&self) -> String {
        match &self.uptime {
            Some(up) => format!("{} {} {}\n", self.time, up.boot, up.since.as_nanos()),
            None => format!("{}\n", self.time),
        }
    }

    /// The time now, if the host has been up since.
    fn goes_on(&self, now: Option<&Uptime>) -> Option<u64> {
        let (then, now) = (self.uptime.as_ref()?, now?);
        let passed = now.since.checked_sub(then.since)?;
        let is_same = then.boot == now.boot;
        let passed = u64::try_from(passed.as_nanos()).ok()?;
        is_same.then(|| self.time.saturating_add(passed))
    }

    /// Judges a clock by this sighting.
    fn judge(&self, now: u64, uptime: Option<&Uptime>) -> Result<(), StoreError> {
        let (last, ahead, behind) = match self.goes_on(uptime) {
            Some(about) => (about, STEP_NS, STEP_NS),
            None => (self.time, IDLE_NS, AHEAD_NS),
        };
        match now {
            _ if now > last.saturating_add(ahead) => Err(StoreError::ClockAhead { last, now }),
            _ if now.saturating_add(behind) < last => Err(StoreError::ClockBehind { last }),
            _ => Ok(()),
        }
    }
}

/// What judges the clocks of a store's changes.
pub(super) struct ClockJudge {
    path: PathBuf,
}

impl ClockJudge {
    pub fn of(dir: &Path) -> Self {
        let path = dir.join(CLOCK);
        Self { path }
    }

    /// The time for what is added now: readers refuse records that go back in time. It is kept as believed.
    ///
    /// # Errors
    /// [`StoreError::Ended`] if nothing can be added any more. [`StoreError::ClockBehind`],
    /// [`StoreError::ClockAhead`].
    pub fn time(&self, group: &GroupFile, now: u64) -> Result<u64, StoreError> {
        match group.end() {
            Some((epoch, _)) => Err(StoreError::Ended(epoch)),
            None => self.believe(group, now),
        }
    }

    /// The same, also for a group that has ended.
    pub fn believe(&self, group: &GroupFile, now: u64) -> Result<u64, StoreError> {
        let made = not_before_newest(group, now)?;
        let uptime = UPTIME.get().and_then(|uptime| uptime());
        let seen = self.seen()?;
        let is_new = |seen: &Sighting| {
            let goes_on = seen.goes_on(uptime.as_ref()).is_some();
            seen.time.saturating_add(KEPT_NS) < now || goes_on != uptime.is_some()
        };
        let keep = seen.as_ref().is_none_or(is_new);
        let seen = seen.unwrap_or_else(|| signed(group));
        seen.judge(now, uptime.as_ref())?;
        if keep {
            self.keep(now, uptime)?;
        }
        Ok(made)
    }

    /// The last time that was believed. One that cannot be read is none: what was signed counts then.
    fn seen(&self) -> Result<Option<Sighting>, StoreError> {
        match fs::read_to_string(&self.path) {
            Ok(text) => Ok(Sighting::parse(&text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::io(&self.path)(error)),
        }
    }

    fn keep(&self, time: u64, uptime: Option<Uptime>) -> Result<(), StoreError> {
        let text = Sighting { time, uptime }.text();
        let path = &self.path;
        files::write_atomically(path, text.as_bytes(), MODE_SECRET, IfExists::Replace)
            .map_err(StoreError::io(path))
    }
}

/// The newest time that the manager signed.
fn signed(group: &GroupFile) -> Sighting {
    let made = newest_made(group);
    let time = made.max(group.register().time.as_nanos());
    Sighting { time, uptime: None }
}

fn newest_made(group: &GroupFile) -> u64 {
    let newest = group.epochs().last().map(|record| record.made);
    newest.unwrap_or(group.genesis().created).as_nanos()
}

/// Not before the newest record. Another process may have made it while this one waited, and clocks are
/// set back by a little.
pub(super) fn not_before_newest(group: &GroupFile, now: u64) -> Result<u64, StoreError> {
    let last = newest_made(group);
    match last.saturating_sub(now) <= AHEAD_NS {
        true => Ok(now.max(last)),
        false => Err(StoreError::ClockBehind { last }),
    }
}

impl Store {
    /// Judges this host's clock, without a change. `now` is in nanoseconds since 1970.
    ///
    /// # Errors
    /// [`StoreError::ClockBehind`], [`StoreError::ClockAhead`].
    pub fn judge_clock(&self, now: u64) -> Result<(), StoreError> {
        self.clock.believe(&self.group, now).map(drop)
    }

    /// Says that this host's clock is right, because an operator looked at it, or witnesses of the log
    /// agree. Only the newest record still has to be earlier. `now` is in nanoseconds since 1970.
    ///
    /// # Errors
    /// [`StoreError::ClockBehind`] if the newest record is later; the disk's.
    pub fn confirm_clock(&mut self, now: u64) -> Result<(), StoreError> {
        let Locked { group, clock, .. } = self.lock()?;
        not_before_newest(group, now)?;
        clock.keep(now, UPTIME.get().and_then(|uptime| uptime()))
    }

    /// The last time that the store believed, in nanoseconds since 1970, and the time that follows from it
    /// if the host has been up since.
    ///
    /// # Errors
    /// The disk's.
    pub fn seen_time(&self) -> Result<(u64, Option<u64>), StoreError> {
        let seen = self.clock.seen()?.unwrap_or_else(|| signed(&self.group));
        let uptime = UPTIME.get().and_then(|uptime| uptime());
        Ok((seen.time, seen.goes_on(uptime.as_ref())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000_000_000_000;
    const SECOND: u64 = 1_000_000_000;

    fn up(boot: &str, seconds: u64) -> Uptime {
        Uptime {
            boot: boot.to_owned(),
            since: Duration::from_secs(seconds),
        }
    }

    #[test]
    fn a_host_that_stays_up_knows_the_time_however_long_it_was_idle() {
        let day = 86_400;
        let seen = Sighting {
            time: NOW,
            uptime: Some(up("a", 100)),
        };
        assert_eq!(Sighting::parse(&seen.text()), Some(seen.clone()));
        let after = up("a", 100 + 40 * day);
        let right = NOW + 40 * day * SECOND;
        for (now, is_right) in [
            (right, true),
            (right + STEP_NS, true),
            (right + STEP_NS + 1, false),
            (right - STEP_NS, true),
            (right - STEP_NS - 1, false),
            (NOW, false),
        ] {
            assert_eq!(seen.judge(now, Some(&after)).is_ok(), is_right, "{now}");
        }
        let behind = seen.judge(NOW, Some(&after)).unwrap_err();
        assert!(matches!(behind, StoreError::ClockBehind { last } if last == right));
    }

    #[test]
    fn a_host_that_was_started_since_may_be_a_day_ahead_and_not_behind() {
        let seen = Sighting {
            time: NOW,
            uptime: Some(up("a", 100)),
        };
        for uptime in [Some(up("b", 200)), Some(up("a", 99)), None] {
            for (now, is_right) in [
                (NOW - AHEAD_NS, true),
                (NOW - AHEAD_NS - 1, false),
                (NOW + IDLE_NS, true),
                (NOW + IDLE_NS + 1, false),
            ] {
                assert_eq!(seen.judge(now, uptime.as_ref()).is_ok(), is_right, "{now}");
            }
        }
        for text in ["", "x", "1 a", "1 a x"] {
            let parsed = Sighting::parse(text);
            assert!(parsed.is_none_or(|seen| seen.uptime.is_none()), "{text}");
        }
    }
}
