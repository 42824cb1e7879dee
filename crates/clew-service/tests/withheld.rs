//! A manager that shows an old epoch beside fresh checkpoints of its log.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use axum::routing::get;
use clew_evidence::GroupLog;
use clew_group::Scheme;
use clew_group::quorum::Quorum;
use clew_keys::{IssuerKeyFile, LogKeyFile, TextFile};
use clew_log::entry::{Body, Entry};
use clew_log::{Founder, KeyKind, Policy};
use clew_manager::{ISSUER_KEY, NewGroup, Opening, Store};
use clew_service::http::{Router, Server, ServerLimits, ServiceUrl};
use clew_service::log::{
    Log, LogClient, LogOptions, LogPages, LogService, Status, WitnessAddress, clear_key,
};
use clew_service::manager::{LogMemory, ManagerClient, NotAccepted};
use clew_service::witness::{self, WitnessOptions, WitnessStore};
use clew_wire::WallTime;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use zeroize::Zeroizing;

const NOW: u64 = 1_800_000_000;

fn clock() -> WallTime {
    WallTime::from_millis(NOW * 1_000)
}

fn key(kind: KeyKind, name: &str, seed: u8) -> LogKeyFile {
    LogKeyFile::new(kind, Zeroizing::new([seed; 32]), &name.parse().unwrap()).unwrap()
}

fn serve(router: Router) -> ServiceUrl {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Server::new(listener, None, ServerLimits::default()).unwrap();
    let url = format!("http://{}/", server.address().unwrap());
    tokio::spawn(server.run(router, std::future::pending()));
    url.parse().unwrap()
}

fn witness(dir: &Path, log: &LogKeyFile) -> WitnessAddress {
    let key = key(KeyKind::Witness, "w", 10);
    let dir = dir.join("w");
    WitnessStore::create(&dir, &key, &key.encode()).unwrap();
    let options = WitnessOptions {
        clock,
        logs: vec![log.public().clone()],
        tell: |_| (),
    };
    let store = WitnessStore::open(&dir, clear_key).unwrap();
    WitnessAddress {
        key: key.public().clone(),
        url: serve(witness::router(store, options)),
    }
}

/// The log of a group, and a manager that shows epoch 0 for ever.
struct Withholding {
    store: Store,
    issuer: IssuerKeyFile,
    log: LogClient,
    policy: Policy,
    shown: Arc<Mutex<String>>,
    client: ManagerClient,
    service: LogService,
}

impl Withholding {
    fn new(dir: &Path) -> Self {
        let own = key(KeyKind::Log, "log", 1);
        let witness = witness(dir, &own);
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
        let issuer = std::fs::read_to_string(acme.join(ISSUER_KEY)).unwrap();
        let path = dir.join("log");
        Log::create(&path, &own, &own.encode()).unwrap();
        let founder = Founder {
            record: store.group().epoch_id(0).unwrap().0,
            manager: store.group().genesis().manager,
        };
        Log::bind(&path, &founder, b"").unwrap();
        let options = LogOptions {
            clock,
            witnesses: vec![witness],
            threshold: 1,
            tell: |_| (),
            pages: LogPages::default(),
        };
        let service = LogService::start(Log::open(&path, clear_key).unwrap(), options).unwrap();
        let shown = Arc::<Mutex<String>>::default();
        let proof = Arc::clone(&shown);
        let show = move || {
            let proof = proof.lock().unwrap().clone();
            async move { proof }
        };
        let router = Router::new().route("/feed/log/0", get(show));
        let url = serve(router.nest("/log", service.router()));
        Self {
            store,
            issuer: IssuerKeyFile::decode(&issuer).unwrap(),
            log: LogClient::new(&url.at("log").unwrap()).unwrap(),
            policy: Policy {
                log: own.public().clone(),
                witnesses: vec![named],
                threshold: 1,
                max_age: None,
            },
            shown,
            client: ManagerClient::new(&url).unwrap(),
            service,
        }
    }

    /// Adds an entry, and shows epoch 0 under a checkpoint that has it.
    async fn add(&self, body: Body) {
        let group = self.store.group().id().0;
        let entry = Entry::sign(group, clock(), body, &self.issuer.manager).unwrap();
        let mut status = self.service.status();
        let open = status.wait_for(|status| *status == Status::Open);
        let open = tokio::time::timeout(Duration::from_secs(20), open).await;
        drop(open.unwrap().unwrap());
        let added = self.log.add_cosigned(&entry, &self.policy, NOW).await;
        added.unwrap();
        let proof = self.log.prove(0, &self.policy, NOW).await.unwrap();
        *self.shown.lock().unwrap() = proof.to_string();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_reads_the_log_finds_withheld_epochs() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Withholding::new(dir.path());
    let group = manager.store.group();
    let seen = |reads| LogMemory {
        witnesses: manager.policy.witnesses.clone(),
        threshold: 1,
        reads,
        last: None,
    };
    let record = group.epoch_id(0).unwrap().0;
    manager.add(Body::Group { record }).await;
    let client = &manager.client;
    let reading = seen(true).check(client, group, NOW).await.unwrap();
    let trusting = seen(false).check(client, group, NOW).await.unwrap();
    // More entries than one bundle has: machines only.
    for first in 0..300 {
        let leaves = vec![[first as u8; 32]];
        let body = Body::Enrolled { first, leaves };
        let id = group.id().0;
        let entry = Entry::sign(id, clock(), body, &manager.issuer.manager).unwrap();
        manager.log.add(&entry).await.unwrap();
    }
    let row = |first| Body::Enrolled {
        first,
        leaves: vec![[7; 32]],
    };
    manager.add(row(300)).await;
    let reading = reading.check(client, group, NOW).await.unwrap();
    assert!(reading.reads, "it goes on reading");
    let epoch = Body::Epoch {
        epoch: 1,
        id: [5; 32],
        start: clock(),
    };
    manager.add(epoch).await;
    let found = reading.check(client, group, NOW).await.unwrap_err();
    assert!(matches!(found, NotAccepted::Withheld(1)), "{found}");
    assert!(found.is_passing(), "the feed may be late by a moment");
    // Also later, and from an earlier checkpoint; a member that does not read is content.
    manager.add(row(301)).await;
    let found = reading.check(client, group, NOW).await.unwrap_err();
    assert!(matches!(found, NotAccepted::Withheld(1)), "{found}");
    trusting.check(client, group, NOW).await.unwrap();
}
