//! Times for people: UTC, with the zone said.

use clew_wire::WallTime;
use jiff::Timestamp;
use std::time::Duration;

/// A time to the second.
pub(crate) fn utc(time: WallTime) -> String {
    format(time, "%Y-%m-%d %H:%M:%S UTC")
}

/// The month of a time, as 2026-11.
pub(crate) fn month(time: WallTime) -> String {
    format(time, "%Y-%m")
}

fn format(time: WallTime, form: &str) -> String {
    match Timestamp::from_nanosecond(i128::from(time.as_nanos())) {
        Ok(time) => time.strftime(form).to_string(),
        Err(_) => format!("{} ns after 1970", time.as_nanos()),
    }
}

/// How long ago something was, in the largest unit of which there are two.
pub(crate) fn age(age: Duration) -> String {
    let seconds = age.as_secs();
    let (count, unit) = match seconds {
        0..120 => (seconds, "second"),
        120..7_200 => (seconds / 60, "minute"),
        7_200..172_800 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural} ago")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_say_their_zone() {
        let time = WallTime::from_nanos(1_700_000_000_999_999_999);
        assert_eq!(utc(time), "2023-11-14 22:13:20 UTC");
        assert_eq!(month(time), "2023-11");
        assert_eq!(month(WallTime::from_nanos(u64::MAX)), "2554-07");
    }

    #[test]
    fn ages_have_one_unit() {
        let said = [1, 119, 120, 7_199, 7_200, 172_800].map(|s| age(Duration::from_secs(s)));
        let expected = [
            "1 second ago",
            "119 seconds ago",
            "2 minutes ago",
            "119 minutes ago",
            "2 hours ago",
            "2 days ago",
        ];
        assert_eq!(said, expected);
    }
}
