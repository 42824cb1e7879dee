//! `clew manager serve` with devices, each a process: joins, the feed, and who is killed when.

use super::Folder;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

/// A service that runs. Dropped, it is killed.
pub struct Served {
    child: Child,
    pub url: String,
}

impl Served {
    pub fn address(&self) -> &str {
        let address = self.url.strip_prefix("https://").unwrap();
        address.split('/').next().unwrap()
    }

    /// Kill -9, and wait.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.kill();
    }
}

pub fn serve(folder: &Folder, more: &[&str]) -> Served {
    serve_dir(folder, "acme", "127.0.0.1:0", more)
}

pub fn serve_dir(folder: &Folder, dir: &str, listen: &str, more: &[&str]) -> Served {
    let serve = ["manager", "serve", dir, "--listen", listen];
    let mut command = folder.command(&[&serve[..], more].concat());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut said = BufReader::new(child.stdout.take().unwrap());
    said.read_line(&mut line).unwrap();
    let url = line.trim().strip_prefix("manager at ");
    let url = url.expect("it tells its URL").to_owned();
    Served { child, url }
}

pub fn join<'a>(served: &'a Served, invitation: &'a str, key: &'a str) -> Vec<&'a str> {
    let url = &served.url;
    vec![
        "enrol",
        "--manager",
        url,
        "--invitation",
        invitation,
        "-o",
        key,
    ]
}

pub fn invite(folder: &Folder, machine: &str) -> String {
    let to = format!("{machine}.invitation");
    folder.yes(&["enrol", "acme", machine, "--invite", "-o", &to]);
    to
}

fn update<'a>(served: &'a Served, key: &'a str, group: &'a str) -> Vec<&'a str> {
    vec![
        "update",
        "--manager",
        &served.url,
        "--key",
        key,
        "--group",
        group,
    ]
}

#[test]
fn devices_join_at_once_and_each_is_in_the_register() {
    let folder = Folder::new();
    let served = serve(&folder, &[]);
    let until = "2100-01-01T00:00:00Z";
    let batch = ["enrol", "acme", "--invite-batch", "line-", "--count", "20"];
    folder.yes(&[&batch[..], &["--until", until, "-o", "line.batch"]].concat());
    let joins: Vec<Child> = (0..20)
        .map(|i| {
            let (name, key) = (format!("line-{i}"), format!("line-{i}.key"));
            let join = [
                "enrol",
                "--manager",
                &served.url,
                "--batch",
                "line.batch",
                &name,
            ];
            let mut command = folder.command(&[&join[..], &["-o", &key]].concat());
            command.stdout(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut join in joins {
        assert!(join.wait().unwrap().success());
    }
    let join = |name| {
        [
            "enrol",
            "--manager",
            &served.url,
            "--batch",
            "line.batch",
            name,
            "-o",
            "x",
        ]
    };
    let (status, said) = folder.no(&join("line-20"));
    assert!(
        status == 1 && said.contains("has invited all 20 machines"),
        "{said}"
    );
    let (status, said) = folder.no(&join("other"));
    assert!(
        status == 1 && said.contains("names that begin with line-"),
        "{said}"
    );
    folder.yes(&["enrol", "acme", "--invite-batch", "line-", "--withdraw"]);
    let (status, said) = folder.no(&join("line-20"));
    assert!(
        status == 1 && said.contains("did not give this factory batch"),
        "{said}"
    );
    let list = folder.yes(&["group", "list", "acme"]);
    assert_eq!(list.matches("own-host").count(), 20, "{list}");
    folder.yes(&update(&served, "line-7.key", "own.clew"));
    let known = fs::read(folder.path("own.clew")).unwrap();
    assert!(known.starts_with(b"clew-group-file\n"));
}

/// The service dies after each answer, before the device has it or after; so does the device.
#[test]
fn whoever_is_killed_goes_on_where_it_was() {
    let folder = Folder::new();
    let mut served = serve(&folder, &[]);
    let address = served.address().to_owned();
    let invitation = invite(&folder, "far");
    for round in 0..12 {
        let mut command = folder.command(&join(&served, &invitation, "far.key"));
        let mut device = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(4 * round * round));
        if round % 2 == 0 {
            served.kill();
        }
        let _ = device.kill();
        let _ = device.wait();
        if round % 2 == 0 {
            served = serve_dir(&folder, "acme", &address, &[]);
        }
    }
    if !folder.path("far.key").exists() || folder.path("far.key.joining").exists() {
        folder.yes(&join(&served, &invitation, "far.key"));
    }
    assert!(!folder.path("far.key.joining").exists());
    let list = folder.yes(&["group", "list", "acme"]);
    assert_eq!(list.matches("own-host").count(), 1, "{list}");
    folder.yes(&update(&served, "far.key", "own.clew"));
    let again = folder.yes(&join(&served, &invitation, "far.key"));
    assert!(again.contains("far has joined: far.key"), "{again}");
    let (status, said) = folder.no(&join(&served, &invitation, "other.key"));
    assert!(
        status == 1 && said.contains("another request already answered"),
        "{said}"
    );
}

#[test]
fn revocations_and_rebases_reach_devices_and_one_service_serves() {
    let folder = Folder::new();
    let served = serve(&folder, &["--epoch-every", "1s"]);
    for machine in ["stays", "leaves", "queued"] {
        let invitation = invite(&folder, machine);
        folder.yes(&join(&served, &invitation, &format!("{machine}.key")));
    }
    folder.yes(&update(&served, "stays.key", "own.clew"));
    let (status, said) = folder.no(&["manager", "serve", "acme", "--listen", "127.0.0.1:0"]);
    assert!(
        status == 2 && said.contains("another clew manager serve"),
        "{said}"
    );
    folder.yes(&["revoke", "acme", "leaves"]);
    let until = |epoch: &str| {
        let started = Instant::now();
        loop {
            let told = folder.yes(&update(&served, "stays.key", "own.clew"));
            if told.contains(&format!("epoch {epoch}, in force")) {
                return;
            }
            assert!(started.elapsed() < PATIENCE, "{told}");
            std::thread::sleep(Duration::from_millis(100));
        }
    };
    until("1");
    let (status, said) = folder.no(&update(&served, "leaves.key", "leaves.clew"));
    assert!(
        status == 1 && said.contains("was revoked in epoch 1"),
        "{said}"
    );
    folder.yes(&["revoke", "acme", "queued", "--batch"]);
    until("2");
    folder.yes(&["group", "rebase", "acme"]);
    until("3");
    // One that was offline goes over the rebase by its bucket.
    let (status, said) = folder.no(&update(&served, "queued.key", "queued.clew"));
    assert!(
        status == 1 && said.contains("was revoked in epoch 2"),
        "{said}"
    );
    folder.yes(&update(&served, "web-1.key", "late.clew"));
}

#[test]
fn a_feed_that_goes_back_or_forks_is_refused() {
    let folder = Folder::new();
    let copy = |from: &str, to: &str| {
        let mut copied = std::process::Command::new("cp");
        let status = copied
            .args(["-r", from, to])
            .current_dir(folder.0.path())
            .status();
        assert!(status.unwrap().success());
    };
    folder.yes(&["enrol", "acme", "web-2", "-o", "web-2.key"]);
    copy("acme", "older");
    let mut served = serve(&folder, &[]);
    folder.yes(&["revoke", "acme", "web-2"]);
    served.kill();
    served = serve(&folder, &[]);
    folder.yes(&update(&served, "web-1.key", "own.clew"));
    let kept = [
        fs::read(folder.path("own.clew")),
        fs::read(folder.path("web-1.key")),
    ];
    served.kill();
    let older = serve_dir(&folder, "older", "127.0.0.1:0", &[]);
    let (status, said) = folder.no(&update(&older, "web-1.key", "own.clew"));
    assert!(status == 1 && said.contains("rollback"), "{said}");
    folder.yes(&["revoke", "older", "web-2"]);
    let started = Instant::now();
    let said = loop {
        let (status, said) = folder.no(&update(&older, "web-1.key", "own.clew"));
        assert_eq!(status, 1, "{said}");
        if said.contains("fork") || started.elapsed() > PATIENCE {
            break said;
        }
    };
    assert!(said.contains("two histories of the group"), "{said}");
    let follow = [&update(&older, "web-1.key", "own.clew")[..], &["--follow"]].concat();
    assert_eq!(folder.no(&follow).0, 1, "following ends there, too");
    let now = [
        fs::read(folder.path("own.clew")),
        fs::read(folder.path("web-1.key")),
    ];
    assert_eq!(now.map(Result::unwrap), kept.map(Result::unwrap));
}

/// Half requests, large bodies and nonsense beside a device that joins.
#[test]
fn strangers_do_not_stop_a_join() {
    let folder = Folder::new();
    let served = serve(&folder, &[]);
    let invitation = invite(&folder, "far");
    let mut held = Vec::new();
    for n in 0..400 {
        let Ok(mut stream) = TcpStream::connect(served.address()) else {
            continue;
        };
        let _ = stream.write_all(if n % 2 == 0 {
            b"GET / HTTP"
        } else {
            &[22, 3, 1]
        });
        held.push(stream);
    }
    folder.yes(&join(&served, &invitation, "far.key"));
    drop(held);
    let other = Folder::new();
    other.yes(&["enrol", "acme", "far", "--invite", "-o", "far.invitation"]);
    fs::copy(other.path("far.invitation"), folder.path("strange")).unwrap();
    let (status, said) = folder.no(&join(&served, "strange", "strange.key"));
    assert!(
        status == 1 && said.contains("and the invitation of group"),
        "{said}"
    );
    assert!(!folder.path("strange.key").exists());
    let at = served.url.find("SHA256:").unwrap() + 7;
    let mut wrong = served.url.clone();
    let digit = if wrong[at..].starts_with('A') {
        "B"
    } else {
        "A"
    };
    wrong.replace_range(at..=at, digit);
    let refused = [
        "enrol",
        "--manager",
        &wrong,
        "--invitation",
        "strange",
        "-o",
        "x",
    ];
    let (status, said) = folder.no(&refused);
    assert!(
        status == 2 && said.contains("another key than the fingerprint"),
        "{said}"
    );
    let mut plain = TcpStream::connect(served.address()).unwrap();
    let _ = plain.write_all(b"GET /health HTTP/1.1\r\n\r\n");
    let _ = plain.read(&mut [0; 64]);
}
