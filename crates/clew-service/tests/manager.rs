//! A manager over real sockets: the feed over several bundles, and what is bounded.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use clew_evidence::GroupFile;
use clew_group::Scheme;
use clew_group::quorum::Quorum;
use clew_keys::join::{InvitationFile, Joining};
use clew_keys::{IssuerKeyFile, TextFile};
use clew_manager::{EpochStart, ISSUER_KEY, NewGroup, Opening, Store};
use clew_service::http::{Certificate, ClientError, Server, ServerLimits, ServiceUrl};
use clew_service::manager::{
    BUNDLE_RECORDS, FollowError, Followed, Manager, ManagerClient, ManagerOptions, follow, router,
};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
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
    let tls = dir.join("tls");
    fs::create_dir(&tls).unwrap();
    let certificate = Certificate::of(&tls, &["localhost".to_owned()]).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Server::new(listener, Some(&certificate), ServerLimits::default()).unwrap();
    let at = server.address().unwrap().to_string();
    let options = ManagerOptions {
        epoch_every: None,
        clock: || NOW + 1_000_000,
        tell: |_| (),
    };
    let (manager, _) = Manager::start(store, issuer, options, rng(2)).unwrap();
    tokio::spawn(server.run(router(manager), std::future::pending()));
    ManagerClient::new(&ServiceUrl::pinned(&at, certificate.pin()).unwrap()).unwrap()
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
    let client = serve(dir.path(), store, issuer);
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

    // Nothing new: the service waits, then says so.
    let started = Instant::now();
    let again = client
        .head(etag.as_deref(), Duration::from_secs(1))
        .await
        .unwrap();
    assert!(again.is_none() && started.elapsed() >= Duration::from_secs(1));
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
