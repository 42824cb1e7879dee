//! What other users of a host can do past its filter.

use super::attacks::{heard, listener};
use super::hosts::both;
use super::lan::{Lan, ONE, TWO, text, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::process::{Child, Output};

const ENFORCE: &str = "inbound = \"enforce\"\noutbound = \"require\"";

/// A person's user id, and a service's.
const PERSON: u32 = 1_000;
const SERVICE: u32 = 999;

/// Sends to the second host, from a socket that this user made at that port.
fn send(lan: &Lan, user: u32, from: u16, to: u16, content: &str) -> Output {
    let program = format!(
        "import socket, os\nos.setuid({user})\n\
         s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.bind(('0.0.0.0', {from}))\n\
         s.sendto({content}, ('{}', {to}))",
        Lan::v4(TWO)
    );
    lan.python(ONE, &program).wait_with_output().unwrap()
}

fn is_refused(output: &Output) -> bool {
    text(&output.stderr).contains("Operation not permitted") && !output.status.success()
}

/// While no daemon runs its port is free.
#[test]
fn nobody_sends_unsigned_packets_from_the_carrier_s_port() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, ENFORCE);
    for process in lan.processes(ONE) {
        // The second one ends with the first.
        let _ = kill(Pid::from_raw(process), Signal::SIGKILL);
    }
    lan.down(TWO);
    let listener = listener(&lan, TWO);
    // The sockets of the daemon that was killed go with it.
    until("the port", || {
        send(&lan, 0, 4909, 7002, "b'root'").status.success()
    });
    for user in [SERVICE, PERSON] {
        let sent = send(&lan, user, 4909, 7002, "b'unsigned'");
        assert!(is_refused(&sent), "{}", text(&sent.stderr));
    }
    until("root's", || {
        send(&lan, 0, 4909, 7002, "b'end'").status.success()
    });
    let heard = heard(listener);
    assert!(heard.contains(&"root".to_owned()), "{heard:?}");
    assert!(!heard.contains(&"unsigned".to_owned()), "{heard:?}");
}
