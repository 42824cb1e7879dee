//! A full disk and a lost interface.

use super::hosts::both;
use super::lan::{Lan, ONE, TWO, text, until};

/// Whatever file does not fit: it is said once, and the host is as before.
#[test]
fn a_full_disk_is_said_and_a_half_made_set_up_undone() {
    let Some(lan) = Lan::new() else { return };
    let before = lan.state(ONE);
    let config = lan.configure(ONE, "inbound = \"enforce\"", true);
    // Folders, locks, and the description of the set-up take a place each; then the undo has no byte.
    let limits = (1..=6).map(|places| format!("nr_inodes={places}"));
    for limit in limits.chain(["size=4k".to_owned()]) {
        let script = format!(
            "mkdir -p /run/clew && mount -t tmpfs -o {limit} none /run/clew && exec \"$@\""
        );
        let mut command = lan.within(ONE, "sh");
        command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_clew"), "up"]);
        let output = command.arg(&config).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{limit}: {said}");
        let lines: Vec<&str> = said
            .lines()
            .filter(|line| line.contains("no space left"))
            .collect();
        assert!(
            matches!(*lines, [line] if line.contains("/run/clew/")),
            "{limit}: {said}"
        );
        assert_eq!(lan.state(ONE), before, "{limit}");
    }
}

#[test]
fn an_interface_that_somebody_removes_is_made_again() {
    let Some(mut lan) = Lan::new() else { return };
    let before = lan.state(ONE);
    both(&mut lan, "inbound = \"enforce\"\noutbound = \"require\"");
    let interface = format!("clew-{}", lan.name(ONE));
    lan.ip(ONE, &format!("link del {interface}"));
    until("the news", || lan.log(ONE).contains("it is made again"));
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
    assert!(lan.pings(TWO, &Lan::v6(ONE)));
    assert_eq!(
        lan.log(ONE).matches("it is made again").count(),
        1,
        "said once"
    );
    lan.down(ONE);
    assert_eq!(lan.state(ONE), before);
}
