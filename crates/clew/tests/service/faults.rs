//! Processes that are killed, disks that are full, and second processes.

use crate::folder::{Author, Folder, GROUP, PATIENCE, copy_folder, wait};
use crate::skipped::skipped;
use clew_log::entry::Seal;
use clew_service::log::LogClient;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// How many write at a time, and how many acknowledgements a round waits for before the log is killed.
const WRITERS: usize = 50;
const ROUND: u64 = 20;

/// Writes requests until the log is gone, each with the next number. Returns the acknowledged ones by their
/// numbers, with their places.
async fn write(
    court: Arc<Author>,
    client: LogClient,
    next: Arc<AtomicU64>,
    acknowledged: Arc<AtomicU64>,
) -> Vec<(u64, u64)> {
    let mut own = Vec::new();
    loop {
        let number = next.fetch_add(1, Relaxed);
        let entry = court.signs(court.request(number, Seal::Open(court.warrant())));
        match client.add(&entry).await {
            Ok((place, _)) => {
                own.push((number, place));
                acknowledged.fetch_add(1, Relaxed);
            }
            Err(error) => match error.rule() {
                // Too many at a time.
                Some(rule) => assert_eq!(rule, "busy", "{error}"),
                None => return own,
            },
        }
    }
}

/// Killed at any moment, under load: what was acknowledged is there, at its place, and the log
/// and its witnesses go on.
#[test]
fn nothing_acknowledged_is_lost() {
    let folder = Folder::new();
    let (log, witnesses) = folder.whole();
    folder.publish(&log);
    let at = log.at();
    let court = Arc::new(folder.author("court", "requester", &log));
    let (next, mut acknowledged) = (Arc::new(AtomicU64::new(0)), Vec::new());
    let mut running = Some((log, witnesses));
    for round in 0..3_u64 {
        let (log, [first, second]) = running.take().unwrap();
        let urls = [first.at(), second.at()];
        let client = log.log();
        acknowledged.extend(wait(async {
            let count = Arc::new(AtomicU64::new(0));
            let mut tasks = tokio::task::JoinSet::new();
            for _ in 0..WRITERS {
                let (next, count) = (next.clone(), count.clone());
                tasks.spawn(write(court.clone(), client.clone(), next, count));
            }
            let enough = async {
                while count.load(Relaxed) < ROUND * (round + 1) {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            };
            let patience = tokio::time::timeout(PATIENCE, enough);
            patience.await.expect("the log acknowledges entries");
            log.kill();
            match round {
                1 => first.kill(),
                _ => drop(first),
            }
            let done = tasks.join_all().await;
            done.into_iter().flatten().collect::<Vec<_>>()
        }));
        drop(second);
        let witnesses = [0, 1].map(|number| folder.witness(number, &urls[number]));
        let log = folder
            .start(&["log", "serve", "log", "--listen", &at])
            .ready();
        running = Some((log, witnesses));
    }
    let (log, _witnesses) = running.unwrap();
    let unanswered = next.load(Relaxed) - acknowledged.len() as u64;
    assert!(
        acknowledged.len() as u64 >= 6 * ROUND && unanswered >= 3 * WRITERS as u64,
        "it was killed under load"
    );
    let client = log.log();
    for (number, place) in acknowledged {
        let again = wait(court.says(&client, court.request(number, Seal::Open(court.warrant()))));
        assert_eq!(again.unwrap(), place);
    }
    let policy = folder.policy();
    let seconds = crate::folder::now().as_nanos() / 1_000_000_000;
    let last = court.signs(court.request(next.load(Relaxed), Seal::Open(court.warrant())));
    wait(client.add_cosigned(&last, &policy, seconds)).unwrap();
    folder.yes(&folder.with(&["log", "verify", &log.url, "--group", GROUP]));
}

#[test]
fn one_process_has_a_directory() {
    let folder = Folder::new();
    let (log, [first, _second]) = folder.whole();
    let serve = ["log", "serve", "log", "--listen", "127.0.0.1:0"];
    let said = folder.ends(2, &serve);
    assert!(
        said.starts_with("clew: log: another process uses it\n"),
        "{said}"
    );
    let witness = [
        "log",
        "witness",
        "w1",
        "--listen",
        "127.0.0.1:0",
        "--log",
        &folder.log,
    ];
    let said = folder.ends(2, &witness);
    assert!(
        said.starts_with("clew: w1: another process uses it\n"),
        "{said}"
    );
    // Whoever only reads does.
    folder.yes(&["log", "count", "log"]);
    // A killed one does not keep it.
    log.kill();
    let mut log = folder.serve("log", &[]);
    assert_eq!(log.stop(), Some(0));
    first.kill();
    let mut first = folder.witness(0, "127.0.0.1:0");
    assert_eq!(first.stop(), Some(0));
}

#[test]
fn what_is_missing_or_damaged_is_said() {
    let folder = Folder::new();
    let listen = ["--listen", "127.0.0.1:0"];
    let serve = |dir: &str| folder.ends(2, &[&["log", "serve", dir][..], &listen].concat());
    assert!(serve("nothing").contains("clew log create"));
    folder.yes(&["log", "create", "new", "--origin", "new"]);
    assert!(serve("new").contains("clew log bind new --group GROUPFILE"));
    let said = folder.ends(2, &["log", "bind", "new", "--group", GROUP]);
    assert!(said.contains("does not name this log's key"), "{said}");
    assert!(said.contains("clew group set-log DIR new+"), "{said}");
    let said = folder.ends(2, &["log", "create", "log", "--origin", "x"]);
    assert!(said.contains("already exists"), "{said}");
    let said = folder.ends(2, &["log", "bind", "log", "--group", GROUP]);
    assert!(said.contains("has a group already"), "{said}");
    let said = folder.ends(2, &["log", "create", "x", "--origin", "a b"]);
    assert!(said.contains("no space"), "{said}");
    // A witness without its memory would cosign anything.
    std::fs::remove_file(folder.path("w1/witness.db")).unwrap();
    let witness = [
        "log",
        "witness",
        "w1",
        "--listen",
        "127.0.0.1:0",
        "--log",
        &folder.log,
    ];
    folder.ends(2, &witness);
    // One changed byte of an entry is found at the start.
    let mut log = folder.serve("log", &[]);
    folder.yes(&["log", "publish", "acme", &log.url]);
    assert_eq!(log.stop(), Some(0));
    // The last one who reads brings SQLite's log into the database, whatever the service left.
    folder.yes(&["log", "count", "log"]);
    copy_folder(&folder.path("log"), &folder.path("damaged"));
    let path = folder.path("damaged/log.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let label = b"clew-log-entry-1\x03";
    let place = bytes.windows(label.len()).position(|found| found == label);
    bytes[place.unwrap() + 80] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    assert!(serve("damaged").contains("do not fit the newest checkpoint"));
}

/// A small file system at a path, until it is dropped.
struct Disk(std::path::PathBuf);

impl Disk {
    fn at(path: std::path::PathBuf, size: &str) -> Option<Self> {
        std::fs::create_dir(&path).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", size, "tmpfs"]).arg(&path);
        let done = mount.output().is_ok_and(|done| done.status.success());
        done.then_some(Self(path))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// With a full disk the log refuses, and goes on once there is room: nothing half is left.
#[test]
fn a_full_disk_is_refused_and_passes() {
    let folder = Folder::new();
    let Some(_disk) = Disk::at(folder.path("disk"), "size=1m") else {
        return skipped("root and the command mount");
    };
    copy_folder(&folder.path("log"), &folder.path("disk/log"));
    let log = folder.serve("disk/log", &[]);
    folder.publish(&log);
    let court = folder.author("court", "requester", &log);
    let client = log.log();
    let add = |number| {
        let entry = court.signs(court.request(number, Seal::Open(court.warrant())));
        wait(client.add(&entry))
    };
    let (first, _) = add(1).unwrap();
    let ballast = folder.path("disk/ballast");
    let mut dd = Command::new("dd");
    let of = format!("of={}", ballast.display());
    let _ = dd.args(["if=/dev/zero", &of, "bs=4096"]).output().unwrap();
    // What its file has room for still goes; then it is refused.
    let refused = (2..200).find_map(|number| add(number).err().map(|error| (number, error)));
    let (number, error) = refused.expect("the disk is full");
    assert_eq!(error.rule(), Some("busy"), "{error}");
    std::fs::remove_file(ballast).unwrap();
    let (place, _) = add(number).unwrap();
    assert_eq!(place, first + number - 1);
    log.kill();
    let log = folder.serve("disk/log", &[]);
    let audit = [
        "log",
        "verify",
        &log.url,
        "--log",
        &folder.log,
        "--group",
        GROUP,
    ];
    assert!(
        folder
            .yes(&audit)
            .starts_with(&format!("valid: {} entries", place + 1))
    );
}
