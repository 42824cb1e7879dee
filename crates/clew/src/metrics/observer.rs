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
    /// Packets that were joined or not yet cut, of a kind that cannot be split here.
    pub joined: Counter,
    /// Packets that were joined or not yet cut, and were split.
    pub split: Counter,
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
    pub lost_lines: Counter,
    /// Packets that are in no file of the ring.
    pub unwritten: Counter,
    /// Signatures that were forgotten while they were fresh.
    pub forgotten: Counter,
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
        let [split, lost_lines, unwritten, forgotten] = [
            ("split", "Joined packets that were split as on the wire"),
            ("lost_lines", "Lines that could not be written"),
            ("unwritten", "Packets that are in no evidence file"),
            ("forgotten", "Signatures forgotten while fresh"),
        ]
        .map(|(name, help)| {
            let counter = Counter::default();
            registry.register(name, help, counter.clone());
            counter
        });
        let [backlog, held, up] = [
            ("backlog", "Packets waiting to be verified"),
            ("held", "Packets waiting for others of their block"),
            ("interface_up", "Whether the interface is up"),
        ]
        .map(|(name, help)| {
            let gauge = Gauge::default();
            registry.register(name, help, gauge.clone());
            gauge
        });
        Self {
            judged,
            dropped,
            skipped,
            joined,
            split,
            malformed,
            unsampled,
            filtered,
            backlog,
            held,
            lost_lines,
            unwritten,
            forgotten,
            up,
            group_files,
            refused_group_files,
            registry,
        }
    }

    /// Counts up to a total that is counted elsewhere.
    pub fn reach(counter: &Counter, total: u64) {
        counter.inc_by(total.saturating_sub(counter.get()));
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// What a scraper expects: the rules of OpenMetrics that a mistake here could break.
    #[test]
    fn the_text_is_open_metrics() {
        let metrics = ObserverMetrics::new();
        metrics.judge(Reason::Ok);
        metrics.judge(Reason::BadSignature);
        ObserverMetrics::reach(&metrics.lost_lines, 3);
        ObserverMetrics::reach(&metrics.lost_lines, 2);
        let text = metrics.text();
        let body = text.strip_suffix("# EOF\n").unwrap();
        let mut kinds = BTreeMap::new();
        let mut helped = Vec::new();
        let mut series = Vec::new();
        for line in body.lines() {
            let words: Vec<&str> = line.splitn(4, ' ').collect();
            match words[..] {
                ["#", "HELP", name, help] => {
                    assert!(help.ends_with('.') && help.len() > 10, "{line}");
                    helped.push(name);
                }
                ["#", "TYPE", name, kind] => {
                    assert_eq!(kinds.insert(name, kind), None, "{line}");
                }
                [sample, value] => {
                    let name = sample.split('{').next().unwrap();
                    let family = name.strip_suffix("_total").unwrap_or(name);
                    let is_counter = kinds[family] == "counter";
                    assert_eq!(is_counter, name.ends_with("_total"), "{line}");
                    assert!(name.starts_with("clew_observer_"), "{line}");
                    assert!(value.parse::<u64>().is_ok(), "{line}");
                    assert!(!series.contains(&sample), "{line}");
                    series.push(sample);
                }
                _ => panic!("{line}"),
            }
        }
        assert!(
            helped
                .iter()
                .eq(helped.iter().filter(|name| kinds.contains_key(*name)))
        );
        assert_eq!(helped.len(), kinds.len());
        for line in [
            "clew_observer_packets_total{verdict=\"invalid\",reason=\"bad-signature\"} 1\n",
            "clew_observer_unjudged_total{cause=\"kernel\"} 0\n",
            "clew_observer_lost_lines_total 3\n",
            "clew_observer_interface_up 0\n",
        ] {
            assert!(body.contains(line), "{line}{body}");
        }
    }
}
