//! Times as people write them and as formats count them. The only place of this crate that reads the
//! time of day.

use crate::failure::Failure;
use clew_manager::Uptime;
use clew_packet::SECOND_NS;
use jiff::{SignedDuration, Timestamp};
use nix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Checks that the clock shows a time that formats can hold.
///
/// # Errors
/// It is before 1970.
pub fn check() -> Result<(), Failure> {
    since_1970(Timestamp::now()).map(drop)
}

fn since_1970(time: Timestamp) -> Result<u64, Failure> {
    u64::try_from(time.as_nanosecond())
        .map_err(|_| Failure::new("the clock of this machine is before 1970").hint("set the clock"))
}

/// Now, in nanoseconds since 1970.
///
/// # Panics
/// The clock is before 1970: see [`check`].
pub fn now_ns() -> u64 {
    since_1970(Timestamp::now()).expect("the program checks its clock first")
}

/// The time since this machine started, sleep included. It goes on evenly when somebody sets the clock, and every
/// process sees the same.
pub fn since_boot() -> Duration {
    // Linux has this clock since 2.6.39.
    clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(Duration::ZERO, Duration::from)
}

/// How long this machine has been up, as the kernel's files say. `None` on a system without them.
pub fn uptime() -> Option<Uptime> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let since = std::fs::read_to_string("/proc/uptime").ok()?;
    let since = since.split_ascii_whitespace().next()?.parse().ok()?;
    Some(Uptime {
        boot: boot.trim().to_owned(),
        since: Duration::try_from_secs_f64(since).ok()?,
    })
}

/// Now, for flows and group files.
pub fn wall_time() -> clew_evidence::WallTime {
    clew_evidence::WallTime::from_nanos(now_ns())
}

/// Now, for engines.
pub fn now() -> clew_packet::Timestamp {
    clew_packet::Timestamp(now_ns())
}

/// A time as RFC 3339 in UTC, with nanoseconds.
pub fn rfc3339(ns: u64) -> String {
    match Timestamp::from_nanosecond(i128::from(ns)) {
        Ok(time) => format!("{time:.9}"),
        Err(_) => format!("{ns} ns after 1970"),
    }
}

/// A time for people: UTC, to the second.
pub fn to_the_second(ns: u64) -> String {
    match Timestamp::from_nanosecond(i128::from(ns)) {
        Ok(time) => time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        Err(_) => rfc3339(ns),
    }
}

/// A time as Zeek logs it: seconds since 1970, with nine decimals.
pub fn epoch_seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / SECOND_NS, ns % SECOND_NS)
}

/// A time at the head and foot of Zeek's logs; in UTC.
pub fn zeek(ns: u64) -> String {
    match Timestamp::from_nanosecond(i128::from(ns)) {
        Ok(time) => time.strftime("%Y-%m-%d-%H-%M-%S").to_string(),
        Err(_) => rfc3339(ns),
    }
}

/// A time as Suricata's events have it: UTC, rounded down to microseconds.
pub fn eve(ns: u64) -> String {
    match Timestamp::from_nanosecond(i128::from(ns)) {
        Ok(time) => time.strftime("%Y-%m-%dT%H:%M:%S%.6f+0000").to_string(),
        Err(_) => rfc3339(ns),
    }
}

/// Reads a time: RFC 3339, or `now`.
pub fn parse_time(text: &str) -> Result<u64, Failure> {
    if text == "now" {
        return Ok(now_ns());
    }
    let time: Timestamp = text.parse().map_err(|_| {
        Failure::new(format!("{text}: not a time")).hint("use the form 2026-11-21T10:00:00Z")
    })?;
    u64::try_from(time.as_nanosecond()).map_err(|_| Failure::new(format!("{text}: before 1970")))
}

/// A duration in the words that a command takes, as `90s` or `1h`.
pub fn spoken(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match (seconds, seconds % 60, seconds % 3_600) {
        (1.., 0, 0) => format!("{}h", seconds / 3_600),
        (1.., 0, _) => format!("{}m", seconds / 60),
        _ => format!("{seconds}s"),
    }
}

/// Reads a duration such as `30s`, `5m` or `2h`.
pub fn parse_duration(text: &str) -> Result<u64, String> {
    let duration: SignedDuration = text
        .parse()
        .map_err(|_| "use the form 30s, 5m or 2h".to_owned())?;
    u64::try_from(duration.as_nanos()).map_err(|_| {
        let what = match duration.is_negative() {
            true => "a duration cannot be negative",
            false => "need less than 500 years",
        };
        what.to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_spoken_as_they_are_typed() {
        for text in ["1s", "90s", "2m", "1h", "25h", "3601s"] {
            let duration = Duration::from_nanos(parse_duration(text).unwrap());
            assert_eq!(spoken(duration), text);
        }
        assert_eq!(spoken(Duration::ZERO), "0s");
        let refused = |text| parse_duration(text).unwrap_err();
        assert_eq!(refused("-1s"), "a duration cannot be negative");
        assert_eq!(refused("1000000000000h"), "need less than 500 years");
    }

    #[test]
    fn times_are_utc_both_ways() {
        let ns = parse_time("2026-11-21T10:00:00.000000001Z").unwrap();
        assert_eq!(ns, 1_795_255_200_000_000_001);
        assert_eq!(rfc3339(ns), "2026-11-21T10:00:00.000000001Z");
        assert_eq!(to_the_second(ns), "2026-11-21 10:00:00 UTC");
        assert_eq!(parse_time("2026-11-21T12:00:00+02:00").unwrap(), ns - 1);
        assert!(parse_time("yesterday").is_err());
        assert!(parse_time("1969-01-01T00:00:00Z").is_err());
        assert_eq!(epoch_seconds(ns), "1795255200.000000001");
        assert_eq!(zeek(ns), "2026-11-21-10-00-00");
        assert_eq!(eve(ns + 999_999), "2026-11-21T10:00:00.001000+0000");
        assert_eq!(eve(ns - 2), "2026-11-21T09:59:59.999999+0000");
        assert_eq!(rfc3339(u64::MAX), "2554-07-21T23:34:33.709551615Z");
    }

    /// It would sign and judge at the time 0.
    #[test]
    fn a_clock_before_1970_is_an_error() {
        let before = Timestamp::from_nanosecond(-1).unwrap();
        let refused = since_1970(before).unwrap_err();
        assert_eq!(refused.message, "the clock of this machine is before 1970");
        assert_eq!(since_1970(Timestamp::UNIX_EPOCH).unwrap(), 0);
        check().unwrap();
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_uptime_goes_on() {
        let (first, second) = (uptime().unwrap(), uptime().unwrap());
        assert_eq!(first.boot, second.boot);
        assert!(first.since <= second.since && !first.since.is_zero());
    }

    #[test]
    fn durations() {
        assert_eq!(parse_duration("30s"), Ok(30_000_000_000));
        assert_eq!(parse_duration("2h"), Ok(7_200_000_000_000));
        assert!(parse_duration("30").is_err());
        assert!(parse_duration("-1s").is_err());
    }
}
