//! What breaks while daemons run: an interface, a link, a log, a pool, a daemon that stands still.

use super::attacks::{heard, listener, spoof};
use super::hosts::{both, ready};
use super::lan::{Lan, ONE, OTHER, TWO, text, until};
use super::traffic::{CARRIER, honest, settled, sum, udp_socket, v4};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

const ENFORCE: &str = "inbound = \"enforce\"\noutbound = \"require\"";

fn signal(process: i32, signal: Signal) {
    kill(Pid::from_raw(process), signal).unwrap();
}

#[test]
fn a_lost_interface_is_named_and_made_again() {
    let Some(mut lan) = Lan::new() else { return };
    let before = lan.state(ONE);
    both(&mut lan, ENFORCE);
    let interface = lan.status(ONE)["interface"].as_str().unwrap().to_owned();
    let listener = listener(&lan, ONE);
    lan.ip(ONE, &format!("link del dev {interface}"));
    until("the news", || lan.log(ONE).contains("it is made again"));
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
    assert!(lan.pings(TWO, &Lan::v6(ONE)), "all routes are back");
    let log = lan.log(ONE);
    assert_eq!(log.matches("it is made again").count(), 1, "said once");
    assert!(log.matches("starts again").count() <= 2, "{log}");
    assert!(log.contains(&format!("interface {interface}")), "{log}");
    for misleading in ["NOT in force", "os error"] {
        assert!(!log.contains(misleading), "{log}");
    }
    drop(heard(listener));
    lan.down(ONE);
    assert_eq!(lan.state(ONE), before);
}

#[test]
fn a_cut_link_and_another_address_are_waited_for() {
    let Some(mut lan) = Lan::new() else { return };
    // The inner addresses stay when the outer one changes. Those of IPv6 go with their link.
    lan.ip(ONE, &format!("addr add {}/32 dev lo", Lan::v4(ONE)));
    lan.ip(ONE, &format!("addr add {}/128 dev lo", Lan::v6(ONE)));
    both(&mut lan, ENFORCE);
    let processes = lan.processes(ONE);
    lan.ip(ONE, "link set wire down");
    assert!(!lan.pings(ONE, &Lan::v4(TWO)));
    lan.ip(ONE, "link set wire up");
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
    lan.ip(ONE, &format!("addr del {}/24 dev wire", Lan::v4(ONE)));
    lan.ip(ONE, "addr add 10.8.1.77/24 dev wire");
    until("pings from the new address", || {
        let answers = lan.pings(ONE, &Lan::v4(TWO));
        answers && lan.status(TWO)["peers"][0]["endpoint"] == "10.8.1.77:4909"
    });
    assert_eq!(lan.processes(ONE), processes, "{}", lan.log(ONE));
}

/// A log that takes nothing, as on a full disk.
#[test]
fn a_full_log_stops_nobody() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, ENFORCE);
    lan.down(ONE);
    let config = lan.path(&format!("{}.toml", lan.name(ONE)));
    let full = || File::options().write(true).open("/dev/full").unwrap();
    let mut command = lan.within(ONE, env!("CARGO_BIN_EXE_clew"));
    let command = command.arg("up").arg(&config).stdout(full()).stderr(full());
    let mut daemon = command.stdin(Stdio::null()).spawn().unwrap();
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
    let plane = lan.processes(ONE)[1];
    let good = fs::read_to_string(&config).unwrap();
    fs::write(&config, "nonsense").unwrap();
    let refused = lan.in_host(ONE, &["reload", &lan.name(ONE)]);
    assert_eq!(refused.status.code(), Some(1), "{}", text(&refused.stderr));
    assert!(lan.pings(ONE, &Lan::v4(TWO)), "it goes on");
    assert_eq!(lan.processes(ONE)[1], plane);
    fs::write(&config, good).unwrap();
    signal(plane, Signal::SIGKILL);
    until("another data plane", || {
        let output = lan.in_host(ONE, &["status", &lan.name(ONE), "--json"]);
        output.status.success() && lan.processes(ONE)[1] != plane
    });
    lan.down(ONE);
    assert!(
        daemon.wait().unwrap().code().is_some(),
        "no signal ended it"
    );
}

/// The folder of daemons has no room for folders, locks and the set-up's description, which take a place
/// each, or for the steps' undo, from the first or from a later one on.
#[test]
fn a_full_disk_is_named_and_what_was_done_is_undone() {
    let Some(lan) = Lan::new() else { return };
    let before = lan.state(ONE);
    let config = lan.configure(ONE, ENFORCE, true);
    let places = (1..=6).map(|places| format!("nr_inodes={places}"));
    let sizes = (1..20).map(|pages| format!("size={}k", 4 * pages));
    let (mut failed, mut is_up) = (0, false);
    for limit in places.chain(sizes) {
        // Where a place is missing, locks without a daemon may stay. Hidden is the lock of whoever undoes.
        let left = match limit.starts_with("size") {
            true => "ls /run/clew",
            false => "true",
        };
        let script = format!(
            "mkdir -p /run/clew && mount -t tmpfs -o {limit} none /run/clew && \"$0\" \"$@\"; \
             status=$?; left=$({left}); test \"$left\" && echo left: $left >&2; exit $status"
        );
        let mut command = lan.within(ONE, "unshare");
        let command = command.args(["-m", "sh", "-c", &script, env!("CARGO_BIN_EXE_clew")]);
        let command = command.args(["up", "--confirm", "1s"]).arg(&config);
        let output = command.output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(lan.state(ONE), before, "{limit}: {said}");
        assert!(!said.contains("left: "), "{limit}: {said}");
        if output.status.code() == Some(1) {
            // It was up, and nobody confirmed.
            is_up = true;
            break;
        }
        assert_eq!(output.status.code(), Some(2), "{limit}: {said}");
        // Each of the two processes names what it could not write.
        let complaints = said.matches("no space left").count();
        assert!((1..=2).contains(&complaints), "{limit}: {said}");
        assert!(said.contains("/run/clew/"), "{limit}: {said}");
        failed += 1;
    }
    assert!(failed > 6 && is_up, "{failed}");
}

/// The data plane of the far host is killed in the middle of a transfer. Nothing unsigned passes until
/// there is another one, and the transfer goes on.
#[test]
fn a_transfer_survives_a_killed_daemon_and_a_forger_gains_nothing() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, ENFORCE);
    let listener = listener(&lan, TWO);
    let mut server = lan.python(TWO, super::ways::SERVER);
    ready(&mut server);
    let mut client = lan.python(ONE, super::ways::CLIENT);
    ready(&mut client);
    let plane = lan.processes(TWO)[1];
    signal(plane, Signal::SIGKILL);
    until("another data plane", || {
        spoof(&lan);
        let output = lan.in_host(TWO, &["status", &lan.name(TWO), "--json"]);
        output.status.success() && lan.processes(TWO)[1] != plane
    });
    let done = client.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(server.wait().unwrap().success());
    assert_eq!(heard(listener), Vec::<String>::new());
    let log = lan.log(TWO);
    assert_eq!(log.matches("nothing passes").count(), 1, "said once: {log}");
}

/// What comes while a daemon stands still is read later, or counted as lost, both ways.
#[test]
fn what_a_daemon_that_stood_still_missed_is_counted() {
    const DATAGRAMS: u64 = 60_000;
    const PACKETS: u64 = 7_000;
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, ENFORCE);
    let (before, there) = (settled(&lan), lan.status(TWO));
    let plane = lan.processes(TWO)[1];
    signal(plane, Signal::SIGSTOP);
    let outside = udp_socket(&lan, OTHER, v4(OTHER, 0).into());
    let to = SocketAddr::from(v4(TWO, CARRIER));
    let sent = (0..DATAGRAMS).filter(|_| outside.send_to(&[7; 200], to).is_ok());
    let sent = sent.count() as u64;
    let inside = udp_socket(&lan, TWO, v4(TWO, 0).into());
    // Otherwise the first host would say that nobody listens.
    let _sink = udp_socket(&lan, ONE, v4(ONE, 7_004).into());
    for _ in 0..PACKETS {
        // The answer may be that there is no room.
        let _ = inside.send_to(&[7; 200], SocketAddr::from(v4(ONE, 7_004)));
    }
    signal(plane, Signal::SIGCONT);
    let after = settled(&lan);
    let status = lan.status(TWO);
    let lost = |direction: &str, why: &str| {
        let dropped = &status[direction]["dropped"];
        dropped[why].as_u64().unwrap_or(0)
    };
    let unread = lost("inbound", "socket-full");
    let untaken = lost("outbound", "interface-full");
    let grown = |of: &str| after[of].as_u64().unwrap() - before[of].as_u64().unwrap();
    assert!(unread > 0, "{status}");
    assert_eq!(grown("datagrams") + unread, sent, "{status}");
    let out = |status: &serde_json::Value| {
        let outbound = &status["outbound"];
        outbound["packets"].as_u64().unwrap() + sum(&outbound["unsent"])
    };
    assert!(untaken > 0, "{status}");
    let left = out(&status) - out(&there);
    assert_eq!(left + untaken, PACKETS, "{status}");
    assert!(lan.pings(ONE, &Lan::v4(TWO)), "it works again");
}

/// No precursor is left: packets are signed slowly, or dropped and counted, as the policy says.
#[test]
fn an_empty_pool_is_met_as_the_policy_says() {
    for (policy, drops) in [("sign-online", false), ("drop", true)] {
        let Some(mut lan) = Lan::new() else { return };
        let signing = format!("{ENFORCE}\n[signing]\npool = 1\nwhen-empty = \"{policy}\"");
        both(&mut lan, &signing);
        let out = |lan: &Lan| lan.status(ONE)["outbound"].clone();
        let before = out(&lan);
        let honest = honest(&lan, Duration::from_millis(1_200), 300);
        let after = out(&lan);
        let count = |of: &serde_json::Value| of["packets"].as_u64().unwrap();
        let signed = count(&after) - count(&before);
        let unsent = sum(&after["unsent"]) - sum(&before["unsent"]);
        assert_eq!(signed + unsent, honest.sent as u64, "{policy}: {after}");
        if drops {
            assert!(unsent > 0, "{after}");
            assert!(after["online"].as_u64() == Some(0), "{after}");
        } else {
            assert!(after["online"].as_u64() > Some(0), "{after}");
            honest.assert_half(policy);
        }
    }
}
