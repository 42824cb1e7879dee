//! Another program takes over while packets flow, and a socket of a service manager.

use super::hosts::{both, ready, tcp};
use super::lan::{Lan, ONE, OTHER, TWO, text, until};
use super::traffic::{CARRIER, udp_socket, v4};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::Write;
use std::net::SocketAddr;
use std::process::{Child, Output, Stdio};

const ENFORCE: &str = "inbound = \"enforce\"\noutbound = \"require\"";

fn replaced(lan: &Lan) -> Output {
    let config = lan.path(&format!("{}.toml", lan.name(ONE)));
    lan.in_host(ONE, &["up", "--replace", config.to_str().unwrap()])
}

fn replace(lan: &Lan, host: usize) {
    let [supervisor, plane] = lan.processes(host);
    let config = lan.path(&format!("{}.toml", lan.name(host)));
    let done = lan.in_host(host, &["up", "--replace", config.to_str().unwrap()]);
    assert!(
        done.status.success(),
        "{}{}",
        text(&done.stderr),
        lan.log(host)
    );
    let [still, new] = lan.processes(host);
    assert_eq!(still, supervisor);
    assert_ne!(new, plane);
}

/// Takes datagrams of the first host off the wire, says "ready", and sends them again for each line on
/// standard input.
///
/// Several, because a datagram of a block that was coded proves nothing without the block's others.
/// Not those that the kernel cuts later: they fit into no frame.
const COPY: &str = "import socket, sys\n\
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))\ns.bind(('port0', 0))\n\
    kept = []\n\
    while len(kept) < 16:\n  f = bytearray(s.recv(9000))\n  \
      if f[12:14] == b'\\x08\\x00' and f[23] == 17 and f[30:34] == b'\\x0a\\x08\\x01\\x02' \
        and f[36:38] == b'\\x13\\x2d' and 150 < len(f) <= 1514:\n    f[40:42] = b'\\0\\0'\n    kept.append(f)\n\
    o = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\no.bind(('port1', 0))\n\
    print('ready', flush=True)\n\
    for _ in sys.stdin:\n  for f in kept: o.send(f)\n";

fn copied(lan: &Lan) -> Child {
    let mut command = lan.within(OTHER, "python3");
    let command = command.args(["-c", COPY]).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    std::thread::scope(|scope| {
        let found = scope.spawn(|| ready(&mut child));
        until("datagrams", || {
            lan.pings(ONE, &Lan::v4(TWO));
            found.is_finished()
        });
        found.join().unwrap();
    });
    child
}

fn again(copy: &mut Child) {
    writeln!(copy.stdin.as_mut().unwrap()).unwrap();
}

fn end(mut copy: Child) {
    drop(copy.stdin.take());
    copy.wait().unwrap();
}

fn verdicts(lan: &Lan, reason: &str) -> u64 {
    lan.status(TWO)["inbound"]["verdicts"][reason]
        .as_u64()
        .unwrap_or(0)
}

#[test]
fn a_hand_over_loses_nothing_and_what_was_accepted_stays_refused() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, ENFORCE);
    let mut ping = lan.within(ONE, "ping");
    let ping = ping.args(["-q", "-c", "1500", "-i", "0.01", "-W", "10", &Lan::v4(TWO)]);
    let ping = ping.stdout(Stdio::piped()).spawn().unwrap();
    for _ in 0..2 {
        let mut copy = copied(&lan);
        replace(&lan, TWO);
        assert_eq!(verdicts(&lan, "duplicate"), 0, "it counts anew");
        again(&mut copy);
        until("the copies", || verdicts(&lan, "duplicate") > 0);
        end(copy);
        replace(&lan, ONE);
    }
    tcp(&lan, &Lan::v4(TWO));
    let output = ping.wait_with_output().unwrap();
    let said = text(&output.stdout);
    assert!(said.contains("1500 received"), "{said}");
    for host in [ONE, TWO] {
        assert!(lan.log(host).contains("took over"), "{}", lan.log(host));
    }
    let mut copy = copied(&lan);
    // Killed, a process leaves nothing: what was signed before the next one's start is refused.
    kill(Pid::from_raw(lan.processes(TWO)[1]), Signal::SIGKILL).unwrap();
    until("another process", || {
        lan.in_host(TWO, &["status", &lan.name(TWO)])
            .status
            .success()
    });
    let stale = verdicts(&lan, "stale");
    again(&mut copy);
    until("the copies", || verdicts(&lan, "stale") > stale);
    end(copy);
}

/// What the kernel lost before a data plane began is not that data plane's: sockets and interface outlive it.
#[test]
fn a_data_plane_counts_from_its_own_beginning() {
    const DATAGRAMS: usize = 60_000;
    const PACKETS: usize = 7_000;
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, ENFORCE);
    let lost = |lan: &Lan| {
        let status = lan.status(TWO);
        let count = |pointer| status.pointer(pointer).and_then(serde_json::Value::as_u64);
        [
            "/inbound/dropped/socket-full",
            "/outbound/dropped/interface-full",
        ]
        .map(|pointer| count(pointer).unwrap_or(0))
    };
    let overflow = |lan: &Lan| {
        let plane = Pid::from_raw(lan.processes(TWO)[1]);
        kill(plane, Signal::SIGSTOP).unwrap();
        let outside = udp_socket(lan, OTHER, v4(OTHER, 0).into());
        let inside = udp_socket(lan, TWO, v4(TWO, 0).into());
        // The answer may be that there is no room.
        for _ in 0..DATAGRAMS {
            let _ = outside.send_to(&[7; 200], SocketAddr::from(v4(TWO, CARRIER)));
        }
        for _ in 0..PACKETS {
            let _ = inside.send_to(&[7; 200], SocketAddr::from(v4(ONE, 7_004)));
        }
        kill(plane, Signal::SIGCONT).unwrap();
        until("the losses", || lost(lan).iter().all(|count| *count > 0));
    };
    overflow(&lan);
    replace(&lan, TWO);
    assert_eq!(lost(&lan), [0, 0], "it counts anew");
    overflow(&lan);
    kill(Pid::from_raw(lan.processes(TWO)[1]), Signal::SIGKILL).unwrap();
    until("another process", || {
        lan.in_host(TWO, &["status", &lan.name(TWO)])
            .status
            .success()
    });
    assert_eq!(
        lost(&lan),
        [0, 0],
        "nor are they those of one that was killed"
    );
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
}

/// TCP goes on at once, and the transfer is whole.
#[test]
fn a_transfer_survives_a_hand_over_of_each_side() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, ENFORCE);
    std::thread::scope(|scope| {
        let transfers = scope.spawn(|| (0..4).for_each(|_| tcp(&lan, &Lan::v4(TWO))));
        let mut hosts = [ONE, TWO].into_iter().cycle();
        while !transfers.is_finished() {
            replace(&lan, hosts.next().unwrap());
        }
        transfers.join().unwrap();
    });
}

#[test]
fn what_cannot_be_handed_over_is_said_and_the_daemon_goes_on() {
    let Some(mut lan) = Lan::new() else { return };
    let config = lan.configure(ONE, ENFORCE, true);
    let nobody = lan.in_host(ONE, &["up", "--replace", config.to_str().unwrap()]);
    let said = text(&nobody.stderr);
    assert_eq!(nobody.status.code(), Some(2), "{said}");
    assert!(said.contains("is not up"), "{said}");
    both(&mut lan, ENFORCE);
    let processes = lan.processes(ONE);
    lan.configure(ONE, "inbound = \"enforce\"", true);
    let other = lan.in_host(ONE, &["up", "--replace", config.to_str().unwrap()]);
    let said = text(&other.stderr);
    assert_eq!(other.status.code(), Some(2), "{said}");
    assert!(
        said.contains("has another set-up: outbound differs"),
        "{said}"
    );
    assert_eq!(lan.processes(ONE), processes);
    assert!(lan.pings(ONE, &Lan::v4(TWO)));
}

/// The new data plane has read its files when somebody asks to read them again, and does not run yet: the one
/// before takes its time to end.
#[test]
fn a_reload_during_a_hand_over_is_not_lost() {
    let Some(mut lan) = Lan::new() else { return };
    let config = lan.configure(ONE, &format!("{ENFORCE}\ninterface = \"tun8\""), true);
    lan.up(ONE, &config, &[]);
    let [supervisor, plane] = lan.processes(ONE).map(Pid::from_raw);
    let queues = || {
        let mut ls = lan.within(ONE, "sh");
        let ls = ls.args(["-c", "ls -d /sys/class/net/tun8/queues/tx-*"]);
        text(&ls.output().unwrap().stdout).lines().count()
    };
    kill(plane, Signal::SIGSTOP).unwrap();
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| replaced(&lan));
        until("both data planes", || queues() == 2);
        kill(supervisor, Signal::SIGHUP).unwrap();
        let done = asked.join().unwrap();
        assert!(done.status.success(), "{}", text(&done.stderr));
    });
    until("the reload", || {
        lan.log(ONE).contains("read the files again")
    });
}

/// As a service manager starts it: sockets are open from descriptor 3 on.
const MANAGER: &str = "import os, socket, sys\n\
    port, program, config = int(sys.argv[1]), sys.argv[2], sys.argv[3]\n\
    def bound(family):\n  s = socket.socket(family, socket.SOCK_DGRAM)\n  \
      if family == socket.AF_INET6: s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)\n  \
      s.bind(('::' if family == socket.AF_INET6 else '0.0.0.0', port))\n  return s\n\
    both = [bound(socket.AF_INET), bound(socket.AF_INET6)]\n\
    kept = [os.dup2(os.dup(s.fileno()), 60 + n) for n, s in enumerate(both)]\n\
    for s in both: s.close()\n\
    for n, fd in enumerate(kept): os.dup2(fd, 3 + n, inheritable=True)\n\
    os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='2')\n\
    os.execv(program, [program, 'up', config])";

#[test]
fn a_socket_of_the_service_manager_is_used() {
    let Some(mut lan) = Lan::new() else { return };
    let before = lan.state(ONE);
    let two = lan.configure(TWO, ENFORCE, true);
    lan.up(TWO, &two, &[]);
    let config = lan.configure(ONE, ENFORCE, true);
    let start = |port: &str| {
        let mut command = lan.within(ONE, "python3");
        command.args(["-c", MANAGER, port, env!("CARGO_BIN_EXE_clew")]);
        command.arg(&config).stderr(Stdio::piped()).spawn().unwrap()
    };
    let wrong = start("4910").wait_with_output().unwrap();
    let said = text(&wrong.stderr);
    assert_eq!(wrong.status.code(), Some(2), "{said}");
    assert!(said.contains("is not of UDP port 4909"), "{said}");
    assert_eq!(lan.state(ONE), before, "all is undone");
    let mut daemon = start("4909");
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
    assert!(lan.pings(TWO, &Lan::v6(ONE)));
    lan.down(ONE);
    assert!(daemon.wait().unwrap().success());
    assert_eq!(lan.state(ONE), before);
}
