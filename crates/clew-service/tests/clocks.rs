//! A log's clock beside those of its witnesses, and a member's clock beside them.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use clew_evidence::GroupLog;
use clew_group::Scheme;
use clew_group::quorum::Quorum;
use clew_keys::{IssuerKeyFile, LogKeyFile, TextFile};
use clew_log::{Founder, KeyKind, ProofError, VerifierKey};
use clew_manager::{ISSUER_KEY, NewGroup, Opening, Store};
use clew_service::http::{Server, ServerLimits, ServiceUrl};
use clew_service::log::{Log, LogOptions, LogPages, LogService, Status, WitnessAddress, clear_key};
use clew_service::manager::{
    LogMemory, ManagedLog, Manager, ManagerClient, ManagerOptions, NotAccepted, router,
};
use clew_service::witness::{self, WitnessOptions, WitnessStore};
use clew_wire::WallTime;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::net::TcpListener;
use std::path::Path;
use zeroize::Zeroizing;

const NOW: u64 = 1_800_000_000;
const DAY: u64 = 86_400;

fn log_clock() -> WallTime {
    WallTime::from_millis(NOW * 1_000)
}

fn key(kind: KeyKind, name: &str, seed: u8) -> LogKeyFile {
    LogKeyFile::new(kind, Zeroizing::new([seed; 32]), &name.parse().unwrap()).unwrap()
}

fn serve_witness(
    dir: &Path,
    log: &VerifierKey,
    number: u8,
    clock: fn() -> WallTime,
) -> WitnessAddress {
    let name = format!("w{number}");
    let dir = dir.join(&name);
    let key = key(KeyKind::Witness, &name, 10 + number);
    WitnessStore::create(&dir, &key, &key.encode()).unwrap();
    let options = WitnessOptions {
        clock,
        logs: vec![log.clone()],
        tell: |_| (),
    };
    let router = witness::router(WitnessStore::open(&dir, clear_key).unwrap(), options);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Server::new(listener, None, ServerLimits::default()).unwrap();
    let url = format!("http://{}/", server.address().unwrap());
    tokio::spawn(server.run(router, std::future::pending()));
    WitnessAddress {
        key: key.public().clone(),
        url: url.parse().unwrap(),
    }
}

/// What a log with these witnesses comes to.
async fn comes_to(clocks: &[fn() -> WallTime], threshold: usize) -> Status {
    let dir = tempfile::tempdir().unwrap();
    let own = key(KeyKind::Log, "log", 1);
    let path = dir.path().join("log");
    Log::create(&path, &own, &own.encode()).unwrap();
    let founder = Founder {
        record: [7; 32],
        manager: [8; 32],
    };
    Log::bind(&path, &founder, b"").unwrap();
    let witnesses = (0..).zip(clocks);
    let witnesses =
        witnesses.map(|(number, clock)| serve_witness(dir.path(), own.public(), number, *clock));
    let options = LogOptions {
        clock: log_clock,
        witnesses: witnesses.collect(),
        threshold,
        tell: |_| (),
        pages: LogPages::default(),
    };
    let service = LogService::start(Log::open(&path, clear_key).unwrap(), options).unwrap();
    let mut status = service.status();
    let settled = status.wait_for(|status| *status != Status::Starting);
    settled.await.unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_whose_clock_is_wrong_adds_nothing() {
    let right: fn() -> WallTime = || WallTime::from_millis((NOW + 3_600) * 1_000);
    let ahead: fn() -> WallTime = || WallTime::from_millis((NOW + 3_601) * 1_000);
    let behind: fn() -> WallTime = || WallTime::from_millis((NOW - 3_601) * 1_000);
    assert_eq!(comes_to(&[right], 1).await, Status::Open);
    for wrong in [ahead, behind] {
        let Status::Halted(why) = comes_to(&[wrong], 1).await else {
            unreachable!("it is halted");
        };
        assert!(why.contains("1 hour"), "{why}");
        // Whose clock, and what this one says.
        assert!(why.contains("UTC") && why.contains("(w0)"), "{why}");
    }
    // One of three witnesses cannot stop it; two of them can.
    assert_eq!(comes_to(&[right, ahead, right], 2).await, Status::Open);
    let two = comes_to(&[behind, ahead, right], 2).await;
    assert!(matches!(two, Status::Halted(_)), "{two:?}");
}

/// A manager with a log and a witness, all at [`NOW`].
async fn manager(dir: &Path) -> (ManagerClient, Store, VerifierKey) {
    manager_with(dir, log_clock, |_| ()).await
}

/// The same with another clock of the witness. `before` gets the store before it is served.
async fn manager_with(
    dir: &Path,
    witness_clock: fn() -> WallTime,
    before: fn(&Store),
) -> (ManagerClient, Store, VerifierKey) {
    let own = key(KeyKind::Log, "log", 1);
    let witness = serve_witness(dir, own.public(), 0, witness_clock);
    let named = witness.key.clone();
    let group = NewGroup {
        name: "acme".parse().unwrap(),
        scheme: Scheme::Xr,
        opening: Opening::TrustedDealer(Quorum::new(1, 1).unwrap()),
        log: Some(GroupLog::new(own.public().clone()).unwrap()),
        now: NOW * 1_000_000_000,
    };
    let acme = dir.join("acme");
    let store = Store::create(&acme, group, None, &mut ChaCha20Rng::seed_from_u64(1));
    let store = store.unwrap().store;
    let path = dir.join("log");
    Log::create(&path, &own, &own.encode()).unwrap();
    let founder = Founder {
        record: store.group().epoch_id(0).unwrap().0,
        manager: store.group().genesis().manager,
    };
    Log::bind(&path, &founder, b"").unwrap();
    let options = LogOptions {
        clock: log_clock,
        witnesses: vec![witness],
        threshold: 1,
        tell: |_| (),
        pages: LogPages::default(),
    };
    let log = LogService::start(Log::open(&path, clear_key).unwrap(), options).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Server::new(listener, None, ServerLimits::default()).unwrap();
    let url: ServiceUrl = format!("http://{}/", server.address().unwrap())
        .parse()
        .unwrap();
    let issuer = std::fs::read_to_string(acme.join(ISSUER_KEY)).unwrap();
    let issuer = IssuerKeyFile::decode(&issuer).unwrap();
    let options = ManagerOptions {
        epoch_every: None,
        clock: || NOW * 1_000_000_000,
        tell: |_| (),
    };
    before(&store);
    let managed = Some(ManagedLog::embedded(&url, &log));
    let rng = ChaCha20Rng::seed_from_u64(2);
    let (manager, _) = Manager::start_with_log(store, issuer, options, managed, rng).unwrap();
    tokio::spawn(server.run(router(manager), std::future::pending()));
    let client = ManagerClient::new(&url).unwrap();
    (client, Store::open(&acme).unwrap(), named)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_needs_a_checkpoint_of_the_last_day() {
    let dir = tempfile::tempdir().unwrap();
    let (client, store, witness) = manager(dir.path()).await;
    let seen = LogMemory {
        witnesses: vec![witness.clone()],
        threshold: 1,
        reads: false,
        last: None,
    };
    let group = store.group();
    let kept = seen.check(&client, group, NOW).await.unwrap();
    assert!(kept.last.is_some());
    // It is kept as text, and continued.
    let kept: LogMemory = kept.to_string().parse().unwrap();
    kept.check(&client, group, NOW + DAY).await.unwrap();
    kept.check(&client, group, NOW - 3_600).await.unwrap();
    let is_frozen = |error: &NotAccepted| matches!(error, NotAccepted::Frozen { newest: NOW, now } if *now == NOW + DAY + 1);
    let frozen = kept.check(&client, group, NOW + DAY + 1).await.unwrap_err();
    assert!(is_frozen(&frozen), "{frozen:?}");
    // So is a manager that shows no proof at all.
    let nowhere = ManagerClient::new(&"http://127.0.0.1:9/".parse().unwrap()).unwrap();
    let silent = kept.check(&nowhere, group, NOW + DAY).await.unwrap_err();
    assert!(matches!(silent, NotAccepted::Client(_)), "{silent}");
    let frozen = kept
        .check(&nowhere, group, NOW + DAY + 1)
        .await
        .unwrap_err();
    assert!(is_frozen(&frozen), "{frozen:?}");
    // A clock that is behind is told from a witness that did not cosign.
    let future = kept.check(&client, group, NOW - 3_601).await.unwrap_err();
    assert!(
        matches!(future, NotAccepted::ClockBehind { cosigned: NOW, now } if now == NOW - 3_601),
        "{future:?}"
    );
    assert!(future.is_passing());
    let of_other = LogMemory {
        witnesses: vec![key(KeyKind::Witness, "other", 3).public().clone()],
        ..kept.clone()
    };
    let few = ProofError::Witnesses { have: 0, need: 1 };
    let not = of_other.check(&client, group, NOW - 3_601).await;
    let not = not.unwrap_err();
    assert!(
        matches!(not, NotAccepted::Proof { error, .. } if error == few),
        "{not}"
    );
    // A checkpoint that was seen before, and is larger than what the manager shows now.
    let mut ahead = kept.clone();
    let own = key(KeyKind::Log, "log", 1);
    let stated = clew_log::Checkpoint {
        origin: "log".into(),
        size: 9,
        root: [9; 32],
    };
    let mut note = clew_log::Note::new(stated.to_string()).unwrap();
    let line = clew_log::sign(note.text(), "log", &own.signing_key()).unwrap();
    note.add(line).unwrap();
    ahead.last = Some(note);
    let older = ahead.check(&client, group, NOW).await.unwrap_err();
    assert!(
        matches!(older, NotAccepted::Older { shown: 1, seen: 9 }),
        "{older}"
    );
}

/// A log that must not go on halts the store for commands, too, and over restarts; a log that its witnesses
/// agree with lets it go on.
#[tokio::test(flavor = "multi_thread")]
async fn a_halted_log_halts_its_store_for_all_processes() {
    let halted = async |store: &Store, is_halted: bool| {
        for _ in 0..400 {
            if store.is_halted() == is_halted {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        assert_eq!(store.is_halted(), is_halted);
    };
    let dir = tempfile::tempdir().unwrap();
    let ahead: fn() -> WallTime = || WallTime::from_millis((NOW + 3_601) * 1_000);
    let (_client, mut store, _) = manager_with(dir.path(), ahead, |_| ()).await;
    halted(&store, true).await;
    let refused = store.queue(&[], NOW * 1_000_000_000).unwrap_err();
    assert!(
        matches!(refused, clew_manager::StoreError::Halted(_)),
        "{refused}"
    );
    let dir = tempfile::tempdir().unwrap();
    let halt = |store: &Store| store.halt().unwrap();
    let (_client, store, _) = manager_with(dir.path(), log_clock, halt).await;
    halted(&store, false).await;
}
