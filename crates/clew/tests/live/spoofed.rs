//! Packets of strangers outside, which a gateway must not sign for hosts inside.

use super::hosts::ready;
use super::lan::{BEHIND, Lan, ONE, OTHER, TWO, text, until};
use super::users::{asks, time_server};
use super::ways::{BEHIND_V4, BEHIND_V6, configure_far, gateway};
use std::io::{Read, Write};
use std::process::{Child, Stdio};

const ENFORCE: &str = "inbound = \"enforce\"\noutbound = \"require\"";

/// A network whose addresses the gateway translates.
const TRANSLATED: &str = "192.168.50";

/// Where datagrams are sent, and where what is excluded.
const PORT: u16 = 7002;
const EXCLUDED: u16 = 7005;

/// Prints what arrives, in both families.
fn listener(lan: &Lan, host: usize, port: u16) -> Child {
    let program = format!(
        "import socket\ns = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)\n\
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)\ns.bind(('::', {port}))\n\
        print('ready', flush=True)\nwhile True: print(s.recvfrom(99)[0].decode(), flush=True)"
    );
    let mut child = lan.python(host, &program);
    ready(&mut child);
    child
}

/// What the listener hears up to the word, which is its last one.
fn heard(mut listener: Child, last: &str) -> String {
    let (mut heard, last) = (Vec::new(), format!("{last}\n"));
    let output = listener.stdout.as_mut().unwrap();
    while !heard.ends_with(last.as_bytes()) {
        let mut byte = [0];
        output.read_exact(&mut byte).unwrap();
        heard.push(byte[0]);
    }
    listener.kill().unwrap();
    listener.wait().unwrap();
    text(&heard)
}

/// Sends a datagram to the second host.
fn send(lan: &Lan, host: usize, source: &str, word: &str) {
    send_to(lan, host, source, (TWO, PORT), word);
}

/// Sends a datagram in the family of its source, which may be anybody's.
fn send_to(lan: &Lan, host: usize, source: &str, (to, port): (usize, u16), word: &str) {
    let (family, level, option, to) = match source.contains(':') {
        // IPV6_TRANSPARENT and IP_TRANSPARENT.
        true => ("AF_INET6", "IPV6", 75, Lan::v6(to)),
        false => ("AF_INET", "IP", 19, Lan::v4(to)),
    };
    let program = format!(
        "import socket\ns = socket.socket(socket.{family}, socket.SOCK_DGRAM)\n\
         s.setsockopt(socket.IPPROTO_{level}, {option}, 1)\ns.bind(('{source}', 0))\n\
         s.sendto(b'{word}', ('{to}', {port}))"
    );
    let sent = lan.python(host, &program).wait_with_output().unwrap();
    assert!(sent.status.success(), "{}", text(&sent.stderr));
}

/// The first host shows one more network behind it under its own address.
fn translates(lan: &Lan) {
    lan.ip(ONE, &format!("addr add {TRANSLATED}.1/24 dev bridge"));
    lan.ip(BEHIND, &format!("addr add {TRANSLATED}.2/24 dev inside"));
    let rules = format!(
        "table ip nat {{ chain out {{ type nat hook postrouting priority 100; \
         ip saddr {TRANSLATED}.0/24 snat to {}; }}; }}",
        Lan::v4(ONE)
    );
    let mut command = lan.within(ONE, "nft");
    let command = command.args(["-f", "-"]).stdin(Stdio::piped());
    let mut nft = command.spawn().unwrap();
    let mut input = nft.stdin.take().unwrap();
    input.write_all(rules.as_bytes()).unwrap();
    drop(input);
    assert!(nft.wait().unwrap().success());
}

/// The first host's kernel takes any source, and the stranger sends there what is for the second host.
fn from_anywhere(lan: &Lan) {
    let off = "cd /proc/sys/net/ipv4/conf; for d in *; do \
        echo 0 > $d/rp_filter && echo 1 > $d/accept_local || exit 1; done";
    let mut command = lan.within(ONE, "sh");
    assert!(command.args(["-c", off]).status().unwrap().success());
    for (to, gateway) in [(Lan::v4(TWO), Lan::v4(ONE)), (Lan::v6(TWO), Lan::v6(ONE))] {
        lan.ip(OTHER, &format!("route add {to} via {gateway}"));
    }
}

/// A host behind a bridge of the gateway, as containers are. The gateway's default route leads to the stranger,
/// and the kernel's own filters are off.
fn set_up(lan: &mut Lan, others: &str) {
    lan.add_behind();
    lan.ip(ONE, "link add bridge type bridge");
    lan.ip(ONE, "link set bridge addrgenmode none up");
    lan.ip(ONE, "link set inside master bridge");
    gateway(lan, "bridge");
    translates(lan);
    let (outside4, outside6) = (Lan::v4(OTHER), Lan::v6(OTHER));
    lan.ip(ONE, &format!("route add default via {outside4}"));
    lan.ip(ONE, &format!("-6 route add default via {outside6}"));
    from_anywhere(lan);
    let (own4, own6) = (Lan::v4(ONE), Lan::v6(ONE));
    let behind = format!("\"{own4}/32\", \"{own6}/128\", \"10.8.9.0/24\", \"fd09::/64\"");
    let far = configure_far(lan, &behind);
    let near = lan.configure(ONE, &format!("{ENFORCE}{others}"), true);
    lan.up(TWO, &far, &[]);
    lan.up(ONE, &near, &[]);
    until("a ping", || lan.pings(BEHIND, &Lan::v4(TWO)));
    assert!(lan.pings(BEHIND, &Lan::v6(TWO)));
}

/// Strangers outside speak neither for hosts inside nor for the gateway. Hosts inside do, also through bridges and
/// address translation.
#[test]
fn a_gateway_signs_nothing_from_outside_in_the_name_of_hosts_inside() {
    for others in ["", "\nothers = \"refuse\""] {
        let Some(mut lan) = Lan::new() else { return };
        set_up(&mut lan, others);
        let listener = listener(&lan, TWO, PORT);
        let own = [Lan::v4(ONE), Lan::v6(ONE)];
        let forged = [&own[0], &own[1], BEHIND_V4, BEHIND_V6];
        let spoofed = || lan.status(ONE)["filtered"]["spoofed"].as_u64();
        for (at, source) in forged.into_iter().enumerate() {
            send(&lan, OTHER, source, "forged");
            until(source, || spoofed() == Some(at as u64 + 1));
        }
        let honest = [
            (ONE, own[0].as_str()),
            (ONE, &own[1]),
            (BEHIND, BEHIND_V4),
            (BEHIND, BEHIND_V6),
            (BEHIND, &format!("{TRANSLATED}.2")),
        ];
        for (host, source) in honest {
            send(&lan, host, source, source);
        }
        assert!(lan.pings(TWO, BEHIND_V4) && lan.pings(TWO, BEHIND_V6));
        // What is forwarded has no user here.
        let mut server = time_server(&lan);
        let time = asks(&lan, BEHIND, 1_000).wait_with_output().unwrap();
        assert_eq!(text(&time.stdout).trim(), "time", "{}", text(&time.stderr));
        server.kill().unwrap();
        server.wait().unwrap();
        assert_eq!(spoofed(), Some(forged.len() as u64));
        send(&lan, ONE, &own[0], "end");
        let heard = heard(listener, "end");
        assert!(!heard.contains("forged"), "{heard}");
        for (_, source) in honest {
            let mut lines = heard.lines();
            assert!(lines.any(|line| line == source), "{source}: {heard}");
        }
    }
}

/// Only what this host would sign is asked where it comes from: not what is for the host itself, though a peer has a
/// network around it, and not what is excluded.
#[test]
fn what_a_gateway_does_not_sign_may_come_from_anywhere() {
    let Some(mut lan) = Lan::new() else { return };
    lan.add_behind();
    gateway(&lan, "inside");
    from_anywhere(&lan);
    let config = lan.configure(ONE, &format!("exclude = [\"udp/{EXCLUDED}\"]"), true);
    let text = std::fs::read_to_string(&config).unwrap();
    let wide = text
        .replace("10.8.1.2/32", "10.0.0.0/8")
        .replace("fd08::2/128", "fd00::/8");
    assert_ne!(text, wide);
    std::fs::write(&config, wide).unwrap();
    lan.up(ONE, &config, &[]);
    let spoofed = || lan.status(ONE)["filtered"]["spoofed"].as_u64();
    let own = listener(&lan, ONE, PORT);
    let excluded = listener(&lan, TWO, EXCLUDED);
    for source in [BEHIND_V4, BEHIND_V6] {
        send_to(&lan, OTHER, source, (ONE, PORT), source);
    }
    send_to(&lan, OTHER, BEHIND_V4, (TWO, EXCLUDED), BEHIND_V4);
    let heard_own = heard(own, BEHIND_V6);
    assert!(heard_own.contains(BEHIND_V4), "{heard_own}");
    assert_eq!(heard(excluded, BEHIND_V4).lines().count(), 1);
    assert_eq!(spoofed(), Some(0));
    send(&lan, OTHER, BEHIND_V4, "forged");
    until("the forged packet", || spoofed() == Some(1));
}
