//! What a witness answers over HTTP.

use super::{NotCosigned, WitnessStore};
use crate::http::Problem;
use crate::metrics::{line, page};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use clew_log::{AddCheckpoint, Checkpoint, Refusal, VerifierKey};
use clew_wire::{Hex, WallTime};
use sha2::{Digest, Sha256};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;

/// Largest request: a note, and the longest proof before it.
const REQUEST_MAX: usize = (1 << 17) + 4_096;
/// Most requests that wait for the disk.
const WAITING_MAX: usize = 64;
const TEXT: &str = "text/plain; charset=utf-8";
const SIZE: &str = "text/x.tlog.size";

/// How a witness serves.
pub struct WitnessOptions {
    /// The clock: nanoseconds since 1970.
    pub clock: fn() -> WallTime,
    /// The logs that it cosigns for.
    pub logs: Vec<VerifierKey>,
    /// Where to tell of failures: one line each.
    pub tell: fn(&str),
}

struct Shared {
    store: Mutex<WitnessStore>,
    options: WitnessOptions,
    waiting: Semaphore,
    cosigned: AtomicU64,
    refused: AtomicU64,
    inconsistent: AtomicU64,
}

/// Makes a router that answers for a witness.
pub fn router(store: WitnessStore, options: WitnessOptions) -> Router {
    let shared = Arc::new(Shared {
        store: Mutex::new(store),
        options,
        waiting: Semaphore::new(WAITING_MAX),
        cosigned: AtomicU64::new(0),
        refused: AtomicU64::new(0),
        inconsistent: AtomicU64::new(0),
    });
    Router::new()
        .route("/add-checkpoint", post(add))
        .route("/{origin}/checkpoint", get(newest))
        .route("/health", get(|| async { "{\"status\":\"ok\"}" }))
        .route("/metrics", get(metrics))
        .layer(DefaultBodyLimit::max(REQUEST_MAX))
        .with_state(shared)
}

fn refusal(refusal: Refusal) -> Response {
    if let Refusal::OtherSize(size) = refusal {
        let body = format!("{size}\n");
        return (StatusCode::CONFLICT, [(CONTENT_TYPE, SIZE)], body).into_response();
    }
    let name = match refusal {
        Refusal::Layout => "layout",
        Refusal::Signature => "signature",
        Refusal::Order => "order",
        Refusal::OtherSize(_) => "other-size",
        Refusal::Inconsistent => "inconsistent",
    };
    let status = StatusCode::from_u16(refusal.status());
    let status = status.unwrap_or(StatusCode::BAD_REQUEST);
    Problem::new(status, name, refusal).into_response()
}

async fn add(State(shared): State<Arc<Shared>>, body: Bytes) -> Response {
    let request = str::from_utf8(&body).map_err(|_| Refusal::Layout);
    let request = match request.and_then(AddCheckpoint::parse) {
        Ok(request) => request,
        Err(error) => return shared.refuse(error),
    };
    let stated = Checkpoint::parse(request.checkpoint.text());
    let Ok(stated) = stated else {
        return shared.refuse(Refusal::Layout);
    };
    let log = shared
        .options
        .logs
        .iter()
        .position(|log| log.name() == stated.origin);
    let Some(log) = log else {
        shared.refused.fetch_add(1, Relaxed);
        let why = "the log is not one that this witness cosigns for";
        return Problem::new(StatusCode::NOT_FOUND, "origin", why).into_response();
    };
    // Before it waits: strangers do not hold places.
    if request
        .checkpoint
        .signature(&shared.options.logs[log])
        .is_err()
    {
        return shared.refuse(Refusal::Signature);
    }
    let busy = || Problem::busy(1, "too many requests wait").into_response();
    let Ok(_permit) = shared.waiting.try_acquire() else {
        return busy();
    };
    let of_thread = Arc::clone(&shared);
    let done = tokio::task::spawn_blocking(move || {
        let shared = of_thread;
        let now = (shared.options.clock)().as_nanos() / 1_000_000_000;
        let mut store = shared.store();
        store.cosign(&shared.options.logs[log], &request, now)
    });
    match done.await {
        Ok(Ok(line)) => {
            shared.cosigned.fetch_add(1, Relaxed);
            ([(CONTENT_TYPE, TEXT)], line).into_response()
        }
        Ok(Err(NotCosigned::Refused(error))) => shared.refuse(error),
        Ok(Err(NotCosigned::Storage(error))) => {
            (shared.options.tell)(&error.to_string());
            Problem::busy(1, "the witness cannot write at the moment").into_response()
        }
        Err(_) => busy(),
    }
}

impl Shared {
    fn store(&self) -> std::sync::MutexGuard<'_, WitnessStore> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refuse(&self, error: Refusal) -> Response {
        self.refused.fetch_add(1, Relaxed);
        if error == Refusal::Inconsistent {
            self.inconsistent.fetch_add(1, Relaxed);
            (self.options.tell)("refused a signed checkpoint: not consistent with the last one");
        }
        refusal(error)
    }
}

async fn newest(State(shared): State<Arc<Shared>>, Path(origin): Path<String>) -> Response {
    let none = || {
        let why = "no checkpoint of such a log was cosigned";
        Problem::new(StatusCode::NOT_FOUND, "no-checkpoint", why).into_response()
    };
    let is_it = |log: &&VerifierKey| Hex(&Sha256::digest(log.name())).to_string() == origin;
    let Some(log) = shared.options.logs.iter().find(is_it) else {
        return none();
    };
    let name = log.name().to_owned();
    let of_thread = Arc::clone(&shared);
    let read = tokio::task::spawn_blocking(move || of_thread.store().newest(&name));
    match read.await {
        Ok(Ok(Some(note))) => {
            let headers = [(CONTENT_TYPE, TEXT), (CACHE_CONTROL, "no-cache")];
            (headers, note).into_response()
        }
        Ok(Ok(None)) => none(),
        _ => Problem::busy(1, "the witness cannot read at the moment").into_response(),
    }
}

async fn metrics(State(shared): State<Arc<Shared>>) -> Response {
    let counted = [
        ("cosigned", "Checkpoints cosigned.", &shared.cosigned),
        ("refused", "Requests refused by a rule.", &shared.refused),
        (
            "inconsistent",
            "Signed checkpoints that were not consistent.",
            &shared.inconsistent,
        ),
    ];
    let each = counted.iter();
    let text = each.map(|(name, help, count)| line("witness", name, help, count));
    page(&text.collect::<String>())
}
