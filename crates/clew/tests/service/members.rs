//! Members that wait for the group's log, and authors that write into it.

use crate::folder::{Folder, GROUP, Served, copy_folder, own_log, until, wait};
use clew_keys::{MemberKeyFile, TextFile};
use clew_log::entry::Seal;
use std::time::Duration;

/// A device signs in a new epoch once the log has it, cosigned by the witness that it names.
#[test]
fn a_member_waits_for_the_log() {
    let folder = Folder::new();
    let key = own_log(&folder);
    let [named, other] = &folder.witnesses;
    folder.yes(&["enrol", "own", "old", "-o", "old.key"]);
    folder.yes(&[
        "enrol",
        "own",
        "web-1",
        "--invite",
        "-o",
        "web-1.invitation",
    ]);
    let w1 = |at| folder.start(&["log", "witness", "w1", "--listen", at, "--log", &key]);
    let witness = w1("127.0.0.1:0");
    let witness_at = witness.at();
    let asked = format!("{named}={}", witness.url);
    let manager = folder.manager("own", "127.0.0.1:0", &["--witness", &asked]);
    let url = manager.url.clone();
    // With a witness that did not cosign it does not even join.
    let join = [
        "enrol",
        "--manager",
        &url,
        "--invitation",
        "web-1.invitation",
        "-o",
        "web.key",
    ];
    let said = folder.ends(2, &[&join[..], &["--log-witness", other]].concat());
    assert!(
        said.contains("need recent cosignatures of 1 witnesses, have 0"),
        "{said}"
    );
    folder.yes(&[&join[..], &["--log-witness", named]].concat());
    // Once more it is done already; another device is too late, and leaves nothing behind.
    let again = folder.yes(&join);
    assert!(again.contains("web-1 has joined: web.key"), "{again}");
    let other_device = [&join[..join.len() - 1], &["late.key"]].concat();
    let said = folder.ends(1, &other_device);
    assert!(said.contains("if the machine has joined"), "{said}");
    assert!(!folder.path("late.key.joining").exists());
    let update = [
        "update",
        "--manager",
        &url,
        "--key",
        "web.key",
        "--group",
        "web.clew",
    ];
    folder.yes(&update);
    let epoch_of_key = || {
        let text = std::fs::read_to_string(folder.path("web.key")).unwrap();
        let key = MemberKeyFile::decode(&text).unwrap();
        key.epochs.last().unwrap().epoch
    };
    assert_eq!(epoch_of_key(), 0);

    // Nobody cosigns the next epoch: verifiers have it at once, the key does not.
    drop(witness);
    folder.yes(&["revoke", "own", "old"]);
    until("the feed has epoch 1", || {
        manager.get("feed/log/0").is_err()
    });
    let said = folder.ends(2, &update);
    assert!(said.contains("not shown to be in the log"), "{said}");
    let group = std::fs::read(folder.path("web.clew")).unwrap();
    let group = clew_evidence::GroupFile::from_bytes(&group).unwrap();
    assert_eq!(group.newest_epoch(), 1);
    assert_eq!(epoch_of_key(), 0);
    let _witness = w1(&witness_at);
    until("the key has epoch 1", || {
        folder.clew(&update).status.success()
    });
    assert_eq!(epoch_of_key(), 1);
}

/// A manager, its log and its witness are cloned: a device that sees both notices.
#[test]
fn a_member_notices_a_forked_log() {
    let folder = Folder::new();
    let key = own_log(&folder);
    folder.yes(&["enrol", "own", "old", "-o", "web.key"]);
    let named = &folder.witnesses[0];
    let start = |dir: &str, witness: &str| {
        let serve = [
            "log",
            "witness",
            witness,
            "--listen",
            "127.0.0.1:0",
            "--log",
            &key,
        ];
        let witness = folder.start(&serve);
        let asked = format!("{named}={}", witness.url);
        (
            folder.manager(dir, "127.0.0.1:0", &["--witness", &asked]),
            witness,
        )
    };
    let update = |manager: &Served| -> Vec<String> {
        let to = [
            "update",
            "--manager",
            &manager.url,
            "--key",
            "web.key",
            "--group",
            "web.clew",
        ];
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
            manager
                .get("log/checkpoint")
                .is_ok_and(|note| note.contains(&format!("\n{count}\n")))
                && folder
                    .clew(&["log", "verify", &log, "--log", &key])
                    .status
                    .success()
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

/// Within one turn of the feed and the grace time nobody who follows accepts a revoked machine's new packets.
/// Its old ones still verify.
#[test]
fn a_revocation_reaches_a_verifier_that_follows() {
    let folder = Folder::new();
    folder.yes(&["enrol", "acme", "watch", "-o", "watch.key"]);
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cmd/court.in/in.pcap");
    std::fs::copy(capture, folder.path("in.pcap")).unwrap();
    let manager = folder.manager("acme", "127.0.0.1:0", &[]);
    let follow = [
        "update",
        "--follow",
        "--manager",
        &manager.url,
        "--key",
        "watch.key",
    ];
    // It tells of the file once that is there.
    let _follower = folder.start_telling(
        "group file",
        &[&follow[..], &["--group", "watch.clew"]].concat(),
    );
    let sign = ["sign", "--key", "web-1.key", "in.pcap", "-w"];
    folder.yes(&[&sign[..], &["old"]].concat());
    let verify = |file, more: &[&str]| {
        let verify = ["verify", "--group", "watch.clew", "--json", file];
        folder.clew(&[&verify[..], more].concat())
    };
    let live = ["--max-age", "5m", "--grace", "2s"];
    folder.yes(&[&sign[..], &["before", "--time", "now"]].concat());
    assert!(verify("before", &live).status.success());
    folder.yes(&["revoke", "acme", "web-1"]);
    folder.yes(&[&sign[..], &["new", "--time", "now"]].concat());
    until("its new packets are refused", || {
        let done = verify("new", &live);
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        done.status.code() == Some(1) && said.contains("epoch-over")
    });
    assert!(verify("old", &[]).status.success());
}

/// What encrypts the keys of a group encrypts its log's, and a witness has such options, too.
#[test]
fn keys_of_logs_are_encrypted_like_others() {
    let folder = Folder::new();
    std::fs::write(folder.path("secret"), [7; 32]).unwrap();
    let create = ["group", "create", "own", "--name", "own", "--with-log"];
    folder.yes(&[&create[..], &["--encrypt-with", "secret"]].concat());
    let create = ["log", "create-witness", "sealed", "--name", "sealed"];
    folder.yes(&[&create[..], &["--encrypt-with", "secret"]].concat());
    for key in ["own/log/log.key", "sealed/witness.key"] {
        let text = std::fs::read_to_string(folder.path(key)).unwrap();
        assert!(!text.contains("clew-log-key-1"), "{key}");
    }
    let said = folder.ends(2, &["manager", "serve", "own", "--listen", "127.0.0.1:0"]);
    assert!(said.contains("--unlock-with"), "{said}");
    let witness = [
        "log",
        "witness",
        "sealed",
        "--listen",
        "127.0.0.1:0",
        "--log",
        &folder.log,
    ];
    assert!(folder.ends(2, &witness).contains("--unlock-with"));
    folder.start(&[&witness[..], &["--unlock-with", "secret"]].concat());
    let manager = folder.manager("own", "127.0.0.1:0", &["--unlock-with", "secret"]);
    until("the first checkpoint", || {
        manager.get("log/checkpoint").is_ok()
    });
}

/// What authors write: a capture's anchor, a result, and a sealed request that becomes public.
#[test]
fn authors_write_by_commands() {
    let folder = Folder::new();
    let log = folder.serve("log", &[]);
    folder.publish(&log);
    let court = folder.author("court", "requester", &log);
    let _watcher = folder.author("watcher", "observer", &log);
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cmd/court.in/in.pcap");
    std::fs::copy(capture, folder.path("traffic.pcap")).unwrap();
    let by = |who: &str, proof: &str| -> Vec<String> {
        let key = format!("{who}.key");
        let by = [&log.url, "--group", GROUP, "--key", &key, "-o", proof];
        by.map(str::to_owned).into()
    };
    let run = |status: i32, command: &[&str], by: Vec<String>| -> String {
        let by: Vec<&str> = by.iter().map(String::as_str).collect();
        let (url, by) = by.split_first().unwrap();
        let (name, files) = command.split_first().unwrap();
        let all = [&["log", name, url], files, by].concat();
        folder.ends(status, &all)
    };
    run(
        0,
        &["anchor", "traffic.pcap"],
        by("watcher", "anchor.proof"),
    );
    let check = [
        "log",
        "verify",
        "--proof",
        "anchor.proof",
        "--log",
        &folder.log,
    ];
    assert!(folder.yes(&check).contains(": anchor, added"));
    // Again is the same entry; a requester is not an observer.
    run(0, &["anchor", "traffic.pcap"], by("watcher", "again.proof"));
    assert_eq!(
        std::fs::read(folder.path("anchor.proof")).unwrap(),
        std::fs::read(folder.path("again.proof")).unwrap()
    );
    let said = run(1, &["anchor", "traffic.pcap"], by("court", "x.proof"));
    assert!(said.contains("(author)"), "{said}");
    std::fs::write(folder.path("text"), "not a capture").unwrap();
    run(2, &["anchor", "text"], by("watcher", "x.proof"));

    let end = crate::folder::now() + Duration::from_secs(86_400);
    std::fs::write(folder.path("warrant"), court.warrant().file).unwrap();
    let entry = court.signs(court.request(1, Seal::Until(end)));
    std::fs::write(folder.path("request.entry"), entry.encode()).unwrap();
    let to = |proof| ["--group", GROUP, "-o", proof];
    folder.yes(
        &[
            &["log", "add", &log.url, "request.entry"][..],
            &to("request.proof"),
        ]
        .concat(),
    );
    let (place, _) = wait(log.log().add(&entry)).unwrap();
    let place = place.to_string();
    run(0, &["result", &place, "text"], by("court", "result.proof"));
    let salt = "07".repeat(32);
    let wrong = "08".repeat(32);
    let said = run(
        1,
        &["unseal", &place, "warrant", "--salt", &wrong],
        by("court", "x.proof"),
    );
    assert!(said.contains("(warrant)"), "{said}");
    run(
        0,
        &["unseal", &place, "warrant", "--salt", &salt],
        by("court", "open.proof"),
    );
    let count = folder.yes(&["log", "count", "log", "--json"]);
    assert!(count.contains("\"sealed\":0"), "{count}");
    let said = folder.ends(
        2,
        &[
            "log", "add", &log.url, "text", "--group", GROUP, "-o", "x.proof",
        ],
    );
    assert!(said.contains("not a signed entry"), "{said}");
}

const FOLLOW: [&str; 2] = [
    include_str!("../../../../contrib/systemd/clew-follow@.service"),
    include_str!("../../../../contrib/examples/follow.conf"),
];
const ANCHOR: [&str; 2] = [
    include_str!("../../../../contrib/systemd/clew-anchor@.service"),
    include_str!("../../../../contrib/examples/anchor.conf"),
];

/// The units beside `clew up` and beside an observer: they are sound, and their examples are commands.
#[test]
fn the_units_that_follow_are_sound() {
    let folder = Folder::new();
    for (name, [unit, example], command) in [
        ("clew-follow@lan.service", FOLLOW, &["update"][..]),
        ("clew-anchor@lan.service", ANCHOR, &["log", "anchor-ring"]),
    ] {
        let path = folder.path(name);
        let unit = unit.replace("/usr/bin/clew", env!("CARGO_BIN_EXE_clew"));
        let lines = unit
            .lines()
            .filter(|line| !line.starts_with("Documentation="));
        std::fs::write(&path, lines.collect::<Vec<_>>().join("\n")).unwrap();
        let analyze = |arguments: &[&str]| {
            let mut command = std::process::Command::new("systemd-analyze");
            command.args(arguments).arg(&path).output()
        };
        let Ok(output) = analyze(&["verify"]) else {
            return crate::skipped::skipped("systemd-analyze");
        };
        let said = String::from_utf8_lossy(&output.stderr);
        let is_about_clew = |line: &str| line.contains("clew") && !line.contains("clew-observer");
        assert!(!said.lines().any(is_about_clew), "{said}");
        let output = analyze(&["security", "--offline=true", "--no-pager"]).unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let level = said.split_once(&format!("Overall exposure level for {name}: "));
        let level: f32 = level.unwrap().1.split(' ').next().unwrap().parse().unwrap();
        assert!(level <= 3.0, "{said}");
        let options = example.split('"').nth(1).unwrap();
        let options: Vec<&str> = options.split(' ').collect();
        let said = folder.ends(2, &[command, &options].concat());
        assert!(!said.contains("Usage"), "{said}");
    }
}
