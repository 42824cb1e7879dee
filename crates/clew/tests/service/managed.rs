//! A manager that writes its group's log by itself: its own, or one elsewhere.

use crate::folder::{Folder, GROUP, copy_folder, metric, own_log, until};
use std::time::Duration;

fn machines(folder: &Folder, log: &str, key: &str, group: &str) -> (u64, u64) {
    let verify = [
        "log", "verify", log, "--log", key, "--group", group, "--json",
    ];
    let done = folder.clew(&verify);
    let said = String::from_utf8(done.stdout).unwrap();
    let read: Option<serde_json::Value> = said.lines().last().and_then(|l| l.parse().ok());
    let number = |name: &str| {
        read.as_ref()
            .and_then(|own| own[name].as_u64())
            .unwrap_or(0)
    };
    (number("machines"), number("epochs"))
}

/// Enrolments and epochs of commands and devices are in the log, below the manager's address.
#[test]
fn a_manager_writes_its_own_log() {
    let folder = Folder::new();
    let key = own_log(&folder);
    let group = "own/public/group.clew";
    folder.yes(&["enrol", "own", "early", "-o", "early.key"]);
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
    let log = manager.own_log();
    until("the first machine", || {
        machines(&folder, &log, &key, group) == (1, 0)
    });
    // A device joins, another process revokes.
    folder.yes(&[
        "enrol",
        "own",
        "web-1",
        "--invite",
        "-o",
        "web-1.invitation",
    ]);
    let url = &manager.url;
    let join = [
        "enrol",
        "--manager",
        url,
        "--invitation",
        "web-1.invitation",
    ];
    folder.yes(&[&join[..], &["-o", "own-1.key"]].concat());
    folder.yes(&["revoke", "own", "early"]);
    until("machine and epoch", || {
        machines(&folder, &log, &key, group) == (2, 1)
    });
    assert_eq!(manager.get("health").unwrap(), "ok\n");
    let entries = || metric(&manager, "clew_manager_log_entries_total");
    until("four entries", || entries() == 4);
    // The proof of the newest epoch, cosigned.
    let proof = manager.get("feed/log/1").unwrap();
    std::fs::write(folder.path("epoch.proof"), &proof).unwrap();
    let check = [
        "log",
        "verify",
        "--proof",
        "epoch.proof",
        "--log",
        &key,
        "--witness",
    ];
    let said = folder.yes(&[&check[..], &[&folder.witnesses[0]]].concat());
    assert!(said.contains(": epoch, added"), "{said}");
    // Only that one.
    assert!(manager.get("feed/log/0").is_err());
    assert!(manager.get("feed/log/2").is_err());
    // The witness is remembered, and an entry is not added twice.
    let at = manager.at();
    manager.kill();
    let manager = folder.manager("own", &at, &[]);
    folder.yes(&["enrol", "own", "late", "-o", "late.key"]);
    until("one more", || {
        machines(&folder, &manager.own_log(), &key, group) == (3, 1)
    });
    until("one entry", || {
        metric(&manager, "clew_manager_log_entries_total") == 1
    });
}

/// A manager is killed again and again while machines are enrolled: its log has each once.
#[test]
fn a_killed_manager_goes_on_where_it_was() {
    let folder = Folder::new();
    let key = own_log(&folder);
    let group = "own/public/group.clew";
    let mut manager = folder.manager("own", "127.0.0.1:0", &[]);
    let at = manager.at();
    for round in 0..4_u64 {
        for number in 0..2 {
            let (name, file) = (
                format!("m-{round}-{number}"),
                format!("{round}-{number}.key"),
            );
            folder.yes(&["enrol", "own", &name, "-o", &file]);
        }
        // Before, while and after entries are sent.
        std::thread::sleep(Duration::from_millis(100 * round));
        manager.kill();
        manager = folder.manager("own", &at, &[]);
    }
    folder.yes(&["revoke", "own", "m-0-0"]);
    until("all of them", || {
        machines(&folder, &manager.own_log(), &key, group) == (8, 1)
    });
    assert_eq!(metric(&manager, "clew_manager_log_halted"), 0);
}

/// The log is elsewhere, and goes away for a time; a copy of the store is found out.
#[test]
fn two_managers_on_copies_of_one_store_are_halted() {
    let folder = Folder::new();
    let log = folder.serve("log", &[]);
    let url = log.url.clone();
    folder.yes(&["manager", "set-log", "acme", &url]);
    let manager = folder.manager("acme", "127.0.0.1:0", &[]);
    let key = folder.log.clone();
    // Requests to the manager's log are passed on.
    let passed = manager.own_log();
    until("the first machine", || {
        machines(&folder, &passed, &key, GROUP) == (1, 0)
    });
    copy_folder(&folder.path("acme"), &folder.path("clone"));
    folder.yes(&["enrol", "acme", "web-0", "-o", "web-0.key"]);
    until("the second machine", || {
        machines(&folder, &log.url, &key, GROUP) == (2, 0)
    });
    let at = log.at();
    log.kill();
    folder.yes(&["enrol", "acme", "web-2", "-o", "web-2.key"]);
    until("the trouble", || manager.get("health").is_err());
    assert!(metric(&manager, "clew_manager_log_failures_total") > 0);
    // The clone has another second machine, and does not hear of the log's.
    folder.yes(&["enrol", "clone", "web-3", "-o", "web-3.key"]);
    let invite = ["enrol", "clone", "web-4", "--invite", "-o"];
    folder.yes(&[&invite[..], &["web-4.invitation"]].concat());
    let clone = folder.manager("clone", "127.0.0.1:0", &[]);
    let log = folder.start(&["log", "serve", "log", "--listen", &at]);
    until("it goes on", || {
        machines(&folder, &log.url, &key, GROUP) == (3, 0)
    });
    until("no trouble", || manager.get("health").is_ok());
    assert_eq!(metric(&manager, "clew_manager_log_halted"), 0);
    until("the fork", || {
        metric(&clone, "clew_manager_log_halted") == 1
    });
    let joins = |clone: &crate::folder::Served| {
        let join = ["enrol", "--manager", &clone.url, "-o", "web-4.key"];
        let invitation = ["--invitation", "web-4.invitation"];
        let said = folder.ends(1, &[&join[..], &invitation].concat());
        assert!(said.contains("another history of this group"), "{said}");
    };
    joins(&clone);
    assert!(clone.get("health").is_err() && manager.get("health").is_ok());
    // With the log in sight it does not start any more; without it the store stays halted.
    clone.kill();
    let said = folder.ends(2, &["manager", "serve", "clone", "--listen", "127.0.0.1:0"]);
    assert!(
        said.contains("clone: the group's log has entries that this store lacks"),
        "{said}"
    );
    log.kill();
    joins(&folder.manager("clone", "127.0.0.1:0", &[]));
    let expected = "clew: clone: the group's log has another history of this group: a copy of this \
                    store wrote it. Nothing is changed here until that is settled\n\
                    hint: stop the other manager. If this store is the right one, give the group a \
                    new log: clew group set-log DIR\n";
    assert_eq!(folder.ends(2, &["revoke", "clone", "web-3"]), expected);
    let enrol = ["enrol", "clone", "web-5", "-o", "web-5.key"];
    assert_eq!(folder.ends(2, &enrol), expected);
}

/// What is set while a service runs would not reach it.
#[test]
fn another_log_is_refused_while_the_service_runs() {
    let folder = Folder::new();
    let key = own_log(&folder);
    let manager = folder.manager("own", "127.0.0.1:0", &[]);
    for set in [
        vec!["group", "set-log", "own", "none"],
        vec!["manager", "set-log", "own", &manager.url],
    ] {
        let said = folder.ends(2, &set);
        assert!(said.contains("clew manager serve is running"), "{said}");
        assert!(said.contains("hint: stop that service first"), "{said}");
    }
    // Its pages are found without an address.
    let link = folder.yes(&["manager", "login", "own"]);
    assert!(link.contains(&manager.at()), "{link}");
    let said = folder.yes(&["manager", "clock", "own"]);
    assert!(
        said.contains("time by uptime") && said.contains("believed"),
        "{said}"
    );
    manager.kill();
    let said = folder.ends(2, &["manager", "login", "own"]);
    assert!(
        said.contains("hint: start the service with clew manager serve"),
        "{said}"
    );
    folder.yes(&["group", "set-log", "own", "none"]);
    drop(key);
}

/// The newest backup is older than what was published and logged since.
#[test]
fn a_restored_store_catches_up_with_file_and_log() {
    let folder = Folder::new();
    let log = folder.serve("log", &[]);
    folder.yes(&["manager", "set-log", "acme", &log.url]);
    let manager = folder.manager("acme", "127.0.0.1:0", &[]);
    let key = folder.log.clone();
    let logged = |machines_and_epochs| {
        until("the log", || {
            machines(&folder, &log.url, &key, GROUP) == machines_and_epochs
        });
    };
    logged((1, 0));
    folder.yes(&[
        "manager",
        "backup",
        "acme",
        "-o",
        "old.backup",
        "--with-keys",
    ]);
    folder.yes(&["enrol", "acme", "lost-1", "-o", "lost-1.key"]);
    folder.yes(&["revoke", "acme", "lost-1"]);
    folder.yes(&["enrol", "acme", "lost-2", "-o", "lost-2.key"]);
    logged((3, 1));
    manager.kill();
    std::fs::rename(folder.path("acme"), folder.path("gone")).unwrap();
    let newest = "gone/public/group.clew";
    let wrong = [
        "manager",
        "restore",
        "old.backup",
        "acme",
        "--published",
        "old.backup",
    ];
    folder.ends(2, &wrong);
    assert!(!folder.path("acme").exists(), "nothing is left");
    let restore = [
        "manager",
        "restore",
        "old.backup",
        "acme",
        "--published",
        newest,
    ];
    let said = folder.ends(2, &restore);
    assert!(said.contains("run clew manager catch-up DIR"), "{said}");
    let said = folder.ends(2, &["manager", "catch-up", "acme"]);
    assert!(said.contains("hint: use --log-url"), "{said}");
    let said = folder.yes(&["manager", "catch-up", "acme", "--log-url", &log.url]);
    assert!(said.contains("epochs taken over  1"), "{said}");
    assert!(said.contains("lost               2 machines"), "{said}");
    folder.yes(&["manager", "set-log", "acme", &log.url]);
    let manager = folder.manager("acme", "127.0.0.1:0", &[]);
    folder.yes(&["enrol", "acme", "lost-2", "-o", "again.key"]);
    folder.yes(&["group", "rebase", "acme"]);
    logged((4, 2));
    until("no trouble", || manager.get("health").is_ok());
    let held = [
        "update",
        "--manager",
        &manager.url,
        "--group",
        newest,
        "--key",
    ];
    folder.yes(&[&held[..], &["again.key"]].concat());
    let said = folder.ends(1, &[&held[..], &["lost-2.key"]].concat());
    assert!(said.contains("lost-2"), "{said}");
}
