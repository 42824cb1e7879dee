//! Steps of this machine's clock: freshness is judged by it.

use clew_packet::SECOND_NS;
use std::time::Instant;

/// Least step that is told, in nanoseconds: the clock is corrected a little all the time.
const STEP_MIN: i128 = SECOND_NS as i128;

/// Both clocks, when they were looked at last.
#[derive(Debug)]
pub struct Clocks {
    instant: Instant,
    wall_ns: u64,
}

impl Clocks {
    /// The clocks now.
    pub const fn new(instant: Instant, wall_ns: u64) -> Self {
        Self { instant, wall_ns }
    }

    /// Looks again. Returns by how many seconds the wall clock went on more than the other, if that
    /// is a step; the machine may also have slept, as only the wall clock goes on then.
    pub fn look(&mut self, instant: Instant, wall_ns: u64) -> Option<i64> {
        let passed = instant.saturating_duration_since(self.instant).as_nanos() as i128;
        let step = i128::from(wall_ns) - i128::from(self.wall_ns) - passed;
        *self = Self { instant, wall_ns };
        let seconds = step / i128::from(SECOND_NS);
        (step.abs() >= STEP_MIN).then_some(seconds as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn steps_are_told_and_corrections_are_not() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let wall = |seconds: u64| (1_000_000 + seconds) * SECOND_NS;
        let mut clocks = Clocks::new(begin, wall(0));
        assert_eq!(clocks.look(at(1), wall(1) + 900_000_000), None);
        assert_eq!(clocks.look(at(2), wall(3602)), Some(3599));
        assert_eq!(clocks.look(at(3), wall(3603)), None);
        assert_eq!(clocks.look(at(4), wall(4)), Some(-3600));
    }
}
