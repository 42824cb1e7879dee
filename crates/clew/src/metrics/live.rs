//! What a live daemon counts, for Prometheus.

use clew_live::status::{Distribution, Status};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Begins the name of every counter.
const PREFIX: &str = "clew_live";

/// What a daemon told last, and whether its set-up is in force.
#[derive(Clone, Debug, Default)]
pub struct LiveMetrics(Arc<Mutex<Status>>, Gauge);

impl LiveMetrics {
    /// Takes what a daemon tells.
    pub fn see(&self, status: Status) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = status;
    }

    /// Takes whether the set-up is in force, as the supervisor says.
    pub fn set_in_force(&self, is_in_force: bool) {
        self.1.set(is_in_force.into());
    }

    /// Everything in the text format of OpenMetrics.
    pub fn text(&self) -> String {
        let mut registry = Registry::with_prefix(PREFIX);
        let status = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        registry.register_collector(Box::new(Snapshot(status.clone())));
        drop(status);
        registry.register("in_force", "Whether the set-up is in force", self.1.clone());
        super::text(&registry)
    }
}

/// A number: its name behind the prefix, what it is, where it stands.
type Number = (&'static str, &'static str, fn(&Status) -> u64);

const COUNTERS: [Number; 30] = [
    ("sent_packets", "Packets that left signed", |s| {
        s.outbound.packets
    }),
    ("sent_bytes", "Their bytes, before they were signed", |s| {
        s.outbound.bytes
    }),
    ("sent_datagrams", "Datagrams sent", |s| s.outbound.datagrams),
    ("sent_datagram_bytes", "Bytes of datagrams sent", |s| {
        s.outbound.datagram_bytes
    }),
    (
        "sent_fragments",
        "Fragments among the datagrams sent",
        |s| s.outbound.fragments,
    ),
    (
        "sent_fragments_again",
        "Fragments sent a second time",
        |s| s.outbound.fragments_again,
    ),
    (
        "sent_mss_lowered",
        "SYN packets sent with a lower segment size",
        |s| s.outbound.clamped,
    ),
    ("signatures", "Signatures made", |s| s.outbound.signatures),
    ("online_signatures", "Signatures without a precursor", |s| {
        s.outbound.online
    }),
    ("delivered_packets", "Packets delivered", |s| {
        s.inbound.packets
    }),
    ("delivered_bytes", "Their bytes", |s| s.inbound.bytes),
    (
        "delivered_late",
        "Packets delivered behind later ones",
        |s| s.inbound.late,
    ),
    ("received_datagrams", "Datagrams that came", |s| {
        s.inbound.datagrams
    }),
    (
        "received_datagram_bytes",
        "Bytes of datagrams that came",
        |s| s.inbound.datagram_bytes,
    ),
    (
        "received_fragments_joined",
        "Fragments put together with others, whose packet has the verdict",
        |s| s.inbound.fragments_joined,
    ),
    (
        "received_fragments_again",
        "Fragments that came twice",
        |s| s.inbound.fragments_again,
    ),
    (
        "received_mss_lowered",
        "SYN packets delivered with a lower segment size",
        |s| s.inbound.clamped,
    ),
    ("verified_signatures", "Signatures verified", |s| {
        s.inbound.signatures
    }),
    ("good_signatures", "Signatures that held", |s| {
        s.inbound.good_signatures
    }),
    (
        "screened_signatures",
        "Signatures refused for the cost of a hash",
        |s| s.inbound.screened,
    ),
    (
        "forgotten_signatures",
        "Signatures forgotten while fresh",
        |s| s.inbound.forgotten,
    ),
    ("verification_nanoseconds", "CPU time", |s| {
        s.inbound.verification_ns
    }),
    ("cookies", "Cookies of peers that were taken", |s| {
        s.inbound.cookies
    }),
    ("foreign_cookies", "Cookies that nobody asked for", |s| {
        s.inbound.foreign_cookies
    }),
    ("cookies_given", "Cookies given to senders", |s| {
        s.inbound.cookies_given
    }),
    ("prepared_precursors", "Precursors prepared", |s| {
        s.pool.prepared
    }),
    ("taken_precursors", "Precursors taken", |s| s.pool.taken),
    (
        "discarded_precursors",
        "Precursors wiped without use",
        |s| s.pool.discarded,
    ),
    ("starvations", "How often no precursor was ready", |s| {
        s.pool.starved
    }),
    ("clock_steps", "Steps of the wall clock", |s| {
        s.inbound.clock_steps
    }),
];

const GAUGES: [Number; 9] = [
    ("ready_precursors", "Precursors ready", |s| {
        s.pool.ready as u64
    }),
    ("held_packets", "Packets waiting for verdicts", |s| {
        s.inbound.held
    }),
    ("held_bytes", "Bytes of packets waiting for verdicts", |s| {
        s.inbound.held_bytes
    }),
    (
        "following_packets",
        "Packets waiting for another one's signature",
        |s| s.inbound.followers,
    ),
    ("waiting_signatures", "Signatures waiting", |s| {
        s.inbound.waiting_signatures
    }),
    ("gate", "Who needs a cookie: 0 nobody, 1 soon, 2 all", gate),
    (
        "clock_kept",
        "Whether something keeps the clock right",
        |s| u64::from(s.clock.is_synchronised == Some(true)),
    ),
    (
        "clock_error_microseconds",
        "Largest error of the clock",
        |s| s.clock.error_us.unwrap_or(0),
    ),
    ("signs", "Whether this machine signs", |s| {
        u64::from(s.signer.epoch.is_some())
    }),
];

/// Counters by reason.
type Family = (
    &'static str,
    &'static str,
    fn(&Status) -> &BTreeMap<String, u64>,
);

const FAMILIES: [Family; 3] = [
    ("unsent", "Packets that were not sent, by reason", |s| {
        &s.outbound.unsent
    }),
    ("verdicts", "Packets by reason of their verdict", |s| {
        &s.inbound.verdicts
    }),
    ("refused", "Datagrams refused, by reason", |s| {
        &s.inbound.refused
    }),
];

/// What was dropped on its way, by direction and reason.
const DROPPED: (&str, &str) = (
    "dropped",
    "Packets and datagrams dropped before or behind sender and receiver",
);

/// What the host's filter counted.
const FILTERED: (&str, &str) = ("unsigned", "Packets beside the carrier, by reason");

type Spread = (&'static str, &'static str, fn(&Status) -> &Distribution);

const SPREADS: [Spread; 5] = [
    (
        "packets_signed_together",
        "Packets a signature, sent",
        |s| &s.outbound.k,
    ),
    (
        "packets_verified_together",
        "Packets a signature, received",
        |s| &s.inbound.k,
    ),
    ("batch_signatures", "Signatures verified together", |s| {
        &s.inbound.batches
    }),
    ("sign_wait_microseconds", "Arrival to departure", |s| {
        &s.outbound.waits
    }),
    ("verify_wait_microseconds", "Arrival to delivery", |s| {
        &s.inbound.waits
    }),
];

fn gate(status: &Status) -> u64 {
    match status.inbound.gate.as_str() {
        "shut" => 2,
        "warning" => 1,
        _ => 0,
    }
}

#[derive(Debug)]
struct Snapshot(Status);

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for (name, help, of) in COUNTERS {
            let into = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            ConstCounter::new(of(&self.0)).encode(into)?;
        }
        for (name, help, of) in GAUGES {
            let into = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(i64::try_from(of(&self.0)).unwrap_or(i64::MAX)).encode(into)?;
        }
        for (name, help, of) in FAMILIES {
            let counts = of(&self.0).iter();
            let counts = counts.map(|(reason, count)| (reason.as_str(), *count));
            by_reason(&mut encoder, name, help, counts)?;
        }
        dropped(&mut encoder, &self.0)?;
        let (name, help) = FILTERED;
        by_reason(&mut encoder, name, help, self.0.filtered.named())?;
        for (name, help, of) in SPREADS {
            histogram(&mut encoder, name, help, of(&self.0))?;
        }
        Ok(())
    }
}

fn by_reason<'a>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    counts: impl Iterator<Item = (&'a str, u64)>,
) -> Result<(), fmt::Error> {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for (reason, count) in counts {
        let labels = [("reason", reason)];
        ConstCounter::new(count).encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}

fn dropped(encoder: &mut DescriptorEncoder<'_>, status: &Status) -> Result<(), fmt::Error> {
    let (name, help) = DROPPED;
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for (direction, counts) in [
        ("out", &status.outbound.dropped),
        ("in", &status.inbound.dropped),
    ] {
        for (reason, count) in counts {
            let labels = [("direction", direction), ("reason", reason.as_str())];
            ConstCounter::new(*count).encode(family.encode_family(&labels)?)?;
        }
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
    // The format's name for a last bucket without a bound.
    buckets.push((f64::INFINITY, distribution.above));
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
    use serde_json::Value;

    #[test]
    fn what_a_daemon_tells_is_in_the_text() {
        let metrics = LiveMetrics::default();
        let mut status = Status::default();
        status.outbound.packets = 7;
        status.inbound.gate = "shut".into();
        status.inbound.verdicts.insert("bad-signature".into(), 3);
        status.filtered.others_out = Some(11);
        status.inbound.waits = Distribution {
            buckets: vec![(2, 5), (4, 0), (8, 1)],
            above: 3,
            sum: 900,
        };
        metrics.see(status);
        metrics.set_in_force(true);
        let text = metrics.text();
        for line in [
            "clew_live_sent_packets_total 7",
            "clew_live_gate 2",
            "clew_live_in_force 1",
            "clew_live_unsigned_total{reason=\"others-out\"} 11",
            "clew_live_verdicts_total{reason=\"bad-signature\"} 3",
            "clew_live_verify_wait_microseconds_bucket{le=\"2.0\"} 5",
            "clew_live_verify_wait_microseconds_bucket{le=\"4.0\"} 5",
            "clew_live_verify_wait_microseconds_bucket{le=\"8.0\"} 6",
            "clew_live_verify_wait_microseconds_bucket{le=\"+Inf\"} 9",
            "clew_live_verify_wait_microseconds_count 9",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
        }
    }

    /// Gives each number of a part of the status a value of its own. Returns how many there are.
    fn number(of: &mut Value, next: u64) -> u64 {
        match of {
            Value::Number(_) => {
                *of = next.into();
                1
            }
            Value::Object(members) => members
                .values_mut()
                .fold(0, |many, member| many + number(member, next + many)),
            _ => 0,
        }
    }

    /// Whatever a daemon tells in numbers stands in the text once, so that nothing is counted and shown
    /// nowhere, or twice.
    #[test]
    fn each_count_is_in_the_text_once() {
        const FIRST: u64 = 70_001;
        let mut status = Status::default();
        for counts in [
            &mut status.outbound.unsent,
            &mut status.outbound.dropped,
            &mut status.inbound.verdicts,
            &mut status.inbound.refused,
            &mut status.inbound.dropped,
        ] {
            counts.insert("reason".into(), 1);
        }
        let mut value = serde_json::to_value(status).unwrap();
        for name in [
            "unsigned_in",
            "unsigned_out",
            "others_in",
            "others_out",
            "not_relayed",
            "spoofed",
        ] {
            value["filtered"][name] = 1.into();
        }
        let mut next = FIRST;
        for part in ["outbound", "inbound", "pool", "filtered"] {
            next += number(&mut value[part], next);
        }
        let metrics = LiveMetrics::default();
        metrics.see(serde_json::from_value(value.clone()).unwrap());
        let text = metrics.text();
        // An unbounded bucket, the count of a distribution and its values are one number three times.
        let is_sample = |line: &&str| {
            !line.starts_with('#') && !line.contains("_bucket{") && !line.contains("_count ")
        };
        let samples: Vec<u64> = { text.lines() }
            .filter(is_sample)
            .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
            .map(|number| number as u64)
            .collect();
        let above = ["k", "waits", "batches"];
        for number in FIRST..next {
            let times = samples.iter().filter(|sample| **sample == number).count();
            let is_above = ["outbound", "inbound"]
                .iter()
                .any(|part| above.iter().any(|of| value[part][of]["above"] == number));
            assert_eq!(times, usize::from(!is_above), "{number} in {value}\n{text}");
        }
    }
}
