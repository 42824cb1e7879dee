//! What services count, in the text format of Prometheus.

use crate::http::refusal_metrics;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of one kind of service, with a line of help each.
macro_rules! counters {
    ($service:literal; $($name:ident: $help:literal,)*) => {
        /// Counts since the start.
        #[derive(Debug, Default)]
        pub struct Metrics {
            $(#[doc = $help] pub $name: std::sync::atomic::AtomicU64,)*
        }

        impl Metrics {
            /// In the text format of Prometheus.
            pub fn text(&self) -> String {
                let mut text = String::new();
                $(text += &$crate::metrics::line($service, stringify!($name), $help, &self.$name);)*
                text
            }
        }
    };
}
pub(crate) use counters;

/// A line for a count.
pub(crate) fn line(service: &str, name: &str, help: &str, counter: &AtomicU64) -> String {
    let name = format!("clew_{service}_{name}_total");
    let count = counter.load(Ordering::Relaxed);
    described(&name, "counter", help) + &format!("{name} {count}\n")
}

fn described(name: &str, kind: &str, help: &str) -> String {
    format!("# HELP {name} {help}\n# TYPE {name} {kind}\n")
}

/// Lines for counts by reason.
pub(crate) fn by_reason<'r>(
    service: &str,
    name: &str,
    help: &str,
    counts: impl IntoIterator<Item = (&'r str, u64)>,
) -> String {
    let name = format!("clew_{service}_{name}_total");
    let mut text = described(&name, "counter", help);
    for (reason, count) in counts {
        text += &format!("{name}{{reason=\"{reason}\"}} {count}\n");
    }
    text
}

/// What `GET metrics` answers: a service's lines, and those of all servers.
pub(crate) fn page(text: &str) -> Response {
    let text = text.to_owned() + &refusal_metrics();
    let headers = [
        (CONTENT_TYPE, "text/plain; version=0.0.4"),
        (CACHE_CONTROL, "no-cache"),
    ];
    (headers, text).into_response()
}

/// A line for a value that goes up and down.
pub(crate) fn gauge(service: &str, name: &str, help: &str, value: impl Display) -> String {
    let name = format!("clew_{service}_{name}");
    described(&name, "gauge", help) + &format!("{name} {value}\n")
}

/// Counts one more.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
