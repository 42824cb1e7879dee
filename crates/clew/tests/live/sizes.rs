//! Packets that are longer than a link: in IP fragments, over a narrow path, and towards a narrow link.

use super::hosts::{both, tcp, udp};
use super::lan::{Lan, ONE, OTHER, TWO, text, until};
use std::fs;

const ENFORCE: &str = "inbound = \"enforce\"\noutbound = \"require\"";

/// Whether a host answers an echo of that many bytes, and what ping says.
fn echo(lan: &Lan, to: &str, flags: &str) -> (bool, String) {
    let mut ping = lan.within(ONE, "ping");
    ping.args("-c 1 -W 2".split(' '))
        .args(flags.split(' '))
        .arg(to);
    let output = ping.output().unwrap();
    (
        output.status.success(),
        text(&output.stdout) + &text(&output.stderr),
    )
}

fn echoes(lan: &Lan, to: &str, flags: &str) -> bool {
    echo(lan, to, flags).0
}

#[test]
fn packets_in_ip_fragments_cross() {
    for carrier in ["udp-tunnel", "udp-transport"] {
        let Some(mut lan) = Lan::new() else { return };
        both(&mut lan, &format!("{ENFORCE}\ncarrier = \"{carrier}\""));
        for to in [Lan::v4(TWO), Lan::v6(TWO)] {
            until("a long ping", || echoes(&lan, &to, "-s 3000"));
            udp(&lan, &to, "[1472, 1473, 3000, 8192, 60000]");
        }
        for host in [ONE, TWO] {
            let status = lan.status(host);
            // An answer may leave before its peer's end point is learned.
            let unsent = status["outbound"]["unsent"].as_object().unwrap();
            assert!(unsent.keys().all(|reason| reason == "no-path"), "{status}");
            let verdicts = status["inbound"]["verdicts"].as_object().unwrap();
            let is_fine = |reason: &String| reason == "ok" || reason == "stale";
            assert!(verdicts.keys().all(is_fine), "{status}");
            for direction in ["inbound", "outbound"] {
                let dropped = &status[direction]["dropped"];
                assert_eq!(*dropped, serde_json::json!({}), "{status}");
            }
        }
    }
}

/// The host between becomes a router, whose link to the second host takes less.
fn route(lan: &Lan, mtu: u16) {
    let forward = "echo 1 > /proc/sys/net/ipv4/ip_forward\n\
                   echo 1 > /proc/sys/net/ipv6/conf/all/forwarding";
    let done = lan.within(OTHER, "sh").args(["-c", forward]).status();
    assert!(done.unwrap().success());
    for host in [ONE, TWO] {
        lan.ip(OTHER, &format!("link set port{host} nomaster up"));
        lan.ip(OTHER, &format!("addr add 10.9.{host}.1/24 dev port{host}"));
        lan.ip(
            OTHER,
            &format!("addr add fd09:{host}::1/64 dev port{host} nodad"),
        );
        lan.ip(host, &format!("addr add 10.9.{host}.2/24 dev wire"));
        lan.ip(host, &format!("addr add fd09:{host}::2/64 dev wire nodad"));
        let peer = 1 - host;
        lan.ip(
            host,
            &format!("route add 10.9.{peer}.0/24 via 10.9.{host}.1"),
        );
        lan.ip(
            host,
            &format!("route add fd09:{peer}::/64 via fd09:{host}::1"),
        );
    }
    lan.ip(OTHER, &format!("link set port{TWO} mtu {mtu}"));
    lan.ip(TWO, &format!("link set wire mtu {mtu}"));
}

/// A router in the middle says "too big", in both families.
#[test]
fn a_narrow_link_in_the_middle_is_found() {
    for (endpoint, mtu) in [("10.9.1.2", 1_400), ("[fd09:1::2]:4909", 1_280)] {
        let Some(mut lan) = Lan::new() else { return };
        route(&lan, mtu);
        let one = lan.configure(ONE, ENFORCE, true);
        let config = fs::read_to_string(&one).unwrap();
        let here = format!("endpoint = \"{}\"", Lan::v4(TWO));
        fs::write(
            &one,
            config.replace(&here, &format!("endpoint = \"{endpoint}\"")),
        )
        .unwrap();
        let two = lan.configure(TWO, ENFORCE, false);
        lan.up(TWO, &two, &[]);
        lan.up(ONE, &one, &[]);
        until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
        // What fills the interface goes through, though nobody may cut it.
        until("a full ping", || {
            echoes(&lan, &Lan::v4(TWO), "-M do -s 1472")
        });
        assert!(echoes(&lan, &Lan::v6(TWO), "-M do -s 1452"), "IPv6 within");
        tcp(&lan, &Lan::v4(TWO));
        tcp(&lan, &Lan::v6(TWO));
        udp(&lan, &Lan::v4(TWO), "[1472, 8192]");
        for host in [ONE, TWO] {
            let path = lan.status(host)["peers"][0]["path_mtu"].as_u64();
            assert_eq!(path, Some(mtu.into()), "{endpoint}: {}", lan.status(host));
        }
    }
}

/// Behind the second host, a gateway, is a link that takes less than the interface: it tells the first
/// host so, through the carrier.
#[test]
fn a_gateway_tells_of_a_narrow_link_behind_it() {
    let Some(mut lan) = Lan::new() else { return };
    let behind = lan.host(OTHER);
    lan.ip(
        TWO,
        &format!("link add inner type veth peer name behind netns {behind}"),
    );
    for (host, device, number) in [(TWO, "inner", 1), (OTHER, "behind", 2)] {
        lan.ip(host, &format!("addr add 10.8.5.{number}/24 dev {device}"));
        lan.ip(
            host,
            &format!("addr add fd08:5::{number}/64 dev {device} nodad"),
        );
        lan.ip(host, &format!("link set {device} mtu 1280 up"));
    }
    let forward = "echo 1 > /proc/sys/net/ipv4/ip_forward\n\
                   echo 1 > /proc/sys/net/ipv6/conf/all/forwarding";
    lan.within(TWO, "sh")
        .args(["-c", forward])
        .status()
        .unwrap();
    // The way back, too, is through the gateway.
    lan.ip(
        OTHER,
        &format!("route add {}/32 via 10.8.5.1", Lan::v4(ONE)),
    );
    lan.ip(
        OTHER,
        &format!("route add {}/128 via fd08:5::1", Lan::v6(ONE)),
    );
    let two = lan.configure(TWO, ENFORCE, false);
    let one = lan.configure(ONE, ENFORCE, true);
    let config = fs::read_to_string(&one).unwrap();
    // The gateway's own addresses are among the prefixes: its answers come from them.
    let all = "prefixes = [\"10.8.5.0/24\", \"fd08:5::/64\", ";
    fs::write(&one, config.replace("prefixes = [", all)).unwrap();
    lan.up(TWO, &two, &[]);
    lan.up(ONE, &one, &[]);
    until("a ping", || lan.pings(ONE, "10.8.5.2"));
    for to in ["10.8.5.2", "fd08:5::2"] {
        // Its kernel says it, then that of the host itself, which knows it now.
        for _ in 0..2 {
            let (_, said) = echo(&lan, to, "-M do -s 1400");
            assert!(said.contains("1280"), "{said}");
        }
    }
    assert!(
        echoes(&lan, "10.8.5.2", "-s 3000"),
        "the kernel cuts IPv4 again"
    );
    // Nobody on the way cuts IPv6: the gateway's interface has to be as narrow.
    lan.down(TWO);
    let two = lan.configure(TWO, &format!("{ENFORCE}\nmtu = 1280"), false);
    lan.up(TWO, &two, &[]);
    until("a ping", || lan.pings(ONE, "fd08:5::2"));
    for to in ["10.8.5.2", "fd08:5::2"] {
        for size in ["-s 1400", "-s 3000"] {
            assert!(echoes(&lan, to, size), "{to} {size}");
        }
    }
}
