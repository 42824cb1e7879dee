//! When blocks end: `spec/flow-signature.md` section 6. The times are those of one clock.

use core::time::Duration;

use clew_wire::Instant;

/// Decides when a flow's blocks end.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    most: u16,
    period: Duration,
    idle: Duration,
    /// Packets that the block may have: it doubles until it is `most`.
    size: u16,
    /// Packets of the block so far, and when the first came.
    packets: u16,
    begun: Instant,
    /// When the last packet came.
    last: Option<Instant>,
}

impl Schedule {
    /// Blocks of up to `most` packets (at least one) that end a period T after their first packet;
    /// after a pause of `idle` they begin with one packet again.
    pub fn new(most: u16, period: Duration, idle: Duration) -> Self {
        Self {
            most: most.max(1),
            period,
            idle,
            size: 1,
            packets: 0,
            begun: Instant::default(),
            last: None,
        }
    }

    /// Takes in a packet that comes now. True if the block ends with it, and is to be signed.
    pub fn packet(&mut self, now: Instant) -> bool {
        let paused = self.last.is_some_and(|last| now - last >= self.idle);
        self.last = Some(now);
        if self.packets == 0 {
            self.begun = now;
            if paused {
                self.size = 1;
            }
        }
        self.packets += 1;
        let ends = self.packets >= self.size || self.is_over(now);
        if ends {
            self.end();
        }
        ends
    }

    /// Returns when the block ends if no packet comes, or `None` if there is no packet to sign.
    pub fn deadline(&self) -> Option<Instant> {
        (self.packets > 0).then(|| self.begun + self.period)
    }

    /// Returns true if the period of the block is over: then it is to be signed.
    pub fn tick(&mut self, now: Instant) -> bool {
        let over = self.packets > 0 && self.is_over(now);
        if over {
            self.end();
        }
        over
    }

    /// Ends the block now, however few packets it has.
    pub fn flush(&mut self) {
        if self.packets > 0 {
            self.end();
        }
    }

    /// Returns the number of packets that wait for their block's end.
    pub fn waiting(&self) -> u16 {
        self.packets
    }

    fn is_over(&self, now: Instant) -> bool {
        now >= self.begun + self.period
    }

    fn end(&mut self) {
        self.packets = 0;
        self.size = self.size.saturating_mul(2).min(self.most);
    }
}

/// Returns the longest that a packet waits for its signature: D_s = T + chain(m) + T_sign (Wong and Lam,
/// 2.5).
///
/// Returns `None` if T is not longer than chain(m) + T_sign: blocks would pile up.
pub fn delay_bound(period: Duration, chain: Duration, sign: Duration) -> Option<Duration> {
    let work = chain.saturating_add(sign);
    (period > work).then(|| period.saturating_add(work))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn at(micros: u64) -> Instant {
        Instant::default() + Duration::from_micros(micros)
    }

    fn schedule(most: u16, period_us: u64, idle_us: u64) -> Schedule {
        let [period, idle] = [period_us, idle_us].map(Duration::from_micros);
        Schedule::new(most, period, idle)
    }

    /// Sizes of the blocks that packets at these times make.
    fn blocks(schedule: &mut Schedule, times: impl Iterator<Item = u64>) -> Vec<u16> {
        let mut sizes = Vec::new();
        for time in times.map(at) {
            let waiting = schedule.waiting();
            if schedule.tick(time) {
                sizes.push(waiting);
            }
            let waiting = schedule.waiting();
            if schedule.packet(time) {
                sizes.push(waiting + 1);
            }
        }
        sizes
    }

    #[test]
    fn the_first_packet_leaves_at_once_and_blocks_grow() {
        let mut schedule = schedule(16, 1000, 5000);
        assert_eq!(blocks(&mut schedule, 0..47), [1, 2, 4, 8, 16, 16]);
        assert_eq!(schedule.deadline(), None);
        let pause = [10_000, 10_001, 10_002].into_iter();
        assert_eq!(blocks(&mut schedule, pause), [1, 2], "after a pause anew");
    }

    #[test]
    fn a_period_bounds_the_wait() {
        let mut schedule = schedule(64, 1000, 1_000_000);
        assert_eq!(
            blocks(&mut schedule, (0..12).map(|i| i * 400)),
            [1, 2, 3, 3]
        );
        let deadline = schedule.deadline().unwrap();
        assert!(!schedule.tick(deadline - Duration::from_nanos(1)));
        assert!(schedule.tick(deadline));
        assert!(!schedule.tick(deadline), "there is nothing left to sign");
    }

    #[test]
    fn the_papers_bound() {
        // Table 1: T = 50 ms, 512-bit RSA 12.7 ms, 0.21 ms of chaining for 16 packets: 62.9 ms.
        let bound = |period| {
            let [period, chain, sign] = [period, 210, 12_700].map(Duration::from_micros);
            delay_bound(period, chain, sign)
        };
        assert_eq!(bound(50_000), Some(Duration::from_micros(62_910)));
        assert_eq!(bound(12_910), None);
    }
}
