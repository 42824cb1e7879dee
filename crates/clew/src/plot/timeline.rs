//! Packets over time, in bounded memory, however long the capture is.

use clew_packet::Verdict;
use std::collections::BTreeMap;

/// Most columns that time is divided into: they become twice as wide when it takes more.
pub const COLUMNS_MAX: u64 = 300;

/// Verdicts from the best to the worst, the order in which they are stacked.
pub const VERDICTS: [Verdict; 4] = [
    Verdict::Valid,
    Verdict::Unsigned,
    Verdict::Undecided,
    Verdict::Invalid,
];

/// The place of the worst.
pub const INVALID: usize = VERDICTS.len() - 1;

/// The time that a plot shows. Its columns are 2^`shift` nanoseconds wide, and begin at multiples of
/// that.
#[derive(Clone, Copy, Debug, Default)]
pub struct Axis {
    shift: u32,
    span: Option<(u64, u64)>,
}

impl Axis {
    /// Makes room for a packet at this time, in nanoseconds.
    pub fn reach(&mut self, time: u64) {
        let (first, last) = self.span.unwrap_or((time, time));
        self.span = Some((first.min(time), last.max(time)));
        while self.columns() > COLUMNS_MAX {
            self.shift += 1;
        }
    }

    /// Number of columns.
    pub fn columns(&self) -> u64 {
        let columns = |(first, last)| (last >> self.shift) - (first >> self.shift) + 1;
        self.span.map_or(0, columns)
    }

    /// Width of a column, in nanoseconds.
    pub fn width(&self) -> u64 {
        1 << self.shift
    }

    /// When the first column begins, in nanoseconds.
    pub fn start(&self) -> u64 {
        let start = |(first, _)| first >> self.shift << self.shift;
        self.span.map_or(0, start)
    }

    fn first(&self) -> u64 {
        self.start() >> self.shift
    }
}

/// Numbers of packets by verdict, in the order of [`VERDICTS`].
pub type Counts = [u64; VERDICTS.len()];

/// The packets of one flow, by column.
#[derive(Clone, Debug, Default)]
pub struct Lane {
    /// Of the axis when the last packet came.
    shift: u32,
    columns: BTreeMap<u64, Counts>,
    counts: Counts,
}

impl Lane {
    /// Counts a packet; one without a time has no column. The axis reaches its time.
    pub fn count(&mut self, axis: &Axis, time: Option<u64>, verdict: Verdict) {
        let Some(place) = VERDICTS.iter().position(|v| *v == verdict) else {
            return;
        };
        self.counts[place] += 1;
        if let Some(time) = time {
            self.widen(axis.shift);
            self.columns.entry(time >> axis.shift).or_default()[place] += 1;
        }
    }

    fn widen(&mut self, shift: u32) {
        if self.shift == shift {
            return;
        }
        let by = shift - self.shift;
        for (column, counts) in std::mem::take(&mut self.columns) {
            let into = self.columns.entry(column >> by).or_default();
            for (sum, count) in into.iter_mut().zip(counts) {
                *sum += count;
            }
        }
        self.shift = shift;
    }

    /// All packets.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Those with a time: columns of the axis, counted from its first, and what is in them.
    pub fn columns(&self, axis: &Axis) -> Vec<(u64, Counts)> {
        let mut lane = self.clone();
        lane.widen(axis.shift);
        let first = axis.first();
        let columns = lane.columns.into_iter();
        columns.map(|(c, counts)| (c - first, counts)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// No packet is lost, and each is in the column of its time, in whatever order they come.
        #[test]
        fn columns_are_those_of_the_times(times in prop::collection::vec(any::<u64>(), 1..60), spread in 0u32..64) {
            let times: Vec<u64> = times.into_iter().map(|t| t >> spread).collect();
            let (mut axis, mut lane) = (Axis::default(), Lane::default());
            for time in &times {
                axis.reach(*time);
                lane.count(&axis, Some(*time), Verdict::Valid);
            }
            prop_assert!((1..=COLUMNS_MAX).contains(&axis.columns()));
            prop_assert!(axis.width() == 1 || axis.columns() > COLUMNS_MAX / 2 - 1);
            let mut expected = BTreeMap::<u64, u64>::new();
            for time in &times {
                *expected.entry((time - axis.start()) / axis.width()).or_default() += 1;
            }
            let columns = lane.columns(&axis).into_iter().map(|(c, counts)| (c, counts[0]));
            prop_assert_eq!(columns.collect::<BTreeMap<_, _>>(), expected);
        }
    }

    #[test]
    fn packets_without_a_time_are_counted() {
        let (axis, mut lane) = (Axis::default(), Lane::default());
        lane.count(&axis, None, Verdict::Invalid);
        assert_eq!(lane.counts(), &[0, 0, 0, 1]);
        assert!(lane.columns(&axis).is_empty());
        assert_eq!(axis.columns(), 0);
    }
}
