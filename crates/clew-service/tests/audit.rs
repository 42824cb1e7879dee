//! Logs that break rules, and the auditor who finds out.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::get;
use clew_log::entry::{Body, Entry, Logged, Role};
use clew_log::tile::{self, Tile};
use clew_log::tree::{self, Frontier};
use clew_log::{Checkpoint, Cosignature, KeyKind, Note, Policy, Rule, VerifierKey, sign};
use clew_service::http::{Server, ServerLimits};
use clew_service::log::{AuditError, LogClient, Mirror};
use clew_wire::WallTime;
use ed25519_dalek::SigningKey;
use std::collections::HashMap;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

const NOW: u64 = 1_800_000_000;
const RECORD: [u8; 32] = [7; 32];

fn key(number: u8) -> SigningKey {
    SigningKey::from_bytes(&[number; 32])
}

fn policy() -> Policy {
    let named = |name, kind, number| VerifierKey::new(name, kind, key(number).verifying_key());
    Policy {
        log: named("log", KeyKind::Log, 1).unwrap(),
        witnesses: vec![named("w", KeyKind::Witness, 2).unwrap()],
        threshold: 1,
        max_age: None,
    }
}

/// A log that does what it is told.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<(Vec<Vec<u8>>, u64)>>);

impl Told {
    async fn serve(&self) -> LogClient {
        let router = Router::new()
            .route("/checkpoint", get(checkpoint))
            .route("/tile/{*path}", get(tile))
            .with_state(self.clone());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Server::new(listener, None, ServerLimits::default()).unwrap();
        let url = format!("http://{}/", server.address().unwrap());
        tokio::spawn(server.run(router, std::future::pending()));
        LogClient::new(&url.parse().unwrap()).unwrap()
    }

    fn add(&self, body: Body, seconds: u64) {
        self.add_by(&key(9), body, seconds);
    }

    fn add_by(&self, author: &SigningKey, body: Body, seconds: u64) {
        let time = WallTime::from_millis(seconds * 1_000);
        let entry = Entry::sign([7; 16], time, body, author).unwrap();
        let logged = Logged {
            logged: time,
            entry,
        };
        self.put(logged.encode());
    }

    fn put(&self, bytes: Vec<u8>) {
        self.0.lock().unwrap().0.push(bytes);
    }

    fn keep(&self, entries: usize) {
        self.0.lock().unwrap().0.truncate(entries);
    }

    /// Serves one entry more often than the tree has it: the checkpoint is of others.
    fn skip(&self, entries: u64) {
        self.0.lock().unwrap().1 = entries;
    }
}

async fn checkpoint(State(told): State<Told>) -> String {
    let (entries, skipped) = told.0.lock().unwrap().clone();
    let mut edge = Frontier::EMPTY;
    for (place, bytes) in entries.iter().enumerate() {
        let is_other = skipped > 0 && place as u64 >= skipped;
        let leaf = if is_other { [0; 32] } else { tree::leaf(bytes) };
        edge.push(leaf).unwrap();
    }
    let stated = Checkpoint {
        origin: "log".into(),
        size: edge.entries(),
        root: edge.root(),
    };
    let mut note = Note::new(stated.to_string()).unwrap();
    note.add(sign(note.text(), "log", &key(1)).unwrap())
        .unwrap();
    let line = Cosignature::sign(note.text(), NOW, "w", &key(2));
    note.add(line.unwrap()).unwrap();
    note.to_string()
}

async fn tile(State(told): State<Told>, Path(path): Path<String>) -> Result<Vec<u8>, StatusCode> {
    let (entries, skipped) = told.0.lock().unwrap().clone();
    let tile = Tile::from_path(&format!("tile/{path}")).ok_or(StatusCode::NOT_FOUND)?;
    if tile.level.is_none() {
        return tile::bundle(entries.iter().map(Vec::as_slice)).ok_or(StatusCode::NOT_FOUND);
    }
    let mut nodes = HashMap::new();
    for (place, bytes) in (0..).zip(&entries) {
        let is_other = skipped > 0 && place >= skipped;
        let leaf = if is_other { [0; 32] } else { tree::leaf(bytes) };
        let node = |level, index| nodes.get(&(level, index)).copied();
        for (level, index, hash) in tree::appended_nodes(place, &leaf, node).unwrap() {
            nodes.insert((level, index), hash);
        }
    }
    let node = |level, index| nodes.get(&(level, index)).copied();
    tile.hashes(node).ok_or(StatusCode::NOT_FOUND)
}

fn epoch(epoch: u32) -> Body {
    Body::Epoch {
        epoch,
        id: [u8::try_from(epoch).unwrap(); 32],
        start: WallTime::from_nanos(1),
    }
}

fn mirror(path: &std::path::Path) -> Mirror {
    Mirror::new(policy(), None, Vec::new()).open(path).unwrap()
}

/// A log with a group, and a copy of it.
async fn copied(dir: &std::path::Path) -> (Told, LogClient, std::path::PathBuf) {
    let told = Told::default();
    told.add(Body::Group { record: RECORD }, NOW);
    told.add(epoch(1), NOW);
    told.add(epoch(2), NOW);
    let (log, path) = (told.serve().await, dir.join("copy"));
    let audited = mirror(&path).update(&log, NOW).await.unwrap();
    assert_eq!((audited.new, audited.checkpoint.size), (3, 3));
    (told, log, path)
}

#[tokio::test]
async fn an_audit_goes_on_where_it_ended() {
    let dir = tempfile::tempdir().unwrap();
    let (told, log, path) = copied(dir.path()).await;
    assert_eq!(mirror(&path).update(&log, NOW).await.unwrap().new, 0);
    for number in 3..100 {
        told.add(epoch(number), NOW);
    }
    let mut copy = mirror(&path);
    assert_eq!(copy.update(&log, NOW).await.unwrap().new, 97);
    assert_eq!(copy.state().unwrap().epochs().len(), 99);
    let error = Mirror::new(policy(), None, Vec::new()).open(&path);
    assert!(matches!(error, Err(AuditError::Io { .. })), "in use");
    drop(copy);
    // What a killed audit wrote behind its checkpoint is cut off.
    let mut bytes = std::fs::read(&path).unwrap();
    let length = bytes.len();
    bytes.extend([0, 9, 1]);
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(mirror(&path).update(&log, NOW).await.unwrap().new, 0);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), length as u64);
    // A changed copy is refused.
    bytes[40] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let changed = Mirror::new(policy(), None, Vec::new()).open(&path);
    assert!(matches!(changed, Err(AuditError::Copy(_))));
}

/// The entries stay if somebody copied them without their checkpoint: the log's own confirms them, or not.
#[tokio::test]
async fn a_copy_without_its_checkpoint_is_not_cut() {
    let dir = tempfile::tempdir().unwrap();
    let (told, log, path) = copied(dir.path()).await;
    let (bytes, stated) = (
        std::fs::read(&path).unwrap(),
        dir.path().join("copy.checkpoint"),
    );
    std::fs::remove_file(&stated).unwrap();
    drop(mirror(&path)); // the log does not answer
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    told.add(epoch(3), NOW);
    assert_eq!(mirror(&path).update(&log, NOW).await.unwrap().new, 1);
    assert!(stated.exists());
    // Another history: without a checkpoint it proves nothing, and the copy stays.
    std::fs::remove_file(&stated).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    for (keep, next) in [(3, 3), (2, 2)] {
        told.keep(keep);
        told.add(epoch(next), NOW + 1);
        let error = mirror(&path).update(&log, NOW).await.unwrap_err();
        assert!(matches!(error, AuditError::Unstated(_)), "{error}");
        assert!(error.evidence().is_empty() && !stated.exists());
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }
    // What no audit wrote is refused.
    std::fs::write(&path, [&bytes[..], &[0, 1, 7]].concat()).unwrap();
    let changed = Mirror::new(policy(), None, Vec::new()).open(&path);
    assert!(matches!(changed, Err(AuditError::Copy(_))));
}

#[tokio::test]
async fn a_second_history_is_a_fork() {
    let dir = tempfile::tempdir().unwrap();
    let (told, log, path) = copied(dir.path()).await;
    told.keep(2);
    told.add(epoch(2), NOW + 1);
    told.add(epoch(3), NOW);
    let error = mirror(&path).update(&log, NOW).await.unwrap_err();
    assert!(matches!(error, AuditError::Fork { .. }), "{error}");
    let sizes: Vec<_> = error
        .evidence()
        .iter()
        .map(|note| Checkpoint::parse(note.text()).unwrap().size)
        .collect();
    assert_eq!(sizes, [3, 4]);
    // Of the same size, and shorter, too.
    told.keep(3);
    let error = mirror(&path).update(&log, NOW).await.unwrap_err();
    assert!(matches!(error, AuditError::Fork { .. }), "{error}");
    told.keep(1);
    told.add(epoch(1), NOW + 1);
    let error = mirror(&path).update(&log, NOW).await.unwrap_err();
    assert!(matches!(error, AuditError::Fork { .. }), "{error}");
}

#[tokio::test]
async fn a_log_that_goes_back_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let (told, log, path) = copied(dir.path()).await;
    told.keep(2);
    let error = mirror(&path).update(&log, NOW).await.unwrap_err();
    assert!(matches!(error, AuditError::Rollback { .. }), "{error}");
    assert_eq!(error.evidence().len(), 2);
}

#[tokio::test]
async fn entries_are_those_of_the_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    let (told, log, path) = copied(dir.path()).await;
    told.add(epoch(3), NOW);
    told.skip(3);
    let error = mirror(&path).update(&log, NOW).await.unwrap_err();
    assert!(matches!(error, AuditError::Entries(_)), "{error}");
}

#[tokio::test]
async fn a_broken_rule_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let (told, log, path) = copied(dir.path()).await;
    let broken = async |rule| {
        let error = mirror(&path).update(&log, NOW).await.unwrap_err();
        assert_eq!(error.evidence().len(), 1);
        match error {
            AuditError::Rule {
                place: 3,
                rule: found,
                ..
            } => assert_eq!(found, rule),
            error => unreachable!("{error}"),
        }
        told.keep(3);
    };
    told.put(b"nonsense".to_vec());
    broken(Rule::Layout).await;
    told.add(epoch(4), NOW);
    broken(Rule::Order).await;
    told.add_by(&key(8), epoch(3), NOW);
    broken(Rule::Author).await;
    let mut unsigned = Logged::decode(&{
        told.add(epoch(3), NOW);
        let bytes = told.0.lock().unwrap().0[3].clone();
        told.keep(3);
        bytes
    })
    .unwrap();
    unsigned.entry.body = Body::Author {
        role: Role::Observer,
        key: key(3).verifying_key().to_bytes(),
        change: 0,
        name: "x".parse().unwrap(),
    };
    told.put(unsigned.encode());
    broken(Rule::Signature).await;
    // An honest one goes on.
    told.add(epoch(3), NOW);
    assert_eq!(mirror(&path).update(&log, NOW).await.unwrap().new, 1);
}

/// A log cannot date entries before what witnesses had seen, or into the future.
#[tokio::test]
async fn times_fit_those_of_the_witnesses() {
    let dir = tempfile::tempdir().unwrap();
    let (told, log, path) = copied(dir.path()).await;
    for time in [NOW - 3_601, NOW + 3_601] {
        told.add(epoch(3), time);
        let error = mirror(&path).update(&log, NOW).await.unwrap_err();
        assert!(
            matches!(error, AuditError::Clock { place: 3, .. }),
            "{error}"
        );
        told.keep(3);
    }
    for (number, time) in [(3, NOW - 3_600), (4, NOW + 3_600)] {
        told.add(epoch(number), time);
    }
    assert_eq!(mirror(&path).update(&log, NOW).await.unwrap().new, 2);
}

/// A log that another group's manager founded is not this one.
#[tokio::test]
async fn the_founder_is_the_one_expected() {
    let told = Told::default();
    told.add(Body::Group { record: RECORD }, NOW);
    let log = told.serve().await;
    let founder = |manager: u8| {
        Some(clew_log::Founder {
            record: RECORD,
            manager: key(manager).verifying_key().to_bytes(),
        })
    };
    let mut copy = Mirror::new(policy(), founder(8), Vec::new());
    let error = copy.update(&log, NOW).await.unwrap_err();
    let rule = Rule::Author;
    assert!(
        matches!(&error, AuditError::Rule { rule: found, .. } if *found == rule),
        "{error}"
    );
    let mut copy = Mirror::new(policy(), founder(9), Vec::new());
    assert_eq!(copy.update(&log, NOW).await.unwrap().new, 1);
    let alone = Policy {
        threshold: 1,
        witnesses: vec![],
        ..policy()
    };
    let mut copy = Mirror::new(alone, founder(9), Vec::new());
    assert!(matches!(
        copy.update(&log, NOW).await,
        Err(AuditError::Log(_))
    ));
}
