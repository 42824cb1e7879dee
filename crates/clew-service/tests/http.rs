//! Servers and clients over real sockets.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{DefaultBodyLimit, Path};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::routing::{get, post};
use clew_service::http::{
    Certificate, Client, ClientError, Problem, Server, ServerLimits, ServiceUrl,
};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{Semaphore, oneshot};

const WAIT: Duration = Duration::from_secs(20);

/// More than the buffers of two sockets.
const HUGE: usize = 64 << 20;

struct Running {
    at: SocketAddr,
    url: ServiceUrl,
    _dir: tempfile::TempDir,
    stop: Option<oneshot::Sender<()>>,
    /// Has a permit for each request that began, of those that take their time.
    began: Arc<Semaphore>,
    done: tokio::task::JoinHandle<()>,
}

impl Running {
    async fn wait_for_request(&self) {
        let began = tokio::time::timeout(WAIT, self.began.acquire()).await;
        began.unwrap().unwrap().forget();
    }
}

fn router(began: &Arc<Semaphore>) -> Router {
    let own = || Arc::clone(began);
    let (slow, soon, read) = (own(), own(), own());
    Router::new()
        .route("/hello", get(|| async { "hello" }))
        .route(
            "/slow",
            get(move || async move {
                slow.add_permits(1);
                std::future::pending::<()>().await
            }),
        )
        .route(
            "/soon",
            get(move || async move {
                soon.add_permits(1);
                tokio::time::sleep(Duration::from_millis(300)).await;
                "soon"
            }),
        )
        .route(
            "/read",
            post(move |body: Body| async move {
                read.add_permits(1);
                to_bytes(body, 100).await.unwrap_or_default()
            }),
        )
        .route("/long", get(|| async { vec![0_u8; 100_000] }))
        .route("/huge", get(|| async { vec![0_u8; HUGE] }))
        .route("/refused", get(refused))
        .route("/echo", post(|body: Bytes| async { body }))
        .layer(DefaultBodyLimit::max(1_000))
}

async fn refused() -> Problem {
    Problem::new(StatusCode::CONFLICT, "order", "row 3 comes first")
}

fn start(limits: ServerLimits) -> Running {
    let dir = tempfile::tempdir().unwrap();
    let certificate = Certificate::of(dir.path(), &["localhost".to_owned()]).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Server::new(listener, Some(&certificate), limits).unwrap();
    let at = server.address().unwrap();
    let (stop, stopped) = oneshot::channel();
    let began = Arc::new(Semaphore::new(0));
    let done = tokio::spawn(server.run(router(&began), async {
        let _ = stopped.await;
    }));
    Running {
        at,
        url: ServiceUrl::pinned(&at.to_string(), certificate.pin()).unwrap(),
        _dir: dir,
        stop: Some(stop),
        began,
        done,
    }
}

fn client(running: &Running) -> Client {
    Client::new(&running.url).unwrap()
}

#[tokio::test]
async fn a_client_talks_to_the_pinned_server_alone() {
    let running = start(ServerLimits::default());
    let answer = client(&running)
        .get("hello", None, 100, WAIT)
        .await
        .unwrap();
    assert_eq!(answer.body, b"hello");

    let other = start(ServerLimits::default());
    let other = ServiceUrl::pinned(&running.at.to_string(), other.url.pin().unwrap()).unwrap();
    let refused = Client::new(&other)
        .unwrap()
        .get("hello", None, 100, WAIT)
        .await;
    assert!(matches!(refused, Err(ClientError::Pin(_))), "{refused:?}");

    // Without a pin its self-signed certificate is nobody's.
    let unpinned: ServiceUrl = format!("https://{}/", running.at).parse().unwrap();
    let refused = Client::new(&unpinned)
        .unwrap()
        .get("hello", None, 100, WAIT)
        .await;
    assert!(
        matches!(refused, Err(ClientError::Unreachable { .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn the_pin_stays_and_the_key_is_secret() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let first = Certificate::of(dir.path(), &["a".to_owned()]).unwrap();
    let second = Certificate::of(dir.path(), &["b".to_owned()]).unwrap();
    assert_eq!(first.pin(), second.pin());
    let mode = dir
        .path()
        .join("tls.key")
        .metadata()
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    std::fs::write(dir.path().join("tls.key"), "nonsense").unwrap();
    assert!(Certificate::of(dir.path(), &[]).is_err());
}

#[tokio::test]
async fn answers_are_bounded() {
    let running = start(ServerLimits {
        request: Duration::from_millis(500),
        ..ServerLimits::default()
    });
    let client = client(&running);
    let long = client.get("long", None, 99_999, WAIT).await;
    assert!(
        matches!(long, Err(ClientError::TooLong { limit: 99_999, .. })),
        "{long:?}"
    );
    assert!(client.get("long", None, 100_000, WAIT).await.is_ok());
    let impatient = client
        .get("slow", None, 10, Duration::from_millis(100))
        .await;
    assert!(
        matches!(impatient, Err(ClientError::Timeout(_))),
        "{impatient:?}"
    );
    let Err(ClientError::Refused { problem, .. }) = client.get("slow", None, 10, WAIT).await else {
        panic!("the server has to end it");
    };
    assert_eq!((problem.status, &*problem.title), (408, "too-slow"));
    let Err(ClientError::Refused { problem, .. }) = client.get("refused", None, 10, WAIT).await
    else {
        panic!("refused");
    };
    assert_eq!(
        (problem.status, &*problem.title, &*problem.detail),
        (409, "order", "row 3 comes first")
    );
    let echoed = client
        .post("echo", vec![7; 1_000], 1_000, WAIT)
        .await
        .unwrap();
    assert_eq!(echoed.body, [7; 1_000]);
    let large = client.post("echo", vec![7; 1_001], 1_001, WAIT).await;
    assert!(matches!(large, Err(ClientError::Refused { problem, .. }) if problem.status == 413));
}

/// Half-open connections, half-sent requests and useless bytes from the same address.
#[tokio::test]
async fn a_flood_of_connections_does_not_stop_a_client() {
    let running = start(ServerLimits {
        connections: 32,
        connections_of_host: 32,
        ..ServerLimits::default()
    });
    let client = client(&running);
    assert!(client.get("hello", None, 100, WAIT).await.is_ok());
    let mut held = Vec::new();
    for n in 0..200 {
        let mut stream = TcpStream::connect(running.at).unwrap();
        if n % 2 == 0 {
            let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n");
        }
        held.push(stream);
        if n % 40 == 0 {
            let answer = client.get("hello", None, 100, WAIT).await;
            assert!(answer.is_ok(), "after {n}: {answer:?}");
        }
    }
    assert!(client.get("hello", None, 100, WAIT).await.is_ok());
}

#[tokio::test]
async fn a_silent_connection_ends() {
    let running = start(ServerLimits {
        head: Duration::from_millis(300),
        ..ServerLimits::default()
    });
    let started = Instant::now();
    let mut stream = TcpStream::connect(running.at).unwrap();
    stream.set_read_timeout(Some(WAIT)).unwrap();
    let read = tokio::task::spawn_blocking(move || stream.read(&mut [0; 16]));
    assert_eq!(read.await.unwrap().unwrap(), 0);
    assert!(started.elapsed() < WAIT / 2);
}

/// Who asks and takes nothing keeps no answer in memory; who takes it slowly gets all of it.
#[tokio::test]
async fn an_answer_that_nobody_takes_ends() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let limits = ServerLimits {
        stall: Duration::from_millis(500),
        ..ServerLimits::default()
    };
    let server = Server::new(listener, None, limits).unwrap();
    let router = router(&Arc::new(Semaphore::new(0)));
    let server = tokio::spawn(server.run(router, std::future::pending()));
    let read = |pause: Duration| {
        move || {
            let mut stream = TcpStream::connect(at).unwrap();
            stream.set_read_timeout(Some(WAIT)).unwrap();
            let ask = b"GET /huge HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
            stream.write_all(ask).unwrap();
            std::thread::sleep(pause);
            let (mut all, mut part) = (0, vec![0; 4 << 20]);
            loop {
                match stream.read(&mut part) {
                    Ok(0) | Err(_) => return all,
                    Ok(read) => all += read,
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    };
    let idle = tokio::task::spawn_blocking(read(Duration::from_secs(3)));
    let slow = tokio::task::spawn_blocking(read(Duration::ZERO));
    assert!(slow.await.unwrap() > HUGE);
    assert!(idle.await.unwrap() < HUGE);
    server.abort();
}

#[tokio::test]
async fn a_stop_lets_requests_end() {
    let mut running = start(ServerLimits::default());
    let client = client(&running);
    let asked = tokio::spawn(async move { client.get("soon", None, 100, WAIT).await });
    running.wait_for_request().await;
    let _ = running.stop.take().unwrap().send(());
    assert_eq!(asked.await.unwrap().unwrap().body, b"soon");
    tokio::time::timeout(WAIT / 2, running.done)
        .await
        .unwrap()
        .unwrap();
    assert!(TcpStream::connect(running.at).is_err());
}

/// A peer that takes an answer byte by byte does not keep a service from ending.
#[tokio::test]
async fn a_stop_ends_who_reads_slowly() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let limits = ServerLimits {
        request: Duration::from_millis(300),
        ..ServerLimits::default()
    };
    let server = Server::new(listener, None, limits).unwrap();
    let began = Arc::new(Semaphore::new(0));
    let (stop, stopped) = oneshot::channel::<()>();
    let done = tokio::spawn(server.run(router(&began), async {
        let _ = stopped.await;
    }));
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(WAIT)).unwrap();
    let stream = tokio::task::spawn_blocking(move || {
        let ask = b"GET /huge HTTP/1.1\r\nHost: a\r\n\r\n";
        stream.write_all(ask).unwrap();
        stream.read_exact(&mut [0; 16]).unwrap(); // and no more of it
        stream
    });
    let stream = stream.await.unwrap();
    let _ = stop.send(());
    tokio::time::timeout(WAIT, done).await.unwrap().unwrap();
    // The router's handlers hold the semaphore as those of a service hold its store.
    assert_eq!(Arc::strong_count(&began), 1);
    drop(stream);
}

/// A request is under way once all of it has come: heads with slow bodies keep nobody away.
#[tokio::test]
async fn a_slow_body_is_the_first_to_go() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let limits = ServerLimits {
        connections: 2,
        ..ServerLimits::default()
    };
    let server = Server::new(listener, None, limits).unwrap();
    let began = Arc::new(Semaphore::new(0));
    let server = tokio::spawn(server.run(router(&began), std::future::pending()));
    let ask = async |text: &'static str| {
        let mut stream = tokio::net::TcpStream::connect(at).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        let began = tokio::time::timeout(WAIT, began.acquire()).await;
        began.unwrap().unwrap().forget();
        stream
    };
    let first = ask("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let mut slow = ask("POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\na").await;
    let _third = ask("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let ended = tokio::time::timeout(WAIT, slow.read(&mut [0; 16])).await;
    assert!(matches!(ended.unwrap(), Ok(0) | Err(_)));
    assert!(
        first.try_read(&mut [0; 16]).is_err(),
        "still waits for its answer"
    );
    server.abort();
}

/// What a server without TLS answers to these bytes: its head, and its body as JSON.
async fn raw(at: SocketAddr, request: Vec<u8>) -> (String, serde_json::Value) {
    let answered = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(at).unwrap();
        let _ = stream.write_all(&request); // it may be refused before its end
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        String::from_utf8(bytes).unwrap()
    });
    let answered = answered.await.unwrap();
    let (head, body) = answered.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), serde_json::from_str(body).unwrap())
}

/// Refusals of the router, of its extractors and of HTTP itself have the form of all refusals.
#[tokio::test(flavor = "multi_thread")]
async fn every_refusal_is_a_problem() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let limits = ServerLimits {
        request: Duration::from_millis(300),
        ..ServerLimits::default()
    };
    let server = Server::new(listener, None, limits).unwrap();
    let at = server.address().unwrap();
    let number = |Path(number): Path<u32>| async move { number.to_string() };
    let router = router(&Arc::new(Semaphore::new(0)))
        .route("/number/{number}", get(number))
        .route(
            "/own",
            get(|| async { (StatusCode::CONFLICT, [(CONTENT_TYPE, "text/x")], "7") }),
        );
    tokio::spawn(server.run(router, std::future::pending()));
    let end = "Host: x\r\nConnection: close\r\n";
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\n{end}\r\n").into_bytes();
    let long = format!(
        "GET /hello HTTP/1.1\r\n{end}X: {}\r\n\r\n",
        "x".repeat(20_000)
    );
    let body = format!("POST /echo HTTP/1.1\r\n{end}Content-Length: 2000\r\n\r\n");
    let body = [body.into_bytes(), vec![b'x'; 2_000]].concat();
    let post = format!("POST /hello HTTP/1.1\r\n{end}Content-Length: 0\r\n\r\n");
    for (request, status, title) in [
        (get("/nowhere"), 404, "path"),
        (post.into_bytes(), 405, "method"),
        (get("/slow"), 408, "too-slow"),
        (body, 413, "too-large"),
        (get("/number/x"), 400, "request"),
        (long.into_bytes(), 431, "head-too-large"),
        (b"nonsense\r\n\r\n".to_vec(), 400, "head"),
        (
            b"GET /hello HTTP/1.1\r\nbad header\r\n\r\n".to_vec(),
            400,
            "head",
        ),
        (get("/refused"), 409, "order"),
    ] {
        let (head, problem) = raw(at, request).await;
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
        let kind = "\r\ncontent-type: application/problem+json\r\n";
        assert!(format!("{head}\r\n").contains(kind), "{title}: {head}");
        assert_eq!(problem["title"], title);
        assert_eq!(problem["status"], status);
        assert!(
            problem["detail"]
                .as_str()
                .is_some_and(|why| !why.is_empty())
        );
        assert_eq!(status == 405, head.contains("\r\nallow: "), "{head}");
    }
    // A protocol's own refusals stay as they are.
    let (head, own) = raw(at, get("/own")).await;
    assert!(head.contains("text/x"), "{head}");
    assert_eq!(own, 7);
}
