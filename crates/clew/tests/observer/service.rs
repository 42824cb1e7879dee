//! As a service manager runs it: the unit, and the options of the example.

use crate::folder::{Folder, GROUP, Observer, wait_for_lines};
use crate::skipped::{NAMESPACES, skipped};
use crate::systemd;
use crate::wire::Wire;
use std::os::unix::net::UnixDatagram;
use std::process::Command;
use std::time::Duration;

const UNIT: &str = include_str!("../../../../contrib/systemd/clew-observer@.service");
const EXAMPLE: &str = include_str!("../../../../contrib/examples/observer.conf");

#[test]
fn the_unit_is_sound_and_sandboxed() {
    systemd::check(&[("clew-observer@eth0.service", UNIT)], 22);
}

const USERS: &str = include_str!("../../../../contrib/systemd/clew.sysusers");
const INSTALL: &str = include_str!("../../../../contrib/package/debian/postinst");

/// The book's page makes keys readable to group clew.
#[test]
fn the_observer_is_in_no_group_that_may_read_keys() {
    let member = USERS.lines().find(|line| line.starts_with("m "));
    assert_eq!(member, None);
    let made = INSTALL
        .lines()
        .find(|line| line.contains("useradd") && line.contains("clew-observer"));
    let made = made.unwrap();
    assert!(!made.contains("-G") && !made.contains("--groups"), "{made}");
    // It goes through the folder, and lists nothing.
    assert!(INSTALL.contains("chmod 751 /etc/clew"));
}

/// What systemd makes of the example: one variable, split at spaces.
fn options() -> String {
    let shell = format!("{EXAMPLE}\nprintf %s \"$OPTIONS\"");
    let output = Command::new("sh").args(["-c", &shell]).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// With the privileges that the unit leaves, and the user it names: nobody, here.
#[test]
fn the_example_observes_with_the_privileges_of_the_unit() {
    let Some(wire) = Wire::new() else {
        return skipped(NAMESPACES);
    };
    let folder = Folder::new();
    let frames = folder.signed("signed", 30, "");
    let root = folder.0.path().to_str().unwrap();
    let group = format!("{root}/{GROUP}");
    let options = options()
        .replace("/etc/clew/fleet.clew", &group)
        .replace("/var/log/clew-observer", root)
        .replace("/var/lib/clew-observer", root)
        .replace("127.0.0.1:9908", "127.0.0.1:0");
    for path in [
        root,
        &format!("{root}/acme"),
        &format!("{root}/acme/public"),
    ] {
        let opened = Command::new("chmod").args(["0777", path]).status();
        assert!(opened.unwrap().success());
    }
    let notified = UnixDatagram::bind(folder.path("notify")).unwrap();
    notified
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let opened = Command::new("chmod")
        .arg("0777")
        .arg(folder.path("notify"))
        .status();
    assert!(opened.unwrap().success());

    let capabilities = UNIT
        .lines()
        .find_map(|line| line.strip_prefix("AmbientCapabilities="));
    let capabilities: Vec<String> = capabilities
        .unwrap()
        .split(' ')
        .map(|name| format!("+{}", name.strip_prefix("CAP_").unwrap().to_lowercase()))
        .collect();
    let capabilities = format!("-all,{}", capabilities.join(","));
    let mut command = Command::new("ip");
    command.args([
        "netns",
        "exec",
        wire.observed(),
        "setpriv",
        "--no-new-privs",
    ]);
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    for set in ["inh-caps", "ambient-caps", "bounding-set"] {
        command.arg(format!("--{set}={capabilities}"));
    }
    command.args([env!("CARGO_BIN_EXE_clew"), "verify", "-i", "wire"]);
    command.args(options.split_whitespace());
    command.env("NOTIFY_SOCKET", folder.path("notify"));
    let mut observer = Observer::new(command);
    observer.wait_for("observing");
    let mut text = [0; 100];
    let length = notified.recv(&mut text).unwrap();
    assert!(text[..length].starts_with(b"READY=1"));
    assert_eq!(observer.times("warning"), 0, "{:?}", observer.said);
    wire.send(&frames);
    wait_for_lines(&folder.path("eth0.json"), 30);
    let length = notified.recv(&mut text).unwrap();
    assert!(text[..length].starts_with(b"WATCHDOG=1"));
    observer.signal("TERM");
    let (status, _) = observer.end();
    assert_eq!(status, 0, "{:?}", observer.said);
    assert_eq!(folder.frames("eth0-0000000001.pcapng"), frames);
}
