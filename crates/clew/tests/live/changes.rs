//! Files that change while a daemon runs.

use super::hosts::both;
use super::lan::{Lan, ONE, TWO, text, until};
use std::fs;

#[test]
fn a_revoked_machine_is_refused_as_soon_as_the_group_file_says_so() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, "inbound = \"enforce\"");
    let group = lan.path("acme");
    lan.clew(&["revoke", group.to_str().unwrap(), "host-0"]);
    lan.publish();
    until("the news at the machine itself", || {
        lan.status(ONE)["signer"]["trouble"]
            .as_str()
            .is_some_and(|why| why.contains("revoked"))
    });
    until("silence", || !lan.pings(ONE, &Lan::v4(TWO)));
    let log = lan.log(ONE);
    assert_eq!(
        log.matches("nothing is signed: ").count(),
        1,
        "said once: {log}"
    );
}

#[test]
fn a_bad_file_keeps_the_old_one_and_is_named_once() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, "");
    let path = lan.path(&format!("{}.toml", lan.name(ONE)));
    let good = fs::read_to_string(&path).unwrap();
    let reload = |lan: &Lan| lan.in_host(ONE, &["reload", &lan.name(ONE)]);
    for (bad, said) in [
        (format!("nane = 1\n{good}"), "unknown field `nane`"),
        (
            good.replace("\"10.8.1.2/32\", ", ""),
            "that needs clew down and clew up",
        ),
        (
            good.replace("0.key", "missing.key"),
            "missing.key: file does not exist",
        ),
    ] {
        fs::write(&path, bad).unwrap();
        for _ in 0..2 {
            let output = reload(&lan);
            let stderr = text(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{stderr}");
            assert!(stderr.contains(said), "{stderr}");
        }
        assert!(lan.pings(ONE, &Lan::v4(TWO)), "the old one stays in force");
        let log = lan.log(ONE);
        assert_eq!(log.matches(said).count(), 1, "said once: {log}");
    }
    fs::write(&path, &good).unwrap();
    assert!(reload(&lan).status.success());
}

/// Pings go on while all files are read again, by SIGHUP.
#[test]
fn a_reload_loses_no_packet() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, "inbound = \"enforce\"");
    let mut ping = lan.within(ONE, "ping");
    let ping = ping.args(["-q", "-c", "100", "-i", "0.03", "-W", "10", &Lan::v4(TWO)]);
    let ping = ping.stdout(std::process::Stdio::piped()).spawn().unwrap();
    for _ in 0..5 {
        let [supervisor, _] = lan.processes(ONE);
        nix::sys::signal::kill(
            nix::unistd::Pid::from_raw(supervisor),
            nix::sys::signal::Signal::SIGHUP,
        )
        .unwrap();
        let seen = lan.log(ONE).matches("read the files again").count();
        until("a reload", || {
            lan.log(ONE).matches("read the files again").count() > seen
        });
    }
    let output = ping.wait_with_output().unwrap();
    let said = text(&output.stdout);
    assert!(said.contains("100 received"), "{said}");
}
