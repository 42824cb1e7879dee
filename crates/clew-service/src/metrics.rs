//! What services count, in the text format of Prometheus.

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
    format!("# HELP {name} {help}\n# TYPE {name} counter\n{name} {count}\n")
}

/// A line for a value that goes up and down.
pub(crate) fn gauge(service: &str, name: &str, help: &str, value: impl Display) -> String {
    let name = format!("clew_{service}_{name}");
    format!("# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}\n")
}

/// Counts one more.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
