//! Connections to PostgreSQL that are lost at the worst moment, and two managers on one database.

use crate::common::cluster::SOCKET;
use crate::common::*;
use clew_group::Scheme;
use clew_manager::{Store, StoreError};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// What the proxy does with the next commit.
const PASS: u8 = 0;
const CUT_BEFORE: u8 = 1;
const CUT_AFTER: u8 = 2;
/// The answer goes nowhere, and further connections are accepted and not answered.
const SILENT: u8 = 3;
/// No commit came since [`SILENT`].
const SILENT_NOW: u8 = 4;

/// A socket before the server's.
fn proxy(server: PathBuf, folder: &Path, mode: Arc<AtomicU8>) {
    const NAME: &str = ".s.PGSQL.5432";
    let listener = UnixListener::bind(folder.join(NAME)).unwrap();
    thread::spawn(move || {
        let mut silent = Vec::new();
        for client in listener.incoming() {
            let client = client.unwrap();
            if mode.load(Ordering::SeqCst) == SILENT_NOW {
                silent.push(client);
                continue;
            }
            let server = UnixStream::connect(server.join(NAME)).unwrap();
            let mode = Arc::clone(&mode);
            thread::spawn(move || relay(client, server, &mode));
        }
    });
}

fn relay(mut client: UnixStream, mut server: UnixStream, mode: &Arc<AtomicU8>) {
    let (mut answers, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    let passes = Arc::clone(mode);
    let back = thread::spawn(move || {
        let mut bytes = [0; 1 << 16];
        while let Ok(read @ 1..) = answers.read(&mut bytes) {
            if passes.load(Ordering::SeqCst) != SILENT_NOW && to.write_all(&bytes[..read]).is_err()
            {
                break;
            }
        }
    });
    let mut bytes = [0; 1 << 16];
    while let Ok(read @ 1..) = client.read(&mut bytes) {
        let asked = &bytes[..read];
        let is_commit = asked.windows(6).any(|word| word == b"COMMIT");
        if is_commit && mode.load(Ordering::SeqCst) == SILENT {
            mode.store(SILENT_NOW, Ordering::SeqCst);
            server.write_all(asked).unwrap();
            while mode.load(Ordering::SeqCst) == SILENT_NOW {
                thread::sleep(Duration::from_millis(20));
            }
            break;
        }
        let cut = is_commit.then(|| mode.swap(PASS, Ordering::SeqCst));
        if cut == Some(CUT_AFTER) {
            // The answer goes nowhere.
            client.shutdown(std::net::Shutdown::Both).unwrap();
        }
        if matches!(cut, None | Some(PASS | CUT_AFTER)) {
            server.write_all(asked).unwrap();
        }
        if matches!(cut, Some(CUT_BEFORE | CUT_AFTER)) {
            break;
        }
    }
    // Long enough for the server to commit what it got.
    thread::sleep(Duration::from_millis(200));
    let _ = client.shutdown(std::net::Shutdown::Both);
    let _ = server.shutdown(std::net::Shutdown::Both);
    let _ = back.join();
}

/// An unanswered commit is neither believed to have failed nor to have succeeded: the server is asked.
#[test]
fn an_unanswered_commit_is_looked_up() {
    let Some(socket) = std::env::var_os(SOCKET) else {
        return; // a file has no connection
    };
    let mut acme = TestGroup::new(Scheme::Xr);
    let folder = tempfile::tempdir().unwrap();
    let mode = Arc::new(AtomicU8::new(PASS));
    proxy(socket.clone().into(), folder.path(), Arc::clone(&mode));
    let named = acme.dir.join("issuer/database");
    let direct = fs::read_to_string(&named).unwrap();
    let encoded = |path: &Path| path.to_str().unwrap().replace('/', "%2F");
    let through = direct.replace(&encoded(Path::new(&socket)), &encoded(folder.path()));
    assert_ne!(direct, through);
    fs::write(&named, through).unwrap();
    acme.store = Store::open(&acme.dir).unwrap();

    let names = ["passed", "cut after", "cut before"].map(|name| name.replace(' ', "-"));
    for (how, name) in [PASS, CUT_AFTER, CUT_BEFORE].into_iter().zip(&names) {
        let (store, issuer) = (&mut acme.store, &acme.issuer);
        let machine = name.parse().unwrap();
        let pending = store
            .enrol(issuer, machine, LATER, &mut rng(how.into()))
            .unwrap();
        mode.store(how, Ordering::SeqCst);
        let committed = pending.commit();
        let is_enrolled = store.machine(name).unwrap().is_some();
        assert_eq!(committed.is_ok(), is_enrolled, "{name}: {committed:?}");
        assert_eq!(is_enrolled, how != CUT_BEFORE, "{name}");
        if let Err(error) = committed {
            assert!(matches!(error, StoreError::Lost(_)), "{error}");
        }
        store.refresh().unwrap();
    }
    // A server that hangs is given up soon: other devices wait for this thread.
    let pending = acme
        .store
        .enrol(&acme.issuer, "hangs".parse().unwrap(), LATER, &mut rng(9));
    let pending = pending.unwrap();
    mode.store(SILENT, Ordering::SeqCst);
    let since = Instant::now();
    let unanswered = pending.commit().unwrap_err();
    assert!(
        matches!(unanswered, StoreError::Unanswered(_)),
        "{unanswered}"
    );
    assert!(
        since.elapsed() < Duration::from_secs(60),
        "{:?}",
        since.elapsed()
    );
    mode.store(PASS, Ordering::SeqCst);
    assert!(
        acme.store.machine("hangs").unwrap().is_some(),
        "it was made"
    );
    // The same store goes on.
    acme.store.refresh().unwrap();
    acme.enrol("cut-before");
    assert_eq!(acme.store.check().unwrap().register().machines, 4);
}

/// Two managers in two directories, on one database: every row has one place.
#[test]
fn two_managers_on_one_database_take_turns() {
    if std::env::var_os(SOCKET).is_none() {
        return; // one file has one directory
    }
    let mut acme = TestGroup::new(Scheme::Xr);
    let twin = acme.folder.path().join("twin");
    copy_all(&acme.dir, &twin);
    let (dir, issuer) = (twin.clone(), issuer(&twin));
    let other = thread::spawn(move || {
        let mut store = Store::open(&dir).unwrap();
        for number in 0..10 {
            enrol(&mut store, &issuer, &format!("twin-{number}"));
        }
    });
    for number in 0..10 {
        acme.enrol(&format!("one-{number}"));
    }
    other.join().unwrap();
    acme.store.refresh().unwrap();
    assert_eq!(acme.store.check().unwrap().register().machines, 20);
    // They write in turns; one of them serves.
    let lock = Store::lock_service(&acme.dir).unwrap();
    let refused = Store::lock_service(&twin).err().unwrap();
    assert!(matches!(refused, StoreError::Served(_)), "{refused}");
    drop(lock);
    let since = Instant::now();
    while Store::lock_service(&twin).is_err() {
        // The server sees the end of a connection soon.
        assert!(since.elapsed() < Duration::from_secs(10));
        thread::sleep(Duration::from_millis(10));
    }
    let twin = Store::open(&twin).unwrap();
    assert_eq!(
        twin.group_bytes().unwrap(),
        acme.store.group_bytes().unwrap()
    );
}
