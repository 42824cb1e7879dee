//! What a manager counts.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($name:ident: $help:literal,)*) => {
        /// Counts since the start.
        #[derive(Debug, Default)]
        pub struct Metrics {
            $(#[doc = $help] pub $name: AtomicU64,)*
        }

        impl Metrics {
            /// In the text format of Prometheus.
            pub fn text(&self) -> String {
                let mut text = String::new();
                $(text += &line(stringify!($name), $help, &self.$name);)*
                text
            }
        }
    };
}

counters! {
    rounds: "Rounds of joins that were answered.",
    refused: "Rounds of joins that were refused.",
    queue_full: "Rounds of joins that found the queue full.",
    commits: "Batches of rounds.",
    failures: "Batches, epochs and publications that failed.",
    epochs: "Epochs of queued revocations.",
    heads: "Requests for the head of the feed.",
    log_entries: "Entries of the outbox that the log took.",
    log_failures: "Attempts after which entries of the outbox still waited.",
    logins: "Logins to the pages.",
    logins_refused: "Logins to the pages that were refused.",
}

fn line(name: &str, help: &str, counter: &AtomicU64) -> String {
    let name = format!("clew_manager_{name}_total");
    let count = counter.load(Ordering::Relaxed);
    format!("# HELP {name} {help}\n# TYPE {name} counter\n{name} {count}\n")
}

/// A line for a value that goes up and down.
pub(super) fn gauge(name: &str, help: &str, value: impl std::fmt::Display) -> String {
    let name = format!("clew_manager_{name}");
    format!("# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}\n")
}

/// Counts one more.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
