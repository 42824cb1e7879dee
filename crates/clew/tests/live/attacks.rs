//! Who is no member gets nothing to an application.

use super::hosts::both;
use super::lan::{Lan, ONE, OTHER, TWO, text, until};
use std::io::Read;
use std::process::Child;

/// Prints each datagram that arrives.
pub fn listener(lan: &Lan, host: usize) -> Child {
    let program = "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
        s.bind(('0.0.0.0', 7002))\nprint('ready', flush=True)\n\
        while True: print(s.recvfrom(99)[0].decode(), flush=True)";
    let mut child = lan.python(host, program);
    let mut line = [0; 6];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut line)
        .unwrap();
    child
}

/// A socket that may have any source (IP_TRANSPARENT).
const SOCKET: &str = "import socket, os\n\
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
    s.setsockopt(socket.IPPROTO_IP, 19, 1)\n";

/// Sends a datagram with that source.
pub fn send(lan: &Lan, host: usize, source: &str, word: &str) {
    let program = format!(
        "{SOCKET}s.bind(('{source}', 0))\n\
         s.sendto(b'{word}', ('{}', 7002))",
        Lan::v4(TWO)
    );
    let sent = lan.python(host, &program).wait_with_output().unwrap();
    assert!(sent.status.success(), "{}", text(&sent.stderr));
}

/// The third host sends as if it were the first one.
pub fn spoof(lan: &Lan) {
    send(lan, OTHER, &Lan::v4(ONE), "forged");
}

pub fn heard(mut listener: Child) -> Vec<String> {
    listener.kill().unwrap();
    let mut all = String::new();
    listener
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut all)
        .unwrap();
    listener.wait().unwrap();
    all.lines().map(str::to_owned).collect()
}

pub fn beside(lan: &Lan) -> u64 {
    lan.status(TWO)["filtered"]["unsigned_in"].as_u64().unwrap()
}

#[test]
fn enforce_delivers_nothing_unsigned_and_honest_packets_still() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, "inbound = \"enforce\"");
    let listener = listener(&lan, TWO);
    spoof(&lan);
    until("the forged packet", || beside(&lan) >= 1);
    // Garbage into the carrier's port, and a third host that is no peer.
    let garbage = format!(
        "{SOCKET}s.bind(('{}', 0))\n\
         for n in range(200): s.sendto(b'\\xc1\\x6c\\x65\\x77' + os.urandom(n), ('{}', 4909))",
        Lan::v4(ONE),
        Lan::v4(TWO)
    );
    assert!(lan.python(OTHER, &garbage).wait().unwrap().success());
    send(&lan, ONE, &Lan::v4(ONE), "honest");
    send(&lan, OTHER, &Lan::v4(OTHER), "stranger");
    until("an honest packet", || {
        send(&lan, ONE, &Lan::v4(ONE), "honest");
        lan.status(TWO)["inbound"]["datagrams"].as_u64() > Some(200)
    });
    assert!(lan.pings(ONE, &Lan::v4(TWO)), "it still works");
    let heard = heard(listener);
    assert!(heard.contains(&"honest".to_owned()), "{heard:?}");
    assert!(
        heard.contains(&"stranger".to_owned()),
        "others pass: {heard:?}"
    );
    assert!(!heard.contains(&"forged".to_owned()), "{heard:?}");
}

#[test]
fn monitor_delivers_what_comes_beside_the_carrier_and_counts_it() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, "inbound = \"monitor\"");
    let listener = listener(&lan, TWO);
    let before = beside(&lan);
    spoof(&lan);
    until("the packet", || beside(&lan) > before);
    send(&lan, ONE, &Lan::v4(ONE), "honest");
    let heard = heard(listener);
    assert!(heard.contains(&"forged".to_owned()), "{heard:?}");
}

/// Requests that nobody but root and the data plane's user may make.
#[test]
fn others_may_not_ask() {
    let Some(mut lan) = Lan::new() else { return };
    let one = lan.configure(ONE, "", true);
    lan.up(ONE, &one, &[]);
    let mut command = lan.within(ONE, "setpriv");
    let command = command.args(["--reuid", "1", "--regid", "1", "--clear-groups"]);
    let command = command
        .arg(env!("CARGO_BIN_EXE_clew"))
        .args(["status", &lan.name(ONE)]);
    let output = command.output().unwrap();
    let said = text(&output.stderr);
    if said.contains("setpriv") {
        crate::skipped::skipped("setpriv and a program that others can run");
        return;
    }
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("permission denied"), "{said}");
}
