//! Servers that lie to their clients, and servers that stop.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use axum::Router;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::routing::get;
use clew_evidence::GroupFile;
use clew_group::Scheme;
use clew_group::quorum::Quorum;
use clew_manager::{NewGroup, Opening, Store};
use clew_service::http::{Client, ClientError, Problem, Server, ServerLimits, ServiceUrl};
use clew_service::manager::{
    FeedHead, FollowError, Manager, ManagerClient, ManagerOptions, follow, router,
};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

const NOW: u64 = 1_800_000_000_000_000_000;
const WAIT: Duration = Duration::from_secs(20);

/// Serves in the clear until the sender is used or dropped.
fn serve(router: Router) -> (ServiceUrl, oneshot::Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = Server::new(listener, None, ServerLimits::default()).unwrap();
    let (stop, stopped) = oneshot::channel();
    tokio::spawn(server.run(router, async {
        let _ = stopped.await;
    }));
    (url.parse().unwrap(), stop)
}

fn store(dir: &std::path::Path) -> Store {
    let group = NewGroup {
        name: "acme".parse().unwrap(),
        scheme: Scheme::Xr,
        opening: Opening::TrustedDealer(Quorum::new(1, 1).unwrap()),
        log: None,
        now: NOW,
    };
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    Store::create(&dir.join("acme"), group, None, &mut rng)
        .unwrap()
        .store
}

/// A feed that promises 2^32 - 1 records, and has as many bytes as anybody reads.
#[tokio::test]
async fn an_endless_feed_ends_at_its_first_bad_record() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = store(dir.path()).group_bytes().unwrap();
    let group = GroupFile::from_bytes(&bytes).unwrap();
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    let bundle = move |Path(_): Path<u32>| async move {
        count.fetch_add(1, Ordering::SeqCst);
        // 256 parts of kind 1, each of 4 KiB.
        let body = [&4_096_u32.to_be_bytes()[..], &[1], &[0; 4_095], &[0; 64]].concat();
        body.repeat(256)
    };
    let (url, _stop) = serve(Router::new().route("/feed/records/{number}", get(bundle)));
    let client = ManagerClient::new(&url).unwrap();
    // The register's head is the last part of the file.
    let mut at = 16;
    let mut last = at;
    while at < bytes.len() {
        last = at;
        let length = u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        at += 4 + length + 64;
    }
    let head = FeedHead {
        group: group.id(),
        records: u32::MAX,
        checkpoints: 0,
        register: bytes[last..].to_vec(),
    };
    let refused = follow(&client, &head, &group, &bytes).await.unwrap_err();
    assert!(matches!(refused, FollowError::File(_)), "{refused}");
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

/// What a server says is shown, and does nothing to a terminal.
#[tokio::test]
async fn refusals_are_shown_safely() {
    let why = format!("\u{1b}[2Jclew: valid\u{7}\n{}", "a".repeat(9_000));
    let refuse = move || async move { Problem::new(StatusCode::CONFLICT, "order\u{1b}[1m", why) };
    let (url, _stop) = serve(Router::new().route("/refused", get(refuse)));
    let client = Client::new(&url).unwrap();
    let error = client.get("refused", None, 10, WAIT).await.unwrap_err();
    let shown = error.to_string();
    assert!(!shown.contains(['\u{1b}', '\u{7}', '\n']), "{shown}");
    assert!(
        shown.contains("[U+001B][2Jclew: valid") && shown.len() < 600,
        "{shown}"
    );
    let ClientError::Refused { problem, .. } = error else {
        panic!("refused");
    };
    assert!(!problem.title.contains('\u{1b}'));
}

/// Who waits for a newer head is answered when the service stops, so that a stop takes no minute.
#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_long_polls() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path());
    let key = std::fs::read_to_string(dir.path().join("acme").join(clew_manager::ISSUER_KEY));
    let issuer = clew_keys::TextFile::decode(&key.unwrap()).unwrap();
    let options = ManagerOptions {
        epoch_every: None,
        clock: || NOW + 1,
        tell: |_| (),
    };
    let rng = ChaCha20Rng::seed_from_u64(2);
    let (manager, _) = Manager::start(store, issuer, options, rng).unwrap();
    let (url, stop) = serve(router(manager));
    let client = Client::new(&url).unwrap();
    let first = client.get("feed/head", None, 10_000, WAIT).await.unwrap();
    let etag = first.etag.unwrap();
    let started = Instant::now();
    let waits = tokio::spawn(async move {
        let answer = client.get("feed/head?wait=50", Some(&etag), 10_000, 3 * WAIT);
        answer.await.unwrap().is_unchanged
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!waits.is_finished(), "it waits");
    stop.send(()).unwrap();
    assert!(waits.await.unwrap());
    assert!(started.elapsed() < WAIT, "{:?}", started.elapsed());
}
