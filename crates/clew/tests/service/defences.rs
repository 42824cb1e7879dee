//! What hostile requesters, copies and forgotten addresses do not get, with honest ones beside them.

use crate::folder::{Folder, GROUP, copy_folder, own_log, until, wait};
use clew_log::entry::{Body, Seal, Warrant};
use std::time::{Duration, Instant};

/// A requester publishes no text of its own, and keeps nobody from filing.
#[test]
fn a_log_takes_warrants_and_no_squatters() {
    let folder = Folder::new();
    let (log, _witnesses) = folder.whole();
    folder.publish(&log);
    let [police, rival] = ["police", "rival"].map(|name| folder.author(name, "requester", &log));
    let client = log.log();
    let rule = |said: Result<u64, clew_service::log::LogClientError>| {
        said.unwrap_err().rule().map(str::to_owned)
    };
    let salted = |file: Vec<u8>| Warrant {
        salt: [7; 32],
        file,
    };
    let own = rival.warrant().file;
    let mut changed = own.clone();
    let middle = changed.len() / 2;
    changed[middle] = if changed[middle] == b'A' { b'B' } else { b'A' };
    let texts = [vec![b'<'; 60_000], changed, police.warrant().file];
    for (number, file) in texts.into_iter().enumerate() {
        let warrant = salted(file);
        let Body::Request(filed) = rival.request(90 + number as u64, Seal::Open(warrant.clone()))
        else {
            unreachable!("it is a request");
        };
        let filed = clew_log::entry::Filed {
            warrant: warrant.hash(),
            ..filed
        };
        let said = wait(rival.says(&client, Body::Request(filed)));
        assert_eq!(rule(said).as_deref(), Some("warrant"), "{number}");
    }
    // The rival learns of a request, and is first.
    let end = crate::folder::now() + Duration::from_secs(86_400);
    wait(rival.says(&client, rival.request(1, Seal::Until(end)))).unwrap();
    wait(police.says(&client, police.request(1, Seal::Open(police.warrant())))).unwrap();
    // Its own request stays one.
    let again = rival.request(1, Seal::Open(rival.warrant()));
    assert_eq!(
        rule(wait(rival.says(&client, again))).as_deref(),
        Some("fork")
    );
}

/// A copy of manager and log is found out by the witness, and then lets nobody join.
#[test]
fn a_copied_manager_ends_with_its_log() {
    let folder = Folder::new();
    let key = own_log(&folder);
    let w1 = [
        "log",
        "witness",
        "w1",
        "--listen",
        "127.0.0.1:0",
        "--log",
        &key,
    ];
    let witness = folder.start(&w1);
    let asked = format!("{}={}", folder.witnesses[0], witness.url);
    let manager = folder.manager("own", "127.0.0.1:0", &["--witness", &asked]);
    folder.yes(&["enrol", "own", "first", "-o", "first.key"]);
    until("the log is open", || manager.get("log/health").is_ok());
    manager.kill();
    copy_folder(&folder.path("own"), &folder.path("copy"));
    let manager = folder.manager("own", "127.0.0.1:0", &[]);
    folder.yes(&["enrol", "own", "true", "-o", "true.key"]);
    let invite = ["enrol", "copy", "web", "--invite", "-o", "web.invitation"];
    folder.yes(&invite);
    until("the true entry is cosigned", || {
        let health = manager.get("log/health").unwrap_or_default();
        health.contains("\"published\":3") || health.contains("\"published\":4")
    });
    let copy = folder.manager("copy", "127.0.0.1:0", &[]);
    folder.yes(&["enrol", "copy", "false", "-o", "false.key"]);
    until("the copy says so", || copy.get("health").is_err());
    let join = [
        "enrol",
        "--manager",
        &copy.url,
        "--invitation",
        "web.invitation",
    ];
    folder.ends(1, &[&join[..], &["-o", "web.key"]].concat());
    assert!(!folder.path("web.key").exists());
    // The true one goes on.
    assert_eq!(manager.get("health").unwrap(), "ok\n");
    folder.yes(&["enrol", "own", "last", "-o", "last.key"]);
}

/// A group that has a log, and a manager that does not know where: it does not say that all is well.
#[test]
fn a_log_without_an_address_is_no_health() {
    let folder = Folder::new();
    let manager = folder.manager("acme", "127.0.0.1:0", &[]);
    until("it says so", || manager.get("health").is_err());
}

/// Who audits a log with another group's file made a mistake: the log broke no rule.
#[test]
fn another_groups_file_accuses_no_log() {
    let folder = Folder::new();
    let (log, _witnesses) = folder.whole();
    folder.publish(&log);
    folder.yes(&["group", "create", "other", "--name", "other"]);
    for command in ["verify", "count"] {
        let audit = [
            "log",
            command,
            &log.url,
            "--group",
            "other/public/group.clew",
        ];
        let said = folder.ends(2, &folder.with(&audit));
        assert!(
            said.contains("group other does not name the log of --log"),
            "{said}"
        );
    }
    assert!(!folder.path("clew-log.evidence").exists());
    folder.yes(&folder.with(&["log", "verify", &log.url, "--group", GROUP]));
}

/// A signal ends what waits for the network, at once and without a word of failure.
#[test]
fn a_follower_ends_at_a_signal() {
    let folder = Folder::new();
    folder.yes(&["group", "create", "plain", "--name", "plain"]);
    folder.yes(&["enrol", "plain", "web-1", "-o", "web.key"]);
    std::fs::copy(folder.path("plain/public/group.clew"), folder.path("g")).unwrap();
    let manager = folder.manager("plain", "127.0.0.1:0", &[]);
    let update = ["update", "--manager", &manager.url, "--key", "web.key"];
    let follow = [&update[..], &["--group", "g", "--follow"]].concat();
    let mut follower = folder.spawn(&follow, &[]);
    // It has the newest epoch, so it waits for the next one.
    folder.yes(&["enrol", "plain", "web-2", "-o", "web-2.key"]);
    folder.yes(&["revoke", "plain", "web-2"]);
    let group = || clew_evidence::GroupFile::from_bytes(&std::fs::read(folder.path("g")).unwrap());
    until("it follows", || group().unwrap().newest_epoch() == 1);
    let asked = Instant::now();
    assert_eq!(follower.stop(), Some(0));
    assert!(
        asked.elapsed() < Duration::from_secs(10),
        "{:?}",
        asked.elapsed()
    );
}
