//! Two histories: of a log, and of a manager.

use crate::folder::{Folder, GROUP, copy_folder, wait};
use clew_log::entry::Seal;

/// A copy of a log's directory goes on by itself: the witnesses stop it, and an auditor has the proof.
#[test]
fn a_forked_log_is_caught() {
    let folder = Folder::new();
    let (mut log, witnesses) = folder.whole();
    folder.publish(&log);
    let court = folder.author("court", "requester", &log);
    assert_eq!(log.stop(), Some(0));
    copy_folder(&folder.path("log"), &folder.path("copy"));

    let log = folder.serve("log", &[]).ready();
    let said = |log: &crate::folder::Served, number| {
        let entry = court.request(number, Seal::Open(court.warrant()));
        wait(court.says(&log.log(), entry))
    };
    said(&log, 1).unwrap();
    let client = log.log();
    let policy = folder.policy();
    let seconds = crate::folder::now().as_nanos() / 1_000_000_000;
    let entry = court.signs(court.request(1, Seal::Open(court.warrant())));
    wait(client.add_cosigned(&entry, &policy, seconds)).unwrap();
    let audit = [
        "log", "verify", &log.url, "--group", GROUP, "--state", "seen",
    ];
    folder.yes(&folder.with(&audit));

    // The copy asks its witnesses first, and never adds anything.
    let copy = folder.serve("copy", &[]);
    let refused = said(&copy, 2).unwrap_err();
    assert_eq!(refused.rule(), Some("halted"));
    assert!(refused.to_string().contains("an old copy"), "{refused}");
    drop(copy);

    // Without its witnesses it does.
    let [first, second] = &folder.witnesses;
    let alone = [
        "log",
        "serve",
        "copy",
        "--listen",
        "127.0.0.1:0",
        "--without",
        first,
    ];
    let copy = folder.start(&[&alone[..], &["--without", second]].concat());
    said(&copy, 2).unwrap();
    let audit = [
        "log",
        "verify",
        &copy.url,
        "--log",
        &folder.log,
        "--state",
        "seen",
    ];
    let told = folder.ends(1, &[&audit[..], &["--evidence", "fork"]].concat());
    assert!(told.contains("two histories"), "{told}");
    let evidence = std::fs::read_to_string(folder.path("fork")).unwrap();
    assert_eq!(
        evidence.matches("\nlog.example/acme\n").count()
            + usize::from(evidence.starts_with("log.example/acme\n")),
        2
    );
    // A witness that asks for it is not given it, and an honest log goes on.
    drop(copy);
    let copy = folder.serve("copy", &[&witnesses[0], &witnesses[1]]);
    assert_eq!(said(&copy, 3).unwrap_err().rule(), Some("halted"));
    said(&log, 3).unwrap();
    folder.yes(&folder.with(&[
        "log", "verify", &log.url, "--group", GROUP, "--state", "seen",
    ]));
}

/// Witnesses have seen more than a restored backup has.
#[test]
fn a_restored_backup_adds_nothing() {
    let folder = Folder::new();
    let (mut log, _witnesses) = folder.whole();
    let court = folder.author("court", "requester", &log);
    assert_eq!(log.stop(), Some(0));
    copy_folder(&folder.path("log"), &folder.path("backup"));
    let log = folder.serve("log", &[]).ready();
    let policy = folder.policy();
    let seconds = crate::folder::now().as_nanos() / 1_000_000_000;
    let entry = court.signs(court.request(1, Seal::Open(court.warrant())));
    wait(log.log().add_cosigned(&entry, &policy, seconds)).unwrap();
    log.kill();
    std::fs::remove_dir_all(folder.path("log")).unwrap();
    copy_folder(&folder.path("backup"), &folder.path("log"));
    let log = folder.serve("log", &[]);
    let refused = wait(court.says(&log.log(), court.request(2, Seal::Open(court.warrant()))));
    assert_eq!(refused.unwrap_err().rule(), Some("halted"));
}

/// Two managers of one store meet in the log.
#[test]
fn a_cloned_manager_is_caught() {
    let folder = Folder::new();
    let log = folder.serve("log", &[]);
    copy_folder(&folder.path("acme"), &folder.path("clone"));
    folder.yes(&["enrol", "acme", "web-2", "-o", "web-2.key"]);
    folder.yes(&["enrol", "clone", "web-3", "-o", "web-3.key"]);
    let publish = |dir| ["log", "publish", dir, &log.url];
    folder.yes(&publish("acme"));
    folder.yes(&["revoke", "clone", "web-3"]);
    let said = folder.ends(1, &publish("clone"));
    assert!(said.contains("another history of this group"), "{said}");
    // Then the copy changes nothing any more.
    folder.ends(2, &["enrol", "clone", "web-5", "-o", "web-5.key"]);
    folder.yes(&["enrol", "acme", "web-4", "-o", "web-4.key"]);
    folder.yes(&["revoke", "acme", "web-1"]);
    folder.yes(&publish("acme"));
    // The file is newer than the log, then the log is newer than the file: nothing is settled.
    std::fs::copy(folder.path(GROUP), folder.path("old.clew")).unwrap();
    folder.yes(&["revoke", "acme", "web-2"]);
    let lags = |group| {
        [
            "log",
            "verify",
            &log.url,
            "--log",
            &folder.log,
            "--group",
            group,
        ]
    };
    let said = folder.ends(2, &lags(GROUP));
    assert!(said.contains("the log lags"), "{said}");
    folder.yes(&publish("acme"));
    let said = folder.ends(2, &lags("old.clew"));
    assert!(said.contains("the group file lags"), "{said}");
    let audit = |group| {
        [
            "log",
            "verify",
            &log.url,
            "--log",
            &folder.log,
            "--group",
            group,
        ]
    };
    folder.yes(&audit(GROUP));
    let said = folder.ends(1, &audit("clone/public/group.clew"));
    assert!(said.contains("two histories"), "{said}");
}
