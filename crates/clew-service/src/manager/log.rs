//! The group's log behind the manager: in this process, or at another address.

use crate::http::{Client, ClientError, Problem, ServiceUrl};
use crate::log::{LogClient, LogClientError, LogService, routes};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, RawQuery, State};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use clew_log::VerifierKey;
use clew_log::tile::{ENTRY_BYTES_MAX, Tile};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Longest wait for another log.
const WAIT: Duration = Duration::from_secs(45);
/// Most requests that are passed on at once: each may hold an answer of [`ANSWER_MAX`].
const PASSED_MAX: usize = 8;
/// Most bytes of an answer: of a bundle of entries.
const ANSWER_MAX: usize = 256 * (2 + ENTRY_BYTES_MAX);

/// The log that a manager writes into, and serves below its own address.
#[derive(Clone, Debug)]
pub struct ManagedLog {
    pub(super) client: LogClient,
    pub(super) key: VerifierKey,
    pub(super) routes: Router,
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
            permits: Semaphore::new(PASSED_MAX),
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
            has_pages: false,
        })
    }
}

/// Requests that are passed on.
struct Passed {
    http: Client,
    permits: Semaphore,
}

impl Passed {
    async fn ask(&self, path: &str, body: Option<Vec<u8>>) -> Result<Vec<u8>, Problem> {
        let busy = |_| Problem::busy(1, "too many requests to the log");
        let _permit = self.permits.try_acquire().map_err(busy)?;
        let asked = match body {
            Some(body) => self.http.post(path, body, ANSWER_MAX, WAIT).await,
            None => self.http.get(path, None, ANSWER_MAX, WAIT).await,
        };
        match asked {
            Ok(answer) => Ok(answer.body),
            Err(ClientError::Refused { problem, .. }) => Err(problem),
            Err(_) => Err(Problem::busy(5, "the log does not answer")),
        }
    }
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
