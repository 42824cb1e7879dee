//! A server that strangers cannot exhaust.

use super::Certificate;
use super::connections::{Connections, Place, host};
use super::refusal::{Refusing, as_problem, too_slow};
use super::whole::Whole;
use axum::body::Body;
use axum::response::IntoResponse;
use axum::{Extension, Router};
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_io_timeout::TimeoutWriter;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

/// Largest head of a request, in bytes.
const HEAD_MAX: usize = 16 << 10;

/// Wait after the system refused a connection, for want of file descriptors.
const REFUSED_WAIT: Duration = Duration::from_millis(100);

/// What a server gives at most.
#[derive(Clone, Copy, Debug)]
pub struct ServerLimits {
    /// Connections at once. A further one ends the oldest without a request under way.
    pub connections: usize,
    /// Connections at once from one IPv4 address, or from one /64 of IPv6. Many devices may stand
    /// behind one address.
    pub connections_of_host: usize,
    /// Wait for TLS, and for the head of a request. Also how long an unused connection stays.
    pub head: Duration,
    /// From the head of a request to the head of its answer.
    pub request: Duration,
    /// Longest wait until the peer takes more of an answer.
    pub stall: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            connections: 1_024,
            connections_of_host: 256,
            head: Duration::from_secs(10),
            request: Duration::from_secs(60),
            stall: Duration::from_secs(20),
        }
    }
}

/// The address that a request came from: an extension of every request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct From(pub IpAddr);

/// Whether the server stops: an extension of every request. Who waits for news then answers without.
#[derive(Clone, Debug)]
pub struct Stopping(tokio::sync::watch::Receiver<bool>);

/// Resolves when the server of a request stops; never, if the request came without a server.
pub(crate) async fn stops(stopping: Option<Extension<Stopping>>) {
    match stopping {
        Some(Extension(Stopping(mut closed))) => drop(closed.wait_for(|closed| *closed).await),
        None => std::future::pending().await,
    }
}

/// A socket that listens, and what it answers with. Bodies of requests have the limits of the router.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    tls: Option<Tls>,
    limits: ServerLimits,
}

#[derive(Clone)]
struct Tls(TlsAcceptor);

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

impl Server {
    /// A server on a socket that listens already. Without a certificate it speaks HTTP in the clear:
    /// for a proxy on the same host.
    ///
    /// # Errors
    /// The system's, or TLS's.
    pub fn new(
        listener: std::net::TcpListener,
        certificate: Option<&Certificate>,
        limits: ServerLimits,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let config = certificate.map(Certificate::server_config).transpose();
        let config = config.map_err(io::Error::other)?;
        Ok(Self {
            listener: TcpListener::from_std(listener)?,
            tls: config.map(|config| Tls(TlsAcceptor::from(Arc::new(config)))),
            limits,
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The system's.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers until `stop` resolves. Requests under way then have [`ServerLimits::request`] to end, with
    /// their answers.
    pub async fn run(self, router: Router, stop: impl Future<Output = ()>) {
        let limits = self.limits;
        let connections = Connections::new(limits.connections, limits.connections_of_host);
        let (closing, closed) = tokio::sync::watch::channel(false);
        let mut stop = std::pin::pin!(stop);
        for number in 0.. {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = &mut stop => break,
            };
            let Ok((stream, from)) = accepted else {
                tokio::time::sleep(REFUSED_WAIT).await;
                continue;
            };
            let peer = host(from.ip());
            connections.make_room(peer);
            let connection = Connection {
                from: From(from.ip().to_canonical()),
                place: connections.add(number, peer),
                limits,
                router: router.clone(),
                closed: closed.clone(),
            };
            let task = tokio::spawn(connection.accept(stream, self.tls.clone()));
            connections.set_task(number, task.abort_handle());
        }
        let _ = closing.send(true);
        drop(closed);
        let ended = tokio::time::timeout(limits.request, closing.closed()).await;
        if ended.is_err() {
            // Whoever takes an answer byte by byte does not keep what the router holds.
            connections.end();
            let _ = tokio::time::timeout(limits.stall, closing.closed()).await;
        }
    }
}

struct Connection {
    from: From,
    place: Place,
    limits: ServerLimits,
    router: Router,
    closed: tokio::sync::watch::Receiver<bool>,
}

impl Connection {
    /// The peer may have gone: nobody is told.
    async fn accept(self, stream: TcpStream, tls: Option<Tls>) {
        let _ = stream.set_nodelay(true);
        let Some(Tls(tls)) = tls else {
            return self.answer(stream).await;
        };
        let accepted = tokio::time::timeout(self.limits.head, tls.accept(stream)).await;
        if let Ok(Ok(stream)) = accepted {
            self.answer(stream).await;
        }
    }

    async fn answer(self, stream: impl AsyncRead + AsyncWrite + Unpin) {
        let Self {
            from,
            place,
            limits,
            router,
            mut closed,
        } = self;
        let place = &Arc::new(place);
        let stopping = Stopping(closed.clone());
        let respond = service_fn(|request: hyper::Request<Incoming>| {
            let is_whole = request.body().is_end_stream();
            let came = Arc::clone(place);
            let came = move || came.set_asked(true);
            let mut request = match is_whole {
                true => {
                    came();
                    request.map(Body::new)
                }
                false => request.map(|body| Body::new(Whole::new(body, came))),
            };
            request.extensions_mut().insert(from);
            request.extensions_mut().insert(stopping.clone());
            let answer = router.clone().oneshot(request);
            async move {
                let answered = tokio::time::timeout(limits.request, answer).await;
                place.set_asked(false);
                let in_time = answered.unwrap_or_else(|_| Ok(too_slow().into_response()));
                let in_time = in_time.unwrap_or_else(|never| match never {});
                Ok::<_, Infallible>(as_problem(in_time))
            }
        });
        // Who takes nothing of an answer must not keep it in memory.
        let mut stream = TimeoutWriter::new(stream);
        stream.set_timeout(Some(limits.stall));
        let stream = Refusing::new(Box::pin(stream));
        let connection = http1::Builder::new()
            .max_buf_size(HEAD_MAX)
            .timer(TokioTimer::new())
            .header_read_timeout(limits.head)
            .serve_connection(TokioIo::new(stream), respond);
        let mut connection = std::pin::pin!(connection);
        tokio::select! {
            _ = connection.as_mut() => return,
            _ = closed.changed() => connection.as_mut().graceful_shutdown(),
        }
        let _ = connection.await;
    }
}
