//! How late packets left the line: its own accuracy.

use crate::shaper::Nanos;
use serde::Serialize;

/// Steps of a doubling: a percentile is right to 1 in 16.
const STEPS: u32 = 16;

/// Counts of times, in steps that grow with the time.
#[derive(Clone, Debug)]
pub struct Lateness {
    counts: Vec<u64>,
    max: Nanos,
}

/// Percentiles in microseconds. Zero if nothing was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Percentiles {
    /// Half of the packets are at most so late.
    pub p50: f64,
    /// 90 of 100.
    pub p90: f64,
    /// 99 of 100.
    pub p99: f64,
    /// 999 of 1000.
    pub p999: f64,
    /// The latest.
    pub max: f64,
}

impl Default for Lateness {
    fn default() -> Self {
        Self {
            counts: vec![0; (64 * STEPS) as usize],
            max: 0,
        }
    }
}

impl Lateness {
    /// Counts a time.
    pub fn add(&mut self, late: Nanos) {
        self.counts[step(late)] += 1;
        self.max = self.max.max(late);
    }

    /// What was counted.
    pub fn percentiles(&self) -> Percentiles {
        let all: u64 = self.counts.iter().sum();
        let below = |share: f64| {
            let mut left = (all as f64 * share).ceil() as u64;
            let found = self.counts.iter().position(|count| {
                let is_here = left <= *count;
                left = left.saturating_sub(*count);
                is_here
            });
            (end_of(found.unwrap_or(0)) as f64).min(self.max as f64) / 1e3
        };
        Percentiles {
            p50: below(0.5),
            p90: below(0.9),
            p99: below(0.99),
            p999: below(0.999),
            max: self.max as f64 / 1e3,
        }
    }
}

fn step(time: Nanos) -> usize {
    if time < u64::from(STEPS) {
        return time as usize;
    }
    let octave = time.ilog2() - STEPS.ilog2();
    ((octave * STEPS) as u64 + (time >> octave)) as usize
}

/// The largest time of a step.
fn end_of(step: usize) -> Nanos {
    let step = step as u64;
    let steps = u64::from(STEPS);
    if step < 2 * steps {
        return step;
    }
    let octave = step / steps - 1;
    ((step - octave * steps + 1) << octave) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_is_in_its_step() {
        for time in [0, 1, 15, 16, 31, 32, 33, 1000, 123_456_789, u64::MAX / 3] {
            let step = step(time);
            assert!(time <= end_of(step), "{time}");
            assert!(step == 0 || time > end_of(step - 1), "{time}");
        }
    }

    #[test]
    fn percentiles_are_within_a_step() {
        let mut lateness = Lateness::default();
        (1..=1000).for_each(|us| lateness.add(us * 1000));
        let found = lateness.percentiles();
        for (found, wanted) in [(found.p50, 500.0), (found.p90, 900.0), (found.p99, 990.0)] {
            assert!(
                (wanted..wanted * 1.07).contains(&found),
                "{found} for {wanted}"
            );
        }
        assert_eq!(found.max, 1000.0);
        assert_eq!(Lateness::default().percentiles(), Percentiles::default());
    }
}
