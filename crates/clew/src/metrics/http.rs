//! The endpoint of a running command: one thread, bounded connections, no keep-alive.

use crate::failure::Failure;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt::Display;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

/// Most connections at once. Further ones are closed unanswered.
pub const CONNECTIONS_MAX: usize = 64;

/// Most connections at once from one IPv4 address, or from one /64 of IPv6.
pub const CONNECTIONS_OF_HOST_MAX: usize = 8;

/// Largest head of a request, in bytes.
const HEAD_MAX: usize = 8 << 10;

/// Longest wait for the head of a request.
const HEAD_WAIT: Duration = Duration::from_secs(3);

/// Longest life of a connection.
const CONNECTION_WAIT: Duration = Duration::from_secs(10);

/// Wait after the system refused a connection, for want of file descriptors.
const REFUSED_WAIT: Duration = Duration::from_millis(100);

/// Media type of the text format.
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// Whether a command does its work. Starts as "not ready".
#[derive(Clone, Debug, Default)]
pub struct Ready(Arc<AtomicBool>);

impl Ready {
    /// Sets what `/readyz` answers.
    pub fn set(&self, is_ready: bool) {
        self.0.store(is_ready, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// An endpoint that answers.
#[derive(Debug)]
pub struct Endpoint {
    /// Where it listens.
    pub at: SocketAddr,
    /// What `/readyz` answers.
    pub ready: Ready,
}

type Text = Box<dyn Fn() -> String + Send + Sync>;

/// What the pages say.
struct Pages {
    metrics: Text,
    ready: Ready,
}

impl Endpoint {
    /// Listens at `at` on a thread of its own. `metrics` makes the answer to `/metrics`.
    ///
    /// # Errors
    /// The system refuses the address.
    pub fn listen(
        at: SocketAddr,
        metrics: impl Fn() -> String + Send + Sync + 'static,
    ) -> Result<Self, Failure> {
        let failed = |e: &dyn Display| Failure::new(format!("cannot serve metrics at {at}: {e}"));
        let listener = std::net::TcpListener::bind(at).map_err(|e| failed(&e))?;
        let bound = listener.local_addr().map_err(|e| failed(&e))?;
        listener.set_nonblocking(true).map_err(|e| failed(&e))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| failed(&e))?;
        let ready = Ready::default();
        let pages = Arc::new(Pages {
            metrics: Box::new(metrics),
            ready: ready.clone(),
        });
        thread::spawn(move || {
            runtime.block_on(async {
                // Fails only outside of a runtime.
                if let Ok(listener) = TcpListener::from_std(listener) {
                    accept(&listener, &pages).await;
                }
            });
        });
        Ok(Self { at: bound, ready })
    }
}

async fn accept(listener: &TcpListener, pages: &Arc<Pages>) {
    let hosts = Arc::new(Hosts::default());
    loop {
        let Ok((stream, from)) = listener.accept().await else {
            tokio::time::sleep(REFUSED_WAIT).await;
            continue;
        };
        if let Some(place) = Place::take(&hosts, from.ip()) {
            tokio::spawn(answer(stream, Arc::clone(pages), place));
        }
    }
}

/// Answers one request, and closes. The client may have gone: nobody is told.
async fn answer(stream: TcpStream, pages: Arc<Pages>, _place: Place) {
    let respond = |request: Request<_>| {
        let response = pages.respond(request.method(), request.uri().path());
        async { Ok::<_, Infallible>(response) }
    };
    let connection = http1::Builder::new()
        .keep_alive(false)
        .max_buf_size(HEAD_MAX)
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WAIT)
        .serve_connection(TokioIo::new(stream), service_fn(respond));
    let _ = tokio::time::timeout(CONNECTION_WAIT, connection).await;
}

impl Pages {
    fn respond(&self, method: &Method, path: &str) -> Response<Full<Bytes>> {
        if !matches!(*method, Method::GET | Method::HEAD) {
            return page(StatusCode::METHOD_NOT_ALLOWED, TEXT, "only GET\n");
        }
        match path {
            "/metrics" => page(StatusCode::OK, METRICS, (self.metrics)()),
            "/healthz" => page(StatusCode::OK, TEXT, "alive\n"),
            "/readyz" if self.ready.is_set() => page(StatusCode::OK, TEXT, "ready\n"),
            "/readyz" => page(StatusCode::SERVICE_UNAVAILABLE, TEXT, "not ready\n"),
            _ => page(
                StatusCode::NOT_FOUND,
                TEXT,
                "see /metrics, /healthz, /readyz\n",
            ),
        }
    }
}

fn page(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    let kind = hyper::header::HeaderValue::from_static(kind);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// Connections by host.
type Hosts = Mutex<HashMap<IpAddr, usize>>;

/// One connection's place among those of its host. Dropping it frees the place.
struct Place {
    hosts: Arc<Hosts>,
    host: IpAddr,
}

impl Place {
    /// Returns `None` if the host, or the endpoint, has all connections it may have.
    fn take(hosts: &Arc<Hosts>, from: IpAddr) -> Option<Self> {
        let host = host(from);
        let mut counts = hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = counts.values().sum();
        let of_host = counts.get(&host).copied().unwrap_or(0);
        if all >= CONNECTIONS_MAX || of_host >= CONNECTIONS_OF_HOST_MAX {
            return None;
        }
        counts.insert(host, of_host + 1);
        let hosts = Arc::clone(hosts);
        Some(Self { hosts, host })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let of_host = counts.get(&self.host).copied().unwrap_or(0);
        match of_host {
            0 | 1 => counts.remove(&self.host),
            more => counts.insert(self.host, more - 1),
        };
    }
}

/// An IPv4 address; of an IPv6 address its /64, which one host may have whole.
fn host(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64)),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use socket2::{Domain, Socket, Type};
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::time::Instant;

    fn endpoint() -> Endpoint {
        Endpoint::listen("127.0.0.1:0".parse().unwrap(), || "n 1\n".into()).unwrap()
    }

    /// A connection from that address of this host.
    fn connect(from: &str, to: SocketAddr) -> TcpStream {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let from: SocketAddr = from.parse().unwrap();
        socket.bind(&from.into()).unwrap();
        socket.connect(&to.into()).unwrap();
        let stream = TcpStream::from(socket);
        let patience = Some(CONNECTION_WAIT * 3);
        stream.set_read_timeout(patience).unwrap();
        stream
    }

    fn get(stream: &mut TcpStream, path: &str) -> String {
        let request = format!("GET {path} HTTP/1.1\r\nHost: clew\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        read(stream)
    }

    /// What comes until the connection ends; nothing if it is reset.
    fn read(stream: &mut TcpStream) -> String {
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        text
    }

    #[test]
    fn each_page_answers() {
        let endpoint = endpoint();
        let page = |path| get(&mut connect("127.0.0.1:0", endpoint.at), path);
        let metrics = page("/metrics");
        assert!(metrics.starts_with("HTTP/1.1 200 "), "{metrics}");
        assert!(metrics.contains(METRICS), "{metrics}");
        assert!(metrics.ends_with("\r\n\r\nn 1\n"), "{metrics}");
        assert!(page("/healthz").starts_with("HTTP/1.1 200 "));
        assert!(page("/readyz").starts_with("HTTP/1.1 503 "));
        endpoint.ready.set(true);
        assert!(page("/readyz").starts_with("HTTP/1.1 200 "));
        assert!(page("/other").starts_with("HTTP/1.1 404 "));
    }

    #[test]
    fn only_get_and_head() {
        let mut stream = connect("127.0.0.1:0", endpoint().at);
        let request = b"POST /metrics HTTP/1.1\r\nHost: clew\r\nContent-Length: 0\r\n\r\n";
        stream.write_all(request).unwrap();
        assert!(read(&mut stream).starts_with("HTTP/1.1 405 "));
    }

    #[cfg(target_os = "linux")]
    fn threads() -> usize {
        std::fs::read_dir("/proc/self/task").unwrap().count()
    }

    /// 400 half-sent requests of one host: no thread each, no answer; another host's goes on.
    #[cfg(target_os = "linux")]
    #[test]
    fn half_sent_requests_leave_room_for_others() {
        let endpoint = endpoint();
        let before = threads();
        let half: Vec<TcpStream> = (0..400)
            .map(|_| {
                let mut stream = connect("127.0.0.2:0", endpoint.at);
                // It may be closed already.
                let _ = stream.write_all(b"GET /met");
                stream
            })
            .collect();
        let asked = Instant::now();
        let answer = get(&mut connect("127.0.0.1:0", endpoint.at), "/metrics");
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert!(asked.elapsed() < HEAD_WAIT, "it waited for the half-sent");
        // Other tests of this process have threads, too.
        assert!(threads() < before + 100, "{} threads", threads());
        for mut stream in half {
            let answer = read(&mut stream);
            assert!(!answer.contains(" 200 "), "{answer}");
        }
    }

    #[test]
    fn hosts_and_connections_are_counted() {
        let hosts = Arc::new(Hosts::default());
        let take = |address: &str| Place::take(&hosts, address.parse().unwrap());
        let of_one: Vec<_> = (0..CONNECTIONS_OF_HOST_MAX)
            .map(|i| take(&format!("2001:db8::{i}")).expect("there is room"))
            .collect();
        assert!(take("2001:db8::ffff").is_none(), "the /64 is one host");
        let others: Vec<_> = (0..CONNECTIONS_MAX - of_one.len())
            .map(|i| take(&format!("192.0.2.{i}")).expect("there is room"))
            .collect();
        assert!(take("198.51.100.1").is_none(), "all places are taken");
        drop((of_one, others));
        assert!(take("2001:db8::1").is_some());
        assert!(hosts.lock().unwrap().is_empty(), "nothing stays");
    }
}
