//! What a live daemon counts, for Prometheus.

use clew_live::status::{Distribution, Status};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Begins the name of every counter.
const PREFIX: &str = "clew_live";

/// What a daemon told last.
#[derive(Clone, Debug, Default)]
pub struct LiveMetrics(Arc<Mutex<Status>>);

impl LiveMetrics {
    /// Takes what a daemon tells.
    pub fn see(&self, status: Status) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = status;
    }

    /// Everything in the text format of OpenMetrics.
    pub fn text(&self) -> String {
        let mut registry = Registry::with_prefix(PREFIX);
        let status = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        registry.register_collector(Box::new(Snapshot(status.clone())));
        drop(status);
        super::text(&registry)
    }
}

#[derive(Debug)]
struct Snapshot(Status);

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let (status, out, inn) = (&self.0, &self.0.outbound, &self.0.inbound);
        for (name, help, count) in [
            ("sent_packets", "Packets that left signed", out.packets),
            (
                "sent_bytes",
                "Their bytes, before they were signed",
                out.bytes,
            ),
            (
                "sent_datagrams",
                "Datagrams sent, fragments included",
                out.datagrams,
            ),
            ("sent_fragments", "Fragments among them", out.fragments),
            ("signatures", "Signatures made", out.signatures),
            (
                "online_signatures",
                "Signatures without a precursor",
                out.online,
            ),
            (
                "delivered_packets",
                "Verified packets that were delivered",
                inn.packets,
            ),
            ("delivered_bytes", "Their bytes", inn.bytes),
            ("received_datagrams", "Datagrams that came", inn.datagrams),
            ("verified_signatures", "Signatures verified", inn.signatures),
            ("good_signatures", "Those that held", inn.good_signatures),
            (
                "verification_nanoseconds",
                "CPU time of verification",
                inn.verification_ns,
            ),
            (
                "prepared_precursors",
                "Precursors prepared",
                status.pool.prepared,
            ),
            (
                "starvations",
                "How often no precursor was ready",
                status.pool.starved,
            ),
            ("clock_steps", "Steps of the wall clock", inn.clock_steps),
        ] {
            let into = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            ConstCounter::new(count).encode(into)?;
        }
        let gates = ["open", "warning", "shut"];
        let gate = gates.iter().position(|gate| *gate == inn.gate).unwrap_or(0);
        for (name, help, is) in [
            (
                "ready_precursors",
                "Precursors that are ready",
                status.pool.ready as u64,
            ),
            (
                "held_packets",
                "Packets that wait for their verdicts",
                inn.held,
            ),
            (
                "waiting_signatures",
                "Signatures that wait for a verifier",
                inn.waiting_signatures,
            ),
            (
                "gate",
                "Who needs a cookie: 0 nobody, 1 soon, 2 everybody",
                gate as u64,
            ),
            (
                "signs",
                "Whether this machine signs",
                u64::from(status.signer.epoch.is_some()),
            ),
        ] {
            let into = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(i64::try_from(is).unwrap_or(i64::MAX)).encode(into)?;
        }
        for (name, help, counts) in [
            (
                "unsent",
                "Packets that were not sent, by reason",
                &out.unsent,
            ),
            (
                "verdicts",
                "Packets by the reason of their verdict",
                &inn.verdicts,
            ),
            (
                "refused",
                "Datagrams that were refused, by reason",
                &inn.refused,
            ),
            (
                "dropped",
                "Packets that the carrier dropped, by reason",
                &status.dropped,
            ),
        ] {
            by_reason(&mut encoder, name, help, counts)?;
        }
        for (name, help, distribution) in [
            (
                "packets_signed_together",
                "Packets a signature, of those sent",
                &out.k,
            ),
            (
                "packets_verified_together",
                "Packets a signature, of those received",
                &inn.k,
            ),
            (
                "batch_signatures",
                "Signatures verified together",
                &inn.batches,
            ),
            (
                "sign_wait_microseconds",
                "From arrival to departure",
                &out.waits,
            ),
            (
                "verify_wait_microseconds",
                "From arrival to delivery",
                &inn.waits,
            ),
        ] {
            histogram(&mut encoder, name, help, distribution)?;
        }
        Ok(())
    }
}

fn by_reason(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    counts: &BTreeMap<String, u64>,
) -> Result<(), fmt::Error> {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for (reason, count) in counts {
        let labels = [("reason", reason.as_str())];
        ConstCounter::new(*count).encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}

fn histogram(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    distribution: &Distribution,
) -> Result<(), fmt::Error> {
    let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
    let mut buckets: Vec<(f64, u64)> = distribution
        .buckets
        .iter()
        .map(|(bound, count)| (*bound as f64, *count))
        .collect();
    // The format wants a last bucket without a bound.
    buckets.push((f64::MAX, 0));
    metric.encode_histogram::<[(&str, &str); 0]>(
        distribution.sum as f64,
        distribution.total(),
        &buckets,
        None,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_daemon_tells_is_in_the_text() {
        let metrics = LiveMetrics::default();
        let mut status = Status::default();
        status.outbound.packets = 7;
        status.inbound.gate = "shut".into();
        status.inbound.verdicts.insert("bad-signature".into(), 3);
        status.inbound.waits = Distribution {
            buckets: vec![(2, 5), (1024, 1)],
            sum: 900,
        };
        metrics.see(status);
        let text = metrics.text();
        for line in [
            "clew_live_sent_packets_total 7",
            "clew_live_gate 2",
            "clew_live_verdicts_total{reason=\"bad-signature\"} 3",
            "clew_live_verify_wait_microseconds_count 6",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
        }
    }
}
