//! The paths of a manager.

use super::Manager;
use super::feed::{BUNDLE_RECORDS, Bundle};
use super::metrics::{count, gauge};
use super::sender::Standing;
use crate::http::{From, Problem, Stopping, stops};
use crate::metrics::page;
use crate::pages::page_again;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use clew_evidence::armor::MAX_TEXT_BYTES;
use clew_keys::TextFile;
use clew_keys::join::{AcceptanceFile, ClaimFile, RequestFile};
use clew_keys::witness_file::BUCKET_BYTES_MAX;
use clew_manager::JoinRound;
use futures_util::stream;
use serde::Deserialize;
use std::convert::Infallible;
use std::sync::PoisonError;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio_util::io::ReaderStream;

/// Longest time that a request for the head waits.
const WAIT_MAX: Duration = Duration::from_secs(50);

const FOR_EVER: &str = "public, max-age=31536000, immutable";
const ASK_AGAIN: &str = "no-cache";

/// The paths of a manager (`spec/manager-service.md` section 2).
pub fn router(manager: Manager) -> Router {
    let log = manager.log.as_ref().map(|log| log.log.routes.clone());
    let router = Router::new()
        .route("/join/claim", post(claim))
        .route("/join/request", post(request))
        .route("/join/acceptance", post(acceptance))
        .route("/feed/head", get(head))
        .route("/feed/records/{number}", get(bundle))
        .route("/feed/records/{number}/{width}", get(partial))
        .route("/feed/witnesses/{epoch}/{bucket}", get(witnesses))
        .route("/feed/log/{epoch}", get(proof))
        .route("/group", get(group))
        .route("/health", get(health))
        .route("/metrics", get(metrics))
        .layer(DefaultBodyLimit::max(MAX_TEXT_BYTES))
        .with_state(manager);
    match log {
        // The log's address, as its readers write it, leads to its pages.
        Some(log) => router.nest("/log", log).route("/log/", get(log_pages)),
        None => router,
    }
}

type Answered = Result<Response, Problem>;

/// Reads the text file that was sent.
fn read<T: TextFile>(body: &Bytes) -> Result<T, Problem> {
    let bad = |what: &dyn std::fmt::Display| Problem::new(StatusCode::BAD_REQUEST, "file", what);
    let text = std::str::from_utf8(body).map_err(|error| bad(&error))?;
    T::decode(text).map_err(|error| bad(&error))
}

async fn claim(State(manager): State<Manager>, body: Bytes) -> Answered {
    let round = JoinRound::Claim(read::<ClaimFile>(&body)?);
    Ok(manager.answer(round).await?.into_response())
}

async fn request(State(manager): State<Manager>, body: Bytes) -> Answered {
    let round = JoinRound::Request(read::<RequestFile>(&body)?);
    Ok(manager.answer(round).await?.into_response())
}

async fn acceptance(State(manager): State<Manager>, body: Bytes) -> Answered {
    let round = JoinRound::Acceptance(read::<AcceptanceFile>(&body)?);
    Ok(manager.answer(round).await?.into_response())
}

#[derive(Deserialize)]
struct Wait {
    wait: Option<u64>,
}

/// Who cannot wait, because too many do or the service stops, gets the present head.
async fn head(
    State(manager): State<Manager>,
    from: Option<Extension<From>>,
    stopping: Option<Extension<Stopping>>,
    Query(query): Query<Wait>,
    headers: HeaderMap,
) -> Response {
    count(&manager.metrics.heads);
    let mut watched = manager.feed.clone();
    let known = known(&headers);
    let wait = Duration::from_secs(query.wait.unwrap_or(0)).min(WAIT_MAX);
    if let (Some(known), false) = (known, wait.is_zero())
        && let Some(_waiting) = from.and_then(|Extension(from)| manager.waits.begin(from))
    {
        let other = watched.wait_for(|feed| feed.etag != known);
        tokio::select! {
            _ = tokio::time::timeout(wait, other) => {}
            () = stops(stopping) => {}
        }
    }
    let (name, head) = {
        let feed = watched.borrow();
        (feed.etag.clone(), feed.head.clone())
    };
    tagged(known, name, head)
}

/// The content's name that the client has.
fn known(headers: &HeaderMap) -> Option<&str> {
    headers.get(IF_NONE_MATCH)?.to_str().ok()
}

/// A content with its name, or that the client has it already.
fn tagged(known: Option<&str>, name: String, body: Bytes) -> Response {
    let is_known = known == Some(&name);
    let headers = [(ETAG, name), (CACHE_CONTROL, ASK_AGAIN.to_owned())];
    match is_known {
        true => (StatusCode::NOT_MODIFIED, headers).into_response(),
        false => (headers, body).into_response(),
    }
}

fn missing(what: &str) -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "not-here", what)
}

async fn bundle(State(manager): State<Manager>, Path(number): Path<u32>) -> Answered {
    let feed = manager.feed.borrow().clone();
    let bundle = feed.bundles.get(number as usize);
    let full = bundle.filter(|bundle| bundle.records.len() == BUNDLE_RECORDS);
    let full = full.ok_or_else(|| missing("there is no such full bundle"))?;
    let body = parts(full, BUNDLE_RECORDS, full.checkpoints.len());
    let body = body.unwrap_or_default();
    Ok(([(CACHE_CONTROL, FOR_EVER)], body).into_response())
}

/// `feed/records/N.p/R-C`: the first R records and C checkpoints of bundle N.
async fn partial(
    State(manager): State<Manager>,
    Path((number, width)): Path<(String, String)>,
) -> Answered {
    let missing = || missing("there is no such part of a bundle");
    let number = number
        .strip_suffix(".p")
        .and_then(|n| n.parse::<usize>().ok());
    let width = width.split_once('-');
    let width = width.and_then(|(r, c)| Some((r.parse().ok()?, c.parse().ok()?)));
    let (number, (records, checkpoints)) = number.zip(width).ok_or_else(missing)?;
    let feed = manager.feed.borrow().clone();
    let bundle = feed.bundles.get(number).ok_or_else(missing)?;
    let body = parts(bundle, records, checkpoints).ok_or_else(missing)?;
    Ok(([(CACHE_CONTROL, FOR_EVER)], body).into_response())
}

/// Parts of a bundle, which all readers share.
fn parts(bundle: &Bundle, records: usize, checkpoints: usize) -> Option<Body> {
    let parts = bundle.first(records, checkpoints)?.into_iter();
    Some(Body::from_stream(stream::iter(
        parts.map(Ok::<_, Infallible>),
    )))
}

async fn witnesses(
    State(manager): State<Manager>,
    Path((epoch, bucket)): Path<(u32, u32)>,
) -> Answered {
    let path = manager
        .witnesses
        .join(epoch.to_string())
        .join(bucket.to_string());
    let missing = |_| missing("there is no such bucket of witnesses");
    let file = tokio::fs::File::open(path).await.map_err(missing)?;
    let bytes = ReaderStream::new(file.take(BUCKET_BYTES_MAX as u64));
    Ok(([(CACHE_CONTROL, FOR_EVER)], Body::from_stream(bytes)).into_response())
}

/// The proof that the feed's newest epoch is in the log.
async fn proof(State(manager): State<Manager>, Path(epoch): Path<u32>) -> Answered {
    let none = || {
        let why = "this manager writes into no log";
        Problem::new(StatusCode::NOT_FOUND, "no-log", why)
    };
    let log = manager.log.as_ref().ok_or_else(none)?;
    if manager.feed.borrow().newest_epoch() != epoch {
        return Err(missing("only the newest epoch's proof is here"));
    }
    let text = log.of(epoch).await?;
    let headers = [
        (CONTENT_TYPE, "text/plain; charset=utf-8"),
        (CACHE_CONTROL, ASK_AGAIN),
    ];
    Ok((headers, text).into_response())
}

async fn group(State(manager): State<Manager>, headers: HeaderMap) -> Response {
    let group = manager.group.read();
    let (name, group) = group.unwrap_or_else(PoisonError::into_inner).clone();
    tagged(known(&headers), name, group)
}

async fn health(State(manager): State<Manager>) -> Answered {
    let trouble = manager
        .trouble
        .read()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    // The reasons name paths and addresses: they are for the operator.
    if trouble.is_some() {
        let why = "the last change was not made or not published";
        return Err(Problem::busy(5, why));
    }
    match standing(&manager) {
        Some(standing) if standing.halts() => {
            let why = "the group's log is halted, or has another history of this group";
            Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "halted", why))
        }
        Some(standing) if standing.trouble.is_some() => {
            Err(Problem::busy(5, "the group's log does not take entries"))
        }
        _ => Ok("ok\n".into_response()),
    }
}

fn standing(manager: &Manager) -> Option<Standing> {
    let standing = &manager.log.as_ref()?.sent.standing;
    let standing = standing.read().unwrap_or_else(PoisonError::into_inner);
    Some(standing.clone())
}

async fn metrics(State(manager): State<Manager>) -> Response {
    let mut text = manager.metrics.text();
    if let Some(standing) = standing(&manager) {
        let waits = standing
            .waiting
            .map_or(0, |since| since.elapsed().as_secs());
        let halted = u8::from(standing.halts());
        text += &gauge(
            "log_waiting_seconds",
            "How long entries wait for the log.",
            waits,
        );
        text += &gauge(
            "log_halted",
            "Whether the log is halted, or has another history.",
            halted,
        );
    }
    page(&text)
}

async fn log_pages() -> Response {
    page_again("pages/log")
}
