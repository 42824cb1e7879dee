//! What `clew up` says when it cannot start, or keep what should outlast it: each cause once, with what helps.

use super::lan::{Lan, ONE, text, until};
use clew_evidence::GroupFile;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

const ENFORCE: &str = "inbound = \"enforce\"\noutbound = \"require\"";

/// The message and its hint, and nothing else.
#[track_caller]
fn is_refused_once(output: &Output, code: i32, message: &str, hint: &str) {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 2, "{said}");
    let (first, second) = (lines[0], lines[1]);
    assert!(
        first.starts_with("clew: ") && first.contains(message),
        "{said}"
    );
    assert!(
        second.starts_with("hint: ") && second.contains(hint),
        "{said}"
    );
}

#[test]
fn a_refusal_is_said_once() {
    let Some(lan) = Lan::new() else { return };
    let name = lan.name(ONE);
    let taken = lan.python(
        ONE,
        "import socket, time\ns = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)\n\
         s.bind(('::', 4909))\ntime.sleep(600)",
    );
    for keys in ["", ENFORCE] {
        let config = lan.configure(ONE, keys, true);
        let path = config.to_str().unwrap();
        let message = "UDP port 4909: another program has it";
        let hint = "ss -Hulnp 'sport = 4909' names it";
        let check = || {
            let output = lan.in_host(ONE, &["up", "--check", path]);
            is_refused_once(&output, 1, message, hint);
            let said = text(&output.stdout);
            assert_eq!(said.matches("4909: another program").count(), 1, "{said}");
        };
        until("the port is taken", || {
            let output = lan.in_host(ONE, &["up", "--check", path]);
            output.status.code() == Some(1)
        });
        check();
        is_refused_once(&lan.in_host(ONE, &["up", path]), 2, message, hint);
        // The same on a set-up that is there.
        let set_up = lan.in_host(ONE, &["up", "--setup-only", path]);
        assert!(set_up.status.success(), "{}", text(&set_up.stderr));
        check();
        is_refused_once(&lan.in_host(ONE, &["up", path]), 2, message, hint);
        if !keys.is_empty() {
            lan.down(ONE);
        }
        let status = lan.in_host(ONE, &["status", &name]);
        assert!(text(&status.stderr).contains("is not up"), "all is undone");
    }
    end(taken);
    let (group, config) = (lan.path("acme"), lan.configure(ONE, "", true));
    lan.clew(&["revoke", group.to_str().unwrap(), "host-0"]);
    lan.publish();
    let output = lan.in_host(ONE, &["up", config.to_str().unwrap()]);
    is_refused_once(&output, 1, "was revoked in epoch 1", "add --receive-only");
}

fn end(mut child: std::process::Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The process that checks and the data plane both read the key.
#[test]
fn a_key_that_others_can_read_is_said_once() {
    let Some(mut lan) = Lan::new() else { return };
    let config = lan.configure(ONE, "", true);
    fs::set_permissions(lan.path("0.key"), fs::Permissions::from_mode(0o644)).unwrap();
    lan.up(ONE, &config, &[]);
    let said = || {
        lan.log(ONE)
            .matches("0.key: other users can read it")
            .count()
    };
    assert_eq!(said(), 1, "{}", lan.log(ONE));
    let reload = lan.in_host(ONE, &["reload", &lan.name(ONE)]);
    assert!(reload.status.success(), "{}", text(&reload.stderr));
    until("a word of it", || said() == 2);
    lan.down(ONE);
}

/// Another group's file takes a peer's place while no daemon runs: it is refused as while one runs. Who means it gives
/// the file another name.
#[test]
fn another_group_s_file_is_refused_at_a_start_under_the_same_name() {
    let Some(mut lan) = Lan::new() else { return };
    let config = lan.configure(ONE, ENFORCE, true);
    let path = config.to_str().unwrap();
    lan.up(ONE, &config, &[]);
    let kept = format!("/var/lib/clew-live/{}/groups", lan.name(ONE));
    until("a note of it", || Path::new(&kept).exists());
    lan.down(ONE);
    let other = lan.path("other");
    lan.clew(&["group", "create", other.to_str().unwrap(), "--name", "acme"]);
    let other = other.join("public/group.clew");
    fs::set_permissions(&other, fs::Permissions::from_mode(0o644)).unwrap();
    fs::copy(&other, lan.path("new.clew")).unwrap();
    fs::rename(lan.path("new.clew"), lan.path("group.clew")).unwrap();
    let ids = [&lan.path("acme/public/group.clew"), &other].map(|file| tag(file));
    let said = format!(
        "group.clew: this is another group's file now: group {} in the place of group {}",
        ids[1], ids[0]
    );
    let hint =
        format!("another name for the file, and that name as the peer's `group`; or rm {kept}");
    let before = lan.state(ONE);
    for (flags, code) in [(&["up", path][..], 2), (&["up", "--check", path], 2)] {
        is_refused_once(&lan.in_host(ONE, flags), code, &said, &hint);
    }
    assert_eq!(lan.state(ONE), before);
    fs::rename(lan.path("group.clew"), lan.path("other.clew")).unwrap();
    let renamed = fs::read_to_string(&config).unwrap();
    fs::write(&config, renamed.replace("group.clew", "other.clew")).unwrap();
    lan.up(ONE, &config, &[]);
    lan.down(ONE);
}

/// The part of a group's id that packets and messages name it by.
fn tag(file: &Path) -> String {
    let group = GroupFile::from_bytes(&fs::read(file).unwrap()).unwrap();
    group.id().tag().to_string()
}

/// `clew up` where the folder for what outlasts it is another file system, until nobody confirms.
fn up_with(lan: &Lan, config: &Path, script: &str) -> Output {
    let script =
        format!("mount -t tmpfs none /var/lib/clew-live && {script} && exec \"$0\" \"$@\"");
    let mut command = lan.within(ONE, "unshare");
    let command = command.args(["-m", "sh", "-c", &script, env!("CARGO_BIN_EXE_clew")]);
    let command = command.args(["up", "--confirm", "5s"]).arg(config);
    command.output().unwrap()
}

#[test]
fn what_cannot_be_kept_is_named_once_with_what_helps() {
    let Some(lan) = Lan::new() else { return };
    fs::create_dir_all("/var/lib/clew-live").unwrap();
    let config = lan.configure(ONE, "", true);
    let folder = format!("/var/lib/clew-live/{}", lan.name(ONE));
    let lost = ": after a restart an older group file would count, and after a crash replays may; ";
    for (script, what, helps) in [
        (
            "mount -o remount,ro /var/lib/clew-live",
            "read-only file system",
            "mount -o remount,rw /var/lib/clew-live: ",
        ),
        (
            "mount -o remount,nr_inodes=1 /var/lib/clew-live",
            "no space left on device",
            "make room: ",
        ),
    ] {
        let said = text(&up_with(&lan, &config, script).stderr);
        assert_eq!(said.matches(&folder).count(), 1, "{said}");
        assert!(
            said.contains(&format!("{folder}: {what}{lost}{helps}")),
            "{said}"
        );
        assert!(said.contains(" is up: 1 peer"), "{said}");
    }
    let output = up_with(&lan, &config, &format!("touch {folder}"));
    is_refused_once(
        &output,
        2,
        &format!("{folder}: need a folder, have a file"),
        &format!("rm {folder}"),
    );
}
