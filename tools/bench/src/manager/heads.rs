//! Requests for the feed's head.

use super::served::Served;
use crate::measure::Case;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// Clients with one connection each, and their requests in one sample.
const CLIENTS: usize = 32;
const REQUESTS: usize = 128;

/// The rows.
pub fn all<'a>(runtime: &'a Runtime, served: &'a Served) -> [Case<'a>; 2] {
    [
        Case::timed(
            "head",
            "a request for the feed's head, 32 connections without TLS",
            move || (runtime.block_on(clear(served.clear)), CLIENTS * REQUESTS),
        ),
        Case::timed(
            "head-tls",
            "the same with TLS, by clew's client",
            move || (runtime.block_on(sealed(served)), CLIENTS * REQUESTS),
        )
        .against("head"),
    ]
}

async fn sealed(served: &Served) -> Duration {
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let client = served.client();
        clients.spawn(async move {
            let head = client.head(None, Duration::ZERO).await;
            head.expect("a head");
            client
        });
    }
    let clients = clients.join_all().await;
    let started = Instant::now();
    let mut asking = JoinSet::new();
    for client in clients {
        asking.spawn(async move {
            for _ in 0..REQUESTS {
                let head = client.head(None, Duration::ZERO).await;
                assert!(head.expect("a head").is_some());
            }
        });
    }
    asking.join_all().await;
    started.elapsed()
}

/// A client that costs little, so that the service's own cost is seen.
async fn clear(at: SocketAddr) -> Duration {
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        clients.spawn(TcpStream::connect(at));
    }
    let connected = clients.join_all().await;
    let started = Instant::now();
    let mut asking = JoinSet::new();
    for stream in connected {
        asking.spawn(ask(stream.expect("a connection")));
    }
    for asked in asking.join_all().await {
        asked.expect("answers");
    }
    started.elapsed()
}

async fn ask(mut stream: TcpStream) -> io::Result<()> {
    let mut bytes = vec![0; 1 << 14];
    for _ in 0..REQUESTS {
        let request = b"GET /feed/head HTTP/1.1\r\nHost: bench\r\n\r\n";
        stream.write_all(request).await?;
        let mut have = 0;
        loop {
            have += match stream.read(&mut bytes[have..]).await? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => read,
            };
            if length(&bytes[..have]).is_some_and(|length| have >= length) {
                break;
            }
        }
        if !bytes.starts_with(b"HTTP/1.1 200") {
            return Err(io::Error::other("not the head"));
        }
    }
    Ok(())
}

/// The length of an answer, once its head is there.
fn length(bytes: &[u8]) -> Option<usize> {
    let text = bytes.windows(4).position(|at| at == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..text]).ok()?;
    let field = |line: &str| line.strip_prefix("content-length: ")?.parse::<usize>().ok();
    Some(text + 4 + head.lines().find_map(field)?)
}
