//! What others do to the host's rules, and what strangers say to the host or copy to a gateway.

use super::attacks::{beside, heard, listener, send, spoof};
use super::hosts::both;
use super::lan::{Lan, ONE, OTHER, TWO, text, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;

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

/// "Too big" about a packet of the first host, from an address that nobody has asked.
fn too_big(lan: &Lan, quoted: &str) {
    let program = format!(
        "import socket, struct\n\
         v4 = lambda a: socket.inet_pton(socket.AF_INET, a)\n\
         v6 = lambda a: socket.inet_pton(socket.AF_INET6, a)\n\
         def csum(b):\n  s = sum(struct.unpack('!%dH' % (len(b) // 2), b))\n  s = (s >> 16) + (s & 65535)\n  \
         return ~(s + (s >> 16)) & 65535\n\
         def old(protocol, data):\n  \
         b = struct.pack('!BBHHHBBH4s4s', 0x45, 0, 1400, 7, 0x4000, 60, protocol, 0, v4('{0}'), v4('{1}'))\n  \
         b = b[:10] + struct.pack('!H', csum(b)) + b[12:] + data\n  \
         m = struct.pack('!BBHHH', 3, 4, 0, 0, 600) + b\n  m = m[:2] + struct.pack('!H', csum(m)) + m[4:]\n  \
         socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).sendto(m, ('{0}', 0))\n\
         def new(protocol, data):\n  \
         b = struct.pack('!IHBB16s16s', 6 << 28, 1400, protocol, 60, v6('{2}'), v6('{3}')) + data\n  \
         m = struct.pack('!BBHI', 2, 0, 0, 1280) + b\n  \
         socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58).sendto(m, ('{2}', 0))\n\
         udp = struct.pack('!HHHH', 4909, 4909, 1380, 0)\n\
         echo = struct.pack('!BBHHH', 8, 0, 0, 1, 1)\necho6 = struct.pack('!BBHHH', 128, 0, 0, 1, 1)\n{quoted}",
        Lan::v4(ONE),
        Lan::v4(TWO),
        Lan::v6(ONE),
        Lan::v6(TWO),
    );
    let done = lan.python(OTHER, &program).wait_with_output().unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
}

#[test]
fn blind_answers_about_sizes_reach_no_application() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, ENFORCE);
    let before = lan.status(ONE)["filtered"]["unsigned_in"].as_u64();
    too_big(&lan, "old(1, echo)\nnew(58, echo6)");
    until("both are counted", || {
        lan.status(ONE)["filtered"]["unsigned_in"].as_u64() >= before.map(|count| count + 2)
    });
    too_big(&lan, "old(17, udp)\nnew(17, udp)");
    let routes = |mark: &str| {
        let v4 = lan.ip(ONE, &format!("-4 route get {}{mark}", Lan::v4(TWO)));
        v4 + &lan.ip(ONE, &format!("-6 route get {}{mark}", Lan::v6(TWO)))
    };
    // The carrier hears them, in both families: they arrived.
    until("the path of the carrier", || {
        let routes = routes(" mark 4909");
        routes.contains("mtu 600") && routes.contains("mtu 1280")
    });
    let captured = routes("");
    assert!(!captured.contains("mtu"), "{captured}");
    super::hosts::udp(&lan, &Lan::v4(TWO), "[900, 1350]");
    super::hosts::udp(&lan, &Lan::v6(TWO), "[900, 1350]");
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
