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

/// Prints what arrives, in both families.
fn listener(lan: &Lan) -> Child {
    let program = "import socket\ns = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)\n\
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)\ns.bind(('::', 7002))\n\
        print('ready', flush=True)\nwhile True: print(s.recvfrom(99)[0].decode(), flush=True)";
    let mut child = lan.python(TWO, program);
    ready(&mut child);
    child
}

/// Sends a datagram to the second host, in the family of its source, which may be anybody's.
fn send(lan: &Lan, host: usize, source: &str, word: &str) {
    let (family, level, option, to) = match source.contains(':') {
        // IPV6_TRANSPARENT and IP_TRANSPARENT.
        true => ("AF_INET6", "IPV6", 75, Lan::v6(TWO)),
        false => ("AF_INET", "IP", 19, Lan::v4(TWO)),
    };
    let program = format!(
        "import socket\ns = socket.socket(socket.{family}, socket.SOCK_DGRAM)\n\
         s.setsockopt(socket.IPPROTO_{level}, {option}, 1)\ns.bind(('{source}', 0))\n\
         s.sendto(b'{word}', ('{to}', 7002))"
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
    let off = "cd /proc/sys/net/ipv4/conf; for d in *; do \
        echo 0 > $d/rp_filter && echo 1 > $d/accept_local || exit 1; done";
    let mut command = lan.within(ONE, "sh");
    assert!(command.args(["-c", off]).status().unwrap().success());
    // The stranger knows the gateway, and sends there what is for the second host.
    for (to, gateway) in [(Lan::v4(TWO), Lan::v4(ONE)), (Lan::v6(TWO), Lan::v6(ONE))] {
        lan.ip(OTHER, &format!("route add {to} via {gateway}"));
    }
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
        let mut listener = listener(&lan);
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
        let mut heard = Vec::new();
        let output = listener.stdout.as_mut().unwrap();
        while !heard.ends_with(b"end\n") {
            let mut byte = [0];
            output.read_exact(&mut byte).unwrap();
            heard.push(byte[0]);
        }
        listener.kill().unwrap();
        listener.wait().unwrap();
        let heard = text(&heard);
        assert!(!heard.contains("forged"), "{heard}");
        for (_, source) in honest {
            let mut lines = heard.lines();
            assert!(lines.any(|line| line == source), "{source}: {heard}");
        }
    }
}
