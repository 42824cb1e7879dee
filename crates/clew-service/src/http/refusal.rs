//! Refusals of the server itself: of requests that no service understands or sees. All have the form of
//! [`Problem`], and are counted by reason.

use super::Problem;
use crate::metrics::by_reason;
use axum::body::Body;
use axum::http::header::{ALLOW, CONTENT_TYPE};
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Why a server refuses: the reason, its status, and a sentence.
const REASONS: [(&str, StatusCode, &str); 8] = [
    (
        "path",
        StatusCode::NOT_FOUND,
        "this service has nothing at this path: the address may be another service's, and a manager \
         has its log at /log/",
    ),
    (
        "method",
        StatusCode::METHOD_NOT_ALLOWED,
        "this path does not take this method",
    ),
    (
        "too-slow",
        StatusCode::REQUEST_TIMEOUT,
        "the request was not answered in time",
    ),
    (
        "too-large",
        StatusCode::PAYLOAD_TOO_LARGE,
        "the body of the request is too large",
    ),
    (
        "head-too-large",
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        "the head of the request is too large",
    ),
    (
        "internal",
        StatusCode::INTERNAL_SERVER_ERROR,
        "the service failed",
    ),
    (
        "head",
        StatusCode::BAD_REQUEST,
        "this is not a request of HTTP/1.1",
    ),
    (
        "request",
        StatusCode::BAD_REQUEST,
        "the request cannot be read",
    ),
];

/// Place of the reason for what HTTP itself does not understand.
const HEAD: usize = 6;
/// Place of the reason for all that has none of its own.
const REQUEST: usize = 7;

/// How often this process refused for each of [`REASONS`].
static COUNTS: [AtomicU64; REASONS.len()] = [const { AtomicU64::new(0) }; REASONS.len()];

/// The counts of this process in the text format of Prometheus.
pub(crate) fn metrics() -> String {
    let counts = REASONS.iter().zip(&COUNTS);
    let counts = counts.map(|((reason, ..), count)| (*reason, count.load(Ordering::Relaxed)));
    let help = "Requests that the server itself refused, by reason.";
    by_reason("http", "refused", help, counts)
}

/// The refusal by a reason, counted.
fn refuse(reason: usize, status: StatusCode) -> Problem {
    COUNTS[reason].fetch_add(1, Ordering::Relaxed);
    let (name, _, why) = REASONS[reason];
    Problem::new(status, name, why)
}

/// A request was not answered in time.
pub(super) fn too_slow() -> Problem {
    for_status(StatusCode::REQUEST_TIMEOUT)
}

fn for_status(status: StatusCode) -> Problem {
    let reason = REASONS.iter().position(|(_, own, _)| *own == status);
    let reason = reason.filter(|reason| *reason != HEAD);
    refuse(reason.unwrap_or(REQUEST), status)
}

/// A service's own answers as they are. What its router or extractors refuse, in plain text or without a
/// word, becomes a problem.
pub(super) fn as_problem(response: Response<Body>) -> Response<Body> {
    let status = response.status();
    let kind = response.headers().get(CONTENT_TYPE);
    let is_plain = kind.is_none_or(|kind| kind.as_bytes() == b"text/plain; charset=utf-8");
    if !(status.is_client_error() || status.is_server_error()) || !is_plain {
        return response;
    }
    let allow = response.headers().get(ALLOW).cloned();
    let mut problem = for_status(status).into_response();
    if let Some(allow) = allow {
        problem.headers_mut().insert(ALLOW, allow);
    }
    problem
}

/// A connection on which also hyper's own refusals, of heads that it cannot read, are problems: it writes
/// a head with a status and without a body.
pub(super) struct Refusing<S> {
    stream: S,
    /// What is written in the place of hyper's words, and how far that is.
    instead: (Vec<u8>, usize),
}

impl<S> Refusing<S> {
    pub fn new(stream: S) -> Self {
        let instead = (Vec::new(), 0);
        Self { stream, instead }
    }
}

/// What to write instead of a head that hyper made by itself. Services' refusals all have a content.
fn instead_of(head: &[u8]) -> Option<Vec<u8>> {
    let code = head.strip_prefix(b"HTTP/1.1 4")?.get(..2)?;
    let head = head.to_ascii_lowercase();
    let has = |field: &[u8]| head.windows(field.len()).any(|part| part == field);
    if !has(b"\r\ncontent-length: 0\r\n") || has(b"\r\ncontent-type:") {
        return None;
    }
    let code = 400 + str::from_utf8(code).ok()?.parse::<u16>().ok()?;
    let status = StatusCode::from_u16(code).ok()?;
    let problem = match status {
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => for_status(status),
        _ => refuse(HEAD, status),
    };
    let body = serde_json::to_vec(&problem).unwrap_or_default();
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/problem+json\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n"
    );
    Some([head.into_bytes(), body].concat())
}

impl<S: AsyncWrite + Unpin> Refusing<S> {
    fn drain(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.instead.1 < self.instead.0.len() {
            let left = &self.instead.0[self.instead.1..];
            let written = ready!(Pin::new(&mut self.stream).poll_write(context, left))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.instead.1 += written;
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Refusing<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Refusing<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.drain(context))?;
        match instead_of(bytes) {
            Some(instead) => {
                self.instead = (instead, 0);
                Poll::Ready(Ok(bytes.len())) // the flush that follows writes it
            }
            None => Pin::new(&mut self.stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.drain(context))?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.drain(context))?;
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
