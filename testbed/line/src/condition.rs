//! What a line does with packets in one direction.

use serde::Serialize;
use std::time::Duration;

/// The default queue never has fewer bytes: two of the kernel's longest super-packets.
pub const QUEUE_MIN: u64 = 128 * 1024;

/// What the line does with packets. The default is a wire: no delay, no loss, as fast as the machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Condition {
    /// How long a packet travels after it left the queue.
    pub delay: Duration,
    /// Bits a second, counted in bytes of IP packets. `None` is as fast as the machine.
    pub rate: Option<u64>,
    /// How much may wait for its turn. It matters only with a rate.
    pub queue: Queue,
    /// Up to so much is added to the delay of each packet. The order stays.
    pub jitter: Duration,
    /// Which share of the packets is lost.
    pub loss: Loss,
    /// The share of packets that later packets overtake.
    pub reorder: f64,
    /// How much longer such a packet travels.
    pub reorder_by: Duration,
    /// The share of packets that arrive twice.
    pub duplicate: f64,
    /// Every packet crosses as on a wire: cut to single packets with complete checksums, and not joined again.
    pub singles: bool,
    /// Which packets are chosen: the same seed chooses the packets of the same numbers.
    pub seed: u64,
}

/// The maximum of a queue that drops what does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// The product of rate and round trip (twice the delay), at least [`QUEUE_MIN`].
    BandwidthDelay,
    /// So many bytes.
    Bytes(u64),
    /// As many bytes as the rate sends in that time.
    Time(Duration),
}

/// Lost packets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Loss {
    /// Their share of all, from 0 to 1.
    pub share: f64,
    /// The mean number of packets that are lost in a row. Up to 1, losses do not depend on each other (Bernoulli);
    /// above, they come in bursts (Gilbert's model, all lost in its bad state).
    pub burst: f64,
}

impl Loss {
    /// Losses that do not depend on each other.
    pub fn bernoulli(share: f64) -> Self {
        Self { share, burst: 1.0 }
    }
}

impl Default for Condition {
    fn default() -> Self {
        Self {
            delay: Duration::ZERO,
            rate: None,
            queue: Queue::BandwidthDelay,
            jitter: Duration::ZERO,
            loss: Loss::bernoulli(0.0),
            reorder: 0.0,
            reorder_by: Duration::from_millis(1),
            duplicate: 0.0,
            singles: false,
            seed: 1,
        }
    }
}

impl Condition {
    /// The queue's maximum in bytes. Returns `None` without a rate: then nothing waits.
    pub fn queue_bytes(&self) -> Option<u64> {
        let sends_in =
            |time: Duration| move |rate: u64| (rate as f64 * time.as_secs_f64() / 8.0) as u64;
        match self.queue {
            Queue::BandwidthDelay => {
                let product = self.rate.map(sends_in(2 * self.delay));
                product.map(|bytes| bytes.max(QUEUE_MIN))
            }
            Queue::Bytes(bytes) => self.rate.and(Some(bytes)),
            Queue::Time(time) => self.rate.map(sends_in(time)),
        }
    }

    /// Whether super-packets are cut: something is to happen to single packets.
    pub fn cuts(&self) -> bool {
        let chooses = self.loss.share > 0.0 || self.reorder > 0.0 || self.duplicate > 0.0;
        self.singles || chooses || !self.jitter.is_zero()
    }

    /// Whether single packets are joined again when they arrive together, as a network card does.
    pub fn joins(&self) -> bool {
        !self.singles && self.reorder == 0.0 && self.duplicate == 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_has_the_product_of_rate_and_round_trip() {
        let condition = Condition {
            rate: Some(300_000_000),
            delay: Duration::from_millis(40),
            ..Condition::default()
        };
        assert_eq!(condition.queue_bytes(), Some(3_000_000));
        let time = Queue::Time(Duration::from_millis(5));
        let condition = Condition {
            queue: time,
            ..condition
        };
        assert_eq!(condition.queue_bytes(), Some(187_500));
        let short = Condition {
            queue: Queue::BandwidthDelay,
            delay: Duration::ZERO,
            ..condition
        };
        assert_eq!(short.queue_bytes(), Some(QUEUE_MIN));
        assert_eq!(Condition::default().queue_bytes(), None);
    }
}
