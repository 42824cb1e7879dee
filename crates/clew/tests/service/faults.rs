//! Processes that are killed, disks that are full, and second processes.

use crate::skipped::skipped;
use crate::world::{GROUP, World, copy_folder, request, wait, warrant};
use clew_log::entry::Seal;
use std::process::Command;
use std::time::Duration;

/// Killed at any moment, under load: what was acknowledged is there, at its place, and the log
/// and its witnesses go on.
#[test]
fn nothing_acknowledged_is_lost() {
    let world = World::new();
    let (log, witnesses) = world.whole();
    let at = log.at();
    let court = std::sync::Arc::new(world.author("court", "requester", &log));
    let mut acknowledged = Vec::new();
    let mut running = Some((log, witnesses));
    let mut next = 0;
    for round in 0..3_u64 {
        let (log, [first, second]) = running.take().unwrap();
        let urls = [first.at(), second.at()];
        let (client, count) = (log.log(), 200);
        acknowledged.extend(wait(async {
            let mut tasks = tokio::task::JoinSet::new();
            for number in next..next + count {
                let (court, client) = (court.clone(), client.clone());
                tasks.spawn(async move {
                    let entry = court.signs(request(number, Seal::Open(warrant())));
                    let added = client.add(&entry).await;
                    added.ok().map(|(place, _)| (number, place))
                });
            }
            tokio::time::sleep(Duration::from_millis(60 + 40 * round)).await;
            log.kill();
            match round {
                1 => first.kill(),
                _ => drop(first),
            }
            let done = tasks.join_all().await;
            done.into_iter().flatten().collect::<Vec<_>>()
        }));
        next += count;
        drop(second);
        let witnesses = [0, 1].map(|number| world.witness(number, &urls[number]));
        let log = world.start(&["log", "serve", "log", "--listen", &at]);
        running = Some((log, witnesses));
    }
    let (log, _witnesses) = running.unwrap();
    assert!(!acknowledged.is_empty());
    let client = log.log();
    for (number, place) in acknowledged {
        let again = wait(court.says(&client, request(number, Seal::Open(warrant()))));
        assert_eq!(again.unwrap(), place);
    }
    let policy = world.policy();
    let seconds = crate::world::now().as_nanos() / 1_000_000_000;
    let last = court.signs(request(next, Seal::Open(warrant())));
    wait(client.add_cosigned(&last, &policy, seconds)).unwrap();
    world.yes(&world.with(&["log", "verify", &log.url, "--group", GROUP]));
}

#[test]
fn one_process_has_a_directory() {
    let world = World::new();
    let (log, [first, _second]) = world.whole();
    let serve = ["log", "serve", "log", "--listen", "127.0.0.1:0"];
    let said = world.ends(2, &serve);
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
        &world.log,
    ];
    let said = world.ends(2, &witness);
    assert!(
        said.starts_with("clew: w1: another process uses it\n"),
        "{said}"
    );
    // Whoever only reads does.
    world.yes(&["log", "count", "log"]);
    // A killed one does not keep it.
    log.kill();
    let mut log = world.serve("log", &[]);
    assert_eq!(log.stop(), Some(0));
    first.kill();
    let mut first = world.witness(0, "127.0.0.1:0");
    assert_eq!(first.stop(), Some(0));
}

#[test]
fn what_is_missing_or_damaged_is_said() {
    let world = World::new();
    let listen = ["--listen", "127.0.0.1:0"];
    let serve = |dir: &str| world.ends(2, &[&["log", "serve", dir][..], &listen].concat());
    assert!(serve("nothing").contains("clew log create"));
    world.yes(&["log", "create", "new", "--origin", "new"]);
    assert!(serve("new").contains("clew log bind new --group GROUPFILE"));
    let said = world.ends(2, &["log", "create", "log", "--origin", "x"]);
    assert!(said.contains("already exists"), "{said}");
    let said = world.ends(2, &["log", "bind", "log", "--group", GROUP]);
    assert!(said.contains("has a group already"), "{said}");
    let said = world.ends(2, &["log", "create", "x", "--origin", "a b"]);
    assert!(said.contains("no space"), "{said}");
    // A witness without its memory would cosign anything.
    std::fs::remove_file(world.path("w1/witness.db")).unwrap();
    let witness = [
        "log",
        "witness",
        "w1",
        "--listen",
        "127.0.0.1:0",
        "--log",
        &world.log,
    ];
    world.ends(2, &witness);
    // One changed byte of an entry is found at the start.
    let mut log = world.serve("log", &[]);
    world.yes(&["log", "publish", "acme", &log.url, "--log", &world.log]);
    assert_eq!(log.stop(), Some(0));
    copy_folder(&world.path("log"), &world.path("damaged"));
    let path = world.path("damaged/log.db");
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
    let world = World::new();
    let Some(_disk) = Disk::at(world.path("disk"), "size=1m") else {
        return skipped("root and the command mount");
    };
    copy_folder(&world.path("log"), &world.path("disk/log"));
    let log = world.serve("disk/log", &[]);
    let court = world.author("court", "requester", &log);
    let client = log.log();
    let add = |number| {
        let entry = court.signs(request(number, Seal::Open(warrant())));
        wait(client.add(&entry))
    };
    let (first, _) = add(1).unwrap();
    let ballast = world.path("disk/ballast");
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
    let log = world.serve("disk/log", &[]);
    let audit = [
        "log", "verify", &log.url, "--log", &world.log, "--group", GROUP,
    ];
    assert!(
        world
            .yes(&audit)
            .starts_with(&format!("valid: {} entries", place + 1))
    );
}
