//! How busy a machine is with signatures, and how long its flows collect packets for a block then.
//!
//! A signature costs the same for one packet as for many. While there is time for all of them, a
//! block is what one read returned. As time becomes scarce, each flow sends its blocks further apart,
//! so that they grow: the same packets need fewer signatures.

use clew_wire::Instant;
use std::time::Duration;

/// Most time between two blocks of a flow that are not full.
pub const BLOCK_WAIT_MAX: Duration = Duration::from_millis(50);
/// The same for each flow that sends: with so much time for a signature they are as many a second,
/// however many flows there are.
pub const FLOW_WAIT_MAX: Duration = Duration::from_millis(4);

/// Up to this share of the time that there is for signatures, nobody waits.
const FREE: f64 = 0.25;
/// From this share on, waits are the longest.
const FULL: f64 = 0.75;
/// Over how long the share is taken, about.
const MEMORY: Duration = Duration::from_millis(100);
/// How often it is taken at most.
const STEP: Duration = Duration::from_millis(5);

/// What signatures have cost a machine so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignatureCost {
    /// How long verifiers have worked since the start, by the clock, all together.
    pub verifying: Duration,
    /// Verifiers that can work at once.
    pub verifiers: u32,
    /// CPU time of a precursor.
    pub precursor: Duration,
}

impl Default for SignatureCost {
    /// One verifier, which has not worked, and the precursors of a usual machine.
    fn default() -> Self {
        Self {
            verifying: Duration::ZERO,
            verifiers: 1,
            precursor: Duration::from_micros(400),
        }
    }
}

/// The shares of time that signatures took lately.
#[derive(Debug, Default)]
pub(super) struct Load {
    at: Option<Instant>,
    verifying: Duration,
    made: u64,
    /// Of the verifiers' time.
    verification: f64,
    /// Of a core, for the precursors of the signatures that were made: now or in advance.
    making: f64,
}

impl Load {
    /// Takes note of what signatures have cost, and how many the machine has made.
    pub fn see(&mut self, cost: &SignatureCost, made: u64, now: Instant) {
        let since = self.at.map_or(Duration::ZERO, |at| now - at);
        if self.at.is_some() && since < STEP {
            return;
        }
        let worked = cost.verifying.saturating_sub(self.verifying);
        let signed = (made - self.made) as f64;
        (self.at, self.verifying, self.made) = (Some(now), cost.verifying, made);
        if since.is_zero() {
            return;
        }
        let verifiers = f64::from(cost.verifiers.max(1));
        let verification = worked.as_secs_f64() / verifiers;
        let making = signed * cost.precursor.as_secs_f64();
        let (elapsed, memory) = (since.as_secs_f64(), MEMORY.as_secs_f64());
        let kept = (-elapsed / memory).exp();
        let moved = |old: f64, spent: f64| old * kept + spent / elapsed * (1.0 - kept);
        self.verification = moved(self.verification, verification);
        self.making = moved(self.making, making);
    }

    /// Returns the larger share: 1 is as much as there can be.
    pub fn share(&self) -> f64 {
        self.verification.max(self.making)
    }

    /// Returns the least time between two blocks of a flow that are not full, if so many flows send: it
    /// grows with the square of what is above [`FREE`], so that a little load costs little.
    pub fn block_wait(&self, flows: u32) -> Duration {
        let above = (self.share() - FREE) / (FULL - FREE);
        let above = above.clamp(0.0, 1.0);
        let wait = FLOW_WAIT_MAX.saturating_mul(flows).mul_f64(above * above);
        wait.min(BLOCK_WAIT_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(verifying: u64) -> SignatureCost {
        SignatureCost {
            verifying: Duration::from_micros(verifying),
            verifiers: 2,
            precursor: Duration::from_micros(500),
        }
    }

    /// Each 10 ms: so many microseconds of verification, and so many signatures.
    fn after(load: &mut Load, from: u64, steps: u64, verified: u64, made: u64) {
        for step in from..from + steps {
            let now = Instant::from_nanos(step * 10_000_000);
            let (verifying, signed) = (load.verifying, load.made);
            let verifying = verifying.as_micros() as u64 + verified;
            load.see(&cost(verifying), signed + made, now);
        }
    }

    #[test]
    fn the_dearer_of_both_counts() {
        let mut load = Load::default();
        after(&mut load, 0, 100, 10_000, 0);
        assert!((load.share() - 0.5).abs() < 0.01, "half of two verifiers");
        after(&mut load, 100, 100, 0, 4);
        assert!((load.share() - 0.2).abs() < 0.01, "{}", load.share());
        assert_eq!(load.block_wait(64), Duration::ZERO);
        after(&mut load, 200, 100, 18_000, 4);
        let waits = [0, 1, 3, 64].map(|flows| load.block_wait(flows).as_millis());
        assert_eq!(
            waits,
            [0, 4, 12, 50],
            "as many signatures for one as for many"
        );
    }

    #[test]
    fn a_pause_is_remembered_as_one_and_lumps_are_spread() {
        let mut load = Load::default();
        after(&mut load, 0, 100, 20_000, 0);
        assert_eq!(load.block_wait(1), FLOW_WAIT_MAX);
        // A second without signatures.
        load.see(&cost(2_000_000), 0, Instant::from_nanos(2_000_000_000));
        assert!(load.share() < 0.01);
        // A batch of 20 ms is counted when it is done.
        load.see(&cost(2_020_000), 0, Instant::from_nanos(2_005_000_000));
        assert!(load.share() < 0.15, "{}", load.share());
        assert_eq!(load.block_wait(1), Duration::ZERO);
    }
}
