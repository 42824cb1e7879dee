//! Distributions in powers of two.

/// How often values of each size came: bucket i counts those of at most 2^i, and above 2^(i-1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    buckets: [u64; Self::BUCKETS],
    above: u64,
    sum: u64,
}

impl Histogram {
    /// Number of buckets that have a bound.
    pub const BUCKETS: usize = 24;

    /// Counts a value.
    pub fn count(&mut self, value: u64) {
        let bits = (u64::BITS - value.saturating_sub(1).leading_zeros()) as usize;
        let bucket = self.buckets.get_mut(bits).unwrap_or(&mut self.above);
        *bucket += 1;
        self.sum = self.sum.saturating_add(value);
    }

    /// Iterates over all buckets: the largest value that a bucket takes, and how many values it has
    /// that the one before does not take.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        (0..).map(|bits: u32| 1 << bits).zip(self.buckets)
    }

    /// Returns how many values no bucket takes.
    pub const fn above(&self) -> u64 {
        self.above
    }

    /// Returns how many values there were.
    pub fn total(&self) -> u64 {
        self.buckets.iter().sum::<u64>() + self.above
    }

    /// Returns the sum of all values.
    pub const fn sum(&self) -> u64 {
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_at_most_their_bucket_s_bound() {
        let mut histogram = Histogram::default();
        for value in [0, 1, 2, 3, 4, 5, 1 << 23, (1 << 23) + 1, u64::MAX] {
            histogram.count(value);
        }
        let full: Vec<(u64, u64)> = histogram.iter().filter(|(_, n)| *n > 0).collect();
        assert_eq!(full, [(1, 2), (2, 1), (4, 2), (8, 1), (1 << 23, 1)]);
        assert_eq!(histogram.iter().count(), Histogram::BUCKETS);
        assert_eq!((histogram.above(), histogram.total()), (2, 9));
        assert_eq!(histogram.sum(), u64::MAX);
    }
}
