//! Attacks that once worked: group files in the wrong order, messages that nobody reads, files without end.

use super::Folder;
use super::captures::{CAPTURES, beginning};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::Stdio;

const GROUP: &str = "acme/public/group.clew";

/// A folder with the key of `stolen`, and a capture that it signed now as `signed`.
fn robbed(revoke: impl FnOnce(&Folder)) -> Folder {
    let folder = Folder::new();
    beginning(
        &Path::new(CAPTURES).join("tcpdump--quic_handshake.pcap"),
        &folder.path("in"),
    );
    folder.yes(&["enrol", "acme", "stolen", "-o", "stolen.key"]);
    fs::copy(folder.path(GROUP), folder.path("old.clew")).unwrap();
    revoke(&folder);
    let sign = ["sign", "--key", "stolen.key", "in", "-w", "signed"];
    folder.yes(&[&sign[..], &["--time", "now"]].concat());
    folder
}

/// Exit status and standard error of `verify` with these group files.
fn verify(folder: &Folder, groups: &[&str]) -> (i32, String) {
    let groups = groups.iter().flat_map(|file| ["--group", file]);
    let live = ["verify", "signed", "--max-age", "5m", "--grace", "0s"];
    let all: Vec<_> = live.into_iter().chain(groups).collect();
    let output = folder.clew(&all);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().unwrap(), said)
}

#[test]
fn an_old_group_file_does_not_hide_a_revocation() {
    let folder = robbed(|folder| drop(folder.yes(&["revoke", "acme", "stolen"])));
    assert_eq!(
        verify(&folder, &["old.clew"]).0,
        0,
        "nobody revoked it there"
    );
    for groups in [["old.clew", GROUP], [GROUP, "old.clew"], [GROUP, GROUP]] {
        assert_eq!(verify(&folder, &groups).0, 1, "{groups:?}");
    }
}

#[test]
fn two_histories_of_a_group_are_shown_in_any_order() {
    let folder = robbed(|folder| {
        let mut copy = std::process::Command::new("cp");
        let copy = copy
            .arg("-r")
            .args([folder.path("acme"), folder.path("fork")])
            .status();
        assert!(copy.unwrap().success());
        folder.yes(&["revoke", "acme", "stolen"]);
        folder.yes(&["revoke", "fork", "web-1"]);
    });
    let fork = "fork/public/group.clew";
    let id = |group: &str| {
        let shown = folder.yes(&["group", "show", group]);
        let line = shown.lines().find(|line| line.starts_with("          id "));
        line.unwrap().split_whitespace().nth(1).unwrap().to_owned()
    };
    for groups in [[GROUP, fork], [fork, GROUP]] {
        let (status, said) = verify(&folder, &groups);
        assert_eq!(status, 2, "{said}");
        for part in [
            "about epoch 1",
            "shows two histories",
            &id(GROUP),
            &id(fork),
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
}

/// A stream that takes nothing: its reader is gone.
fn unread() -> Stdio {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    writer.into()
}

/// What a command did is not undone by a message that nobody reads.
#[test]
fn messages_that_cannot_be_written_change_no_exit_status() {
    let folder = robbed(|_| ());
    let open = |path| fs::set_permissions(folder.path(path), unix(0o644)).unwrap();
    open("web-1.key");
    open("acme/trustees/1.key");
    let deaf = |arguments: &str| {
        let arguments: Vec<_> = arguments.split_whitespace().collect();
        let mut command = folder.command(&arguments);
        let status = command.stderr(unread()).stdout(Stdio::null()).status();
        status.unwrap().code()
    };
    for done in [
        "sign --key web-1.key in -w in-2",
        "enrol acme web-2 -o web-2.key",
        "share --trustee acme/trustees/1.key --group acme/public/group.clew signed --packet 1 -o 1",
        "strip signed -o stripped",
        "update --key web-1.key --group acme/public/group.clew",
        "revoke acme web-2",
    ] {
        assert_eq!(deaf(done), Some(0), "{done}");
    }
    assert_eq!(
        deaf("update --key web-2.key --group acme/public/group.clew"),
        Some(1)
    );
    for failed in [
        "revoke acme web-9",
        "no-such-command",
        "verify --group in in",
    ] {
        assert_eq!(deaf(failed), Some(2), "{failed}");
    }
    // The report, which goes there too, has no reader.
    let report = "verify --group acme/public/group.clew signed -o -";
    assert_eq!(deaf(report), Some(2));
}

fn unix(mode: u32) -> fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(mode)
}

#[test]
fn files_without_end_are_not_read_to_their_end() {
    let folder = robbed(|_| ());
    let (status, said) = folder.no(&["flow", "verify", "--flow", "/dev/zero", "in"]);
    assert!(status == 2 && said.contains("longer than 1 MiB"), "{said}");
    let warrant = File::create(folder.path("warrant")).unwrap();
    warrant.set_len((1 << 30) + 1).unwrap();
    let share = [
        "share",
        "--trustee",
        "acme/trustees/1.key",
        "--group",
        GROUP,
        "signed",
    ];
    let more = ["--packet", "1", "--warrant", "warrant", "-o", "1.share"];
    let (status, said) = folder.no(&[&share[..], &more].concat());
    assert!(status == 2 && said.contains("longer than 1 GiB"), "{said}");
}
