//! What an observer counts, for Prometheus.

use clew_packet::{Reason, Replay};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Why a packet was judged as it was.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Judgement {
    verdict: &'static str,
    reason: &'static str,
}

/// Why a packet was not judged.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Cause {
    cause: &'static str,
}

/// What an observer counts.
#[derive(Debug)]
pub struct ObserverMetrics {
    registry: Registry,
    judged: Family<Judgement, Counter>,
    /// Packets that the kernel dropped because nobody read them in time.
    pub dropped: Counter,
    /// Packets that were skipped because the backlog was full.
    pub skipped: Counter,
    /// Packets that were joined or not yet cut: never on the wire as they are.
    pub joined: Counter,
    /// Packets that the kernel described wrongly.
    pub malformed: Counter,
    /// Packets of flows that are not in the sample.
    pub unsampled: Counter,
    /// Packets of addresses that were not asked for.
    pub filtered: Counter,
    /// Packets that wait to be verified.
    pub backlog: Gauge,
    /// Packets whose verdict waits for others of their block.
    pub held: Gauge,
    /// Lines that could not be written.
    pub lost_lines: Gauge,
    /// Packets that are in no file of the ring.
    pub unwritten: Gauge,
    /// Signatures that were forgotten while they were fresh.
    pub forgotten: Gauge,
    /// Whether the interface is up.
    pub up: Gauge,
    /// Group files that were taken when they changed.
    pub group_files: Counter,
    /// Group files that were refused when they changed.
    pub refused_group_files: Counter,
}

impl Default for ObserverMetrics {
    fn default() -> Self {
        Self::new()
    }
}

impl ObserverMetrics {
    /// All zero.
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("clew_observer");
        let causes = Family::<Cause, Counter>::default();
        let cause = |cause| causes.get_or_create(&Cause { cause }).clone();
        let [dropped, skipped, joined] = ["kernel", "backlog", "joined"].map(cause);
        let [malformed, unsampled, filtered] = ["malformed", "sample", "filter"].map(cause);
        let judged = Family::default();
        registry.register("packets", "Packets by verdict and reason", judged.clone());
        registry.register("unjudged", "Packets without a verdict, by cause", causes);
        let files = Family::<Cause, Counter>::default();
        let help = "Group files that changed on the disk";
        registry.register("group_files", help, files.clone());
        let file = |cause| files.get_or_create(&Cause { cause }).clone();
        let [group_files, refused_group_files] = ["taken", "refused"].map(file);
        let mut gauge = |name, help| {
            let gauge = Gauge::default();
            registry.register(name, help, gauge.clone());
            gauge
        };
        Self {
            judged,
            dropped,
            skipped,
            joined,
            malformed,
            unsampled,
            filtered,
            backlog: gauge("backlog", "Packets waiting to be verified"),
            held: gauge("held", "Packets waiting for others of their block"),
            lost_lines: gauge("lost_lines", "Lines that could not be written"),
            unwritten: gauge("unwritten", "Packets that are in no evidence file"),
            forgotten: gauge("forgotten", "Signatures forgotten while fresh"),
            up: gauge("interface_up", "Whether the interface is up"),
            group_files,
            refused_group_files,
            registry,
        }
    }

    /// Counts a packet that was judged.
    pub fn judge(&self, reason: Reason) {
        let judgement = Judgement {
            verdict: reason.verdict(Replay::Flag).as_str(),
            reason: reason.as_str(),
        };
        self.judged.get_or_create(&judgement).inc();
    }

    /// Everything in the text format of OpenMetrics.
    pub fn text(&self) -> String {
        super::text(&self.registry)
    }
}
