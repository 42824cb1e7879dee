//! A manager over real sockets: the feed over several bundles, and what is bounded.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use clew_evidence::GroupFile;
use clew_group::Scheme;
use clew_group::quorum::Quorum;
use clew_keys::join::{InvitationFile, Joining};
use clew_keys::{IssuerKeyFile, TextFile};
use clew_manager::{EpochStart, ISSUER_KEY, JoinRound, NewGroup, Opening, Store};
use clew_service::http::{Certificate, Client, ClientError, Server, ServerLimits, ServiceUrl};
use clew_service::manager::{
    BUNDLE_RECORDS, FollowError, Followed, Manager, ManagerClient, ManagerOptions, follow, router,
};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

const NOW: u64 = 1_800_000_000_000_000_000;

fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

fn create(dir: &Path) -> (Store, IssuerKeyFile) {
    let group = NewGroup {
        name: "acme".parse().unwrap(),
        scheme: Scheme::Xr,
        opening: Opening::TrustedDealer(Quorum::new(1, 1).unwrap()),
        log: None,
        now: NOW,
    };
    let store = Store::create(dir, group, None, &mut rng(1)).unwrap().store;
    let key = fs::read_to_string(dir.join(ISSUER_KEY)).unwrap();
    (store, IssuerKeyFile::decode(&key).unwrap())
}

/// Serves a store until the test ends.
fn serve(dir: &Path, store: Store, issuer: IssuerKeyFile) -> ManagerClient {
    serve_with(dir, store, issuer, || NOW + 1_000_000).0
}

/// The same with a clock. Returns also a stranger's client, and where it listens.
fn serve_with(
    dir: &Path,
    store: Store,
    issuer: IssuerKeyFile,
    clock: fn() -> u64,
) -> (ManagerClient, Client, String) {
    let tls = dir.join("tls");
    fs::create_dir(&tls).unwrap();
    let certificate = Certificate::of(&tls, &["localhost".to_owned()]).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Server::new(listener, Some(&certificate), ServerLimits::default()).unwrap();
    let at = server.address().unwrap().to_string();
    let options = ManagerOptions {
        epoch_every: None,
        clock,
        tell: |_| (),
    };
    let (manager, _) = Manager::start(store, issuer, options, rng(2)).unwrap();
    tokio::spawn(server.run(router(manager), std::future::pending()));
    let url = ServiceUrl::pinned(&at, certificate.pin()).unwrap();
    let device = ManagerClient::new(&url).unwrap();
    (device, Client::new(&url).unwrap(), at)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_any_age_becomes_that_of_the_feed() {
    let dir = tempfile::tempdir().unwrap();
    let (mut store, issuer) = create(&dir.path().join("acme"));
    let mut held = vec![store.group_bytes().unwrap()];
    for epoch in 1..=BUNDLE_RECORDS as u64 + 2 {
        if epoch == 5 {
            let pending = store.enrol(&issuer, "a".parse().unwrap(), NOW + epoch, &mut rng(3));
            pending.unwrap().commit().unwrap();
            store.refresh().unwrap();
        }
        let when = EpochStart::now(NOW + epoch);
        store.rebase(&issuer, when, &mut |_, _| true).unwrap();
        if [3, 255, 256, 257].contains(&epoch) {
            held.push(store.group_bytes().unwrap());
        }
    }
    let newest = store.group_bytes().unwrap();
    let (client, plain, _) = serve_with(dir.path(), store, issuer, || NOW + 1_000_000);
    let (head, etag) = client.head(None, Duration::ZERO).await.unwrap().unwrap();
    for bytes in &held {
        let group = GroupFile::from_bytes(bytes).unwrap();
        match follow(&client, &head, &group, bytes).await.unwrap() {
            Followed::Newer(file, bytes) => {
                assert!(bytes == newest);
                assert_eq!(file.newest_epoch(), 258);
            }
            Followed::Current => unreachable!("epoch {} is not current", group.newest_epoch()),
        }
    }
    let group = GroupFile::from_bytes(&newest).unwrap();
    let current = follow(&client, &head, &group, &newest).await.unwrap();
    assert!(matches!(current, Followed::Current));

    // A head that promises more, or less, than there is.
    let mut more = head.clone();
    more.records += 1;
    let refused = follow(&client, &more, &group, &newest).await.unwrap_err();
    assert!(matches!(refused, FollowError::Client(_)), "{refused}");
    for (records, checkpoints) in [(1, 0), (0, 1)] {
        let mut less = head.clone();
        less.records -= records;
        less.checkpoints -= checkpoints;
        let refused = follow(&client, &less, &group, &newest).await.unwrap_err();
        assert!(matches!(refused, FollowError::Rollback { .. }), "{refused}");
    }
    let mut other = head.clone();
    other.group.0[0] ^= 1;
    let refused = follow(&client, &other, &group, &newest).await.unwrap_err();
    assert!(
        matches!(refused, FollowError::OtherGroup { .. }),
        "{refused}"
    );
    let mut forged = head.clone();
    let last = forged.register.len() - 1;
    forged.register[last] ^= 1;
    let refused = follow(&client, &forged, &group, &newest).await.unwrap_err();
    assert!(matches!(refused, FollowError::File(_)), "{refused}");

    // Nothing new: the service waits, then says so. The manager's client would wait by itself.
    let started = Instant::now();
    let wait = Duration::from_secs(20);
    let again = plain
        .get("feed/head?wait=1", etag.as_deref(), 10_000, wait)
        .await;
    assert!(again.unwrap().is_unchanged);
    assert!(started.elapsed() >= Duration::from_secs(1));
}

/// Another process makes an epoch: who waits for it is told within a second.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_another_process_ends_a_wait() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("acme");
    let (store, issuer) = create(&path);
    let client = serve(dir.path(), store, issuer);
    let (_, etag) = client.head(None, Duration::ZERO).await.unwrap().unwrap();
    let waiting =
        tokio::spawn(async move { client.head(etag.as_deref(), Duration::from_secs(40)).await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    let key = fs::read_to_string(path.join(ISSUER_KEY)).unwrap();
    let key = IssuerKeyFile::decode(&key).unwrap();
    let mut other = Store::open(&path).unwrap();
    let made = Instant::now();
    other
        .rebase(&key, EpochStart::now(NOW + 1), &mut |_, _| true)
        .unwrap();
    let (head, _) = waiting.await.unwrap().unwrap().unwrap();
    assert_eq!(head.records, 2);
    assert!(made.elapsed() < Duration::from_secs(10));
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_of_an_invitation_are_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let (mut store, issuer) = create(&dir.path().join("acme"));
    let invite = |store: &mut Store, name: &str, seed| -> InvitationFile {
        store
            .invite(&issuer, name.parse().unwrap(), NOW, &mut rng(seed))
            .unwrap()
    };
    let [one, two] = [invite(&mut store, "one", 4), invite(&mut store, "two", 5)];
    let group = store.group().clone();
    let key = fs::read_to_string(dir.path().join("acme").join(ISSUER_KEY)).unwrap();
    let client = serve(dir.path(), store, IssuerKeyFile::decode(&key).unwrap());
    let begin = |invitation, seed| Joining::begin(invitation, &group, &mut rng(seed)).unwrap();
    let (hostile, honest) = (begin(one, 6), begin(two, 7));
    let mut bad = hostile.request().clone();
    bad.device = [1; 32];
    let rule = |error: ClientError| match error {
        ClientError::Refused { problem, .. } => (problem.status, problem.title),
        other => unreachable!("{other}"),
    };
    for _ in 0..64 {
        let refused = client.offer(&bad).await.unwrap_err();
        assert_eq!(rule(refused), (400, "join".to_owned()));
    }
    let refused = client.offer(&bad).await.unwrap_err();
    assert_eq!(rule(refused), (429, "attempts".to_owned()));
    assert!(client.offer(honest.request()).await.is_ok());
    let mut unknown = bad.clone();
    unknown.nonce = [9; 32];
    for _ in 0..70 {
        let refused = client.offer(&unknown).await.unwrap_err();
        assert_eq!(rule(refused), (404, "no-invitation".to_owned()));
    }
}

/// Rounds that come at once are counted before they are looked at.
#[tokio::test(flavor = "multi_thread")]
async fn attempts_at_once_are_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let (mut store, issuer) = create(&dir.path().join("acme"));
    let name = "one".parse().unwrap();
    let invitation = store.invite(&issuer, name, NOW, &mut rng(4)).unwrap();
    let group = store.group().clone();
    let options = ManagerOptions {
        epoch_every: None,
        clock: || NOW + 1_000_000,
        tell: |_| (),
    };
    let mut bad = Joining::begin(invitation, &group, &mut rng(6))
        .unwrap()
        .request()
        .clone();
    bad.device = [1; 32];
    let (manager, _) = Manager::start(store, issuer, options, rng(2)).unwrap();
    let mut asked = tokio::task::JoinSet::new();
    for _ in 0..300 {
        let (manager, bad) = (manager.clone(), bad.clone());
        asked.spawn(async move { manager.answer(JoinRound::Request(bad)).await });
    }
    let mut rules = BTreeMap::<String, u32>::new();
    while let Some(answer) = asked.join_next().await {
        let problem = answer.unwrap().unwrap_err();
        *rules.entry(problem.title).or_default() += 1;
    }
    let looked_at = rules.remove("join").unwrap();
    assert!(looked_at <= 64, "{looked_at}");
    let refused: u32 = ["busy", "attempts"]
        .iter()
        .filter_map(|rule| rules.get(*rule))
        .sum();
    assert_eq!(looked_at + refused, 300, "{rules:?}");
}

/// Rounds that come twice, at once, and in the wrong order: one row, and the same answer each time.
#[tokio::test(flavor = "multi_thread")]
async fn repeated_and_reordered_rounds_mean_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let (mut store, issuer) = create(&dir.path().join("acme"));
    let invite = |store: &mut Store, name: &str, seed| -> InvitationFile {
        let name = name.parse().unwrap();
        store.invite(&issuer, name, NOW, &mut rng(seed)).unwrap()
    };
    let [one, two] = [invite(&mut store, "one", 4), invite(&mut store, "two", 5)];
    let group = store.group().clone().check_epochs(&mut rng(9)).unwrap();
    let key = fs::read_to_string(dir.path().join("acme").join(ISSUER_KEY)).unwrap();
    let client = serve(dir.path(), store, IssuerKeyFile::decode(&key).unwrap());
    let rule = |error: ClientError| match error {
        ClientError::Refused { problem, .. } => problem.title,
        other => unreachable!("{other}"),
    };
    let mut joining = Joining::begin(one.clone(), &group, &mut rng(6)).unwrap();
    let mut other = Joining::begin(two, &group, &mut rng(7)).unwrap();
    let offers = at_once(|| client.offer(joining.request())).await;
    assert!(
        offers
            .iter()
            .all(|offer| offer.encode() == offers[0].encode())
    );
    let accepted = joining.accept(&offers[0], &group, &mut rng(8)).unwrap();
    // The last round before the second one, and of another join.
    let second = client.offer(other.request()).await.unwrap();
    let mut early = other.accept(&second, &group, &mut rng(8)).unwrap();
    early.nonce = [9; 32];
    assert_eq!(
        rule(client.admit(&early).await.unwrap_err()),
        "no-invitation"
    );
    early.nonce = one.nonce;
    assert_eq!(rule(client.admit(&early).await.unwrap_err()), "device");
    let admitted = at_once(|| client.admit(&accepted)).await;
    assert!(
        admitted
            .iter()
            .all(|row| row.encode() == admitted[0].encode())
    );
    assert_eq!(admitted[0].index, 0);
    // The second round again, after the last one.
    let again = client.offer(joining.request()).await.unwrap();
    assert_eq!(again.encode(), offers[0].encode());
    let stranger = Joining::begin(one, &group, &mut rng(10)).unwrap();
    let refused = client.offer(stranger.request()).await.unwrap_err();
    assert_eq!(rule(refused), "other-request");
    joining.finish(&admitted[0], &group).unwrap();
    let store = Store::open(&dir.path().join("acme")).unwrap();
    assert_eq!(store.group().register().machines, 1);
}

/// What sixteen requests at once are answered.
async fn at_once<T, F: Future<Output = Result<T, ClientError>>>(ask: impl Fn() -> F) -> Vec<T> {
    let mut asked: Vec<_> = (0..16).map(|_| Box::pin(ask())).collect();
    let mut answers = Vec::new();
    std::future::poll_fn(|turn| {
        asked.retain_mut(|one| match one.as_mut().poll(turn) {
            Poll::Ready(answer) => {
                answers.push(answer.unwrap());
                false
            }
            Poll::Pending => true,
        });
        match asked.is_empty() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
    answers
}

static STEPPED: AtomicU64 = AtomicU64::new(NOW + 1_000_000);

/// The clock goes ahead by a day, an epoch is made, and it comes back: nobody joins in a time before the
/// newest record, and once the clock is right everybody does.
#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_steps_back_lets_nobody_join_until_it_is_right() {
    const DAY: u64 = 24 * 3_600 * 1_000_000_000;
    let dir = tempfile::tempdir().unwrap();
    let (mut store, issuer) = create(&dir.path().join("acme"));
    let invite = |store: &mut Store, name: &str, seed| -> InvitationFile {
        let name = name.parse().unwrap();
        store.invite(&issuer, name, NOW, &mut rng(seed)).unwrap()
    };
    let [one, two] = [invite(&mut store, "one", 4), invite(&mut store, "two", 5)];
    let group = store.group().clone();
    let key = fs::read_to_string(dir.path().join("acme").join(ISSUER_KEY)).unwrap();
    let clock = || STEPPED.load(Ordering::SeqCst);
    let served = IssuerKeyFile::decode(&key).unwrap();
    let (client, http, _) = serve_with(dir.path(), store, served, clock);
    let [one, two] = [(one, 6), (two, 7)]
        .map(|(invitation, seed)| Joining::begin(invitation, &group, &mut rng(seed)).unwrap());
    client.offer(one.request()).await.unwrap();
    let mut other = Store::open(&dir.path().join("acme")).unwrap();
    let ahead = EpochStart::now(NOW + DAY);
    other.rebase(&issuer, ahead, &mut |_, _| true).unwrap();
    // A machine is offered nothing in an epoch that is a day ahead of this clock.
    let refused = client.offer(two.request()).await.unwrap_err();
    let ClientError::Refused { problem, .. } = refused else {
        unreachable!("{refused}")
    };
    assert_eq!((problem.status, &*problem.title), (503, "clock"));
    let health = || http.get("health", None, 1_000, Duration::from_secs(5));
    assert!(health().await.is_err(), "its operator sees it");
    STEPPED.store(NOW + DAY + 1, Ordering::SeqCst);
    client.offer(two.request()).await.unwrap();
    let since = Instant::now();
    while health().await.is_err() {
        assert!(since.elapsed() < Duration::from_secs(10));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // Far ahead nothing is dated, until the clock is right again.
    STEPPED.store(NOW + 400 * DAY, Ordering::SeqCst);
    assert!(client.offer(two.request()).await.is_err());
    STEPPED.store(NOW + DAY + 2, Ordering::SeqCst);
    client.offer(one.request()).await.unwrap();
}

/// An epoch that cannot be made hinders nothing else: who joins is published, and the trouble is shown.
#[tokio::test(flavor = "multi_thread")]
async fn an_epoch_that_cannot_be_made_keeps_no_row_from_the_feed() {
    let dir = tempfile::tempdir().unwrap();
    let acme = dir.path().join("acme");
    let (mut store, issuer) = create(&acme);
    let pending = store.enrol(&issuer, "a".parse().unwrap(), NOW, &mut rng(3));
    pending.unwrap().commit().unwrap();
    store.refresh().unwrap();
    store.queue(&["a".parse().unwrap()], NOW).unwrap();
    let database = rusqlite::Connection::open(acme.join("issuer/store.db")).unwrap();
    let damage = "UPDATE machine SET salt = zeroblob(16)";
    assert_eq!(database.execute(damage, []).unwrap(), 1);
    let options = ManagerOptions {
        epoch_every: Some(Duration::from_millis(1)),
        clock: || NOW + 1_000_000_000,
        tell: |_| (),
    };
    let key = fs::read_to_string(acme.join(ISSUER_KEY)).unwrap();
    let served = IssuerKeyFile::decode(&key).unwrap();
    let (manager, _) = Manager::start(store, served, options, rng(2)).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Server::new(listener, None, ServerLimits::default()).unwrap();
    let url = format!("http://{}/", server.address().unwrap());
    tokio::spawn(server.run(router(manager), std::future::pending()));
    let http = Client::new(&url.parse::<ServiceUrl>().unwrap()).unwrap();
    let wait = Duration::from_secs(5);
    let until = |path: &'static str, is_so: fn(&Result<Vec<u8>, ClientError>) -> bool| {
        let http = http.clone();
        async move {
            let since = Instant::now();
            loop {
                let answer = http.get(path, None, 1 << 20, wait).await;
                if is_so(&answer.map(|answer| answer.body)) {
                    return;
                }
                assert!(since.elapsed() < Duration::from_secs(20), "{path}");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    };
    until("health", Result::is_err).await;
    let mut other = Store::open(&acme).unwrap();
    let pending = other.enrol(&issuer, "b".parse().unwrap(), NOW, &mut rng(4));
    pending.unwrap().commit().unwrap();
    until("group", |group| {
        let group = group
            .as_ref()
            .map(|bytes| GroupFile::from_bytes(bytes).unwrap());
        group.is_ok_and(|group| group.register().machines == 2)
    })
    .await;
    let text = http.get("metrics", None, 1 << 20, wait).await.unwrap().body;
    let text = String::from_utf8(text).unwrap();
    assert!(
        text.contains("clew_http_refused_total{reason=\"path\"} "),
        "{text}"
    );
}

/// Bodies without an end, half heads and nonsense beside devices that join.
#[tokio::test(flavor = "multi_thread")]
async fn honest_devices_join_beside_a_flood() {
    let dir = tempfile::tempdir().unwrap();
    let (mut store, issuer) = create(&dir.path().join("acme"));
    let invitations: Vec<InvitationFile> = (0..12_u64)
        .map(|n| {
            let name = format!("m-{n}").parse().unwrap();
            store.invite(&issuer, name, NOW, &mut rng(100 + n)).unwrap()
        })
        .collect();
    let group = store.group().clone().check_epochs(&mut rng(9)).unwrap();
    let key = fs::read_to_string(dir.path().join("acme").join(ISSUER_KEY)).unwrap();
    let clock = || NOW + 1_000_000;
    let issuer = IssuerKeyFile::decode(&key).unwrap();
    let (client, http, at) = serve_with(dir.path(), store, issuer, clock);
    let idle: Vec<_> = (0..200)
        .filter_map(|n| {
            let mut stream = std::net::TcpStream::connect(&at).ok()?;
            let half: &[u8] = if n % 2 == 0 { &[22, 3, 1] } else { &[22] };
            std::io::Write::write_all(&mut stream, half).ok()?;
            Some(stream)
        })
        .collect();
    let flood = tokio::spawn(async move {
        let wait = Duration::from_secs(20);
        for turn in 0_usize.. {
            let body = [vec![0; 10], vec![b'a'; 60_000], vec![1; 8 << 20]][turn % 3].clone();
            let path = ["join/claim", "join/request", "join/acceptance"][turn % 3];
            assert!(http.post(path, body, 1_000, wait).await.is_err());
        }
    });
    for (invitation, seed) in invitations.into_iter().zip(0..) {
        let mut joining = Joining::begin(invitation, &group, &mut rng(seed)).unwrap();
        let offer = client.offer(joining.request()).await.unwrap();
        let accepted = joining.accept(&offer, &group, &mut rng(seed)).unwrap();
        let row = client.admit(&accepted).await.unwrap();
        joining.finish(&row, &group).unwrap();
    }
    assert!(!flood.is_finished(), "no answer surprised the stranger");
    flood.abort();
    drop(idle);
}
