//! What a relay counts, for Prometheus.

use clew_flow::Reason;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

/// Why a packet was judged as it was.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Judgement {
    verdict: &'static str,
    reason: &'static str,
}

/// What a relay counts.
#[derive(Debug)]
pub struct RelayMetrics {
    registry: Registry,
    /// Received datagrams.
    pub received: Counter,
    /// Forwarded datagrams.
    pub sent: Counter,
    /// Datagrams that the network rejected.
    pub refused: Counter,
    /// Bytes of packet signatures.
    pub overhead: Counter,
    /// Signed blocks.
    pub blocks: Counter,
    /// How long packets waited for their block's signature, in seconds.
    pub delay: Histogram,
    /// Packets by reason.
    judged: Family<Judgement, Counter>,
    /// Datagrams that the policy withheld.
    pub withheld: Counter,
    /// Packets that wait for their block's signature.
    pub pending: Gauge,
    /// Verified signatures.
    pub verifications: Counter,
    /// Lost packets of blocks that were received in part.
    pub lost_packets: Counter,
    /// Blocks that were lost as a whole.
    pub lost_blocks: Counter,
}

impl Default for RelayMetrics {
    fn default() -> Self {
        Self::new()
    }
}

impl RelayMetrics {
    /// All zero.
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("clew_flow");
        let mut counter = |name, help| {
            let counter = Counter::default();
            registry.register(name, help, counter.clone());
            counter
        };
        let mut metrics = Self {
            received: counter("received", "Received datagrams"),
            sent: counter("sent", "Forwarded datagrams"),
            refused: counter("refused", "Datagrams that the network rejected"),
            blocks: counter("blocks", "Signed blocks"),
            withheld: counter("withheld", "Datagrams that the policy withheld"),
            verifications: counter("verifications", "Verified signatures"),
            lost_packets: counter(
                "lost_packets",
                "Lost packets of blocks that were received in part",
            ),
            lost_blocks: counter("lost_blocks", "Blocks that were lost as a whole"),
            judged: Family::default(),
            pending: Gauge::default(),
            overhead: Counter::default(),
            // From 16 microseconds to half a second.
            delay: Histogram::new(exponential_buckets(16e-6, 2.0, 16)),
            registry: Registry::default(),
        };
        let (judged, pending) = (metrics.judged.clone(), metrics.pending.clone());
        registry.register("packets", "Packets by verdict and reason", judged);
        registry.register("pending", "Packets waiting for a signature", pending);
        let (overhead, delay) = (metrics.overhead.clone(), metrics.delay.clone());
        registry.register_with_unit("overhead", "Packet signatures", Unit::Bytes, overhead);
        let help = "How long packets waited for their block's signature";
        registry.register_with_unit("sign_delay", help, Unit::Seconds, delay);
        metrics.registry = registry;
        metrics
    }

    /// Counts a packet that was judged.
    pub fn judge(&self, reason: Reason) {
        self.judged_as(reason).inc();
    }

    /// How many packets were judged so.
    pub fn of(&self, reason: Reason) -> u64 {
        self.judged_as(reason).get()
    }

    fn judged_as(&self, reason: Reason) -> Counter {
        let judgement = Judgement {
            verdict: reason.verdict().as_str(),
            reason: reason.as_str(),
        };
        self.judged.get_or_create(&judgement).clone()
    }

    /// Everything in the text format of OpenMetrics.
    pub fn text(&self) -> String {
        super::text(&self.registry)
    }
}
