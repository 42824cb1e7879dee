//! Other ways between two hosts: a router that translates addresses, and a gateway for others.

use super::attacks::{heard, listener, send};
use super::hosts::{ready, tcp_between};
use super::lan::{BEHIND, Lan, ONE, OTHER, TWO, text, until};
use std::fs;
use std::io::Write;
use std::process::Stdio;

const ENFORCE: &str = "inbound = \"enforce\"\noutbound = \"require\"";

/// The first host's address behind the router.
const INSIDE: &str = "192.168.77.2";

/// The host behind the gateway.
pub const BEHIND_V4: &str = "10.8.9.2";
pub const BEHIND_V6: &str = "fd09::2";

fn forwards(lan: &Lan, host: usize) {
    let settings = "echo 1 > /proc/sys/net/ipv4/ip_forward; \
        echo 1 > /proc/sys/net/ipv6/conf/all/forwarding";
    let mut command = lan.within(host, "sh");
    assert!(command.args(["-c", settings]).status().unwrap().success());
}

/// Puts the first host behind the third one.
fn behind_a_router(lan: &Lan) {
    lan.ip(ONE, "addr flush dev wire");
    lan.ip(OTHER, "link set port0 nomaster");
    lan.ip(OTHER, "addr add 192.168.77.1/24 dev port0");
    lan.ip(ONE, &format!("addr add {INSIDE}/24 dev wire"));
    lan.ip(ONE, "route add default via 192.168.77.1");
    lan.ip(TWO, "route add 192.168.77.0/24 dev wire");
    forwards(lan, OTHER);
}

/// The router shows the first host's carrier with this port from now on, and knows no other.
fn map(lan: &Lan, port: u16) {
    let outside = Lan::v4(OTHER);
    let rules = format!(
        "table ip mapped {{ }}\ndelete table ip mapped\ntable ip mapped {{\n\
         chain out {{\n type filter hook postrouting priority 0;\n oifname lan ip saddr {INSIDE} \
         udp sport 4909 ip saddr set {outside} udp sport set {port}\n }}\n\
         chain in {{\n type filter hook prerouting priority -150;\n iifname lan ip daddr {outside} \
         udp dport {port} ip daddr set {INSIDE} udp dport set 4909\n }}\n}}\n"
    );
    let mut command = lan.within(OTHER, "nft");
    let mut nft = command
        .args(["-f", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    nft.stdin
        .take()
        .unwrap()
        .write_all(rules.as_bytes())
        .unwrap();
    assert!(nft.wait().unwrap().success());
}

/// The router translates addresses, and forgets a flow after two seconds of silence.
fn forget_soon(lan: &Lan) {
    let script = "nft -f - <<E\ntable ip nat { chain out { type nat hook postrouting priority 100; \
        oifname lan masquerade random; }; }\nE\n\
        for t in udp_timeout udp_timeout_stream; do \
        echo 2 > /proc/sys/net/netfilter/nf_conntrack_$t || exit 1; done";
    let mut command = lan.within(OTHER, "sh");
    assert!(command.args(["-c", script]).status().unwrap().success());
}

/// The configuration of the second host, whose peer has that prefix.
pub fn configure_far(lan: &Lan, prefixes: &str) -> std::path::PathBuf {
    let path = lan.configure(TWO, ENFORCE, false);
    let known = format!("\"{}/32\", \"{}/128\"", Lan::v4(ONE), Lan::v6(ONE));
    let config = fs::read_to_string(&path).unwrap().replace(&known, prefixes);
    fs::write(&path, config).unwrap();
    path
}

/// Bytes for some seconds from the first host to the second one, whose server says how long the longest
/// silence was.
pub const SERVER: &str = "import socket, time, hashlib\ns = socket.socket()\ns.bind(('10.8.1.2', 7000))\n\
    s.listen()\nprint('ready', flush=True)\nc, _ = s.accept()\nh = hashlib.sha256()\nlast = time.time()\n\
    worst = 0\nwhile b := c.recv(65536):\n  now = time.time()\n  worst = max(worst, now - last)\n  last = now\n  \
    h.update(b)\nprint(worst, flush=True)\nc.sendall(h.digest())\nc.close()";
pub const CLIENT: &str = "import socket, time, hashlib\nc = socket.create_connection(('10.8.1.2', 7000), 30)\n\
    c.settimeout(60)\nh = hashlib.sha256()\nprint('ready', flush=True)\n\
    for n in range(60):\n  b = bytes([n]) * 20000\n  h.update(b)\n  c.sendall(b)\n  time.sleep(0.05)\n\
    c.shutdown(socket.SHUT_WR)\nassert c.recv(32) == h.digest()";

/// A transfer goes on when the router gives the carrier another port: the far host moves to it after two
/// seconds without the old one, and TCP tries again within as many.
#[test]
fn a_transfer_survives_another_port_of_the_router() {
    let Some(mut lan) = Lan::new() else { return };
    behind_a_router(&lan);
    map(&lan, 40_000);
    let far = configure_far(&lan, &format!("\"{INSIDE}/32\""));
    let near = lan.configure(ONE, ENFORCE, true);
    lan.up(TWO, &far, &[]);
    lan.up(ONE, &near, &[]);
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
    assert!(lan.pings(TWO, INSIDE), "and back");
    let place = |lan: &Lan| lan.status(TWO)["peers"][0]["endpoint"].clone();
    assert_eq!(place(&lan), format!("{}:40000", Lan::v4(OTHER)));
    let mut server = lan.python(TWO, SERVER);
    ready(&mut server);
    let mut client = lan.python(ONE, CLIENT);
    ready(&mut client);
    map(&lan, 40_001);
    let done = client.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
    let said = text(&server.wait_with_output().unwrap().stdout);
    let worst: f64 = said.trim().parse().unwrap();
    assert!(worst < 15.0, "{worst} s of silence");
    assert_eq!(place(&lan), format!("{}:40001", Lan::v4(OTHER)));
    assert!(lan.pings(TWO, INSIDE), "and back");
}

/// Without `keepalive` nobody reaches a host behind a router that has said nothing for a while; with it
/// the far host finds it, also after a start of its own.
#[test]
fn keepalive_keeps_a_host_behind_a_router_within_reach() {
    for keepalive in ["", "keepalive = 1\n"] {
        let Some(mut lan) = Lan::new() else { return };
        behind_a_router(&lan);
        forget_soon(&lan);
        let far = configure_far(&lan, &format!("\"{INSIDE}/32\""));
        let near = lan.configure(ONE, ENFORCE, true);
        let config = fs::read_to_string(&near).unwrap();
        let peer = format!("{keepalive}endpoint = ");
        fs::write(&near, config.replace("endpoint = ", &peer)).unwrap();
        lan.up(TWO, &far, &[]);
        lan.up(ONE, &near, &[]);
        let place = |lan: &Lan| lan.status(TWO)["peers"][0]["endpoint"].clone();
        if keepalive.is_empty() {
            until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
        } else {
            until("a packet of the near host", || !place(&lan).is_null());
        }
        std::thread::sleep(std::time::Duration::from_secs(6));
        let status = lan.status(TWO);
        assert_eq!(lan.pings(TWO, INSIDE), !keepalive.is_empty(), "{status}");
        let empty = status["inbound"]["dropped"]["empty"].as_u64();
        assert_eq!(empty > Some(3), !keepalive.is_empty(), "{status}");
        if !keepalive.is_empty() {
            lan.down(TWO);
            lan.up(TWO, &far, &[]);
            until("a packet after the start", || !place(&lan).is_null());
            assert!(lan.pings(TWO, INSIDE), "{}", lan.status(TWO));
        }
    }
}

/// The first host forwards for a host behind it, from that device of its own, and the second one knows it.
pub fn gateway(lan: &Lan, device: &str) {
    for (host, device, v4, v6) in [
        (ONE, device, "10.8.9.1", "fd09::1"),
        (BEHIND, "inside", BEHIND_V4, BEHIND_V6),
    ] {
        lan.ip(host, &format!("addr add {v4}/24 dev {device}"));
        lan.ip(host, &format!("addr add {v6}/64 dev {device} nodad"));
    }
    lan.ip(BEHIND, "route add default via 10.8.9.1");
    lan.ip(BEHIND, "-6 route add default via fd09::1");
    lan.ip(TWO, &format!("route add 10.8.9.0/24 via {}", Lan::v4(ONE)));
    lan.ip(TWO, &format!("-6 route add fd09::/64 via {}", Lan::v6(ONE)));
    forwards(lan, ONE);
}

/// A gateway signs for the network behind it. Nobody else speaks for a host of that network.
#[test]
fn a_gateway_signs_for_the_hosts_behind_it() {
    let Some(mut lan) = Lan::new() else { return };
    lan.add_behind();
    gateway(&lan, "inside");
    let far = configure_far(&lan, "\"10.8.9.0/24\", \"fd09::/64\"");
    let near = lan.configure(ONE, ENFORCE, true);
    lan.up(TWO, &far, &[]);
    lan.up(ONE, &near, &[]);
    until("a ping", || lan.pings(BEHIND, &Lan::v4(TWO)));
    assert!(lan.pings(BEHIND, &Lan::v6(TWO)));
    for [from, to] in [
        [BEHIND_V4.into(), Lan::v4(TWO)],
        [BEHIND_V6.into(), Lan::v6(TWO)],
    ] {
        tcp_between(&lan, [BEHIND, TWO], &to);
        tcp_between(&lan, [TWO, BEHIND], &from);
    }
    let listener = listener(&lan, TWO);
    send(&lan, OTHER, BEHIND_V4, "forged");
    send(&lan, BEHIND, BEHIND_V4, "honest");
    let status = lan.status(TWO);
    assert!(
        status["inbound"]["packets"].as_u64() > Some(100),
        "{status}"
    );
    until("the forged packet", || super::attacks::beside(&lan) >= 1);
    assert!(lan.pings(BEHIND, &Lan::v4(TWO)), "it still works");
    assert_eq!(heard(listener), ["honest"]);
}
