//! The manager's store under `clew manager serve`: its databases, backups, full disks.

use super::Folder;
use super::cluster::{Cluster, POSTGRES, fresh};
use super::manager::{Served, invite, join, serve, serve_dir};
use super::skipped::skipped;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Joins, and joins again as long as the service cannot.
fn join_at_last(folder: &Folder, served: &Served, machine: &str) {
    let invitation = invite(folder, machine);
    let key = format!("{machine}.key");
    folder.yes(&join(served, &invitation, &key));
}

#[test]
fn a_backup_is_made_beside_a_service_and_restored_elsewhere() {
    let folder = Folder::new();
    let mut served = serve(&folder, &[]);
    join_at_last(&folder, &served, "one");
    fs::write(folder.path("secret"), [7; 32]).unwrap();
    let seal = ["--encrypt-with", "secret"];
    let to = |file| ["manager", "backup", "acme", "--with-keys", "-o", file];
    let said = folder.yes(&[&to("sealed")[..], &seal].concat());
    assert!(said.contains("2 machines, epoch 0"), "{said}");
    let said = folder.yes(&to("clear"));
    assert!(said.contains("not encrypted"), "{said}");
    let (status, said) = folder.no(&to("clear"));
    assert!(status == 2 && said.contains("already exists"), "{said}");
    use std::os::unix::fs::PermissionsExt;
    for file in ["sealed", "clear"] {
        let mode = folder.path(file).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let has_name = |file| {
        let bytes = fs::read(folder.path(file)).unwrap();
        bytes.windows(5).any(|at| at == b"web-1")
    };
    assert!(has_name("clear") && !has_name("sealed"));

    // Only with its secret, and only beside what was published since.
    let restore = ["manager", "restore", "sealed"];
    let (status, said) = folder.no(&[&restore[..], &["new"]].concat());
    assert!(status == 2 && said.contains("--published"), "{said}");
    let (status, said) = folder.no(&[&restore[..], &["new", "--unchecked"]].concat());
    assert!(status == 2 && said.contains("--unlock-with"), "{said}");
    fs::write(folder.path("other"), [8; 32]).unwrap();
    let wrong = ["new", "--unchecked", "--unlock-with", "other"];
    let (status, said) = folder.no(&[&restore[..], &wrong].concat());
    assert!(status == 2 && said.contains("wrong passphrase"), "{said}");
    assert!(!folder.path("new").exists());
    let newest = "acme/public/group.clew";
    let right = ["new", "--published", newest, "--unlock-with", "secret"];
    let said = folder.yes(&[&restore[..], &right].concat());
    assert!(said.starts_with("group acme restored: new"), "{said}");
    let said = folder.yes(&["manager", "check", "new"]);
    assert!(said.contains("new: whole: 2 machines, epoch 0"), "{said}");
    folder.yes(&["revoke", "acme", "web-1"]);
    let old = ["old", "--published", newest, "--unlock-with", "secret"];
    let (status, said) = folder.no(&[&restore[..], &old].concat());
    assert!(status == 2 && said.contains("older copy"), "{said}");

    // The same devices find the same certificate.
    let address = served.address().to_owned();
    served.kill();
    let mut again = serve_dir(&folder, "new", &address, &[]);
    assert_eq!(again.url, served.url);
    again.kill();
}

/// A disk that fills up under the service: nothing that was answered is lost, it says why it refuses,
/// and it goes on by itself when there is room.
#[test]
fn a_full_disk_refuses_and_then_goes_on() {
    let folder = Folder::new();
    let disk = folder.path("disk");
    fs::create_dir(&disk).unwrap();
    let mount = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"])
        .arg(&disk)
        .output();
    if !mount.is_ok_and(|done| done.status.success()) {
        return skipped("root and the command mount");
    }
    let _mounted = Mounted(disk.clone());
    fs::rename(folder.path("acme"), folder.path("moved")).unwrap();
    let mut copy = Command::new("cp");
    copy.arg("-a")
        .arg(folder.path("moved"))
        .arg(disk.join("acme"));
    assert!(copy.status().unwrap().success());
    std::os::unix::fs::symlink("disk/acme", folder.path("acme")).unwrap();
    let mut served = serve(&folder, &[]);
    join_at_last(&folder, &served, "before");
    let invitation = invite(&folder, "during");
    let mut filler = fs::File::create(disk.join("filler")).unwrap();
    while filler.write_all(&[0; 4096]).is_ok() {}
    let (status, said) = folder.no(&join(&served, &invitation, "during.key"));
    assert!(status != 0 && said.contains("disk is full"), "{said}");
    let (status, said) = folder.no(&["manager", "backup", "acme", "-o", "disk/backup"]);
    assert!(status == 2 && said.contains("No space left"), "{said}");
    let left = fs::read_dir(&disk)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    assert!(
        left.into_iter()
            .all(|name| name == "acme" || name == "filler")
    );
    drop(filler); // an open file keeps its room
    fs::remove_file(disk.join("filler")).unwrap();
    folder.yes(&join(&served, &invitation, "during.key"));
    served.kill();
    let said = folder.yes(&["manager", "check", "acme"]);
    assert!(said.contains("whole: 3 machines"), "{said}");
}

struct Mounted(std::path::PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// The server of the database crashes under the service, and under commands.
#[test]
fn a_database_that_comes_back_is_used_again() {
    let Some(mut server) = Cluster::start() else {
        return skipped(POSTGRES);
    };
    let folder = Folder(tempfile::tempdir().unwrap());
    let url = fresh(server.socket());
    let create = ["group", "create", "acme", "--name", "acme", "--database"];
    folder.yes(&[&create[..], &[&url]].concat());
    let two = [
        "group",
        "create",
        "two",
        "--name",
        "two",
        "--database",
        &url,
    ];
    let (status, said) = folder.no(&two);
    assert!(
        status == 2 && said.contains("already has a group"),
        "{said}"
    );
    assert!(!folder.path("two").exists());
    // A server that runs is not to be started.
    let unknown = url.replace("/postgres?", "/nothing?");
    let other = [
        "group",
        "create",
        "two",
        "--name",
        "two",
        "--database",
        &unknown,
    ];
    let (_, said) = folder.no(&other);
    assert!(said.contains("the server runs and refuses"), "{said}");
    let served = serve(&folder, &[]);
    join_at_last(&folder, &served, "before");
    let invitation = invite(&folder, "during");
    server.stop();
    let (status, said) = folder.no(&join(&served, &invitation, "during.key"));
    assert!(status != 0 && said.contains("store failed"), "{said}");
    let (status, said) = folder.no(&["group", "list", "acme"]);
    assert!(status == 2 && said.contains("cannot connect"), "{said}");
    assert!(said.contains("hint: start the database"), "{said}");
    server.restart();
    folder.yes(&join(&served, &invitation, "during.key"));
    server.crash();
    let since = Instant::now();
    while !folder.clew(&["manager", "check", "acme"]).status.success() {
        assert!(since.elapsed() < Duration::from_secs(30));
    }
    join_at_last(&folder, &served, "after");
    let list = folder.yes(&["group", "list", "acme"]);
    assert_eq!(list.matches("own-host").count(), 3, "{list}");
    let said = folder.yes(&["manager", "check", "acme"]);
    assert!(said.contains("whole: 3 machines"), "{said}");
}

/// The server's processes hang, as with a dead disk: everybody is told so within seconds, and nothing is lost.
#[test]
fn a_database_that_hangs_is_given_up() {
    let Some(server) = Cluster::start() else {
        return skipped(POSTGRES);
    };
    let folder = Folder(tempfile::tempdir().unwrap());
    let url = fresh(server.socket());
    let create = ["group", "create", "acme", "--name", "acme", "--database"];
    folder.yes(&[&create[..], &[&url]].concat());
    let served = serve(&folder, &[]);
    join_at_last(&folder, &served, "before");
    let invitation = invite(&folder, "during");
    server.freeze(true);
    let since = Instant::now();
    let (status, said) = folder.no(&["group", "list", "acme"]);
    assert!(status == 2 && said.contains("cannot connect"), "{said}");
    assert!(
        since.elapsed() < Duration::from_secs(10),
        "{:?}",
        since.elapsed()
    );
    let (status, said) = folder.no(&join(&served, &invitation, "during.key"));
    assert!(status != 0 && said.contains("store failed"), "{said}");
    assert!(
        since.elapsed() < Duration::from_secs(60),
        "{:?}",
        since.elapsed()
    );
    server.freeze(false);
    folder.yes(&join(&served, &invitation, "during.key"));
    let said = folder.yes(&["manager", "check", "acme"]);
    assert!(said.contains("whole: 2 machines"), "{said}");
}

#[test]
fn databases_of_other_hosts_and_other_urls_are_refused() {
    let folder = Folder(tempfile::tempdir().unwrap());
    let said = |url: &str| {
        let create = [
            "group",
            "create",
            "acme",
            "--name",
            "acme",
            "--database",
            url,
        ];
        let (status, said) = folder.no(&create);
        assert_eq!(status, 2);
        assert!(!folder.path("acme").exists());
        assert!(!said.contains("hunter2"), "{said}");
        said
    };
    for url in [
        "postgres://db.example/clew",
        "postgres://u:hunter2@192.0.2.1/clew",
    ] {
        assert!(said(url).contains("need a database on this host"));
    }
    for url in [
        "acme.db",
        "postgres://u:hunter2@[::1",
        "postgres://localhost?hunter2=1",
    ] {
        assert!(said(url).contains("not the URL of a database"), "{url}");
    }
    let none = folder.0.path().to_str().unwrap().replace('/', "%2F");
    assert!(said(&format!("postgres://u:hunter2@{none}/clew")).contains("cannot connect"));
    assert!(
        Path::new(folder.0.path())
            .read_dir()
            .unwrap()
            .next()
            .is_none()
    );
}
