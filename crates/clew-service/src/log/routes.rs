//! What a log answers over HTTP (`spec/log.md` section 6).

use super::adding::{Refused, WAITING_MAX, Waiting};
use super::cosigning::Status;
use super::service::{Shared, lock};
use super::store::{NotAdded, Placed};
use crate::http::Problem;
use crate::metrics::{gauge, line, page};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Path, RawQuery, State};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use clew_log::entry::{Body as EntryBody, Entry, Filed, Seal};
use clew_log::tile::{ENTRY_BYTES_MAX, Tile, WIDTH};
use clew_log::{Proof, Rule, tree};
use futures_util::stream;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// How long `add?cosigned` waits for witnesses.
const COSIGNED_WAIT: Duration = Duration::from_secs(30);
pub(crate) const TEXT: &str = "text/plain; charset=utf-8";
pub(crate) const JSON: &str = "application/json";
pub(crate) const BYTES: &str = "application/octet-stream";
/// Tiles never change.
pub(crate) const FOR_EVER: &str = "public, max-age=31536000, immutable";
pub(crate) const FOR_NOW: &str = "no-cache";
/// After how many seconds a busy log is asked again.
const RETRY_AFTER: u32 = 1;

#[derive(Clone)]
struct Served {
    shared: Arc<Shared>,
    queue: mpsc::Sender<Waiting>,
}

pub(super) fn router(shared: Arc<Shared>, queue: mpsc::Sender<Waiting>) -> Router {
    Router::new()
        .route("/add", post(add))
        .route("/checkpoint", get(checkpoint))
        .route("/tile/{*path}", get(tile))
        .route("/health", get(health))
        .route("/metrics", get(metrics))
        .layer(DefaultBodyLimit::max(ENTRY_BYTES_MAX))
        .with_state(Served { shared, queue })
}

fn problem(refused: Refused) -> Problem {
    match refused {
        Refused::Not(NotAdded::Rule(rule)) => refusal(rule),
        Refused::Not(NotAdded::TooMany) => {
            let why = "the author wrote too many entries within an hour";
            let mut problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "too-many", why);
            problem.retry_after = Some(600);
            problem
        }
        Refused::Closed(Status::Halted(why)) => {
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "halted", why)
        }
        Refused::Closed(_) => Problem::busy(RETRY_AFTER, "the log waits for its witnesses"),
        // What the disk said is the operator's.
        Refused::Storage => Problem::busy(RETRY_AFTER, "the log cannot write at the moment"),
    }
}

fn refusal(rule: Rule) -> Problem {
    let status = match rule {
        Rule::Layout => StatusCode::BAD_REQUEST,
        Rule::Signature | Rule::Author => StatusCode::FORBIDDEN,
        Rule::Fork => StatusCode::CONFLICT,
        Rule::Group | Rule::Time | Rule::Order | Rule::Warrant | Rule::Seal => {
            StatusCode::UNPROCESSABLE_ENTITY
        }
    };
    Problem::new(status, rule.as_str(), rule)
}

async fn add(
    State(served): State<Served>,
    RawQuery(query): RawQuery,
    body: Bytes,
) -> Result<Response, Problem> {
    let metrics = &served.shared.metrics;
    let entry = Entry::decode(&body).ok_or(Rule::Layout);
    let entry = entry.and_then(|entry| match entry.is_signed() {
        true => Ok(entry),
        false => Err(Rule::Signature),
    });
    let entry = entry.and_then(|entry| {
        let may_write = lock(&served.shared.authors).contains(&entry.author);
        may_write.then_some(entry).ok_or(Rule::Author)
    });
    let entry = entry.and_then(|entry| match shows_a_warrant(&entry) {
        true => Ok(entry),
        false => Err(Rule::Warrant),
    });
    let entry = entry.map_err(|rule| {
        metrics.refused.fetch_add(1, Relaxed);
        refusal(rule)
    })?;
    let (answer, added) = oneshot::channel();
    let waiting = Waiting { entry, answer };
    if served.queue.try_send(waiting).is_err() {
        metrics.busy.fetch_add(1, Relaxed);
        let why = format!("{WAITING_MAX} entries wait already");
        return Err(Problem::busy(RETRY_AFTER, why));
    }
    let ended = |_| Problem::busy(RETRY_AFTER, "the log stops");
    let placed = added.await.map_err(ended)?.map_err(problem)?;
    if query.as_deref() == Some("cosigned") {
        return prove(&served.shared, placed).await;
    }
    let logged = placed
        .bytes
        .first_chunk()
        .map(|time| u64::from_be_bytes(*time));
    let answer = serde_json::json!({ "place": placed.place, "logged": logged });
    let status = match placed.is_new {
        true => StatusCode::CREATED,
        false => StatusCode::OK,
    };
    let json = [(CONTENT_TYPE, JSON)];
    Ok((status, json, answer.to_string()).into_response())
}

/// Whether what an entry makes public for ever is a warrant: of its group, and for its requester. Else a
/// requester could publish anything. Whose warrants count is the trustees' question.
fn shows_a_warrant(entry: &Entry) -> bool {
    let (file, requester) = match &entry.body {
        EntryBody::Request(Filed {
            seal: Seal::Open(warrant),
            ..
        }) => (&warrant.file, Some(entry.author)),
        EntryBody::Unsealed { warrant, .. } => (&warrant.file, None),
        _ => return true,
    };
    let text = std::str::from_utf8(file).ok();
    let warrant = text.and_then(|text| clew_evidence::Warrant::decode(text).ok());
    warrant.is_some_and(|warrant| {
        let draft = warrant.draft();
        let is_own = requester.is_none_or(|key| key == draft.requester.key);
        draft.group.0 == entry.group && is_own
    })
}

/// Waits until enough witnesses cosigned a checkpoint with the entry, and answers with its proof.
async fn prove(shared: &Arc<Shared>, placed: Placed) -> Result<Response, Problem> {
    let mut published = shared.published.subscribe();
    let has = published.wait_for(|published| {
        let size = published.as_ref().map_or(0, |published| published.size);
        size > placed.place
    });
    let cosigned = match tokio::time::timeout(COSIGNED_WAIT, has).await {
        Ok(Ok(published)) => published.clone(),
        _ => None,
    };
    let uncosigned = || Problem::busy(RETRY_AFTER, "the entry is added, and not cosigned yet");
    let cosigned = cosigned.ok_or_else(uncosigned)?;
    let (place, size) = (placed.place, cosigned.size);
    let hashes = shared
        .read(move |storage| storage.with_nodes(|node| tree::inclusion(place, size, node)))
        .await;
    let proof = Proof {
        extra: Some(placed.bytes),
        index: place,
        hashes: hashes.map_err(unread)?,
        checkpoint: cosigned.note,
    };
    Ok(([(CONTENT_TYPE, TEXT)], proof.to_string()).into_response())
}

fn unread<E>(_: E) -> Problem {
    let why = "the log cannot read its database";
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "storage", why)
}

async fn checkpoint(State(served): State<Served>) -> Result<Response, Problem> {
    let published = served.shared.published.borrow().clone();
    let none = || {
        let why = "no checkpoint is cosigned yet";
        Problem::new(StatusCode::NOT_FOUND, "no-checkpoint", why)
    };
    let note = published.ok_or_else(none)?.note.to_string();
    let headers = [(CONTENT_TYPE, TEXT), (CACHE_CONTROL, FOR_NOW)];
    Ok((headers, note).into_response())
}

async fn tile(State(served): State<Served>, Path(path): Path<String>) -> Result<Response, Problem> {
    let none = || Problem::new(StatusCode::NOT_FOUND, "no-tile", "the log has no such tile");
    let tile = Tile::from_path(&format!("tile/{path}")).ok_or_else(none)?;
    let size = served.shared.newest.borrow().size;
    if !tile.is_of(size) {
        return Err(none());
    }
    let headers = [(CONTENT_TYPE, BYTES), (CACHE_CONTROL, FOR_EVER)];
    let Some(level) = tile.level else {
        return Ok((headers, bundle(served.shared, &tile)).into_response());
    };
    let read = served
        .shared
        .read(move |storage| storage.hashes(level, &tile));
    Ok((headers, read.await.map_err(unread)?).into_response())
}

/// Reads a bundle as fast as its reader takes it: it may have 16 MB, and readers may be slow.
fn bundle(shared: Arc<Shared>, tile: &Tile) -> Body {
    let first = tile.index * WIDTH;
    let end = first + tile.width;
    Body::from_stream(stream::try_unfold(first, move |next| {
        let shared = Arc::clone(&shared);
        async move {
            if next == end {
                return Ok(None);
            }
            let read = shared.read(move |storage| storage.bundle_part(next, end));
            read.await.map(Some)
        }
    }))
}

async fn health(State(served): State<Served>) -> Response {
    let shared = &served.shared;
    let status = shared.status();
    let (code, word) = match &status {
        Status::Open if shared.is_failing() => (StatusCode::SERVICE_UNAVAILABLE, "failing"),
        Status::Starting => (StatusCode::SERVICE_UNAVAILABLE, "starting"),
        Status::Open => (StatusCode::OK, "ok"),
        Status::Halted(_) => (StatusCode::SERVICE_UNAVAILABLE, "halted"),
    };
    let witnesses: Vec<_> = lock(&shared.witnesses)
        .iter()
        .map(|seen| {
            serde_json::json!({
                "name": seen.name,
                "size": seen.last.map(|(size, _)| size),
                "at": seen.last.map(|(_, at)| at.as_nanos() / 1_000_000_000),
                "error": seen.error,
            })
        })
        .collect();
    let body = serde_json::json!({
        "status": word,
        "why": match status { Status::Halted(why) => Some(why), _ => None },
        "size": shared.newest.borrow().size,
        "published": shared.published.borrow().as_ref().map(|published| published.size),
        "witnesses": witnesses,
    });
    let headers = [(CONTENT_TYPE, JSON), (CACHE_CONTROL, FOR_NOW)];
    (code, headers, body.to_string()).into_response()
}

async fn metrics(State(served): State<Served>) -> Response {
    let (shared, mut text) = (&served.shared, String::new());
    let counted = [
        ("entries", "Entries added.", &shared.metrics.entries),
        ("commits", "Commits.", &shared.metrics.commits),
        (
            "refused",
            "Entries refused by a rule.",
            &shared.metrics.refused,
        ),
        (
            "busy",
            "Entries refused because too many wait.",
            &shared.metrics.busy,
        ),
        ("failed", "Commits that failed.", &shared.metrics.failed),
        (
            "cosignatures",
            "Cosignatures received.",
            &shared.metrics.cosigned,
        ),
        (
            "uncosigned",
            "Requests to witnesses that failed.",
            &shared.metrics.uncosigned,
        ),
    ];
    for (name, help, count) in counted {
        text += &line("log", name, help, count);
    }
    let published = shared.published.borrow().as_ref().map_or(0, |p| p.size);
    text += &gauge(
        "log",
        "size",
        "Entries of the log.",
        shared.newest.borrow().size,
    );
    let help = "Entries of the published checkpoint.";
    text += &gauge("log", "published_size", help, published);
    page(&text)
}
