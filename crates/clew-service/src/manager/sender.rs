//! From the store's outbox to the group's log: in order, each entry until the log has it.
//!
//! The worker signs entries and marks them as sent; a task of its own waits for the log. Whatever is
//! killed in between, the log answers a repeated entry with the place that it has (`spec/log.md`
//! section 3).

use super::behind::is_of_group;
use super::metrics::count;
use super::{ManagedLog, Metrics};
use crate::log::{LogClient, LogClientError, Status};
use crate::vital::Vital;
use clew_evidence::GroupLog;
use clew_keys::IssuerKeyFile;
use clew_log::VerifierKey;
use clew_log::entry::{Body, Entry};
use clew_manager::{Store, StoreError};
use clew_wire::WallTime;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};
use thiserror::Error;
use tokio::sync::{mpsc, watch};

/// Most entries that are on their way at once.
const BATCH_MAX: u32 = 256;
/// First and longest pause after a failure.
const PAUSE: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(60)];

/// Signed entries, each with its place in the outbox.
type Batch = Vec<(u64, Entry)>;

/// How far the log is behind the store.
#[derive(Clone, Debug, Default)]
pub(super) struct Standing {
    /// Since when entries wait that the log does not have.
    pub waiting: Option<Instant>,
    /// Why the log does not take them.
    pub trouble: Option<String>,
    /// The log has another history of this group: no device joins, and no epoch begins.
    pub is_halted: bool,
    /// The log itself does not add entries any more: it found a second copy of itself, or its clock is off.
    pub is_log_halted: bool,
}

impl Standing {
    /// Whether no device joins and no epoch begins.
    pub fn halts(&self) -> bool {
        self.is_halted || self.is_log_halted
    }
}

/// What came of a batch.
struct Returned {
    /// Places in the outbox and in the log.
    places: Vec<(u64, u64)>,
    failed: Option<Failed>,
    /// Whether entries of the group's own history were among them.
    tells_of_group: bool,
}

enum Failed {
    /// The log may take the entry later.
    Passing(String),
    /// The log has another entry in this one's place.
    Fork,
}

/// The worker's end.
pub(super) struct Sender {
    key: VerifierKey,
    batches: mpsc::Sender<Batch>,
    returned: Receiver<Returned>,
    is_out: bool,
    /// The epochs among the entries that are on their way, by place in the outbox.
    epochs: HashMap<u64, u32>,
    not_before: Instant,
    pause: Duration,
    logged: watch::Sender<BTreeMap<u32, u64>>,
    standing: Arc<RwLock<Standing>>,
    status: Option<watch::Receiver<Status>>,
    /// Whether the log in this process has been open.
    was_open: bool,
    metrics: Arc<Metrics>,
}

/// What others see of it.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    /// The places of epochs in the log.
    pub logged: watch::Receiver<BTreeMap<u32, u64>>,
    pub standing: Arc<RwLock<Standing>>,
}

impl Sender {
    /// Starts the task that waits for the log, on the present runtime of tokio. It ends with the worker.
    pub fn start(
        store: &Store,
        log: &ManagedLog,
        metrics: Arc<Metrics>,
    ) -> Result<(Self, Sent), StoreError> {
        let (key, status) = (log.key.clone(), log.status.clone());
        let (batches, received) = mpsc::channel(1);
        let (back, returned) = sync_channel(1);
        tokio::spawn(send(log.client.clone(), received, back));
        let (logged, watched) = watch::channel(store.logged_epochs()?);
        let standing = Arc::new(RwLock::new(Standing {
            is_halted: store.is_halted(), // until the log takes an entry
            ..Standing::default()
        }));
        let sent = Sent {
            logged: watched,
            standing: Arc::clone(&standing),
        };
        let sender = Self {
            key,
            batches,
            returned,
            is_out: false,
            epochs: HashMap::new(),
            not_before: Instant::now(),
            pause: PAUSE[0],
            logged,
            standing,
            status,
            was_open: false,
            metrics,
        };
        Ok((sender, sent))
    }

    /// Marks what the log took, and sends what waits. Returns what an operator should see, if that is new.
    ///
    /// # Errors
    /// The store's.
    pub fn turn(
        &mut self,
        store: &mut Store,
        issuer: &IssuerKeyFile,
        now: WallTime,
    ) -> Result<Option<String>, StoreError> {
        let mut news = self.watch(store)?;
        if let Ok(returned) = self.returned.try_recv() {
            self.is_out = false;
            news = self.take(store, returned)?.or(news);
        }
        if self.is_out || Instant::now() < self.not_before {
            return Ok(news);
        }
        let waiting = store.outbox(BATCH_MAX)?;
        let is_waiting = !waiting.is_empty();
        self.change(|standing| match is_waiting {
            true => drop(standing.waiting.get_or_insert_with(Instant::now)),
            false => standing.waiting = None,
        });
        if !is_waiting {
            return Ok(news);
        }
        if store.group().newest_log().map(GroupLog::key) != Some(&self.key) {
            let why = "the group writes into another log by now: restart this service with it";
            return Ok(self.failed(why.to_owned()).or(news));
        }
        let batch = store.signed_for_log(issuer, &waiting, now)?;
        let epoch = |(seq, entry): &(u64, Entry)| match entry.body {
            Body::Epoch { epoch, .. } => Some((*seq, epoch)),
            _ => None,
        };
        self.epochs = batch.iter().filter_map(epoch).collect();
        // The task takes one batch at a time, and answers each.
        self.is_out = self.batches.try_send(batch).is_ok();
        Ok(news)
    }

    /// Looks at the log in this process: a copy of store and log is found out by the log's witnesses. Then
    /// the store is halted, too, for commands and over restarts. It goes on when a log that was compared
    /// with it opens, because its witnesses agree.
    fn watch(&mut self, store: &Store) -> Result<Option<String>, StoreError> {
        let Some(status) = self.status.as_ref().map(|status| status.borrow().clone()) else {
            return Ok(None);
        };
        let why = match &status {
            Status::Halted(why) => {
                if !store.is_halted() {
                    store.halt()?;
                }
                Some(why.clone())
            }
            Status::Open if !self.was_open => {
                self.was_open = true;
                store.resume()?;
                self.change(|standing| standing.is_halted = false);
                None
            }
            _ => None,
        };
        let mut had = false;
        self.change(|standing| {
            had = standing.is_log_halted;
            standing.is_log_halted = why.is_some();
        });
        Ok(why.filter(|_| !had).map(|why| {
            format!("the group's log is halted, so no device joins and no epoch begins here: {why}")
        }))
    }

    fn take(
        &mut self,
        store: &mut Store,
        returned: Returned,
    ) -> Result<Option<String>, StoreError> {
        let places = returned.places;
        let count = places.len() as u64;
        if count > 0 && store.set_sent(&self.key, &places)? {
            self.metrics.log_entries.fetch_add(count, Relaxed);
            let of = |(seq, place): &(u64, u64)| Some((*self.epochs.get(seq)?, *place));
            let new: Vec<(u32, u64)> = places.iter().filter_map(of).collect();
            self.logged.send_if_modified(|logged| {
                logged.extend(new.iter().copied());
                !new.is_empty()
            });
        }
        match returned.failed {
            Some(Failed::Passing(why)) => Ok(self.failed(why)),
            Some(Failed::Fork) => {
                self.change(|standing| standing.is_halted = true);
                store.halt()?;
                let why = "the log has another history of this group: another manager works with a \
                           copy of this store. No device joins and no epoch begins here";
                Ok(self.failed(why.to_owned()))
            }
            None => {
                self.pause = PAUSE[0];
                // An author's entry says nothing of the group's history.
                if returned.tells_of_group {
                    store.resume()?;
                }
                let mut had = None;
                self.change(|standing| {
                    had = standing.trouble.take();
                    standing.is_halted &= !returned.tells_of_group;
                });
                Ok(had.map(|_| "the log takes entries again".to_owned()))
            }
        }
    }

    /// Keeps what is wrong, and returns it if it is new.
    fn failed(&mut self, why: String) -> Option<String> {
        count(&self.metrics.log_failures);
        self.not_before = Instant::now() + self.pause;
        self.pause = (2 * self.pause).min(PAUSE[1]);
        let mut is_new = false;
        self.change(|standing| {
            is_new = standing.trouble.as_ref() != Some(&why);
            standing.trouble = Some(why.clone());
        });
        is_new.then_some(why)
    }

    /// Whether the log has another history, or is halted itself.
    pub fn is_halted(&self) -> bool {
        let standing = self.standing.read();
        standing.unwrap_or_else(PoisonError::into_inner).halts()
    }

    /// Whether witnesses agree with this host's clock: a log in this process halts if they do not.
    pub fn knows_time(&self) -> bool {
        let status = self.status.as_ref();
        status.is_some_and(|status| *status.borrow() == Status::Open)
    }

    fn change(&self, change: impl FnOnce(&mut Standing)) {
        let standing = self.standing.write();
        change(&mut standing.unwrap_or_else(PoisonError::into_inner));
    }
}

/// Sends batches until nobody makes them any more.
async fn send(log: LogClient, mut batches: mpsc::Receiver<Batch>, back: SyncSender<Returned>) {
    let _vital = Vital;
    while let Some(batch) = batches.recv().await {
        // The worker takes each answer before it makes another batch.
        if back.try_send(deliver(&log, batch).await).is_err() {
            return;
        }
    }
}

/// Adds entries one after the other, up to the first that the log does not take.
async fn deliver(log: &LogClient, batch: Batch) -> Returned {
    let (mut places, mut failed) = (Vec::with_capacity(batch.len()), None);
    let tells_of_group = batch.iter().any(|(_, entry)| is_of_group(&entry.body));
    for (seq, entry) in batch {
        match log.add(&entry).await {
            Ok((place, _)) => places.push((seq, place)),
            Err(error) => {
                failed = Some(refused(&error));
                break;
            }
        }
    }
    Returned {
        places,
        failed,
        tells_of_group,
    }
}

/// Why a store's outbox did not get into the log.
#[derive(Debug, Error)]
pub enum SendError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The group file names no log.
    #[error("the group has no log")]
    NoLog,
    /// The group changed its log meanwhile.
    #[error("the group writes into another log by now")]
    OtherLog,
    /// The log does not take an entry.
    #[error("{0}")]
    Refused(String),
    /// The log has another history of this group.
    #[error("the log has another history of this group: a copy of this store wrote it")]
    Fork,
}

/// Sends all that waits for the group's log, once, without a service. Returns how many entries the log took.
///
/// # Errors
/// [`SendError`]; what the log took before is marked.
pub async fn send_outbox(
    store: &mut Store,
    issuer: &IssuerKeyFile,
    log: &LogClient,
    clock: fn() -> WallTime,
) -> Result<u64, SendError> {
    let named = store.group().newest_log().ok_or(SendError::NoLog)?;
    let (key, mut count) = (named.key().clone(), 0);
    loop {
        let waiting = store.outbox(BATCH_MAX)?;
        if waiting.is_empty() {
            return Ok(count);
        }
        let batch = store.signed_for_log(issuer, &waiting, clock())?;
        let Returned {
            places,
            failed,
            tells_of_group,
        } = deliver(log, batch).await;
        if !store.set_sent(&key, &places)? {
            return Err(SendError::OtherLog);
        }
        count += places.len() as u64;
        match failed {
            Some(Failed::Fork) => {
                store.halt()?;
                return Err(SendError::Fork);
            }
            Some(Failed::Passing(why)) => return Err(SendError::Refused(why)),
            None if tells_of_group => store.resume()?,
            None => {}
        }
    }
}

fn refused(error: &LogClientError) -> Failed {
    match error.rule() {
        Some("fork") => Failed::Fork,
        Some("order") => Failed::Passing(format!(
            "the log lacks entries that it had: it is an old copy, or another log ({error})"
        )),
        _ => Failed::Passing(format!("the log does not take entries: {error}")),
    }
}
