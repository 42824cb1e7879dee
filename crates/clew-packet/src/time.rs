//! Time is a number that the caller gives: the crate reads no clock.

/// Nanoseconds since 1970-01-01T00:00:00Z, without leap seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub u64);

/// Nanoseconds in a second.
pub const SECOND_NS: u64 = 1_000_000_000;

impl Timestamp {
    /// What a trailer carries when its packet had no time.
    pub const NONE: Self = Self(0);

    /// Rounds down to a multiple of `resolution_ns`; a resolution of 0 counts as 1.
    pub const fn floor(self, resolution_ns: u64) -> Self {
        let resolution_ns = if resolution_ns == 0 { 1 } else { resolution_ns };
        Self(self.0 - self.0 % resolution_ns)
    }

    /// Returns the time `ns` later, or the end of time.
    pub const fn after(self, ns: u64) -> Self {
        Self(self.0.saturating_add(ns))
    }

    /// Returns the nanoseconds from `earlier` to this time, 0 if it was not earlier.
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floor_rounds_down() {
        assert_eq!(
            Timestamp(1_999_999_999).floor(SECOND_NS),
            Timestamp(1_000_000_000)
        );
        assert_eq!(Timestamp(u64::MAX).floor(SECOND_NS).0 % SECOND_NS, 0);
        assert_eq!(Timestamp(17).floor(0), Timestamp(17));
    }

    #[test]
    fn nothing_overflows() {
        assert_eq!(Timestamp(u64::MAX).after(1), Timestamp(u64::MAX));
        assert_eq!(Timestamp(1).since(Timestamp(2)), 0);
    }
}
