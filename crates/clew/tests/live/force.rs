//! What others do to the host's rules, and what strangers say to the host or copy to a gateway.

use super::attacks::{beside, heard, listener, send, spoof};
use super::hosts::both;
use super::lan::{Lan, ONE, OTHER, TWO, text, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::path::Path;

const ENFORCE: &str = "inbound = \"enforce\"\noutbound = \"require\"";

fn flush(lan: &Lan) {
    let flushed = lan.within(TWO, "nft").args(["flush", "ruleset"]).status();
    assert!(flushed.unwrap().success());
}

fn status(lan: &Lan, host: usize) -> (Option<i32>, String) {
    let output = lan.in_host(host, &["status", &lan.name(host)]);
    (output.status.code(), text(&output.stdout))
}

#[test]
fn a_flushed_filter_comes_back_and_status_says_it_was_gone() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, "inbound = \"enforce\"");
    let supervisor = Pid::from_raw(lan.processes(TWO)[0]);
    assert_eq!(status(&lan, TWO).0, Some(0));
    // While nobody can mend it, the status says so.
    kill(supervisor, Signal::SIGSTOP).unwrap();
    flush(&lan);
    let (code, said) = status(&lan, TWO);
    kill(supervisor, Signal::SIGCONT).unwrap();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.starts_with("NOT in force: nftables' table"), "{said}");
    until("the filter", || status(&lan, TWO).0 == Some(0));
    until("the news", || lan.log(TWO).contains("somebody removed it"));
    let listener = listener(&lan, TWO);
    let before = beside(&lan);
    spoof(&lan);
    until("the forged packet", || beside(&lan) > before);
    send(&lan, ONE, &Lan::v4(ONE), "honest");
    assert!(lan.pings(ONE, &Lan::v4(TWO)), "it still works");
    assert_eq!(heard(listener), ["honest"]);
    lan.down(TWO);
}

#[test]
fn routes_and_rules_come_back() {
    let Some(mut lan) = Lan::new() else { return };
    let before = lan.state(ONE);
    both(&mut lan, ENFORCE);
    let interface = lan.status(ONE)["interface"].as_str().unwrap().to_owned();
    let changes = [
        "-4 rule del pref 4910".to_owned(),
        "-6 route flush table 4909".to_owned(),
        format!("link set {interface} down"),
    ];
    for (count, change) in (1..).zip(changes) {
        lan.ip(ONE, &change);
        until(&change, || {
            lan.log(ONE).matches("somebody removed it").count() == count
        });
        assert_eq!(status(&lan, ONE).0, Some(0), "{change}");
        assert!(lan.pings(ONE, &Lan::v4(TWO)), "{change}");
        assert!(lan.pings(ONE, &Lan::v6(TWO)), "{change}");
    }
    lan.down(ONE);
    assert_eq!(lan.state(ONE), before);
}

/// A supervisor that was started again did not make the interface, and makes it again all the same.
#[test]
fn a_supervisor_that_was_started_again_makes_the_interface_again() {
    let Some(mut lan) = Lan::new() else { return };
    let before = lan.state(ONE);
    both(&mut lan, ENFORCE);
    let [supervisor, plane] = lan.processes(ONE);
    kill(Pid::from_raw(supervisor), Signal::SIGKILL).unwrap();
    until("the end of the data plane", || {
        !fs::exists(format!("/proc/{plane}")).unwrap()
    });
    let config = lan.path(&format!("{}.toml", lan.name(ONE)));
    lan.up(ONE, &config, &[]);
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
    let interface = lan.status(ONE)["interface"].as_str().unwrap().to_owned();
    lan.ip(ONE, &format!("link del dev {interface}"));
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
    assert!(lan.pings(TWO, &Lan::v6(ONE)), "all routes are back");
    lan.down(ONE);
    assert_eq!(lan.state(ONE), before);
}

/// Kills the supervisor of the first host, and waits for the end of its data plane.
fn crash(lan: &Lan) {
    let [supervisor, plane] = lan.processes(ONE);
    kill(Pid::from_raw(supervisor), Signal::SIGKILL).unwrap();
    until("the end of the data plane", || {
        !fs::exists(format!("/proc/{plane}")).unwrap()
    });
}

/// Between a crash and the next start the interface goes, another one has its name, or the port is taken. The
/// host stays closed until it works again.
#[test]
fn a_set_up_that_was_found_stays_closed_until_it_works() {
    let Some(mut lan) = Lan::new() else { return };
    let before = lan.state(ONE);
    both(&mut lan, ENFORCE);
    let interface = lan.status(ONE)["interface"].as_str().unwrap().to_owned();
    let config = lan.path(&format!("{}.toml", lan.name(ONE)));
    crash(&lan);
    lan.ip(ONE, &format!("link del dev {interface}"));
    lan.up(ONE, &config, &[]);
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
    crash(&lan);
    lan.ip(ONE, &format!("link del dev {interface}"));
    lan.ip(ONE, &format!("link add {interface} type bridge"));
    let daemon = lan.start(ONE, &config, &[]);
    until("the failure", || lan.log(ONE).contains("; nothing passes;"));
    assert!(!lan.pings(ONE, &Lan::v4(TWO)), "unsigned");
    lan.ip(ONE, &format!("link del dev {interface}"));
    until("clew up", || lan.log(ONE).contains(" is up: "));
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
    crash(&lan);
    lan.ended(daemon);
    let closed = lan.state(ONE);
    let taken = super::traffic::udp_socket(&lan, ONE, super::traffic::v4(ONE, 4909).into());
    let daemon = lan.start(ONE, &config, &[]);
    assert_eq!(lan.ended(daemon), Some(2));
    let log = lan.log(ONE);
    assert!(
        log.contains("the set-up stays, and nothing passes"),
        "{log}"
    );
    assert_eq!(lan.state(ONE), closed);
    drop(taken);
    lan.up(ONE, &config, &[]);
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
    lan.down(ONE);
    assert_eq!(lan.state(ONE), before);
}

/// Two daemons on one interface, whose reverse path filter was strict.
#[test]
fn settings_that_two_daemons_need_stay_until_both_are_down() {
    let Some(mut lan) = Lan::new() else { return };
    let file = "/proc/sys/net/ipv4/conf/wire/rp_filter";
    let set = |lan: &Lan, value: u8| {
        let script = format!("echo {value} > {file}");
        let done = lan.within(ONE, "sh").args(["-c", &script]).status();
        assert!(done.unwrap().success());
    };
    let value = |lan: &Lan| text(&lan.within(ONE, "cat").arg(file).output().unwrap().stdout);
    set(&lan, 1);
    let before = lan.state(ONE);
    let first = lan.configure(ONE, "", true);
    let other = format!("{}-b", lan.name(ONE));
    let second = lan.path(&format!("{other}.toml"));
    let config = fs::read_to_string(&first).unwrap();
    let config = config.replace(&format!("{}/32", Lan::v4(TWO)), "10.8.1.200/32");
    let config = config.replace(&format!("{}/128", Lan::v6(TWO)), "fd08::200/128");
    fs::write(
        &second,
        format!("port = 5909\ninterface = \"second\"\n{config}"),
    )
    .unwrap();
    let up = |lan: &Lan| {
        let output = lan.in_host(ONE, &["up", "--setup-only", second.to_str().unwrap()]);
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    let down = |lan: &Lan| {
        let output = lan.in_host(ONE, &["down", &other]);
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    lan.up(ONE, &first, &[]);
    up(&lan);
    lan.down(ONE);
    assert_eq!(value(&lan), "2\n", "the second one needs it");
    lan.up(ONE, &first, &[]);
    down(&lan);
    assert_eq!(value(&lan), "2\n", "the first one needs it");
    set(&lan, 1);
    until("the setting", || value(&lan) == "2\n");
    until("the news", || lan.log(ONE).contains(file));
    lan.down(ONE);
    assert_eq!(value(&lan), "1\n");
    assert_eq!(lan.state(ONE), before);
    fs::remove_dir_all(Path::new("/var/lib/clew-live").join(&other)).unwrap();
}

#[test]
fn an_answer_of_ntp_has_to_be_asked_for() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, "inbound = \"enforce\"");
    let listener = listener(&lan, TWO);
    let answer = |port: u16, word: &str| {
        let program = format!(
            "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
             s.setsockopt(socket.IPPROTO_IP, 19, 1)\ns.bind(('{}', 123))\n\
             s.sendto(b'{word}'.ljust(48), ('{}', {port}))",
            Lan::v4(ONE),
            Lan::v4(TWO)
        );
        let done = lan.python(OTHER, &program).wait_with_output().unwrap();
        assert!(done.status.success(), "{}", text(&done.stderr));
    };
    let before = beside(&lan);
    answer(7002, "blind");
    until("the blind answer", || beside(&lan) > before);
    let request = format!(
        "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
         s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\ns.bind(('{}', 7003))\n\
         s.sendto(bytes(48), ('{}', 123))\nprint('ready', flush=True)\n\
         s.settimeout(30)\nprint(s.recv(99).decode().strip())",
        Lan::v4(TWO),
        Lan::v4(ONE)
    );
    let mut client = lan.python(TWO, &request);
    super::hosts::ready(&mut client);
    answer(7003, "asked");
    let said = client.wait_with_output().unwrap();
    assert_eq!(text(&said.stdout).trim(), "asked", "{}", text(&said.stderr));
    assert!(heard(listener).is_empty(), "nothing blind was delivered");
}

/// Without redirects, which would leave signed and be counted.
const FORWARDS: &str = "echo 1 > /proc/sys/net/ipv4/ip_forward; \
    echo 0 | tee /proc/sys/net/ipv4/conf/*/send_redirects";

/// The second host is a gateway with another peer; a packet for that peer arrives there, signed.
fn diverted(keys: &str) -> Option<(u64, serde_json::Value)> {
    let mut lan = Lan::new()?;
    let done = lan.within(TWO, "sh").args(["-c", FORWARDS]).output();
    assert!(done.unwrap().status.success());
    let one = lan.configure(ONE, ENFORCE, true);
    let text = fs::read_to_string(&one).unwrap();
    let all = "prefixes = [\"10.8.7.0/24\", ";
    fs::write(&one, text.replace("prefixes = [", all)).unwrap();
    let two = lan.configure(TWO, &format!("{ENFORCE}\n{keys}"), false);
    let text = fs::read_to_string(&two).unwrap();
    let other = format!(
        "[[peer]]\nprefixes = [\"10.8.7.0/24\"]\nendpoint = \"{}\"\ngroup = \"group.clew\"\n",
        Lan::v4(OTHER)
    );
    fs::write(&two, text + &other).unwrap();
    lan.up(TWO, &two, &[]);
    lan.up(ONE, &one, &[]);
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
    let before = lan.status(TWO);
    assert!(!lan.pings(ONE, "10.8.7.5"), "nobody is there");
    let after = lan.status(TWO);
    let [signed, verified] = ["outbound", "inbound"].map(|way| {
        let count = |status: &serde_json::Value| status[way]["packets"].as_u64().unwrap();
        count(&after) - count(&before)
    });
    assert_eq!(verified, 1, "{after}");
    assert!(lan.pings(ONE, &Lan::v4(TWO)), "it still works");
    Some((signed, after))
}

#[test]
fn a_gateway_signs_nothing_anew_unless_told_to() {
    let Some((signed, status)) = diverted("") else {
        return;
    };
    assert_eq!(status["filtered"]["not_relayed"], 1, "{status}");
    assert_eq!(signed, 0, "{status}");
    let Some((signed, status)) = diverted("relay = true") else {
        return;
    };
    assert!(status["filtered"]["not_relayed"].is_null(), "{status}");
    assert_eq!(signed, 1, "{status}");
}
