//! The thread that writes a log: it takes what waits, and makes one commit of it.

use super::cosigning::Status;
use super::routes::is_of;
use super::service::{Shared, authors, lock};
use super::store::{Log, NotAdded, Placed};
use crate::vital::Vital;
use clew_log::Rule;
use clew_log::entry::{Body, Entry};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use tokio::sync::{mpsc, oneshot};

/// Most entries that wait for a commit.
pub(super) const WAITING_MAX: usize = 1_024;
/// Most entries of one commit.
const COMMIT_MAX: usize = 256;

/// An entry that waits to be added.
pub(super) struct Waiting {
    pub(super) entry: Entry,
    pub(super) answer: oneshot::Sender<Result<Placed, Refused>>,
}

/// Why an entry was not added.
#[derive(Clone, Debug)]
pub(super) enum Refused {
    Not(NotAdded),
    /// The log adds nothing at the moment.
    Closed(Status),
    /// The disk or the database.
    Storage,
}

/// Whether an entry that makes a sealed warrant public shows one of its request's author, about as many signatures
/// as were counted. A request that is not there yet, but in the same commit, has nothing to unseal.
fn unseals_its_own(log: &Log, entry: &Entry) -> Result<(), Rule> {
    let Body::Unsealed { place, warrant } = &entry.body else {
        return Ok(());
    };
    let request = log.state().request(*place).ok_or(Rule::Order)?;
    let of = (&request.author, request.signatures);
    is_of(warrant, entry, of).then_some(()).ok_or(Rule::Warrant)
}

/// Adds entries until nobody can send any more.
pub(super) fn run(mut log: Log, mut queue: mpsc::Receiver<Waiting>, shared: &Arc<Shared>) -> Log {
    let (_vital, mut waiting) = (Vital, Vec::new());
    while queue.blocking_recv_many(&mut waiting, COMMIT_MAX) > 0 {
        let status = shared.status();
        if status != Status::Open {
            for one in waiting.drain(..) {
                let _ = one.answer.send(Err(Refused::Closed(status.clone())));
            }
            continue;
        }
        let (mut entries, mut answers) = (Vec::new(), Vec::new());
        for one in waiting.drain(..) {
            match unseals_its_own(&log, &one.entry) {
                Ok(()) => {
                    entries.push(one.entry);
                    answers.push(one.answer);
                }
                Err(rule) => {
                    shared.metrics.refused.fetch_add(1, Relaxed);
                    let _ = one.answer.send(Err(Refused::Not(NotAdded::Rule(rule))));
                }
            }
        }
        let before = log.newest().size;
        let is_admission = |entry: &Entry| matches!(entry.body, Body::Author { .. });
        let has_admissions = entries.iter().any(is_admission);
        match log.add(entries, (shared.clock)()) {
            Ok(added) => {
                *lock(&shared.failed) = None;
                let newest = log.newest().clone();
                if has_admissions {
                    *lock(&shared.authors) = authors(&log);
                }
                shared
                    .metrics
                    .entries
                    .fetch_add(newest.size - before, Relaxed);
                let is_new = newest.size != before;
                shared.metrics.commits.fetch_add(u64::from(is_new), Relaxed);
                shared.newest.send_if_modified(|now| {
                    *now = newest;
                    is_new
                });
                for (added, answer) in added.into_iter().zip(answers) {
                    if added.is_err() {
                        shared.metrics.refused.fetch_add(1, Relaxed);
                    }
                    // A client that went away asks again.
                    let _ = answer.send(added.map_err(Refused::Not));
                }
            }
            Err(error) => {
                shared.metrics.failed.fetch_add(1, Relaxed);
                *lock(&shared.failed) = Some(Instant::now());
                shared.tell(&error.to_string());
                for answer in answers {
                    let _ = answer.send(Err(Refused::Storage));
                }
            }
        }
    }
    log
}
