//! Which packets arrive.

use crate::groups::rng;
use rand_core::Rng;

/// Mean length of a burst of losses, where they come in bursts.
pub const MEAN_BURST: f64 = 4.0;

/// How packets are lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// Share of packets that are lost, in per cent.
    pub percent: f64,
    /// By Gilbert and Elliott: a good state that loses nothing and a bad one that loses all, with
    /// [`MEAN_BURST`] packets in it on average. If not, each packet for itself.
    pub bursty: bool,
}

/// No loss.
pub const NONE: Loss = random(0.0);

/// What programs measure with.
pub const ALL: [Loss; 7] = [
    NONE,
    random(0.1),
    random(1.0),
    random(5.0),
    bursty(0.1),
    bursty(1.0),
    bursty(5.0),
];

/// What BBS04 is measured with, which is slow.
pub const SOME: [Loss; 3] = [NONE, random(1.0), bursty(1.0)];

const fn random(percent: f64) -> Loss {
    let bursty = false;
    Loss { percent, bursty }
}

const fn bursty(percent: f64) -> Loss {
    let bursty = true;
    Loss { percent, bursty }
}

impl Loss {
    /// As it stands in the names of rows: `1` or `b1`.
    pub fn name(self) -> String {
        let bursty = if self.bursty { "b" } else { "" };
        format!("{bursty}{}", self.percent)
    }

    /// The places of those of `sent` packets that arrive.
    pub fn arrivals(self, seed: u64, sent: usize) -> Vec<usize> {
        let arrived = self.arrived(seed, sent);
        (0..sent).filter(|place| arrived[*place]).collect()
    }

    /// Which of `sent` packets arrive.
    pub fn arrived(self, seed: u64, sent: usize) -> Vec<bool> {
        let lost = self.percent / 100.0;
        let mut rng = rng(seed);
        let mut chance = move |p: f64| ((rng.next_u64() >> 11) as f64 / 2f64.powi(53)) < p;
        let mut bad = chance(lost);
        let packet = |_| {
            let arrives = !bad;
            bad = chance(match (self.bursty, bad) {
                (false, _) => lost,
                (true, true) => 1.0 - 1.0 / MEAN_BURST,
                (true, false) => lost / (1.0 - lost) / MEAN_BURST,
            });
            arrives
        };
        (0..sent).map(packet).collect()
    }
}
