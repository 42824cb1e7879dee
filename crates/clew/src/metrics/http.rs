//! The endpoint of a running command: one thread, bounded connections, no keep-alive.

use super::Heartbeat;
use crate::failure::Failure;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// Most connections at once. For a further one the oldest half-sent request ends.
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

/// An endpoint that answers.
#[derive(Debug)]
pub struct Endpoint {
    /// Where it listens.
    pub at: SocketAddr,
    /// What `/readyz` and `/healthz` go by.
    pub heartbeat: Heartbeat,
}

type Text = Box<dyn Fn() -> String + Send + Sync>;

/// What the pages say.
struct Pages {
    metrics: Text,
    heartbeat: Heartbeat,
}

/// Why nobody can listen at an address, and what helps. `setter` is the option that sets another one.
pub fn refusal(at: SocketAddr, error: &io::Error, setter: &str) -> (String, String) {
    let port = at.port();
    let (what, hint) = match error.kind() {
        ErrorKind::AddrInUse => (
            "another program has this address",
            format!("ss -Hltnp 'sport = {port}' names it; {setter} sets another one"),
        ),
        ErrorKind::AddrNotAvailable => (
            "this host has no such address",
            format!("ip addr lists those it has; 127.0.0.1:{port} is always there"),
        ),
        ErrorKind::PermissionDenied => (
            "permission denied",
            "the process has no privilege for ports below 1024".to_owned(),
        ),
        _ => return (error.to_string(), "choose another address".to_owned()),
    };
    (what.to_owned(), hint)
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
        let listener = std::net::TcpListener::bind(at).map_err(|error| {
            let (what, hint) = refusal(at, &error, "--metrics");
            Failure::new(format!("cannot serve metrics at {at}: {what}")).hint(hint)
        })?;
        Self::serve(listener, metrics)
    }

    /// Answers on a thread of its own, with a socket that listens already.
    ///
    /// # Errors
    /// The system's.
    pub fn serve(
        listener: std::net::TcpListener,
        metrics: impl Fn() -> String + Send + Sync + 'static,
    ) -> Result<Self, Failure> {
        let failed = |e: &dyn Display| Failure::new(format!("cannot serve metrics: {e}"));
        let bound = listener.local_addr().map_err(|e| failed(&e))?;
        listener.set_nonblocking(true).map_err(|e| failed(&e))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| failed(&e))?;
        let heartbeat = Heartbeat::new();
        let pages = Arc::new(Pages {
            metrics: Box::new(metrics),
            heartbeat: heartbeat.clone(),
        });
        let started = thread::Builder::new().spawn(move || {
            runtime.block_on(async {
                // Fails only outside of a runtime.
                if let Ok(listener) = TcpListener::from_std(listener) {
                    accept(&listener, &pages).await;
                }
            });
        });
        started.map_err(|e| failed(&e))?;
        if !bound.ip().is_loopback() {
            mention!("clew: warning: anybody who reaches {bound} can read the metrics");
        }
        Ok(Self {
            at: bound,
            heartbeat,
        })
    }
}

async fn accept(listener: &TcpListener, pages: &Arc<Pages>) {
    let connections = Arc::new(Connections::default());
    for number in 0.. {
        let Ok((stream, from)) = listener.accept().await else {
            tokio::time::sleep(REFUSED_WAIT).await;
            continue;
        };
        let host = host(from.ip());
        connections.make_room(host);
        let place = Place {
            connections: Arc::clone(&connections),
            number,
        };
        let task = tokio::spawn(answer(stream, Arc::clone(pages), place)).abort_handle();
        connections.with(|all| {
            all.push(Held {
                number,
                host,
                is_asked: false,
                task,
            });
        });
        // A request that was sent at once is read before the next connection takes its place.
        tokio::task::yield_now().await;
    }
}

/// Answers one request, and closes. The client may have gone: nobody is told.
async fn answer(stream: TcpStream, pages: Arc<Pages>, place: Place) {
    let respond = |request: Request<_>| {
        place.connections.asked(place.number);
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
            "/healthz" if self.heartbeat.is_alive() => page(StatusCode::OK, TEXT, "alive\n"),
            "/healthz" => page(StatusCode::SERVICE_UNAVAILABLE, TEXT, "stuck\n"),
            "/readyz" if self.heartbeat.is_ready() => page(StatusCode::OK, TEXT, "ready\n"),
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

/// The connections that are open, in the order of their arrival.
#[derive(Default)]
struct Connections(Mutex<Vec<Held>>);

struct Held {
    number: u64,
    host: IpAddr,
    /// Its request has come whole.
    is_asked: bool,
    task: AbortHandle,
}

impl Connections {
    fn with<T>(&self, see: impl FnOnce(&mut Vec<Held>) -> T) -> T {
        see(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Ends a connection if this host, or the endpoint, has all that it may have. That is the oldest one
    /// whose request has not come yet, or else the oldest.
    fn make_room(&self, host: IpAddr) {
        self.with(|all| {
            let of_host = all.iter().filter(|held| held.host == host).count();
            let is_hosts_turn = of_host >= CONNECTIONS_OF_HOST_MAX;
            if !is_hosts_turn && all.len() < CONNECTIONS_MAX {
                return;
            }
            let may_end = |held: &Held| !is_hosts_turn || held.host == host;
            let waits = all.iter().position(|held| may_end(held) && !held.is_asked);
            if let Some(at) = waits.or_else(|| all.iter().position(may_end)) {
                all.remove(at).task.abort();
            }
        });
    }

    /// A request has come whole.
    fn asked(&self, number: u64) {
        self.with(|all| {
            let found = all.iter_mut().find(|held| held.number == number);
            found.into_iter().for_each(|held| held.is_asked = true);
        });
    }
}

/// One connection's place. Dropping it frees the place.
struct Place {
    connections: Arc<Connections>,
    number: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        let number = self.number;
        self.connections
            .with(|all| all.retain(|held| held.number != number));
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
        endpoint.heartbeat.beat();
        assert!(page("/readyz").starts_with("HTTP/1.1 200 "));
        endpoint.heartbeat.set_able(false);
        assert!(page("/readyz").starts_with("HTTP/1.1 503 "));
        assert!(page("/healthz").starts_with("HTTP/1.1 200 "));
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

    fn half_sent(from: &str, to: SocketAddr) -> TcpStream {
        let mut stream = connect(from, to);
        stream.write_all(b"GET /met").unwrap();
        stream
    }

    /// The oldest half-sent request gives its place to a newcomer: of one host, and of all.
    #[test]
    fn half_sent_requests_of_ones_own_host_do_not_refuse_a_request() {
        let endpoint = endpoint();
        let host = |number: usize| format!("127.0.0.{}:0", 1 + number / CONNECTIONS_OF_HOST_MAX);
        for count in [CONNECTIONS_OF_HOST_MAX, CONNECTIONS_MAX] {
            let half: Vec<_> = (0..count)
                .map(|number| half_sent(&host(number), endpoint.at))
                .collect();
            let asked = Instant::now();
            for from in ["127.0.0.1:0", "127.0.0.100:0"] {
                let answer = get(&mut connect(from, endpoint.at), "/metrics");
                assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
            }
            assert!(asked.elapsed() < HEAD_WAIT, "it waited for the half-sent");
            drop(half);
        }
    }

    #[test]
    fn an_ipv6_host_has_a_whole_64() {
        let of = |address: &str| host(address.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
    }

    #[test]
    fn an_address_that_cannot_be_had_is_explained() {
        let nowhere = "198.51.100.7:9909".parse().unwrap();
        let failure = Endpoint::listen(nowhere, String::new).unwrap_err();
        assert_eq!(
            failure.message,
            "cannot serve metrics at 198.51.100.7:9909: this host has no such address"
        );
        assert!(failure.hint.unwrap().contains("ip addr"));
        let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let failure = Endpoint::listen(other.local_addr().unwrap(), String::new).unwrap_err();
        assert!(
            failure
                .message
                .ends_with("another program has this address")
        );
        assert!(
            failure
                .hint
                .unwrap()
                .ends_with("--metrics sets another one")
        );
    }
}
