//! Times, each by one clock. They do not mix; a difference of two is a [`Duration`].

use core::ops::{Add, Sub};
use core::time::Duration;

macro_rules! time {
    ($(#[$about:meta])* $Time:ident) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $Time(u64);

        impl $Time {
            /// Returns the instant with that number of nanoseconds.
            pub const fn from_nanos(nanos: u64) -> Self {
                Self(nanos)
            }

            /// Returns the number of nanoseconds.
            pub const fn as_nanos(self) -> u64 {
                self.0
            }
        }

        /// The last time there is, instead of a later one.
        impl Add<Duration> for $Time {
            type Output = Self;

            fn add(self, duration: Duration) -> Self {
                Self(self.0.saturating_add(nanos(duration)))
            }
        }

        /// The first time there is, instead of an earlier one.
        impl Sub<Duration> for $Time {
            type Output = Self;

            fn sub(self, duration: Duration) -> Self {
                Self(self.0.saturating_sub(nanos(duration)))
            }
        }

        /// Zero if the other time is later.
        impl Sub for $Time {
            type Output = Duration;

            fn sub(self, other: Self) -> Duration {
                Duration::from_nanos(self.0.saturating_sub(other.0))
            }
        }
    };
}

time! {
    /// A time by a clock that never goes back, in nanoseconds from any start.
    Instant
}

time! {
    /// A time by the clock on the wall, in nanoseconds since 1970.
    WallTime
}

impl WallTime {
    /// Returns the time at so many milliseconds since 1970; the last time there is, instead of a
    /// later one.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// Returns the number of milliseconds since 1970.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }
}

/// Returns the number of nanoseconds of a duration, at most [`u64::MAX`].
pub fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_end_where_they_end() {
        let second = Duration::from_secs(1);
        let (first, last) = (Instant::from_nanos(0), Instant::from_nanos(u64::MAX));
        assert_eq!((first - second, last + second), (first, last));
        assert_eq!(first - last, Duration::ZERO);
        assert_eq!(first + second - first, second);
        assert_eq!(last + Duration::MAX, last);
        assert_eq!(WallTime::from_millis(u64::MAX).as_nanos(), u64::MAX);
        assert_eq!(WallTime::from_millis(1_234).as_millis(), 1_234);
    }
}
