//! A board over real sockets: who may ask, what is refused, and waiting for posts.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clew_group::Scheme;
use clew_group::quorum::Quorum;
use clew_keys::AuthorKeyFile;
use clew_keys::post::{BoardId, POST_BYTES_MAX, Post, ReadTicket};
use clew_log::entry::{Role, Trusteeship};
use clew_manager::{Board, NewGroup, Opening, Store};
use clew_service::board::{BoardClient, BoardService};
use clew_service::http::{Certificate, Client, ClientError, Server, ServerLimits, ServiceUrl};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

const NOW: u64 = 1_800_000_000_000_000_000;
const WAIT: Duration = Duration::from_secs(9);
const MINUTE: u64 = 60_000_000_000;

fn key(seed: u8, name: &str) -> AuthorKeyFile {
    AuthorKeyFile::new(Zeroizing::new([seed; 32]), name.parse().unwrap())
}

fn create(dir: &Path) -> Store {
    let group = NewGroup {
        name: "acme".parse().unwrap(),
        scheme: Scheme::Xr,
        opening: Opening::TrustedDealer(Quorum::new(1, 1).unwrap()),
        log: None,
        now: NOW,
    };
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let mut store = Store::create(dir, group, None, &mut rng).unwrap().store;
    for (key, role) in [
        (key(1, "court"), Role::Requester),
        (key(2, "alice"), Role::Trustee(Trusteeship::of_first_key(1))),
        (key(3, "camera"), Role::Observer),
    ] {
        store.admit_author(&key.public(), role, NOW).unwrap();
    }
    store
}

/// Serves the board of a store until the test ends.
fn serve(dir: &Path) -> ServiceUrl {
    let tls = dir.join("tls");
    std::fs::create_dir(&tls).unwrap();
    let certificate = Certificate::of(&tls, &["localhost".to_owned()]).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Server::new(listener, Some(&certificate), ServerLimits::default()).unwrap();
    let at = server.address().unwrap().to_string();
    let board = BoardService::start(Board::open(dir).unwrap(), || NOW).unwrap();
    tokio::spawn(server.run(board.router(), std::future::pending()));
    ServiceUrl::pinned(&at, certificate.pin()).unwrap()
}

fn rule<T: std::fmt::Debug>(answer: Result<T, ClientError>) -> String {
    match answer.unwrap_err() {
        ClientError::Refused { problem, .. } => problem.title,
        other => unreachable!("{other}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn posts_are_read_by_those_who_may() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("acme");
    let id = BoardId::of_group(create(&dir).group().id());
    let url = serve(&dir);
    let of = |seed, name, clock| BoardClient::new(&url, id, &key(seed, name), clock).unwrap();
    let (court, alice) = (of(1, "court", || NOW), of(2, "alice", || NOW));
    let topic = [9; 32];
    let post = court.sign(topic, 40, vec![1; 500_000]).unwrap();
    assert_eq!(court.post(&post).await.unwrap(), 1);
    assert_eq!(court.post(&post).await.unwrap(), 1);
    let read = alice.topic(&topic, 0, Duration::ZERO).await.unwrap();
    assert_eq!((read.len(), read[0].place), (1, 1));
    assert_eq!(read[0].post, post);
    assert_eq!(alice.news(0, Duration::ZERO).await.unwrap(), [(1, topic)]);

    // Who waits is told at once; who waits for nothing is answered in time.
    let begun = Instant::now();
    let waiting = tokio::spawn({
        let alice = alice.clone();
        async move { alice.topic(&topic, 1, Duration::from_secs(30)).await }
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    let second = court.sign(topic, 40, b"more".to_vec()).unwrap();
    assert_eq!(court.post(&second).await.unwrap(), 2);
    assert_eq!(waiting.await.unwrap().unwrap()[0].post, second);
    assert!(begun.elapsed() < Duration::from_secs(10));
    let none = alice.news(2, Duration::from_secs(1)).await.unwrap();
    assert_eq!(none, []);
    // Another process of the manager's host posts: those who wait see it, too.
    let mut beside = Board::open(&dir).unwrap();
    let waiting = tokio::spawn({
        let alice = alice.clone();
        async move { alice.news(2, Duration::from_secs(30)).await }
    });
    let third = court.sign(topic, 40, b"even more".to_vec()).unwrap();
    tokio::task::spawn_blocking(move || beside.post(&third, NOW).unwrap())
        .await
        .unwrap();
    assert_eq!(waiting.await.unwrap().unwrap(), [(3, topic)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_observers_and_wrong_clocks_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("acme");
    let id = BoardId::of_group(create(&dir).group().id());
    let url = serve(&dir);
    let of = |seed, id, clock| BoardClient::new(&url, id, &key(seed, "x"), clock).unwrap();
    let news = |client: BoardClient| async move { rule(client.news(0, Duration::ZERO).await) };
    for seed in [3, 7] {
        assert_eq!(news(of(seed, id, || NOW)).await, "author");
        let other = of(seed, id, || NOW);
        let post = other.sign([1; 32], 40, vec![]).unwrap();
        assert_eq!(rule(other.post(&post).await), "author");
    }
    assert_eq!(news(of(2, id, || NOW - 6 * MINUTE)).await, "time");
    assert_eq!(news(of(2, id, || NOW + 6 * MINUTE)).await, "time");
    let ahead = of(2, id, || NOW + 6 * MINUTE);
    let told = ahead.news(0, Duration::ZERO).await.unwrap_err().to_string();
    assert!(
        told.contains("says 2027-01-15 08:00:00 UTC, yours 2027-01-15 08:06:00 UTC"),
        "{told}"
    );
    assert_eq!(news(of(2, BoardId([1; 32]), || NOW)).await, "signature");
    let near = of(2, id, || NOW + 4 * MINUTE);
    assert_eq!(near.news(0, Duration::ZERO).await.unwrap(), []);
    assert_eq!(rule(near.news(5, Duration::ZERO).await), "after");

    let http = Client::new(&url).unwrap();
    let unsigned = http.get("board?after=0&wait=0", None, 100, Duration::from_secs(9));
    assert_eq!(rule(unsigned.await), "signature");
    let bad = http.post("board", b"no post".to_vec(), 100, Duration::from_secs(9));
    assert_eq!(rule(bad.await), "signature");
    let ticket = ReadTicket::sign(id, "board", NOW, &key(2, "x").signing_key());
    let ticket = STANDARD.encode(ticket.to_bytes());
    let send = |body| http.post_with("board", ("clew-reader", &ticket), body, 100, WAIT);
    assert_eq!(rule(send(b"no post".to_vec()).await), "layout");
    let long = vec![0; POST_BYTES_MAX + 1];
    assert!(send(long).await.is_err());
    let mut forged = Post::sign(id, [1; 32], 40, vec![1], &key(1, "x").signing_key())
        .unwrap()
        .encode();
    *forged.last_mut().unwrap() ^= 1;
    assert_eq!(rule(send(forged).await), "signature");
}
