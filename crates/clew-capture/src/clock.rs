//! Converts the ticks of a capture to nanoseconds since 1970.

pub(crate) const NS_PER_SECOND: i128 = 1_000_000_000;

/// How an interface counts time: ticks of a fraction of a second, and an offset in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clock {
    /// As in option `if_tsresol`: the exponent of a power of 10, or of 2 where the top bit is set.
    pub(crate) resolution: u8,
    pub(crate) offset_s: i64,
}

impl Clock {
    const POWER_OF_TWO: u8 = 0x80;

    pub(crate) const MICROSECONDS: Self = Self {
        resolution: 6,
        offset_s: 0,
    };
    pub(crate) const NANOSECONDS: Self = Self {
        resolution: 9,
        offset_s: 0,
    };

    /// Returns nanoseconds since 1970, or `None` if the time does not fit 64 bits.
    pub(crate) fn time_ns(self, ticks: u64) -> Option<u64> {
        // At most 2^64 * 10^9 < 2^94: the product cannot overflow.
        let scaled = u128::from(ticks) * NS_PER_SECOND as u128;
        // Ticks finer than u128 can count are less than a nanosecond however many there are.
        let ns = self.ticks_per_second().map_or(0, |ticks| scaled / ticks);
        let offset = i128::from(self.offset_s) * NS_PER_SECOND;
        u64::try_from(ns as i128 + offset).ok()
    }

    /// Returns `seconds` in ticks, or `None` if that is not an integer of 64 bits.
    pub(crate) fn ticks(self, seconds: i64) -> Option<i64> {
        let per_second = i128::try_from(self.ticks_per_second()?).ok()?;
        i64::try_from(i128::from(seconds).checked_mul(per_second)?).ok()
    }

    fn ticks_per_second(self) -> Option<u128> {
        let exponent = u32::from(self.resolution & !Self::POWER_OF_TWO);
        let base: u128 = if self.resolution & Self::POWER_OF_TWO == 0 {
            10
        } else {
            2
        };
        base.checked_pow(exponent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(resolution: u8, offset_s: i64, ticks: u64, expected: Option<u64>) {
        assert_eq!(
            Clock {
                resolution,
                offset_s
            }
            .time_ns(ticks),
            expected
        );
    }

    #[test]
    fn powers_of_ten() {
        check(6, 0, 1_700_000_000_123_456, Some(1_700_000_000_123_456_000));
        check(
            9,
            0,
            1_700_000_000_123_456_789,
            Some(1_700_000_000_123_456_789),
        );
        check(0, 0, 7, Some(7_000_000_000));
        check(12, 0, 1_999, Some(1));
    }

    #[test]
    fn powers_of_two() {
        check(0x80 | 10, 0, 1024 + 512, Some(1_500_000_000));
        check(0x80, 0, 3, Some(3_000_000_000));
        check(0xff, 0, u64::MAX, Some(0));
    }

    #[test]
    fn offsets() {
        check(6, 10, 1, Some(10_000_001_000));
        check(6, -1, 1_500_000, Some(500_000_000));
        check(6, -2, 1_500_000, None);
        check(6, i64::MAX, 0, None);
    }

    #[test]
    fn seconds_in_ticks() {
        assert_eq!(Clock::MICROSECONDS.ticks(-3), Some(-3_000_000));
        let binary = |exponent: u8| Clock {
            resolution: 0x80 | exponent,
            offset_s: 5,
        };
        assert_eq!(binary(10).ticks(2), Some(2048));
        assert_eq!(binary(63).ticks(2), None);
        assert_eq!(binary(127).ticks(1), None);
    }

    #[test]
    fn beyond_64_bits() {
        check(0, 0, u64::MAX, None);
        check(0x7f, 0, u64::MAX, Some(0));
    }
}
