//! The policy for destinations that are not peers.

use super::attacks::{heard, listener, send};
use super::lan::{Lan, ONE, OTHER, TWO, text, until};

fn counted(lan: &Lan, what: &str) -> u64 {
    lan.status(ONE)["filtered"][what].as_u64().unwrap_or(0)
}

/// A datagram to the third host. Returns whether the system took it.
fn leaves(lan: &Lan) -> bool {
    let program = format!(
        "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
         s.sendto(b'left', ('{}', 7002))",
        Lan::v4(OTHER)
    );
    lan.python(ONE, &program).wait().unwrap().success()
}

/// What Prometheus reads.
fn metrics(lan: &Lan) -> String {
    let program = "import urllib.request as r\n\
        print(r.urlopen('http://127.0.0.1:9909/metrics', timeout=5).read().decode())";
    let output = lan.python(ONE, program).wait_with_output().unwrap();
    text(&output.stdout)
}

fn refusing(inbound: &str, more: &str) -> String {
    format!("inbound = \"{inbound}\"\nothers = \"refuse\"\nmetrics = \"127.0.0.1:9909\"\n{more}")
}

#[test]
fn refuse_lets_nothing_unsigned_leave_and_counts_it() {
    let Some(mut lan) = Lan::new() else { return };
    let before = lan.state(ONE);
    let two = lan.configure(TWO, "", false);
    lan.up(TWO, &two, &[]);
    let one = lan.configure(ONE, &refusing("enforce", ""), true);
    lan.up(ONE, &one, &[]);
    let at_other = listener(&lan, OTHER);
    let at_one = listener(&lan, ONE);
    assert!(!leaves(&lan), "the system refuses it");
    assert!(!lan.pings(ONE, &Lan::v4(OTHER)) && !lan.pings(ONE, &Lan::v6(OTHER)));
    assert!(counted(&lan, "others_out") >= 3, "{}", lan.status(ONE));
    // What comes from others, and neighbours' questions: new ones, because nobody remembers.
    lan.ip(ONE, "neigh flush dev wire");
    let stranger = format!(
        "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
         s.sendto(b'stranger', ('{}', 7002))",
        Lan::v4(ONE)
    );
    assert!(lan.python(OTHER, &stranger).wait().unwrap().success());
    until("the stranger", || counted(&lan, "others_in") >= 1);
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
    assert!(lan.pings(TWO, &Lan::v6(ONE)), "peers reach each other");
    until("Prometheus", || {
        let text = metrics(&lan);
        let mut lines = text.lines();
        let line = "clew_live_unsigned_total{reason=\"others-out\"} ";
        lines.any(|is| {
            is.strip_prefix(line)
                .is_some_and(|count| count.parse::<u64>().is_ok_and(|count| count >= 3))
        })
    });
    let said = lan.in_host(ONE, &["status", &lan.name(ONE)]);
    assert!(
        text(&said.stdout).contains("to others: "),
        "{}",
        text(&said.stdout)
    );
    assert!(heard(at_other).is_empty() && heard(at_one).is_empty());
    lan.down(ONE);
    assert_eq!(lan.state(ONE), before);
    assert!(lan.pings(ONE, &Lan::v4(OTHER)), "as before");
}

#[test]
fn exclusions_pass_a_killed_daemon_does_not_and_who_is_locked_out_waits() {
    let Some(mut lan) = Lan::new() else { return };
    let before = lan.state(ONE);
    let exclude = format!("exclude = [\"icmp from {}/32\"]", Lan::v4(OTHER));
    let one = lan.configure(ONE, &refusing("enforce", &exclude), true);
    let daemon = lan.up(ONE, &one, &["--confirm", "5s"]);
    assert!(lan.pings(ONE, &Lan::v4(OTHER)) && lan.pings(OTHER, &Lan::v4(ONE)));
    assert!(!leaves(&lan), "another protocol");
    assert_eq!(lan.ended(daemon), Some(1), "nobody confirmed");
    assert_eq!(lan.state(ONE), before);
    assert!(leaves(&lan));
    lan.up(ONE, &one, &[]);
    for process in lan.processes(ONE) {
        let process = nix::unistd::Pid::from_raw(process);
        // The second one ends with the first.
        let _ = nix::sys::signal::kill(process, nix::sys::signal::Signal::SIGKILL);
    }
    assert!(!leaves(&lan), "also while no daemon runs");
    lan.down(ONE);
    assert_eq!(lan.state(ONE), before);
}

/// In monitor what arrives is counted and passes. With `pass` nothing is counted, and everything leaves.
#[test]
fn monitor_counts_what_others_send_and_pass_is_as_before() {
    let Some(mut lan) = Lan::new() else { return };
    let one = lan.configure(ONE, &refusing("monitor", ""), true);
    lan.up(ONE, &one, &[]);
    let at_one = listener(&lan, ONE);
    let to_one = format!(
        "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
         s.sendto(b'stranger', ('{}', 7002))",
        Lan::v4(ONE)
    );
    assert!(lan.python(OTHER, &to_one).wait().unwrap().success());
    until("the stranger", || counted(&lan, "others_in") >= 1);
    assert!(!leaves(&lan));
    assert_eq!(heard(at_one), ["stranger"]);
    lan.down(ONE);
    let one = lan.configure(ONE, "inbound = \"enforce\"\nothers = \"pass\"", true);
    lan.up(ONE, &one, &[]);
    let at_other = listener(&lan, OTHER);
    assert!(leaves(&lan) && lan.pings(ONE, &Lan::v4(OTHER)));
    assert!(lan.status(ONE)["filtered"]["others_out"].is_null());
    until("the datagram", || {
        leaves(&lan);
        lan.pings(ONE, &Lan::v4(OTHER))
    });
    assert!(heard(at_other).contains(&"left".to_owned()));
}

/// A gateway forwards nothing that it cannot sign.
#[test]
fn a_gateway_forwards_to_peers_alone() {
    const FAR: &str = "198.51.100.7";
    let Some(mut lan) = Lan::new() else { return };
    lan.ip(TWO, &format!("addr add {FAR}/32 dev lo"));
    lan.ip(ONE, &format!("route add {FAR}/32 via {}", Lan::v4(TWO)));
    lan.ip(OTHER, &format!("route add {FAR}/32 via {}", Lan::v4(ONE)));
    let mut forward = lan.within(ONE, "sysctl");
    // A redirect would show the sender a way around the gateway.
    let settings = ["all.send_redirects=0", "wire.send_redirects=0"];
    let settings = settings.map(|setting| format!("net.ipv4.conf.{setting}"));
    let forward = forward.args(["-qw", "net.ipv4.ip_forward=1"]);
    let forward = forward.args(settings).status();
    assert!(forward.unwrap().success());
    let at_two = listener(&lan, TWO);
    let ask = |lan: &Lan| {
        let program = format!(
            "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
             s.sendto(b'far', ('{FAR}', 7002))"
        );
        assert!(lan.python(OTHER, &program).wait().unwrap().success());
    };
    for (others, passes) in [("pass", true), ("refuse", false)] {
        let keys = format!("others = \"{others}\"");
        let config = lan.configure(ONE, &keys, true);
        lan.up(ONE, &config, &[]);
        assert_eq!(lan.pings(OTHER, FAR), passes, "{others}");
        ask(&lan);
        if !passes {
            until("the datagram", || counted(&lan, "others_out") >= 2);
        }
        lan.down(ONE);
    }
    send(&lan, OTHER, &Lan::v4(OTHER), "end");
    assert_eq!(heard(at_two), ["far", "end"], "once, with pass");
}
