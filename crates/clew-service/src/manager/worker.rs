//! The thread that owns the store.

use super::Metrics;
use super::attempts::Attempts;
use super::feed::{Feed, etag};
use super::log::ManagedLog;
use super::metrics::count;
use super::proofs::Proofs;
use super::refusal::{BUSY_SECONDS, halted, problem};
use super::sender::Sender;
use super::waits::Waits;
use crate::http::Problem;
use crate::vital::Vital;
use axum::body::Bytes;
use clew_keys::{IssuerKeyFile, TextFile};
use clew_manager::{EpochStart, JoinAnswer, JoinRound, ROUNDS_MAX, Store, StoreError};
use clew_wire::WallTime;
use rand_core::CryptoRng;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};

/// Most rounds that wait for the store.
pub const QUEUE_MAX: usize = 1_024;

/// How long a committed change waits at most before it is published, if the disk is not slower.
pub const PUBLISH_LAG: Duration = Duration::from_millis(200);

/// For how long rounds that could not be written are told, while nobody tries again.
const UNWRITTEN_TIME: Duration = Duration::from_secs(60);

/// What is wrong if the address of the group's log was not known at the service's start.
const UNLOGGED: &str = "nothing is sent to the group's log: stop this service, tell the log's address with \
                        clew manager set-log, and start it again";

/// How often this host's clock is judged, and an epoch that could not be made is tried again.
const AGAIN: Duration = Duration::from_secs(5);

/// How a manager works.
#[derive(Clone, Copy, Debug)]
pub struct ManagerOptions {
    /// How often an epoch revokes what is queued. `None` for never.
    pub epoch_every: Option<Duration>,
    /// The time of day, in nanoseconds since 1970.
    pub clock: fn() -> u64,
    /// Told what an operator should see.
    pub tell: fn(&str),
}

/// One round, and who waits for its answer.
struct Job {
    round: JoinRound,
    answer: oneshot::Sender<Result<String, Problem>>,
}

/// A store that is served. Clones share it.
#[derive(Clone, Debug)]
pub struct Manager {
    jobs: SyncSender<Job>,
    pub(super) feed: watch::Receiver<Arc<Feed>>,
    /// The group file with its name.
    pub(super) group: Arc<RwLock<(String, Bytes)>>,
    pub(super) witnesses: PathBuf,
    /// Why the last change could not be made or published.
    pub(super) trouble: Arc<RwLock<Option<String>>>,
    /// Who waits for a newer head.
    pub(super) waits: Waits,
    /// What it counts.
    pub metrics: Arc<Metrics>,
    /// The group's log, and what members get of it.
    pub(super) log: Option<Arc<Proofs>>,
    /// Rounds that were refused, by rule.
    pub(super) refusals: Arc<Mutex<BTreeMap<String, u64>>>,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Job")
    }
}

impl Manager {
    /// What the feed has, and when that changes.
    pub fn feed(&self) -> watch::Receiver<Arc<Feed>> {
        self.feed.clone()
    }

    /// Starts the thread. It ends, with everything published, when all clones are dropped.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot be read.
    pub fn start<R: CryptoRng + Send + 'static>(
        store: Store,
        issuer: IssuerKeyFile,
        options: ManagerOptions,
        rng: R,
    ) -> Result<(Self, JoinHandle<()>), StoreError> {
        Self::start_with_log(store, issuer, options, None, rng)
    }

    /// As [`start`](Self::start), with the log that the group writes into: what is in the store's outbox
    /// gets there by itself. Needs a runtime of tokio.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_with_log<R: CryptoRng + Send + 'static>(
        store: Store,
        issuer: IssuerKeyFile,
        options: ManagerOptions,
        log: Option<ManagedLog>,
        rng: R,
    ) -> Result<(Self, JoinHandle<()>), StoreError> {
        let bytes = store.group_bytes()?;
        let first = Arc::new(feed_of(&store, &bytes)?);
        let (feed, watched) = watch::channel(first);
        let (jobs, received) = sync_channel(QUEUE_MAX);
        let metrics = Arc::<Metrics>::default();
        let (mut sender, mut proofs) = (None, None);
        if let Some(log) = log {
            let (own, sent) = Sender::start(&store, &log, Arc::clone(&metrics))?;
            sender = Some(own);
            proofs = Some(Arc::new(Proofs::new(log, sent)));
        }
        let manager = Self {
            jobs,
            feed: watched,
            group: Arc::new(RwLock::new((etag(&bytes), bytes.into()))),
            witnesses: store.witnesses_path(),
            trouble: Arc::default(),
            waits: Waits::default(),
            metrics,
            log: proofs,
            refusals: Arc::default(),
        };
        let worker = Worker {
            last_epoch: last_epoch(&store),
            store,
            issuer,
            options,
            rng,
            feed,
            group: Arc::clone(&manager.group),
            trouble: Arc::clone(&manager.trouble),
            metrics: Arc::clone(&manager.metrics),
            sender,
            refusals: Arc::clone(&manager.refusals),
            attempts: Attempts::default(),
            dirty: false,
            failing: BTreeMap::new(),
            not_before: Instant::now(),
            is_witnessed: false,
            unwritten: None,
        };
        let thread = std::thread::spawn(move || worker.run(&received));
        Ok((manager, thread))
    }

    /// Has a round answered. The answer is text, and all that it tells is on disk.
    ///
    /// # Errors
    /// Why it is refused.
    pub async fn answer(&self, round: JoinRound) -> Result<String, Problem> {
        let (answer, answered) = oneshot::channel();
        match self.jobs.try_send(Job { round, answer }) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => {
                count(&self.metrics.queue_full);
                return Err(Problem::busy(BUSY_SECONDS, "too many devices are joining"));
            }
            Err(TrySendError::Disconnected(_)) => return Err(stopped()),
        }
        answered.await.unwrap_or_else(|_| Err(stopped()))
    }
}

fn stopped() -> Problem {
    Problem::busy(BUSY_SECONDS, "the service is stopping")
}

fn feed_of(store: &Store, bytes: &[u8]) -> Result<Feed, StoreError> {
    let feed = Feed::new(store.group().id(), bytes);
    feed.map_err(|error| StoreError::Damaged(error.to_string()))
}

/// When the newest epoch was made, nanoseconds since 1970.
fn last_epoch(store: &Store) -> u64 {
    let newest = store.group().epochs().last();
    newest.map_or(0, |record| record.made.as_nanos())
}

struct Worker<R> {
    store: Store,
    issuer: IssuerKeyFile,
    options: ManagerOptions,
    rng: R,
    feed: watch::Sender<Arc<Feed>>,
    group: Arc<RwLock<(String, Bytes)>>,
    trouble: Arc<RwLock<Option<String>>>,
    metrics: Arc<Metrics>,
    sender: Option<Sender>,
    /// Rounds that were refused, by rule: there are as many rules as [`problem`] names.
    refusals: Arc<Mutex<BTreeMap<String, u64>>>,
    attempts: Attempts,
    /// A change is not published yet.
    dirty: bool,
    /// When the newest epoch was made, nanoseconds since 1970.
    last_epoch: u64,
    /// What failed in the last turn of each task.
    failing: BTreeMap<&'static str, String>,
    /// When clock and epoch are looked at next.
    not_before: Instant,
    /// Whether witnesses agreed with the clock: what follows is judged by the time that passed since.
    is_witnessed: bool,
    /// Why rounds were not written, and since when, if none was written after that.
    unwritten: Option<(String, Instant)>,
}

impl<R: CryptoRng> Worker<R> {
    fn run(mut self, jobs: &Receiver<Job>) {
        let _vital = Vital;
        let mut next = Instant::now() + PUBLISH_LAG;
        loop {
            match jobs.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(first) => self.batch(first, jobs),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if Instant::now() >= next {
                self.tick();
                next = Instant::now() + PUBLISH_LAG;
            }
        }
        self.tick();
    }

    /// Answers the rounds that wait, at most [`ROUNDS_MAX`], in one commit.
    fn batch(&mut self, first: Job, jobs: &Receiver<Job>) {
        let mut rounds = Vec::new();
        let mut answers = Vec::new();
        let mut batched = HashMap::<[u8; 32], u32>::new();
        let is_halted = self.sender.as_ref().is_some_and(Sender::is_halted);
        for job in std::iter::once(first).chain(jobs.try_iter().take(ROUNDS_MAX - 1)) {
            if is_halted {
                let _ = job.answer.send(Err(halted()));
                continue;
            }
            let before = batched.entry(nonce(&job.round)).or_default();
            match self.attempts.may_try(&nonce(&job.round), *before) {
                Ok(()) => {
                    *before += 1;
                    rounds.push(job.round);
                    answers.push(job.answer);
                }
                Err(problem) => {
                    count(&self.metrics.refused);
                    let _ = job.answer.send(Err(self.refused(problem)));
                }
            }
        }
        if rounds.is_empty() {
            return;
        }
        let nonces: Vec<[u8; 32]> = rounds.iter().map(nonce).collect();
        let now = (self.options.clock)();
        count(&self.metrics.commits);
        match self.store.answer(&self.issuer, rounds, now, &mut self.rng) {
            Ok(answered) => {
                (self.dirty, self.unwritten) = (true, None);
                for ((answer, nonce), answered) in answers.into_iter().zip(nonces).zip(answered) {
                    self.tried(nonce, &answered);
                    // The device may have gone: it will ask again.
                    let refused = |error| self.refused(problem(&error));
                    let _ = answer.send(answered.map(text).map_err(refused));
                }
            }
            Err(error) => {
                count(&self.metrics.failures);
                self.unwritten = Some((error.to_string(), Instant::now()));
                self.tell_trouble();
                for answer in answers {
                    let _ = answer.send(Err(problem(&error)));
                }
            }
        }
    }

    /// Counts a refusal by its rule.
    fn refused(&self, problem: Problem) -> Problem {
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        *refusals.entry(problem.title.clone()).or_default() += 1;
        problem
    }

    /// Counts a round, and that of an invitation that there is.
    fn tried(&mut self, nonce: [u8; 32], answered: &Result<JoinAnswer, StoreError>) {
        match answered {
            Ok(_) => count(&self.metrics.rounds),
            Err(_) => count(&self.metrics.refused),
        }
        let is_unknown = matches!(
            answered,
            Err(StoreError::NoInvitation | StoreError::NoFactory)
        );
        if !is_unknown {
            self.attempts.tried(nonce);
        }
    }

    /// Publishes, writes into the log, and makes the epoch that is due. What fails of it hinders nothing else.
    fn tick(&mut self) {
        self.turn("publication", Self::publish);
        self.turn("log", Self::write_log);
        if Instant::now() >= self.not_before {
            self.not_before = Instant::now() + AGAIN;
            self.turn("clock", Self::judge_clock);
            self.turn("epoch", Self::make_epoch);
        }
        let is_old = |(_, at): &(String, Instant)| at.elapsed() >= UNWRITTEN_TIME;
        if self.unwritten.as_ref().is_some_and(is_old) {
            self.unwritten = None;
        }
        self.tell_trouble();
    }

    fn turn(&mut self, task: &'static str, work: fn(&mut Self) -> Result<(), StoreError>) {
        match work(self) {
            Ok(()) => drop(self.failing.remove(task)),
            Err(error) => {
                count(&self.metrics.failures);
                self.failing.insert(task, error.to_string());
            }
        }
    }

    /// Follows other processes, and publishes what there is.
    fn publish(&mut self) -> Result<(), StoreError> {
        self.dirty |= self.store.follow()?;
        if self.dirty {
            self.store.refresh()?;
            self.show()?;
            self.dirty = false;
        }
        Ok(())
    }

    /// Brings the outbox to the log.
    fn write_log(&mut self) -> Result<(), StoreError> {
        let Some(sender) = &mut self.sender else {
            if self.store.group().newest_log().is_some() {
                self.failing.insert("address", UNLOGGED.to_owned());
            }
            return Ok(());
        };
        let now = WallTime::from_nanos((self.options.clock)());
        if let Some(news) = sender.turn(&mut self.store, &self.issuer, now)? {
            (self.options.tell)(&news);
        }
        Ok(())
    }

    /// Judges this host's clock, also while nobody changes anything.
    fn judge_clock(&mut self) -> Result<(), StoreError> {
        let now = (self.options.clock)();
        if !self.is_witnessed && self.sender.as_ref().is_some_and(Sender::knows_time) {
            self.store.confirm_clock(now)?;
            self.is_witnessed = true;
        }
        self.store.judge_clock(now)
    }

    fn make_epoch(&mut self) -> Result<(), StoreError> {
        let Some(every) = self.options.epoch_every else {
            return Ok(());
        };
        let is_halted = self.sender.as_ref().is_some_and(Sender::is_halted);
        if is_halted || self.store.group().end().is_some() {
            return Ok(());
        }
        let now = (self.options.clock)();
        let every = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX);
        let last = self.last_epoch.max(last_epoch(&self.store));
        if now < last.saturating_add(every) {
            return Ok(());
        }
        let made = self
            .store
            .revoke_queued(&self.issuer, EpochStart::now(now), &mut |_, _| true)?;
        for epoch in made {
            count(&self.metrics.epochs);
            self.last_epoch = now;
            self.dirty = true;
            (self.options.tell)(&format!("epoch {epoch}: queued machines are revoked"));
        }
        Ok(())
    }

    /// Shows what is published.
    fn show(&mut self) -> Result<(), StoreError> {
        let bytes = self.store.group_bytes()?;
        if !self.feed.borrow().is_of(&bytes) {
            let feed = Arc::new(feed_of(&self.store, &bytes)?);
            self.feed.send_replace(feed);
        }
        let named = (etag(&bytes), bytes.into());
        *self.group.write().unwrap_or_else(PoisonError::into_inner) = named;
        Ok(())
    }

    /// Keeps what is wrong, and tells it once.
    fn tell_trouble(&self) {
        let unwritten = self.unwritten.as_ref().map(|(why, _)| why);
        let trouble = unwritten.or_else(|| self.failing.values().next()).cloned();
        let mut kept = self.trouble.write().unwrap_or_else(PoisonError::into_inner);
        if *kept != trouble {
            match &trouble {
                Some(error) => (self.options.tell)(&format!("{error}; it is tried again")),
                None => (self.options.tell)("all changes are published again"),
            }
            *kept = trouble;
        }
    }
}

fn nonce(round: &JoinRound) -> [u8; 32] {
    match round {
        JoinRound::Claim(claim) => claim.nonce,
        JoinRound::Request(request) => request.nonce,
        JoinRound::Acceptance(acceptance) => acceptance.nonce,
    }
}

fn text(answer: JoinAnswer) -> String {
    match answer {
        JoinAnswer::Invitation(file) => file.encode().to_string(),
        JoinAnswer::Offer(file) => file.encode().to_string(),
        JoinAnswer::Credential(file) => file.encode().to_string(),
    }
}
