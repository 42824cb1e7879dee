//! When blocks end: `spec/flow-signature.md` section 6. Times are nanoseconds of any one clock.

/// Decides when a flow's blocks end.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    most: u16,
    period_ns: u64,
    idle_ns: u64,
    /// Packets that the block may have: it doubles until it is `most`.
    size: u16,
    /// Packets of the block so far, and when the first came.
    packets: u16,
    begun: u64,
    /// When the last packet came.
    last: Option<u64>,
}

impl Schedule {
    /// Blocks of up to `most` packets (at least one) that end a period T after their first packet;
    /// after a pause of `idle_ns` they begin with one packet again.
    pub fn new(most: u16, period_ns: u64, idle_ns: u64) -> Self {
        Self {
            most: most.max(1),
            period_ns,
            idle_ns,
            size: 1,
            packets: 0,
            begun: 0,
            last: None,
        }
    }

    /// Takes in a packet that comes now. True if the block ends with it, and is to be signed.
    pub fn packet(&mut self, now: u64) -> bool {
        let paused = self
            .last
            .is_some_and(|last| now.saturating_sub(last) >= self.idle_ns);
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

    /// When the block ends if no packet comes; none if there is no packet to sign.
    pub fn deadline(&self) -> Option<u64> {
        (self.packets > 0).then(|| self.begun.saturating_add(self.period_ns))
    }

    /// True if there is a block whose period is over: it is to be signed.
    pub fn tick(&mut self, now: u64) -> bool {
        let over = self.packets > 0 && self.is_over(now);
        if over {
            self.end();
        }
        over
    }

    /// The block ends now, whatever it has.
    pub fn flush(&mut self) {
        if self.packets > 0 {
            self.end();
        }
    }

    /// Number of packets that wait for their block's end.
    pub fn waiting(&self) -> u16 {
        self.packets
    }

    fn is_over(&self, now: u64) -> bool {
        now >= self.begun.saturating_add(self.period_ns)
    }

    fn end(&mut self) {
        self.packets = 0;
        self.size = self.size.saturating_mul(2).min(self.most);
    }
}

/// A period is not longer than chaining and signing take: blocks would pile up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeriodTooShort;

/// The longest that a packet waits for its signature: D_s = T + chain(m) + T_sign (Wong and Lam, 2.5).
///
/// # Errors
/// T is not longer than chain(m) + T_sign.
pub fn delay_bound(period_ns: u64, chain_ns: u64, sign_ns: u64) -> Result<u64, PeriodTooShort> {
    let work = chain_ns.saturating_add(sign_ns);
    if period_ns <= work {
        return Err(PeriodTooShort);
    }
    Ok(period_ns.saturating_add(work))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// Sizes of the blocks that packets at these times make.
    fn blocks(schedule: &mut Schedule, times: impl Iterator<Item = u64>) -> Vec<u16> {
        let mut sizes = Vec::new();
        for time in times {
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
        let mut schedule = Schedule::new(16, 1000, 5000);
        assert_eq!(blocks(&mut schedule, 0..47), [1, 2, 4, 8, 16, 16]);
        assert_eq!(schedule.deadline(), None);
        let pause = [10_000, 10_001, 10_002].into_iter();
        assert_eq!(blocks(&mut schedule, pause), [1, 2], "after a pause anew");
    }

    #[test]
    fn a_period_bounds_the_wait() {
        let mut schedule = Schedule::new(64, 1000, 1_000_000);
        assert_eq!(
            blocks(&mut schedule, (0..12).map(|i| i * 400)),
            [1, 2, 3, 3]
        );
        let deadline = schedule.deadline().unwrap();
        assert!(!schedule.tick(deadline - 1));
        assert!(schedule.tick(deadline));
        assert!(!schedule.tick(deadline), "there is nothing left to sign");
    }

    #[test]
    fn the_papers_bound() {
        // Table 1: T = 50 ms, 512-bit RSA 12.7 ms, 0.21 ms of chaining for 16 packets: 62.9 ms.
        assert_eq!(delay_bound(50_000, 210, 12_700), Ok(62_910));
        assert_eq!(delay_bound(12_910, 210, 12_700), Err(PeriodTooShort));
    }
}
