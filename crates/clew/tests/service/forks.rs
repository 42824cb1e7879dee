//! Two histories: of a log, and of a manager.

use crate::world::{GROUP, World, copy_folder, request, wait, warrant};
use clew_log::entry::Seal;

/// A copy of a log's directory goes on by itself: the witnesses stop it, and an auditor has the proof.
#[test]
fn a_forked_log_is_caught() {
    let world = World::new();
    let (mut log, witnesses) = world.whole();
    let court = world.author("court", "requester", &log);
    assert_eq!(log.stop(), Some(0));
    copy_folder(&world.path("log"), &world.path("copy"));

    let log = world.serve("log", &[]);
    let said = |log: &crate::world::Served, number| {
        let entry = request(number, Seal::Open(warrant()));
        wait(court.says(&log.log(), entry))
    };
    said(&log, 1).unwrap();
    let client = log.log();
    let policy = world.policy();
    let seconds = crate::world::now().as_nanos() / 1_000_000_000;
    let entry = court.signs(request(1, Seal::Open(warrant())));
    wait(client.add_cosigned(&entry, &policy, seconds)).unwrap();
    let audit = [
        "log", "verify", &log.url, "--group", GROUP, "--state", "seen",
    ];
    world.yes(&world.with(&audit));

    // The copy asks its witnesses first, and never adds anything.
    let copy = world.serve("copy", &[]);
    let refused = said(&copy, 2).unwrap_err();
    assert_eq!(refused.rule(), Some("halted"));
    assert!(refused.to_string().contains("an old copy"), "{refused}");
    drop(copy);

    // Without its witnesses it does.
    let [first, second] = &world.witnesses;
    let alone = [
        "log",
        "serve",
        "copy",
        "--listen",
        "127.0.0.1:0",
        "--without",
        first,
    ];
    let copy = world.start(&[&alone[..], &["--without", second]].concat());
    said(&copy, 2).unwrap();
    let audit = [
        "log", "verify", &copy.url, "--log", &world.log, "--state", "seen",
    ];
    let told = world.ends(1, &[&audit[..], &["--evidence", "fork"]].concat());
    assert!(told.contains("two histories"), "{told}");
    let evidence = std::fs::read_to_string(world.path("fork")).unwrap();
    assert_eq!(
        evidence.matches("\nlog.example/acme\n").count()
            + usize::from(evidence.starts_with("log.example/acme\n")),
        2
    );
    // A witness that asks for it is not given it, and an honest log goes on.
    drop(copy);
    let copy = world.serve("copy", &[&witnesses[0], &witnesses[1]]);
    assert_eq!(said(&copy, 3).unwrap_err().rule(), Some("halted"));
    said(&log, 3).unwrap();
    world.yes(&world.with(&[
        "log", "verify", &log.url, "--group", GROUP, "--state", "seen",
    ]));
}

/// Witnesses have seen more than a restored backup has.
#[test]
fn a_restored_backup_adds_nothing() {
    let world = World::new();
    let (mut log, _witnesses) = world.whole();
    let court = world.author("court", "requester", &log);
    assert_eq!(log.stop(), Some(0));
    copy_folder(&world.path("log"), &world.path("backup"));
    let log = world.serve("log", &[]);
    let policy = world.policy();
    let seconds = crate::world::now().as_nanos() / 1_000_000_000;
    let entry = court.signs(request(1, Seal::Open(warrant())));
    wait(log.log().add_cosigned(&entry, &policy, seconds)).unwrap();
    log.kill();
    std::fs::remove_dir_all(world.path("log")).unwrap();
    copy_folder(&world.path("backup"), &world.path("log"));
    let log = world.serve("log", &[]);
    let refused = wait(court.says(&log.log(), request(2, Seal::Open(warrant()))));
    assert_eq!(refused.unwrap_err().rule(), Some("halted"));
}

/// Two managers of one store meet in the log.
#[test]
fn a_cloned_manager_is_caught() {
    let world = World::new();
    let log = world.serve("log", &[]);
    copy_folder(&world.path("acme"), &world.path("clone"));
    world.yes(&["enrol", "acme", "web-2", "-o", "web-2.key"]);
    world.yes(&["enrol", "clone", "web-3", "-o", "web-3.key"]);
    let publish = |dir| ["log", "publish", dir, &log.url, "--log", &world.log];
    world.yes(&publish("acme"));
    let said = world.ends(1, &publish("clone"));
    assert!(said.contains("another history of this group"), "{said}");
    world.yes(&["enrol", "acme", "web-4", "-o", "web-4.key"]);
    world.yes(&["revoke", "acme", "web-1"]);
    world.yes(&publish("acme"));
    let audit = |group| {
        [
            "log", "verify", &log.url, "--log", &world.log, "--group", group,
        ]
    };
    world.yes(&audit(GROUP));
    world.yes(&["revoke", "clone", "web-3"]);
    let said = world.ends(1, &audit("clone/public/group.clew"));
    assert!(said.contains("two histories"), "{said}");
}
