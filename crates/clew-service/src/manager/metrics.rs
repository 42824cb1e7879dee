//! What a manager counts.

pub(super) use crate::metrics::count;
use crate::metrics::counters;

counters! {
    "manager";
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

/// A line for a value that goes up and down.
pub(super) fn gauge(name: &str, help: &str, value: impl std::fmt::Display) -> String {
    crate::metrics::gauge("manager", name, help, value)
}
