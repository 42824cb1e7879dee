//! What other users of a host can do past its filter.

use super::attacks::{heard, listener};
use super::hosts::both;
use super::lan::{Lan, NOBODY, ONE, TWO, text, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::process::{Child, Output};

const ENFORCE: &str = "inbound = \"enforce\"\noutbound = \"require\"";

/// A person's user id, and a service's.
const PERSON: u32 = 1_000;
const SERVICE: u32 = 999;

/// The first and last users of `DynamicUser=` in systemd.
const DYNAMIC: [u32; 2] = [61_184, 65_519];

/// A person who has a home on a stick, one in a container, and one of a directory.
const OTHER_PERSONS: [u32; 3] = [60_513, 165_536, 1_234_567_890];

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
    // The data plane's user, who opens the sockets of `--run-only`.
    let sent = send(&lan, NOBODY.0, 4909, 7002, "b'end'");
    assert!(sent.status.success(), "{}", text(&sent.stderr));
    let heard = heard(listener);
    assert!(heard.contains(&"root".to_owned()), "{heard:?}");
    assert!(!heard.contains(&"unsigned".to_owned()), "{heard:?}");
}

/// A client of NTP waits for its answer.
pub fn asks(lan: &Lan, host: usize, user: u32) -> Child {
    let program = format!(
        "import socket, os\nos.setuid({user})\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
         s.settimeout(30)\ns.sendto(bytes(48), ('{}', 123))\nprint(s.recv(99).decode().strip())",
        Lan::v4(TWO)
    );
    lan.python(host, &program)
}

/// The second host tells what time it is.
pub fn time_server(lan: &Lan) -> Child {
    let program = "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
        s.bind(('0.0.0.0', 123))\nprint('ready', flush=True)\n\
        while True:\n  d, a = s.recvfrom(99)\n  s.sendto(b'time'.ljust(48), a)";
    let mut server = lan.python(TWO, program);
    super::hosts::ready(&mut server);
    server
}

/// Persons do not set clocks. What they ask would take the places of those who do.
#[test]
fn persons_do_not_use_up_what_services_may_ask_of_ntp() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, ENFORCE);
    let mut server = time_server(&lan);
    let flood = format!(
        "import socket, os\nos.setuid({PERSON})\nn = 0\nfor p in range(20000, 40000):\n  \
         s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n  s.bind(('0.0.0.0', p))\n  \
         try: s.sendto(bytes(48), ('{}', 123))\n  except PermissionError: n += 1\n  s.close()\n\
         print(n)",
        Lan::v4(TWO)
    );
    let flooded = lan.python(ONE, &flood).wait_with_output().unwrap();
    let said = text(&flooded.stdout);
    assert_eq!(said.trim(), "20000", "{}", text(&flooded.stderr));
    for user in [0, SERVICE, DYNAMIC[0], DYNAMIC[1], NOBODY.0] {
        let answered = asks(&lan, ONE, user).wait_with_output().unwrap();
        let said = text(&answered.stdout);
        assert_eq!(said.trim(), "time", "{user}: {}", text(&answered.stderr));
    }
    for user in [PERSON].into_iter().chain(OTHER_PERSONS) {
        let refused = asks(&lan, ONE, user).wait_with_output().unwrap();
        assert!(is_refused(&refused), "{user}: {}", text(&refused.stderr));
    }
    server.kill().unwrap();
    server.wait().unwrap();
}
