//! As a service manager runs it: set up by root, run by a user, taken down by root.

use super::lan::{Lan, ONE, TWO, text, until};
use std::process::{Command, Stdio};

/// A `/dev/net/tun` as udev makes it, in a mount namespace of its own; then the command as nobody.
const AS_NOBODY: &str = "mount -t tmpfs none /dev/net && mknod -m 666 /dev/net/tun c 10 200 && \
    exec setpriv --reuid 65534 --regid 65534 --clear-groups \"$@\"";

#[test]
fn set_up_run_and_down_by_themselves() {
    let Some(lan) = Lan::new() else { return };
    if !Command::new("setpriv")
        .arg("--version")
        .output()
        .is_ok_and(|done| done.status.success())
    {
        crate::skipped::skipped("setpriv");
        return;
    }
    let before = lan.state(ONE);
    let config = lan.configure(ONE, "inbound = \"enforce\"", true);
    let config = config.to_str().unwrap();
    let early = lan.in_host(ONE, &["up", "--run-only", config]);
    assert_eq!(early.status.code(), Some(2), "root runs no data plane");
    for _ in 0..2 {
        // A second time: it is there already.
        let done = lan.in_host(ONE, &["up", "--setup-only", config]);
        let said = text(&done.stderr);
        assert!(done.status.success(), "{said}");
        assert!(
            said.contains(": set up; clew up --run-only CONFIG"),
            "{said}"
        );
    }
    let mut command = lan.within(ONE, "unshare");
    let command = command.args([
        "-m",
        "sh",
        "-c",
        AS_NOBODY,
        "sh",
        env!("CARGO_BIN_EXE_clew"),
    ]);
    let command = command
        .args(["up", "--run-only", config])
        .stderr(Stdio::piped());
    let mut daemon = command.spawn().unwrap();
    until("the daemon", || {
        let ended = daemon.try_wait().unwrap();
        assert_eq!(ended, None, "it ended");
        lan.in_host(ONE, &["status", &lan.name(ONE)])
            .status
            .success()
    });
    // What failed with a policy that lets nothing pass stays set up.
    assert!(lan.after_stop(ONE, "signal").status.success());
    assert!(
        lan.in_host(ONE, &["status", &lan.name(ONE)])
            .status
            .success()
    );
    lan.down(ONE);
    assert!(daemon.wait().unwrap().success());
    assert_eq!(lan.state(ONE), before);
    assert!(lan.pings(ONE, &Lan::v4(TWO)));
}

const UNIT: &str = include_str!("../../../../contrib/systemd/clew@.service");
const SOCKET: &str = include_str!("../../../../contrib/systemd/clew@.socket");

#[test]
fn the_units_are_sound() {
    let units = [("clew@lan.service", UNIT), ("clew@lan.socket", SOCKET)];
    crate::systemd::check(&units, 40);
}

/// Both kinds of carriers, with the capabilities and the umask of the unit and with no others.
#[test]
fn the_unit_s_capabilities_suffice() {
    let field = |name: &str| {
        let found = UNIT.lines().find_map(|line| line.strip_prefix(name));
        found.unwrap().to_owned()
    };
    let held = field("CapabilityBoundingSet=").to_lowercase();
    let held = held.split(' ').map(|name| name.replace("cap_", "+"));
    let bounding = format!("-all,{}", held.collect::<Vec<_>>().join(","));
    let script = format!(
        "umask {}; exec setpriv --no-new-privs --bounding-set={bounding} \"$@\"",
        field("UMask=")
    );
    for carrier in ["udp-tunnel", "trailer"] {
        let Some(mut lan) = Lan::new() else { return };
        let before = lan.state(ONE);
        let keys =
            format!("inbound = \"enforce\"\noutbound = \"require\"\ncarrier = \"{carrier}\"");
        let [one, two] = [ONE, TWO].map(|host| match carrier {
            "trailer" => super::trailer::configure(
                &lan,
                host,
                &keys.replace("carrier = \"trailer\"", ""),
                1_500,
            ),
            _ => lan.configure(host, &keys, true),
        });
        lan.up(TWO, &two, &[]);
        let start = |lan: &Lan| {
            let mut command = lan.within(ONE, "sh");
            command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_clew"), "up"]);
            let mut daemon = command.arg(&one).spawn().unwrap();
            // The data plane of one that was killed answers for a moment.
            until("a ping", || {
                assert_eq!(daemon.try_wait().unwrap(), None, "it ended");
                let is_up = lan
                    .in_host(ONE, &["status", &lan.name(ONE)])
                    .status
                    .success();
                let own = daemon.id().cast_signed();
                is_up && lan.processes(ONE)[0] == own && lan.pings(ONE, &Lan::v4(TWO))
            });
            daemon
        };
        // The folders of a killed one belong to the data plane's user.
        let mut killed = start(&lan);
        killed.kill().unwrap();
        killed.wait().unwrap();
        let mut daemon = start(&lan);
        lan.down(ONE);
        assert!(daemon.wait().unwrap().success());
        assert_eq!(lan.state(ONE), before);
    }
}

/// The examples of the book's page are configurations.
#[test]
fn the_examples_are_configurations() {
    for name in ["host", "gateway", "trailer"] {
        let path = format!(
            "{}/../../contrib/examples/{name}.toml",
            env!("CARGO_MANIFEST_DIR")
        );
        let output = Command::new(env!("CARGO_BIN_EXE_clew"))
            .args(["up", "--check", &path])
            .output();
        let said = text(&output.unwrap().stderr);
        // It is read as far as the key, which is not there.
        assert!(said.contains(".key: file does not exist"), "{said}");
    }
}
