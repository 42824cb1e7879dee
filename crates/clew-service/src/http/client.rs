//! A client that knows its server by the fingerprint of the server's key.

use super::{Problem, ServiceUrl, UrlError, client_config};
use axum::Router;
use axum::body::{Body, Bytes};
use clew_wire::visible;
use reqwest::header::{ETAG, HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH};
use reqwest::{Method, StatusCode};
use rustls::CertificateError;
use std::error::Error;
use std::time::Duration;
use thiserror::Error;
use tower::ServiceExt;

/// Longest wait for a connection.
const CONNECT_WAIT: Duration = Duration::from_secs(10);

/// Longest wait for any byte: longer than a service waits for news.
const SILENCE: Duration = Duration::from_secs(90);

/// Largest body of a refusal that is read, in bytes.
const PROBLEM_MAX: usize = 16 << 10;
/// Characters of it that are shown.
const PROBLEM_CHARS: usize = 400;

/// A client of one service. Clones share its connections.
///
/// A request whose connection breaks is sent once more, on another connection: the server ends unused
/// ones when it has too many. So every request has to mean the same when it comes twice.
#[derive(Clone, Debug)]
pub struct Client {
    url: ServiceUrl,
    to: To,
}

/// Where a service is.
#[derive(Clone, Debug)]
enum To {
    /// Behind a connection.
    Network(reqwest::Client),
    /// In this process.
    Here(Router),
}

/// What a service is asked.
#[derive(Clone)]
struct Request<'a> {
    method: Method,
    path: &'a str,
    header: Option<(&'a str, &'a str)>,
    body: Bytes,
}

/// What a service answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Whether the content is what the client has already (status 304). Then there is no body.
    pub is_unchanged: bool,
    /// The content's name.
    pub etag: Option<String>,
    /// The content.
    pub body: Vec<u8>,
}

/// Why a service did not answer.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The path is not one.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// TLS cannot be set up.
    #[error("TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// The server has another key than the pinned one.
    #[error("{0}: the server has another key than the fingerprint says")]
    Pin(String),
    /// There is no connection, or it broke.
    #[error("{url}: {reason}")]
    Unreachable {
        /// The service.
        url: String,
        /// The innermost reason.
        reason: String,
    },
    /// The answer did not come in time.
    #[error("{0}: no answer in time")]
    Timeout(String),
    /// The answer is longer than this client reads.
    #[error("{url}: the answer is longer than {limit} bytes")]
    TooLong {
        /// The service.
        url: String,
        /// The limit.
        limit: usize,
    },
    /// The service refuses.
    #[error("{url}: {}", problem.detail)]
    Refused {
        /// The service.
        url: String,
        /// Why.
        problem: Problem,
    },
}

impl ClientError {
    /// Returns whether the same question may be answered later: the service is away or busy, or the way to it.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Timeout(_) => true,
            Self::Refused { problem, .. } => problem.status == 429 || problem.status >= 500,
            Self::Url(_) | Self::Tls(_) | Self::Pin(_) | Self::TooLong { .. } => false,
        }
    }
}

impl Client {
    /// A client of a service. Nothing is sent.
    ///
    /// # Errors
    /// [`ClientError::Tls`].
    pub fn new(url: &ServiceUrl) -> Result<Self, ClientError> {
        let failed = |error: reqwest::Error| ClientError::Unreachable {
            url: url.to_string(),
            reason: innermost(&error),
        };
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(client_config(url.pin())?)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .connect_timeout(CONNECT_WAIT)
            .read_timeout(SILENCE)
            .build()
            .map_err(failed)?;
        Ok(Self {
            url: url.clone(),
            to: To::Network(http),
        })
    }

    /// A client of a service in this process, which has the `url` for others.
    pub fn here(url: &ServiceUrl, service: Router) -> Self {
        Self {
            url: url.clone(),
            to: To::Here(service),
        }
    }

    /// The service.
    pub fn url(&self) -> &ServiceUrl {
        &self.url
    }

    /// Fetches what is at a path: at most `limit` bytes within `wait`. With the `etag` of an earlier
    /// answer, the body is left out if it is still the same.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn get(
        &self,
        path: &str,
        etag: Option<&str>,
        limit: usize,
        wait: Duration,
    ) -> Result<Answer, ClientError> {
        let request = Request {
            method: Method::GET,
            path,
            header: etag.map(|etag| (IF_NONE_MATCH.as_str(), etag)),
            body: Bytes::new(),
        };
        self.send(request, limit, wait).await
    }

    /// The same with a header of one's own, and without an `etag`.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn get_with(
        &self,
        path: &str,
        header: (&str, &str),
        limit: usize,
        wait: Duration,
    ) -> Result<Answer, ClientError> {
        let request = Request {
            method: Method::GET,
            path,
            header: Some(header),
            body: Bytes::new(),
        };
        self.send(request, limit, wait).await
    }

    /// Sends a body to a path, and reads at most `limit` bytes of answer within `wait`.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn post(
        &self,
        path: &str,
        body: Vec<u8>,
        limit: usize,
        wait: Duration,
    ) -> Result<Answer, ClientError> {
        let request = Request {
            method: Method::POST,
            path,
            header: None,
            body: body.into(),
        };
        self.send(request, limit, wait).await
    }

    /// The same with a header of one's own.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn post_with(
        &self,
        path: &str,
        header: (&str, &str),
        body: Vec<u8>,
        limit: usize,
        wait: Duration,
    ) -> Result<Answer, ClientError> {
        let request = Request {
            method: Method::POST,
            path,
            header: Some(header),
            body: body.into(),
        };
        self.send(request, limit, wait).await
    }

    async fn send(
        &self,
        request: Request<'_>,
        limit: usize,
        wait: Duration,
    ) -> Result<Answer, ClientError> {
        let twice = async {
            match self.exchange(request.clone(), limit).await {
                Err(ClientError::Unreachable { .. }) => self.exchange(request, limit).await,
                answered => answered,
            }
        };
        let answered = tokio::time::timeout(wait, twice).await;
        answered.unwrap_or_else(|_| Err(ClientError::Timeout(self.url.to_string())))
    }

    async fn exchange(&self, request: Request<'_>, limit: usize) -> Result<Answer, ClientError> {
        let url = self.url.join(request.path)?;
        let (status, etag, body) = match &self.to {
            To::Network(http) => {
                let sent = http.request(request.method, url).body(request.body);
                let sent = match request.header {
                    Some((name, value)) => sent.header(name, value),
                    None => sent,
                };
                self.over_network(sent, limit).await?
            }
            To::Here(service) => self.in_process(service.clone(), request, limit).await?,
        };
        if !is_good(status) {
            return Err(self.refused(status, &body));
        }
        Ok(Answer {
            is_unchanged: status == StatusCode::NOT_MODIFIED,
            etag,
            body,
        })
    }

    async fn over_network(
        &self,
        request: reqwest::RequestBuilder,
        limit: usize,
    ) -> Result<(StatusCode, Option<String>, Vec<u8>), ClientError> {
        let mut response = request.send().await.map_err(|error| self.failed(&error))?;
        let (status, etag) = (response.status(), etag(response.headers()));
        let limit = limit_of(status, limit);
        let mut body = Vec::new();
        while let Some(chunk) = response
            .chunk()
            .await
            .map_err(|error| self.failed(&error))?
        {
            if body.len() + chunk.len() > limit {
                let url = self.url.to_string();
                return Err(ClientError::TooLong { url, limit });
            }
            body.extend_from_slice(&chunk);
        }
        Ok((status, etag, body))
    }

    async fn in_process(
        &self,
        service: Router,
        request: Request<'_>,
        limit: usize,
    ) -> Result<(StatusCode, Option<String>, Vec<u8>), ClientError> {
        let mut asked = axum::http::Request::new(Body::from(request.body));
        *asked.method_mut() = request.method;
        let uri = format!("/{}", request.path).parse();
        *asked.uri_mut() = uri.map_err(|_| UrlError::Layout)?;
        if let Some((name, value)) = request.header {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| UrlError::Layout)?;
            let value = HeaderValue::from_str(value).map_err(|_| UrlError::Layout)?;
            asked.headers_mut().insert(name, value);
        }
        let response = service.oneshot(asked).await;
        let response = response.unwrap_or_else(|never| match never {});
        let (status, etag) = (response.status(), etag(response.headers()));
        let limit = limit_of(status, limit);
        let body = axum::body::to_bytes(response.into_body(), limit).await;
        let url = self.url.to_string();
        let body = body.map_err(|_| ClientError::TooLong { url, limit })?;
        Ok((status, etag, body.to_vec()))
    }

    fn refused(&self, status: StatusCode, body: &[u8]) -> ClientError {
        let problem = serde_json::from_slice(body).unwrap_or_else(|_| {
            let what = format!("the server answered {status}");
            Problem::new(status, UNKNOWN_REFUSAL, what)
        });
        ClientError::Refused {
            url: self.url.to_string(),
            problem: shown(problem),
        }
    }

    fn failed(&self, error: &reqwest::Error) -> ClientError {
        let url = self.url.to_string();
        if is_pin(error) {
            return ClientError::Pin(url);
        }
        match error.is_timeout() {
            true => ClientError::Timeout(url),
            false => ClientError::Unreachable {
                url,
                reason: innermost(error),
            },
        }
    }
}

/// The rule of a refusal that does not say one: of another server than clew's, or at another path.
pub const UNKNOWN_REFUSAL: &str = "status";

/// A refusal as a terminal may show it: a server may write anything.
fn shown(problem: Problem) -> Problem {
    let cut = |text: &str| visible(&text.chars().take(PROBLEM_CHARS).collect::<String>());
    Problem {
        title: cut(&problem.title),
        detail: cut(&problem.detail),
        ..problem
    }
}

fn is_good(status: StatusCode) -> bool {
    status.is_success() || status == StatusCode::NOT_MODIFIED
}

/// How much of an answer is read: of a refusal, less.
fn limit_of(status: StatusCode, limit: usize) -> usize {
    if is_good(status) { limit } else { PROBLEM_MAX }
}

fn etag(headers: &HeaderMap) -> Option<String> {
    let etag = headers.get(ETAG)?.to_str().ok()?;
    Some(etag.to_owned())
}

/// Returns the reasons of an error, outermost first.
fn reasons<'e>(
    error: &'e (dyn Error + 'static),
) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| {
        let error: &'e (dyn Error + 'static) = *error;
        error.source()
    })
}

fn innermost(error: &(dyn Error + 'static)) -> String {
    let last = reasons(error).last();
    last.map_or_else(String::new, ToString::to_string)
}

/// Returns whether it was the pin that did not fit.
fn is_pin(error: &(dyn Error + 'static)) -> bool {
    let unfit = CertificateError::ApplicationVerificationFailure;
    let is_unfit =
        |error: &rustls::Error| *error == rustls::Error::InvalidCertificate(unfit.clone());
    reasons(error).filter_map(of_tls).any(is_unfit)
}

/// Returns TLS's error within an error of input and output, which may stand within others.
fn of_tls<'e>(mut error: &'e (dyn Error + 'static)) -> Option<&'e rustls::Error> {
    while let Some(outer) = error.downcast_ref::<std::io::Error>() {
        error = outer.get_ref()?;
    }
    error.downcast_ref()
}
