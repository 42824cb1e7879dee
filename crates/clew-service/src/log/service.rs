//! A log that serves.

use super::adding::{self, WAITING_MAX, Waiting};
use super::cosigning::{self, Status};
use super::pages::{self, LogPages};
use super::routes;
use super::storage::{Kept, Storage, Which};
use super::store::{Log, Signed, read_signed};
use super::witnesses::WitnessAddress;
use crate::database::StorageError;
use axum::Router;
use clew_log::VerifierKey;
use clew_log::entry::Role;
use clew_wire::WallTime;
use std::collections::HashSet;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, mpsc, watch};

/// Connections that read tiles.
const READERS: usize = 4;

/// How a log is served.
pub struct LogOptions {
    /// The clock: nanoseconds since 1970.
    pub clock: fn() -> WallTime,
    /// The witnesses.
    pub witnesses: Vec<WitnessAddress>,
    /// How many of them have to cosign a checkpoint before it is published.
    pub threshold: usize,
    /// Where to tell of failures: one line each.
    pub tell: fn(&str),
    /// What the pages for people say of it.
    pub pages: LogPages,
}

/// What a log counted since it started.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Entries added.
    pub entries: AtomicU64,
    /// Commits.
    pub commits: AtomicU64,
    /// Entries refused by a rule.
    pub refused: AtomicU64,
    /// Entries refused because too many wait.
    pub busy: AtomicU64,
    /// Commits that failed.
    pub failed: AtomicU64,
    /// Cosignatures received.
    pub cosigned: AtomicU64,
    /// Requests to witnesses that failed.
    pub uncosigned: AtomicU64,
}

/// What the parts of a log share.
pub(super) struct Shared {
    pub(super) key: VerifierKey,
    pub(super) clock: fn() -> WallTime,
    pub(super) newest: watch::Sender<Signed>,
    pub(super) published: watch::Sender<Option<Signed>>,
    pub(super) status: watch::Sender<Status>,
    pub(super) metrics: Metrics,
    /// When the last commit failed, if none succeeded since.
    pub(super) failed: Mutex<Option<Instant>>,
    pub(super) witnesses: Mutex<Vec<cosigning::Seen>>,
    /// The keys that may write: strangers' entries do not even wait.
    pub(super) authors: Mutex<HashSet<[u8; 32]>>,
    readers: Mutex<Vec<Storage>>,
    permits: Arc<Semaphore>,
    tell: fn(&str),
}

/// For how long a commit that failed is told, while nobody tries again.
const FAILED_TIME: Duration = Duration::from_secs(60);

impl Shared {
    /// Whether the disk does not take entries at the moment.
    pub(super) fn is_failing(&self) -> bool {
        let failed = *lock(&self.failed);
        failed.is_some_and(|at| at.elapsed() < FAILED_TIME)
    }

    pub(super) fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    pub(super) fn tell(&self, line: &str) {
        (self.tell)(line);
    }

    /// Reads from the database, on a thread that may wait for the disk.
    pub(super) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        read: impl FnOnce(&Storage) -> Result<T, StorageError> + Send + 'static,
    ) -> Result<T, StorageError> {
        // The permit goes with the reader: whoever asked may leave before it is done.
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let shared = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let reader = lock(&shared.readers).pop();
            let Some(reader) = reader else {
                // As many readers as permits.
                return Err(StorageError::damaged("".as_ref(), "no reader is left"));
            };
            let done = read(&reader);
            lock(&shared.readers).push(reader);
            done
        });
        done.await
            .unwrap_or_else(|_| Err(StorageError::damaged("".as_ref(), "the reader ended")))
    }

    /// Publishes a checkpoint with its cosignatures, and keeps it for the next start.
    pub(super) async fn publish(self: &Arc<Self>, signed: Signed) {
        let kept = Kept {
            size: signed.size,
            note: signed.note.to_string(),
        };
        self.published.send_replace(Some(signed));
        let written = self
            .read(move |storage| storage.put(Which::Published, &kept))
            .await;
        if let Err(error) = written {
            // The witnesses give their cosignatures again.
            self.tell(&error.to_string());
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The keys that may write entries.
pub(super) fn authors(log: &Log) -> HashSet<[u8; 32]> {
    let state = log.state();
    let admitted = state.authors().filter(|(_, own)| own.role != Role::None);
    let admitted = admitted.map(|(key, _)| *key);
    admitted.chain([state.founder().manager]).collect()
}

/// A log that adds entries, asks witnesses, and answers.
pub struct LogService {
    shared: Arc<Shared>,
    /// Made once: it reads the log for itself.
    pages: Router,
    queue: mpsc::Sender<Waiting>,
    adding: JoinHandle<Log>,
    cosigning: tokio::task::JoinHandle<()>,
}

impl LogService {
    /// Starts to serve a log, on the present runtime of tokio.
    ///
    /// With witnesses it adds nothing until so many of them told their newest checkpoint that one is
    /// among them which cosigned whatever the log published: a restored copy of a log is found out.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn start(log: Log, options: LogOptions) -> Result<Self, StorageError> {
        let readers: Result<Vec<_>, _> = (0..READERS).map(|_| Storage::open(log.dir())).collect();
        let published = log.storage().checkpoint(Which::Published)?;
        let key = log.public().clone();
        let published = published.and_then(|kept| read_signed(&kept.note, &key));
        let status = match options.witnesses.is_empty() {
            true => Status::Open,
            false => Status::Starting,
        };
        let shared = Arc::new(Shared {
            key,
            clock: options.clock,
            newest: watch::Sender::new(log.newest().clone()),
            published: watch::Sender::new(published),
            status: watch::Sender::new(status),
            metrics: Metrics::default(),
            failed: Mutex::default(),
            witnesses: Mutex::default(),
            authors: Mutex::new(authors(&log)),
            readers: Mutex::new(readers?),
            permits: Arc::new(Semaphore::new(READERS)),
            tell: options.tell,
        });
        let pages = pages::router(Arc::clone(&shared), options.pages);
        let (queue, waiting) = mpsc::channel(WAITING_MAX);
        let cosign = cosigning::run(Arc::clone(&shared), options.witnesses, options.threshold);
        let cosigning = tokio::spawn(cosign);
        let of_thread = Arc::clone(&shared);
        let adding = std::thread::spawn(move || adding::run(log, waiting, &of_thread));
        Ok(Self {
            shared,
            pages,
            queue,
            adding,
            cosigning,
        })
    }

    /// Returns its public key.
    pub fn key(&self) -> &VerifierKey {
        &self.shared.key
    }

    /// Returns what it answers over HTTP: programs, and people on pages.
    pub fn router(&self) -> Router {
        let programs = routes::router(Arc::clone(&self.shared), self.queue.clone());
        programs.merge(self.pages.clone())
    }

    /// Returns whether it adds entries.
    pub fn status(&self) -> watch::Receiver<Status> {
        self.shared.status.subscribe()
    }

    /// Ends, once all entries that wait are added. Routers have to be dropped before.
    pub async fn stop(self) {
        self.cosigning.abort();
        drop(self.queue);
        let _ = tokio::task::spawn_blocking(move || self.adding.join()).await;
    }
}
