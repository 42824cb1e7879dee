//! Distributions in powers of two.

/// How often values of each size came: bucket i counts those below 2^i.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    buckets: [u64; Self::BUCKETS],
    sum: u64,
}

impl Histogram {
    /// Number of buckets: the last one counts everything larger, too.
    pub const BUCKETS: usize = 24;

    /// Counts a value.
    pub fn count(&mut self, value: u64) {
        let bits = (u64::BITS - value.leading_zeros()) as usize;
        self.buckets[bits.min(Self::BUCKETS - 1)] += 1;
        self.sum = self.sum.saturating_add(value);
    }

    /// Iterates over the buckets: an upper bound that no value of the bucket reaches, and how many
    /// values it has. The last bound is no bound.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        (0..).map(|bits: u32| 1 << bits).zip(self.buckets)
    }

    /// Returns how many values there were.
    pub fn total(&self) -> u64 {
        self.buckets.iter().sum()
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
    fn values_are_below_their_bucket_s_bound() {
        let mut histogram = Histogram::default();
        for value in [0, 1, 2, 3, 4, u64::MAX] {
            histogram.count(value);
        }
        let full: Vec<(u64, u64)> = histogram.iter().filter(|(_, n)| *n > 0).collect();
        assert_eq!(full, [(1, 1), (2, 1), (4, 2), (8, 1), (1 << 23, 1)]);
        assert_eq!((histogram.total(), histogram.sum()), (6, u64::MAX));
    }
}
