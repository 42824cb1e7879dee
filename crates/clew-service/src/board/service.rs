//! What a board answers over HTTP.

use super::{POST_PATH, READER, WAIT_MAX, news_path, topic_path};
use crate::http::{Problem, Stopping, stops};
use crate::pages::utc;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, Query, State};
use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Router};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clew_keys::post::{BoardId, POST_BYTES_MAX, Post, ReadTicket};
use clew_manager::{Board, BoardError, StoreError};
use clew_wire::WallTime;
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, watch};

/// How far a reader's clock may be off.
const CLOCK_OFF_MAX: Duration = Duration::from_secs(300);
/// How often the board looks for posts that another process of this host added.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long somebody is asked to wait when the store is busy, in seconds.
const BUSY_SECONDS: u32 = 2;

/// A board that is served. Clones share it.
#[derive(Clone, Debug)]
pub struct BoardService {
    board: Arc<Mutex<Board>>,
    id: BoardId,
    last: Arc<watch::Sender<u64>>,
    clock: fn() -> u64,
}

impl BoardService {
    /// Serves a board. `clock` is the time of day, in nanoseconds since 1970. Runs within tokio.
    ///
    /// # Errors
    /// [`StoreError`] if the board cannot be read.
    pub fn start(board: Board, clock: fn() -> u64) -> Result<Self, StoreError> {
        let (id, last) = (board.id(), board.last()?);
        let service = Self {
            board: Arc::new(Mutex::new(board)),
            id,
            last: Arc::new(watch::Sender::new(last)),
            clock,
        };
        let watched = service.clone();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(LOOK_EVERY).await;
                if watched.last.receiver_count() > 0 {
                    let _ = watched.look().await; // the next reader is told what is wrong
                }
            }
        });
        Ok(service)
    }

    /// The paths of a board.
    pub fn router(&self) -> Router {
        Router::new()
            .route("/board", post(add).get(news))
            .route("/board/{topic}", axum::routing::get(topic))
            .with_state(self.clone())
    }

    /// Works with the board on a thread that may block, one caller after the other.
    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Board) -> Result<T, BoardError> + Send + 'static,
    ) -> Result<T, Problem> {
        let mut board = Arc::clone(&self.board).lock_owned().await;
        let done = tokio::task::spawn_blocking(move || work(&mut board)).await;
        match done {
            Ok(done) => done.map_err(|error| problem(&error)),
            Err(_) => Err(Problem::busy(BUSY_SECONDS, "the service is stopping")),
        }
    }

    /// Tells those who wait whether there are new posts.
    async fn look(&self) -> Result<(), Problem> {
        let last = self.with(|board| Ok(board.last()?)).await?;
        self.last.send_if_modified(|known| {
            let is_new = *known != last;
            *known = last;
            is_new
        });
        Ok(())
    }

    /// Reads until there is something, or the wait is over.
    async fn wait_for<T: Send + 'static>(
        &self,
        (wait, stopping): (u64, Option<Extension<Stopping>>),
        read: impl Fn(&Board) -> Result<Vec<T>, BoardError> + Clone + Send + 'static,
    ) -> Result<Vec<T>, Problem> {
        let mut last = self.last.subscribe();
        let mut stops = std::pin::pin!(stops(stopping));
        let end = tokio::time::Instant::now() + Duration::from_secs(wait.min(WAIT_MAX));
        loop {
            last.mark_unchanged();
            let read = read.clone();
            let found = self.with(move |board| read(board)).await?;
            if !found.is_empty() {
                return Ok(found);
            }
            let changed = tokio::time::timeout_at(end, last.changed());
            let is_news = tokio::select! {
                changed = changed => matches!(changed, Ok(Ok(()))),
                () = &mut stops => false,
            };
            if !is_news {
                return Ok(found);
            }
        }
    }

    /// Checks that an author whom the board knows signed this request, now and for this path. Returns
    /// the author's key.
    pub(crate) async fn check_user(
        &self,
        headers: &HeaderMap,
        path: &str,
    ) -> Result<[u8; 32], Problem> {
        let user = self.reader(headers, path)?;
        self.with(move |board| board.check_user(&user)).await?;
        Ok(user)
    }

    /// The reader, if its ticket is for this path and of now.
    fn reader(&self, headers: &HeaderMap, path: &str) -> Result<[u8; 32], Problem> {
        let refused = |rule, what: String| Problem::new(StatusCode::FORBIDDEN, rule, what);
        let ticket = headers.get(READER).and_then(|ticket| {
            let bytes = STANDARD.decode(ticket.as_bytes()).ok()?;
            ReadTicket::from_bytes(&bytes)
        });
        let unsigned = || {
            refused(
                "signature",
                "the reader did not sign this request".to_owned(),
            )
        };
        let ticket = ticket.ok_or_else(unsigned)?;
        let now = (self.clock)();
        if u128::from(now.abs_diff(ticket.time)) > CLOCK_OFF_MAX.as_nanos() {
            let [ours, theirs] = [now, ticket.time].map(|time| utc(WallTime::from_nanos(time)));
            let what = format!(
                "the clocks differ by more than 5 minutes: the manager's says {ours}, yours {theirs}: set the \
                 one that is wrong"
            );
            return Err(refused("time", what));
        }
        let signed = ticket.is_for(self.id, path);
        signed.then_some(ticket.reader).ok_or_else(unsigned)
    }
}

fn problem(error: &BoardError) -> Problem {
    let status = match error {
        BoardError::Layout => StatusCode::BAD_REQUEST,
        BoardError::Author | BoardError::Kind | BoardError::Signature => StatusCode::FORBIDDEN,
        BoardError::Board | BoardError::Topic | BoardError::After => {
            StatusCode::UNPROCESSABLE_ENTITY
        }
        BoardError::TooLong(_) => StatusCode::PAYLOAD_TOO_LARGE,
        BoardError::TooMany(_) => StatusCode::TOO_MANY_REQUESTS,
        BoardError::Full => StatusCode::INSUFFICIENT_STORAGE,
        // What the disk said is the operator's.
        BoardError::Store(_) => {
            return Problem::busy(BUSY_SECONDS, "the store is busy or cannot write");
        }
    };
    Problem::new(status, error.as_str(), error)
}

/// Nothing of a stranger's body is read.
async fn add(
    State(service): State<BoardService>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    service.check_user(&headers, POST_PATH).await?;
    let too_long = |_| problem(&BoardError::TooLong(POST_BYTES_MAX));
    let body = to_bytes(body, POST_BYTES_MAX).await.map_err(too_long)?;
    let post = Post::decode(&body).ok_or_else(|| problem(&BoardError::Layout))?;
    let now = (service.clock)();
    let place = service.with(move |board| board.post(&post, now)).await?;
    let _ = service.look().await; // the post is there, whatever comes of this
    Ok(serde_json::json!({ "place": place })
        .to_string()
        .into_response())
}

#[derive(Deserialize)]
struct After {
    after: u64,
    wait: u64,
}

const UNCACHED: [(axum::http::HeaderName, &str); 1] = [(CACHE_CONTROL, "no-store")];

async fn news(
    State(service): State<BoardService>,
    Query(After { after, wait }): Query<After>,
    stopping: Option<Extension<Stopping>>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let reader = service.reader(&headers, &news_path(after, wait))?;
    let news = service
        .wait_for((wait, stopping), move |board| board.news(&reader, after))
        .await?;
    let mut bytes = Vec::with_capacity(40 * news.len());
    for (seq, topic) in news {
        bytes.extend(seq.to_be_bytes());
        bytes.extend(topic);
    }
    Ok((UNCACHED, bytes).into_response())
}

async fn topic(
    State(service): State<BoardService>,
    Path(topic): Path<String>,
    Query(After { after, wait }): Query<After>,
    stopping: Option<Extension<Stopping>>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let unnamed = || Problem::new(StatusCode::NOT_FOUND, "not-here", "a topic has 64 digits");
    let topic = unhex(&topic).ok_or_else(unnamed)?;
    let reader = service.reader(&headers, &topic_path(&topic, after, wait))?;
    let posts = service
        .wait_for((wait, stopping), move |board| {
            board.read(&reader, &topic, after)
        })
        .await?;
    let mut bytes = Vec::new();
    for (place, post) in posts {
        bytes.extend(place.to_be_bytes());
        bytes.extend((post.len() as u32).to_be_bytes());
        bytes.extend(post);
    }
    Ok((UNCACHED, bytes).into_response())
}

/// Reads 32 bytes from lower-case hexadecimal digits.
fn unhex(text: &str) -> Option<[u8; 32]> {
    let digit = |c: u8| match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'a'..=b'f' => Some(c - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let mut topic = [0; 32];
    if pairs.len() != topic.len() || !rest.is_empty() {
        return None;
    }
    for (byte, [high, low]) in topic.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(topic)
}
