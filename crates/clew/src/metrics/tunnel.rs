//! What a server of tunnels counts, for Prometheus and for people.

use crate::tunnel::places::Places;
use crate::tunnel::services::Work;
use clew_tunnel::Reason;
use clew_tunnel_udp::{Metrics, MetricsWatch};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Begins the name of every counter.
pub const PREFIX: &str = "clew_tunnel";

/// What a server counts.
#[derive(Clone, Debug)]
pub struct TunnelMetrics(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    engine: MetricsWatch,
    services: Mutex<Vec<(String, Arc<Work>)>>,
    places: OnceLock<Places>,
}

impl TunnelMetrics {
    /// What this server counts.
    pub fn new(engine: MetricsWatch) -> Self {
        let services = Mutex::default();
        let places = OnceLock::new();
        Self(Arc::new(Parts {
            engine,
            services,
            places,
        }))
    }

    /// The places that services have, to be shown.
    pub fn places(&self, places: &Places) {
        let _ = self.0.places.set(places.clone());
    }

    /// The counters of a service.
    pub fn service(&self, name: &str) -> Arc<Work> {
        let mut services = self
            .0
            .services
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some((_, work)) = services.iter().find(|(known, _)| known == name) {
            return Arc::clone(work);
        }
        let work = Arc::<Work>::default();
        services.push((name.to_owned(), Arc::clone(&work)));
        work
    }

    /// What the engine counted.
    pub fn engine(&self) -> Metrics {
        self.0.engine.read()
    }

    /// Everything in the text format of OpenMetrics.
    pub fn text(&self) -> String {
        let mut registry = Registry::with_prefix(PREFIX);
        registry.register_collector(Box::new(self.clone()));
        super::text(&registry)
    }

    /// For a person, when the server ends.
    pub fn tell(&self) {
        let engine = self.engine();
        mention!(
            "{} connections were asked for; {} tunnels ended, {} are open",
            engine.connections,
            engine.ended,
            engine.tunnels
        );
        for (reason, count) in refused(&engine) {
            mention!("  {count:>9}  {reason}");
        }
    }
}

/// What was refused, by reason.
fn refused(engine: &Metrics) -> impl Iterator<Item = (Reason, u64)> {
    let counts = Reason::ALL.map(|reason| (reason, engine.reasons.of(reason)));
    counts.into_iter().filter(|(_, count)| *count > 0)
}

/// A counter that each service has.
pub struct ServiceCounter {
    /// Its name behind the prefix, without `_total`.
    pub name: &'static str,
    help: &'static str,
    /// What it counts, behind the number on a terminal.
    pub words: &'static str,
    number: fn(&Work) -> u64,
}

/// The counters of services.
pub const OF_SERVICES: [ServiceCounter; 5] = [
    ServiceCounter {
        name: "taken",
        help: "Accepted connections",
        words: "taken",
        number: |work| work.taken.load(Ordering::Relaxed),
    },
    ServiceCounter {
        name: "broken",
        help: "Connections that broke",
        words: "broken",
        number: |work| work.broken.load(Ordering::Relaxed),
    },
    ServiceCounter {
        name: "unreachable",
        help: "Connections that could not be forwarded",
        words: "not reached",
        number: |work| work.unreachable.load(Ordering::Relaxed),
    },
    ServiceCounter {
        name: "received_bytes",
        help: "Bytes from clients",
        words: "bytes in",
        number: |work| work.traffic.received.load(Ordering::Relaxed),
    },
    ServiceCounter {
        name: "sent_bytes",
        help: "Bytes to clients",
        words: "bytes out",
        number: |work| work.traffic.sent.load(Ordering::Relaxed),
    },
];

impl Collector for TunnelMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let engine = self.engine();
        for (name, help, count) in self.gauges(&engine) {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            let into = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(count).encode(into)?;
        }
        for (name, help, count) in counters(&engine) {
            let into = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            ConstCounter::new(count).encode(into)?;
        }
        let help = "Rejected packets, requests and records, by reason";
        let mut family = encoder.encode_descriptor("refused", help, None, MetricType::Counter)?;
        for (reason, count) in refused(&engine) {
            let labels = [("reason", reason.as_str())];
            ConstCounter::new(count).encode(family.encode_family(&labels)?)?;
        }
        self.encode_services(&mut encoder)
    }
}

type Named = (&'static str, &'static str, u64);

/// The counters of an engine: name, help, number.
fn counters(engine: &Metrics) -> [Named; 7] {
    let traffic = &engine.traffic;
    let microseconds = u64::try_from(traffic.trip.as_micros()).unwrap_or(u64::MAX);
    [
        ("ended", "Ended tunnels", engine.ended),
        ("connections", "Requested connections", engine.connections),
        ("packets_sent", "Packets sent in sequence", traffic.sent),
        ("packets_resent", "Packets sent again", traffic.again),
        ("timeouts", "Retransmission timeouts", traffic.timeouts),
        ("round_trips", "Measured round trips", traffic.trips),
        (
            "round_trip_microseconds",
            "Sum of measured round trips",
            microseconds,
        ),
    ]
}

impl TunnelMetrics {
    fn gauges(&self, engine: &Metrics) -> Vec<Named> {
        let (taken, free) = engine.unproven;
        let mut gauges = vec![
            ("tunnels", "Current tunnels", engine.tunnels as u64),
            (
                "unproven",
                "Current tunnels from unproven addresses",
                taken as u64,
            ),
            (
                "unproven_free",
                "Free places for tunnels from unproven addresses",
                free as u64,
            ),
        ];
        if let Some(places) = self.0.places.get() {
            let free = places.free() as u64;
            gauges.push(("connections_free", "Free places for connections", free));
        }
        gauges
    }

    fn encode_services(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let services = self
            .0
            .services
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if services.is_empty() {
            return Ok(());
        }
        let help = "Open connections";
        let mut family = encoder.encode_descriptor("open", help, None, MetricType::Gauge)?;
        for (name, work) in services.iter() {
            let labels = [("service", name.as_str())];
            let gauge = ConstGauge::new(work.open.load(Ordering::Relaxed));
            gauge.encode(family.encode_family(&labels)?)?;
        }
        for counter in OF_SERVICES {
            let (name, help) = (counter.name, counter.help);
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for (name, work) in services.iter() {
                let labels = [("service", name.as_str())];
                ConstCounter::new((counter.number)(work)).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}
