//! Mistakes: one sentence, status 2, and a host as it was.

use super::lan::{Lan, ONE, TWO, text};
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn each_mistake_is_one_sentence_and_changes_nothing() {
    let Some(lan) = Lan::new() else { return };
    let before = lan.state(ONE);
    let good = fs::read_to_string(lan.configure(ONE, "inbound = \"enforce\"", true)).unwrap();
    let secret = lan.path("secret.key");
    fs::copy(lan.path("1.key"), &secret).unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    let interface = format!("interface = \"wire\"\n{good}");
    let endpoint = format!("endpoint = \"{}\"", Lan::v4(TWO));
    for (config, said) in [
        (good.replace("inbound", "inbond"), "unknown field `inbond`"),
        (
            good.replace("0.key", "missing.key"),
            "missing.key: file does not exist",
        ),
        (good.replace("0.key", "group.clew"), "group.clew: "),
        (good.replace("\"group.clew\"", "\"0.key\""), "0.key: "),
        (good.replace("0.key", "secret.key"), "as user nobody: "),
        (
            good.replace("nobody", "no-such-user"),
            "user \"no-such-user\": no such user",
        ),
        (good.replace("nobody", "root"), "user \"root\" is root"),
        (
            good.replace(&endpoint, "endpoint = \"198.51.100.1\""),
            "endpoint 198.51.100.1:4909: no route",
        ),
        (
            good.replace(&endpoint, &format!("endpoint = \"{}\"", Lan::v4(ONE))),
            "is this host's own address",
        ),
        (good.replace("/32", ""), "an address needs a length: write"),
        (interface, "interface wire exists already"),
    ] {
        let path = lan.path(&format!("{}.toml", lan.name(ONE)));
        fs::write(&path, config).unwrap();
        let output = lan.in_host(ONE, &["up", path.to_str().unwrap()]);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        let first = stderr
            .lines()
            .find(|line| !line.starts_with("clew: warning"))
            .unwrap();
        assert!(
            first.starts_with("clew: ") && first.contains(said),
            "{stderr} for {said}"
        );
        assert_eq!(lan.state(ONE), before, "{said}");
    }
}

/// The port is taken: only the data plane notices, when the interface is there already.
#[test]
fn a_set_up_that_fails_half_way_is_undone() {
    let Some(lan) = Lan::new() else { return };
    let before = lan.state(ONE);
    let config = lan.configure(ONE, "inbound = \"enforce\"", true);
    let program = "import socket, sys\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
        s.bind(('0.0.0.0', 4909))\nprint('ready', flush=True)\nsys.stdin.read()\nimport time\ntime.sleep(600)";
    let mut other = lan.python(ONE, program);
    let mut line = [0; 6];
    std::io::Read::read_exact(other.stdout.as_mut().unwrap(), &mut line).unwrap();
    let output = lan.in_host(ONE, &["up", config.to_str().unwrap()]);
    let said = text(&output.stderr);
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("UDP port 4909: another program has it"),
        "{said}"
    );
    assert_eq!(lan.state(ONE), before);
}

#[test]
fn check_says_what_would_be_done_and_changes_nothing() {
    let Some(lan) = Lan::new() else { return };
    let before = lan.state(ONE);
    let config = lan.configure(ONE, "inbound = \"enforce\"", true);
    let output = lan.in_host(ONE, &["up", "--check", config.to_str().unwrap()]);
    let said = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for line in [
        "signs as       host-0, epoch 0",
        "nft -f -",
        "pref 4910 lookup 4909",
    ] {
        assert!(said.contains(line), "{line} is not in\n{said}");
    }
    assert_eq!(lan.state(ONE), before);
}
