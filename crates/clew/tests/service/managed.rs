//! A manager that writes its group's log by itself: its own, or one elsewhere.

use crate::folder::{Folder, GROUP, Served, copy_folder};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until something holds, and says what if it never does.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "never: {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// A value of the manager's metrics.
fn metric(served: &Served, name: &str) -> u64 {
    let text = served.get("metrics").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap().trim().parse().unwrap()
}

/// Makes a group with a log of its own, in the place of the folder's.
fn own_log(folder: &Folder) -> String {
    let create = ["group", "create", "own", "--name", "own", "--with-log"];
    let said = folder.yes(&create);
    let line = said.lines().find_map(|line| line.trim().strip_prefix("log "));
    line.unwrap().trim().to_owned()
}

fn machines(folder: &Folder, log: &str, key: &str, group: &str) -> (u64, u64) {
    let verify = ["log", "verify", log, "--log", key, "--group", group, "--json"];
    let done = folder.clew(&verify);
    let said = String::from_utf8(done.stdout).unwrap();
    let read: Option<serde_json::Value> = said.lines().last().and_then(|l| l.parse().ok());
    let number = |name: &str| read.as_ref().and_then(|own| own[name].as_u64()).unwrap_or(0);
    (number("machines"), number("epochs"))
}

/// Enrolments and epochs of commands and devices are in the log, below the manager's address.
#[test]
fn a_manager_writes_its_own_log() {
    let folder = Folder::new();
    let key = own_log(&folder);
    let group = "own/public/group.clew";
    folder.yes(&["enrol", "own", "early", "-o", "early.key"]);
    let w1 = ["log", "witness", "w1", "--listen", "127.0.0.1:0", "--log", &key];
    let witness = folder.start(&w1);
    let asked = format!("{}={}", folder.witnesses[0], witness.url);
    let manager = folder.manager("own", "127.0.0.1:0", &["--witness", &asked]);
    let log = manager.own_log();
    until("the first machine", || machines(&folder, &log, &key, group) == (1, 0));
    // A device joins, another process revokes.
    folder.yes(&["enrol", "own", "web-1", "--invite", "-o", "web-1.invitation"]);
    let url = &manager.url;
    let join = ["enrol", "--manager", url, "--invitation", "web-1.invitation"];
    folder.yes(&[&join[..], &["-o", "own-1.key"]].concat());
    folder.yes(&["revoke", "own", "early"]);
    until("machine and epoch", || machines(&folder, &log, &key, group) == (2, 1));
    assert_eq!(manager.get("health").unwrap(), "ok\n");
    let entries = || metric(&manager, "clew_manager_log_entries_total");
    until("four entries", || entries() == 4);
    // The proof of the newest epoch, cosigned.
    let proof = manager.get("feed/log/1").unwrap();
    std::fs::write(folder.path("epoch.proof"), &proof).unwrap();
    let check = ["log", "verify", "--proof", "epoch.proof", "--log", &key, "--witness"];
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
    until("one more", || machines(&folder, &manager.own_log(), &key, group) == (3, 1));
    until("one entry", || metric(&manager, "clew_manager_log_entries_total") == 1);
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
            let (name, file) = (format!("m-{round}-{number}"), format!("{round}-{number}.key"));
            folder.yes(&["enrol", "own", &name, "-o", &file]);
        }
        // Before, while and after entries are sent.
        std::thread::sleep(Duration::from_millis(100 * round));
        manager.kill();
        manager = folder.manager("own", &at, &[]);
    }
    folder.yes(&["revoke", "own", "m-0-0"]);
    until("all of them", || machines(&folder, &manager.own_log(), &key, group) == (8, 1));
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
    until("the first machine", || machines(&folder, &passed, &key, GROUP) == (1, 0));
    copy_folder(&folder.path("acme"), &folder.path("clone"));
    let at = log.at();
    log.kill();
    folder.yes(&["enrol", "acme", "web-2", "-o", "web-2.key"]);
    until("the trouble", || manager.get("health").is_err());
    assert!(metric(&manager, "clew_manager_log_failures_total") > 0);
    let log = folder.start(&["log", "serve", "log", "--listen", &at]);
    until("it goes on", || machines(&folder, &log.url, &key, GROUP) == (2, 0));
    until("no trouble", || manager.get("health").is_ok());
    assert_eq!(metric(&manager, "clew_manager_log_halted"), 0);

    // The clone has another second machine.
    folder.yes(&["enrol", "clone", "web-3", "-o", "web-3.key"]);
    folder.yes(&["enrol", "clone", "web-4", "--invite", "-o", "web-4.invitation"]);
    let clone = folder.manager("clone", "127.0.0.1:0", &[]);
    until("the fork", || metric(&clone, "clew_manager_log_halted") == 1);
    let join = ["enrol", "--manager", &clone.url, "--invitation", "web-4.invitation"];
    let said = folder.ends(1, &[&join[..], &["-o", "web-4.key"]].concat());
    assert!(said.contains("another history of this group"), "{said}");
    assert!(clone.get("health").is_err() && manager.get("health").is_ok());
}

/// A device signs in a new epoch once the log has it, cosigned by the witness that it names.
#[test]
fn a_member_waits_for_the_log() {
    let folder = Folder::new();
    let key = own_log(&folder);
    let [named, other] = &folder.witnesses;
    folder.yes(&["enrol", "own", "old", "-o", "old.key"]);
    folder.yes(&["enrol", "own", "web-1", "--invite", "-o", "web-1.invitation"]);
    let w1 = |at| folder.start(&["log", "witness", "w1", "--listen", at, "--log", &key]);
    let witness = w1("127.0.0.1:0");
    let witness_at = witness.at();
    let asked = format!("{named}={}", witness.url);
    let manager = folder.manager("own", "127.0.0.1:0", &["--witness", &asked]);
    let url = manager.url.clone();
    // With a witness that did not cosign it does not even join.
    let join = ["enrol", "--manager", &url, "--invitation", "web-1.invitation", "-o", "web.key"];
    let said = folder.ends(2, &[&join[..], &["--log-witness", other]].concat());
    assert!(said.contains("need recent cosignatures of 1 witnesses, have 0"), "{said}");
    folder.yes(&[&join[..], &["--log-witness", named]].concat());
    let update = ["update", "--manager", &url, "--key", "web.key", "--group", "web.clew"];
    folder.yes(&update);
    let epoch_of_key = || folder.yes(&["show", "web.key"]);
    let before = epoch_of_key();

    // Nobody cosigns the next epoch: verifiers have it at once, the key does not.
    drop(witness);
    folder.yes(&["revoke", "own", "old"]);
    until("the feed has epoch 1", || manager.get("feed/log/0").is_err());
    let said = folder.ends(1, &update);
    assert!(said.contains("not shown to be in the log"), "{said}");
    let group = std::fs::read(folder.path("web.clew")).unwrap();
    let group = clew_evidence::GroupFile::from_bytes(&group).unwrap();
    assert_eq!(group.newest_epoch(), 1);
    assert_eq!(epoch_of_key(), before);
    let _witness = w1(&witness_at);
    until("the key has epoch 1", || folder.clew(&update).status.success());
    assert_ne!(epoch_of_key(), before);
}

/// A manager, its log and its witness are cloned: a device that sees both notices.
#[test]
fn a_member_notices_a_forked_log() {
    let folder = Folder::new();
    let key = own_log(&folder);
    folder.yes(&["enrol", "own", "old", "-o", "web.key"]);
    let named = &folder.witnesses[0];
    let start = |dir: &str, witness: &str| {
        let serve = ["log", "witness", witness, "--listen", "127.0.0.1:0", "--log", &key];
        let witness = folder.start(&serve);
        let asked = format!("{named}={}", witness.url);
        (folder.manager(dir, "127.0.0.1:0", &["--witness", &asked]), witness)
    };
    let update = |manager: &Served| -> Vec<String> {
        let to = ["update", "--manager", &manager.url, "--key", "web.key", "--group", "web.clew"];
        to.map(str::to_owned).into()
    };
    let run = |arguments: Vec<String>, more: &[&str]| {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        folder.clew(&[&arguments[..], more].concat())
    };
    let (mut manager, mut witness) = start("own", "w1");
    let first = run(update(&manager), &["--log-witness", named]);
    assert!(first.status.success(), "{first:?}");
    assert_eq!((manager.stop(), witness.stop()), (Some(0), Some(0)));
    copy_folder(&folder.path("own"), &folder.path("clone"));
    copy_folder(&folder.path("w1"), &folder.path("w1-clone"));

    let waits = |manager: &Served, count| {
        let log = manager.own_log();
        until("the second machine", || {
            manager.get("log/checkpoint").is_ok_and(|note| note.contains(&format!("\n{count}\n")))
                && folder.clew(&["log", "verify", &log, "--log", &key]).status.success()
        });
    };
    folder.yes(&["enrol", "own", "new", "-o", "new.key"]);
    let (manager, witness) = start("own", "w1");
    waits(&manager, 3);
    // The manager shows a proof for some seconds.
    std::thread::sleep(Duration::from_secs(1));
    assert!(run(update(&manager), &[]).status.success());
    drop((manager, witness));
    folder.yes(&["enrol", "clone", "evil", "-o", "evil.key"]);
    let (clone, _witness) = start("clone", "w1-clone");
    waits(&clone, 3);
    let done = run(update(&clone), &[]);
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains("fork: the log's checkpoint"), "{said}");
    let evidence = std::fs::read_to_string(folder.path("web.key.log.evidence")).unwrap();
    assert_eq!(evidence.matches("\n3\n").count(), 2, "{evidence}");
}
