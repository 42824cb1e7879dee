//! The group's log behind the manager: in this process, or at another address.

use crate::http::{Client, ClientError, Problem, ServiceUrl};
use crate::log::{LogClient, LogClientError, LogService, Status, routes};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Path, RawQuery, State};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use clew_log::VerifierKey;
use clew_log::tile::{ENTRY_BYTES_MAX, Tile};
use futures_util::stream;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// Longest wait for another log.
const WAIT: Duration = Duration::from_secs(45);
/// Most requests that are passed on at once: each may hold an answer of [`ANSWER_MAX`].
const PASSED_MAX: usize = 8;
/// Bytes that are handed to a connection at once.
const PART_BYTES: usize = 64 << 10;
/// Most bytes of an answer: of a bundle of entries.
const ANSWER_MAX: usize = 256 * (2 + ENTRY_BYTES_MAX);

/// The log that a manager writes into, and serves below its own address.
#[derive(Clone, Debug)]
pub struct ManagedLog {
    pub(super) client: LogClient,
    pub(super) key: VerifierKey,
    pub(super) routes: Router,
    /// Of a log in this process: whether it adds entries.
    pub(super) status: Option<watch::Receiver<Status>>,
    /// Whether the log's pages are below the manager's address.
    pub(super) has_pages: bool,
}

impl ManagedLog {
    /// A log in this process. `url` is the manager's, for messages.
    pub fn embedded(url: &ServiceUrl, service: &LogService) -> Self {
        Self {
            client: LogClient::here(url, service),
            key: service.key().clone(),
            routes: service.router(),
            status: Some(service.status()),
            has_pages: true,
        }
    }

    /// A log with that key at another address: requests to it are passed on.
    ///
    /// # Errors
    /// TLS cannot be set up.
    pub fn remote(url: &ServiceUrl, key: VerifierKey) -> Result<Self, LogClientError> {
        let client = LogClient::new(url)?;
        let to = Arc::new(Passed {
            http: client.http().clone(),
            permits: Arc::new(Semaphore::new(PASSED_MAX)),
        });
        let passed = Router::new()
            .route("/add", post(add))
            .route("/checkpoint", get(checkpoint))
            .route("/tile/{*path}", get(tile))
            .layer(DefaultBodyLimit::max(ENTRY_BYTES_MAX))
            .with_state(to);
        Ok(Self {
            client,
            key,
            routes: passed,
            status: None,
            has_pages: false,
        })
    }
}

impl ManagedLog {
    /// A client of it.
    pub fn client(&self) -> &LogClient {
        &self.client
    }
}

/// Requests that are passed on.
struct Passed {
    http: Client,
    permits: Arc<Semaphore>,
}

impl Passed {
    /// The answer is in memory until its reader has taken it, and takes a place until then.
    async fn ask(&self, path: &str, body: Option<Vec<u8>>) -> Result<Body, Problem> {
        let busy = |_| Problem::busy(1, "too many requests to the log");
        let permit = Arc::clone(&self.permits).try_acquire_owned();
        let permit = permit.map_err(busy)?;
        let asked = match body {
            Some(body) => self.http.post(path, body, ANSWER_MAX, WAIT).await,
            None => self.http.get(path, None, ANSWER_MAX, WAIT).await,
        };
        match asked {
            Ok(answer) => Ok(in_parts(answer.body.into(), permit)),
            Err(ClientError::Refused { problem, .. }) => Err(problem),
            Err(_) => Err(Problem::busy(5, "the log does not answer")),
        }
    }
}

fn in_parts(bytes: Bytes, permit: OwnedSemaphorePermit) -> Body {
    Body::from_stream(stream::unfold(
        (bytes, permit),
        |(mut left, permit)| async {
            let part = left.split_to(left.len().min(PART_BYTES));
            (!part.is_empty()).then_some((Ok::<_, Infallible>(part), (left, permit)))
        },
    ))
}

type Answered = Result<Response, Problem>;

async fn add(State(to): State<Arc<Passed>>, RawQuery(query): RawQuery, body: Bytes) -> Answered {
    let (path, kind) = match query.as_deref() {
        Some("cosigned") => ("add?cosigned", routes::TEXT),
        _ => ("add", routes::JSON),
    };
    let answer = to.ask(path, Some(body.to_vec())).await?;
    Ok(([(CONTENT_TYPE, kind)], answer).into_response())
}

async fn checkpoint(State(to): State<Arc<Passed>>) -> Answered {
    let answer = to.ask("checkpoint", None).await?;
    let headers = [
        (CONTENT_TYPE, routes::TEXT),
        (CACHE_CONTROL, routes::FOR_NOW),
    ];
    Ok((headers, answer).into_response())
}

async fn tile(State(to): State<Arc<Passed>>, Path(path): Path<String>) -> Answered {
    let none = || Problem::new(StatusCode::NOT_FOUND, "no-tile", "not the path of a tile");
    let tile = Tile::from_path(&format!("tile/{path}")).ok_or_else(none)?;
    let answer = to.ask(&tile.path(), None).await?;
    let headers = [
        (CONTENT_TYPE, routes::BYTES),
        (CACHE_CONTROL, routes::FOR_EVER),
    ];
    Ok((headers, answer).into_response())
}
