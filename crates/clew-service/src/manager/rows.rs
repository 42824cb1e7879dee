//! Rows for those who opened a packet (`spec/opening.md` 4.3). A thread of its own opens the store beside
//! the one that serves joins, so that a slow search delays no device.

use crate::board::BoardService;
use crate::http::Problem;
use crate::vital::Vital;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use clew_evidence::{CombineError, Opening, ROW_QUESTION_BYTES_MAX, RowQuestion, combine_opening};
use clew_keys::IssuerKeyFile;
use clew_manager::{Store, StoreError};
use rand_core::CryptoRng;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Where rows are asked for.
pub const ROW_PATH: &str = "request/row";

/// Most questions that wait.
const QUEUE_MAX: usize = 8;
/// Most questions of one author that are answered within [`HOUR`]: each may verify 32 shares.
const ANSWERS_MAX: u32 = 600;
const HOUR: Duration = Duration::from_secs(3_600);
const BUSY_SECONDS: u32 = 5;
/// Longest wait of one question: shorter than that of the server for an answer.
const ANSWER_WAIT: Duration = Duration::from_secs(45);

struct Job {
    author: [u8; 32],
    question: RowQuestion,
    answer: oneshot::Sender<Result<String, Problem>>,
}

/// A register that answers who shows good shares. Clones share it.
#[derive(Clone)]
pub struct RowService {
    jobs: SyncSender<Job>,
}

impl std::fmt::Debug for RowService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RowService")
    }
}

impl RowService {
    /// Starts the thread, which ends when all clones are dropped. `clock` is the time of day, in
    /// nanoseconds since 1970.
    pub fn start<R: CryptoRng + Send + 'static>(
        dir: PathBuf,
        issuer: IssuerKeyFile,
        clock: fn() -> u64,
        rng: R,
    ) -> Self {
        let (jobs, received) = sync_channel(QUEUE_MAX);
        let worker = Worker {
            dir,
            issuer,
            clock,
            rng,
            since: Instant::now(),
            answered: HashMap::new(),
        };
        std::thread::spawn(move || worker.run(&received));
        Self { jobs }
    }

    /// The path `POST request/row`, for the authors whom a board knows.
    pub fn router(self, authors: BoardService) -> Router {
        let path = format!("/{ROW_PATH}");
        Router::new()
            .route(&path, post(row))
            .with_state((self, authors))
    }
}

/// Nothing of a stranger's body is read: who is no author cannot use up the limits.
async fn row(
    State((rows, authors)): State<(RowService, BoardService)>,
    headers: HeaderMap,
    body: Body,
) -> Result<String, Problem> {
    let author = authors.check_user(&headers, ROW_PATH).await?;
    let bad = || {
        let why = "not a packet with shares";
        Problem::new(StatusCode::BAD_REQUEST, "layout", why)
    };
    let body = to_bytes(body, ROW_QUESTION_BYTES_MAX).await;
    let question = RowQuestion::decode(&body.map_err(|_| bad())?).ok_or_else(bad)?;
    let (answer, answered) = oneshot::channel();
    match rows.jobs.try_send(Job {
        author,
        question,
        answer,
    }) {
        Ok(()) => {}
        Err(TrySendError::Full(_)) => return Err(busy("too many questions wait")),
        Err(TrySendError::Disconnected(_)) => return Err(busy("the service is stopping")),
    }
    match tokio::time::timeout(ANSWER_WAIT, answered).await {
        Ok(answered) => answered.unwrap_or_else(|_| Err(busy("the service is stopping"))),
        // The first search of an epoch makes its index, which the next one finds.
        Err(_) => Err(busy("the search takes longer: ask again")),
    }
}

fn busy(why: &str) -> Problem {
    Problem::busy(BUSY_SECONDS, why)
}

struct Worker<R> {
    dir: PathBuf,
    issuer: IssuerKeyFile,
    clock: fn() -> u64,
    rng: R,
    since: Instant,
    /// By author: the board's authors alone.
    answered: HashMap<[u8; 32], u32>,
}

impl<R: CryptoRng> Worker<R> {
    fn run(mut self, jobs: &Receiver<Job>) {
        let _vital = Vital;
        while let Ok(job) = jobs.recv() {
            let Job {
                author,
                question,
                answer,
            } = job;
            let answered = match self.may_answer(author) {
                true => self.answer(&question),
                false => Err(Problem::new(
                    StatusCode::TOO_MANY_REQUESTS,
                    "too-many",
                    "the limit of this author's rows in an hour is reached",
                )),
            };
            let _ = answer.send(answered); // whoever asked may have left
        }
    }

    fn may_answer(&mut self, author: [u8; 32]) -> bool {
        if self.since.elapsed() >= HOUR {
            self.since = Instant::now();
            self.answered.clear();
        }
        let answered = self.answered.entry(author).or_default();
        *answered = answered.saturating_add(1);
        *answered <= ANSWERS_MAX
    }

    fn answer(&mut self, question: &RowQuestion) -> Result<String, Problem> {
        let mut store = Store::open(&self.dir).map_err(|_| busy("the store is busy"))?;
        let group = store.group().clone().check_epochs(&mut self.rng);
        let group = group.map_err(|_| busy("the store is damaged"))?;
        let request = question.request().ok_or_else(|| busy("no share"))?;
        let (packet, mut trouble) = (question.packet(), None);
        let opened = combine_opening(&group, request, question.shares(), &packet, |opened| {
            let epoch = opened.request().epoch;
            let search = opened.search();
            let found = store.find_signer(&self.issuer, epoch, search, &mut |_, _| true);
            found.unwrap_or_else(|error| {
                trouble = Some(error);
                None
            })
        });
        if trouble.is_some() {
            return Err(busy("the store is busy"));
        }
        let opening: Opening = opened.map_err(|error| refused(&error))?.evidence;
        let kept = store.keep(&self.issuer, opening.row.machines, (self.clock)());
        kept.map_err(|_: StoreError| busy("the register grew: ask again"))?;
        Ok(opening.encode())
    }
}

fn refused(error: &CombineError) -> Problem {
    match error {
        CombineError::NoRow { .. } => {
            Problem::new(StatusCode::NOT_FOUND, "no-row", "no row signed this")
        }
        error => Problem::new(StatusCode::FORBIDDEN, "shares", error),
    }
}
