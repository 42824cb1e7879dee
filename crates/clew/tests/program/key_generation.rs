//! Trustees as programs that generate an opening key over the network, each a process that is killed
//! at any step, and hand it on.

use super::Folder;
use super::captures::{CAPTURES, beginning};
use super::manager::{Served, serve, serve_dir};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

const NAMES: [&str; 3] = ["alice", "bob", "carol"];
const GROUP: &str = "acme/public/group.clew";

fn init(folder: &Folder, served: &Served, name: &str) {
    folder.yes(&[
        "trustee",
        "init",
        name,
        "--manager",
        &served.url,
        "--name",
        name,
    ]);
}

fn admit(folder: &Folder, name: &str, index: &str) {
    let key = format!("{name}/author.pub");
    let role = ["--role", "trustee", "--index", index, "--key", &key];
    folder.yes(&[&["manager", "admit", "acme"][..], &role].concat());
}

fn once(folder: &Folder, name: &str) {
    folder.yes(&["trustee", "serve", name, "--once"]);
}

/// Begins to serve, and is killed after a while.
fn killed(folder: &Folder, name: &str, after: u64) {
    let mut command = folder.command(&["trustee", "serve", name, "--once"]);
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(after));
    let _ = child.kill();
    child.wait().unwrap();
}

/// The id of the newest plan that a command tells.
fn plan_in(told: &str) -> String {
    let line = told.lines().find_map(|line| line.strip_prefix("plan "));
    line.unwrap().split(':').next().unwrap().to_owned()
}

fn status(folder: &Folder, name: &str, id: &str) -> serde_json::Value {
    let told = folder.yes(&["trustee", "list", name, "--json"]);
    let mut plans = told
        .lines()
        .map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap());
    plans.find(|plan| plan["id"] == id).unwrap()
}

/// Any two open a packet of the newest epoch, with the files in their directories.
fn opens(folder: &Folder, keys: [&str; 2]) {
    folder.yes(&["update", "--key", "web-1.key", "--group", GROUP]);
    beginning(
        &Path::new(CAPTURES).join("arkime--v6.pcap"),
        &folder.path("in"),
    );
    assert_eq!(folder.sign(&[]), 0);
    let mut shares = Vec::new();
    for (at, key) in keys.iter().enumerate() {
        let share = format!("{at}.share");
        let _ = std::fs::remove_file(folder.path(&share));
        let args = [
            "share",
            "--trustee",
            key,
            "--group",
            GROUP,
            "signed",
            "--packet",
            "1",
        ];
        folder.yes(&[&args[..], &["-o", &share]].concat());
        shares.push(share);
    }
    let _ = std::fs::remove_file(folder.path("opening"));
    let open = [
        "open", "--group", GROUP, "--share", &shares[0], "--share", &shares[1],
    ];
    let rest = [
        "--register",
        "acme",
        "signed",
        "--packet",
        "1",
        "-o",
        "opening",
    ];
    let told = folder.yes(&[&open[..], &rest].concat());
    assert!(told.contains("was sent by web-1"), "{told}");
}

/// A plan that all three approved, and in which two have taken steps.
fn approved(folder: &Folder, served: &Served) -> String {
    for (name, index) in NAMES.iter().zip(["1", "2", "3"]) {
        init(folder, served, name);
        // Not admitted yet: it says so, and does nothing.
        let (status, said) = folder.no(&["trustee", "serve", name, "--once"]);
        assert!(status == 2 && said.contains("has not admitted"), "{said}");
        admit(folder, name, index);
    }
    let told = folder.yes(&[
        "manager",
        "plan",
        "acme",
        "--trustees",
        "3",
        "--threshold",
        "2",
    ]);
    let id = plan_in(&told);
    for name in NAMES {
        once(folder, name);
        // Nobody takes part unasked.
        assert_eq!(status(folder, name, &id)["answer"], "waiting");
        assert!(!folder.path(&format!("{name}/plans/{id}/state")).exists());
        let shown = folder.yes(&["trustee", "list", name]);
        assert!(
            shown.contains("SHA256:") && shown.contains("any 2 of 3"),
            "{shown}"
        );
    }
    for name in ["alice", "bob"] {
        folder.yes(&["trustee", "approve", name, &id]);
        once(folder, name);
    }
    let plans = folder.yes(&["manager", "plans", "acme"]);
    assert!(plans.contains("waits for hello of carol"), "{plans}");
    let (_, said) = folder.no(&["group", "reopen", "acme", "--from-board", &id]);
    assert!(said.contains("waits for hello of carol"), "{said}");
    folder.yes(&["trustee", "approve", "carol", &id]);
    id
}

#[test]
fn trustees_that_are_killed_at_every_step_make_a_key_and_hand_it_on() {
    let folder = Folder::new();
    let mut served = serve(&folder, &[]);
    let at = served.address().to_owned();
    let id = approved(&folder, &served);
    // Killed again and again, each a little later, the manager too.
    for round in 0..5 {
        for (at, name) in (0..).zip(NAMES) {
            killed(&folder, name, 20 + 25 * round + 10 * at);
        }
        if round % 2 == 1 {
            served.kill();
            served = serve_dir(&folder, "acme", &at, &[]);
        }
    }
    for _ in 0..4 {
        NAMES.iter().for_each(|name| once(&folder, name));
    }
    let codes = NAMES.map(|name| status(&folder, name, &id)["status"].clone());
    assert_eq!(codes[0]["stage"], "ready", "{}", codes[0]);
    assert!(
        codes
            .iter()
            .all(|code| code["check_code"] == codes[0]["check_code"])
    );
    let reopen = ["group", "reopen", "acme", "--from-board", &id];
    folder.yes(&reopen);
    folder.yes(&reopen); // again: the group has that epoch
    killed(&folder, "alice", 60);
    for _ in 0..2 {
        NAMES.iter().for_each(|name| once(&folder, name));
    }
    for name in NAMES {
        assert_eq!(status(&folder, name, &id)["answer"], "done");
        assert!(!folder.path(&format!("{name}/plans/{id}/state")).exists());
    }
    opens(&folder, ["alice/keys/1.key", "carol/keys/1.key"]);
    handed_on(&folder, &served);
}

/// Trustee 2 leaves: the others hand the key on, and a newcomer has its index.
fn handed_on(folder: &Folder, served: &Served) {
    init(folder, served, "dora");
    let plan = ["manager", "plan", "acme", "--reshare", "--with", "1,3"];
    let seats = [
        "--trustees",
        "3",
        "--threshold",
        "2",
        "--trustee",
        "2=dora/author.pub",
    ];
    let id = plan_in(&folder.yes(&[&plan[..], &seats].concat()));
    let names = ["alice", "carol", "dora"];
    for name in names {
        once(folder, name);
        folder.yes(&["trustee", "approve", name, &id]);
    }
    // Trustee 2 of the old key is not part of it.
    once(folder, "bob");
    let (_, said) = folder.no(&["trustee", "approve", "bob", &id]);
    assert!(said.contains("no such plan"), "{said}");
    for _ in 0..4 {
        names.iter().for_each(|name| once(folder, name));
    }
    folder.yes(&["group", "reopen", "acme", "--from-board", &id]);
    for _ in 0..2 {
        names.iter().for_each(|name| once(folder, name));
    }
    opens(folder, ["dora/keys/2.key", "alice/keys/2.key"]);
    let authors = folder.yes(&["manager", "authors", "acme"]);
    // A new opening key takes no trusteeship of an earlier one: bob still decides about older packets.
    for held in ["2  dora", "1  bob"] {
        let held = format!("trustee 2 of the opening key since epoch {held}");
        assert!(authors.contains(&held), "{authors}");
    }
    // Two processes on one directory are impossible.
    let mut serving = folder.command(&["trustee", "serve", "dora"]);
    let mut serving = serving.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(serving.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.contains("trustee dora asks"), "{line}");
    let (status, refused) = folder.no(&["trustee", "serve", "dora", "--once"]);
    assert!(
        status == 2 && refused.contains("another process"),
        "{refused}"
    );
    let _ = serving.kill();
    serving.wait().unwrap();
}

/// A manager that posts plans without end fills no disk, and a damaged plan keeps nobody from the others.
#[test]
fn plans_that_wait_are_bounded_and_a_damaged_one_is_named() {
    let folder = Folder::new();
    let served = serve(&folder, &[]);
    for (name, index) in NAMES.iter().zip(["1", "2", "3"]) {
        init(&folder, &served, name);
        admit(&folder, name, index);
    }
    let plan = [
        &["manager", "plan", "acme"][..],
        &["--trustees", "3", "--threshold", "2"],
    ]
    .concat();
    let post = || plan_in(&folder.yes(&plan));
    let first = post();
    once(&folder, "alice");
    let plans = folder.path("alice/plans");
    let bytes = std::fs::read(plans.join(&first).join("plan")).unwrap();
    let put = |name: &str, bytes: &[u8]| {
        std::fs::create_dir(plans.join(name)).unwrap();
        std::fs::write(plans.join(name).join("plan"), bytes).unwrap();
    };
    (1..64).for_each(|number| put(&number.to_string(), &bytes));
    put("torn", b"torn");
    let left_out = post();
    once(&folder, "alice");
    assert!(!plans.join(left_out).exists());
    let listed = folder.clew(&["trustee", "list", "alice", "--json"]);
    assert!(listed.status.success());
    let told = String::from_utf8_lossy(&listed.stderr);
    assert!(told.contains("plans/torn: not a plan"), "{told}");
    assert_eq!(String::from_utf8_lossy(&listed.stdout).lines().count(), 64);
    std::fs::remove_dir_all(plans.join("1")).unwrap();
    let next = post();
    once(&folder, "alice");
    assert!(plans.join(next).exists());
}
