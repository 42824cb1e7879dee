//! What a peer's valid packets may not do: tell where it is if they were meant for somebody else, or speak as
//! a router of packets to another peer.

use super::lan::{Lan, ONE, TWO, text, until};
use std::fs;
use std::path::PathBuf;

const ENFORCE: &str = "inbound = \"enforce\"\noutbound = \"require\"";

/// A configuration with another prefix of its peer.
fn configure(lan: &Lan, host: usize, endpoint: bool, also: &str) -> PathBuf {
    let path = lan.configure(host, ENFORCE, endpoint);
    let config = fs::read_to_string(&path).unwrap();
    let config = config.replace("/128\"]", &format!("/128\"{also}]"));
    fs::write(&path, config).unwrap();
    path
}

/// Packets that the second host verifies, and which nobody meant for it, do not move the first host's end
/// point to where they came from.
#[test]
fn an_end_point_is_learned_from_packets_for_this_host_alone() {
    let Some(mut lan) = Lan::new() else { return };
    let one = configure(&lan, ONE, true, ", \"10.99.9.0/24\"");
    let two = lan.configure(TWO, ENFORCE, false);
    lan.up(TWO, &two, &[]);
    lan.up(ONE, &one, &[]);
    // Those of the second in which the second host started are stale.
    until("verified packets", || {
        lan.pings(ONE, "10.99.9.9");
        lan.status(TWO)["peers"][0]["packets"].as_u64() > Some(0)
    });
    let status = lan.status(TWO);
    assert!(status["peers"][0]["endpoint"].is_null(), "{status}");
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
    let status = lan.status(TWO);
    assert_eq!(status["peers"][0]["is_learned"], true, "{status}");
}

/// A prefix may be wider than the peer's network: it has this host's own address here.
#[test]
fn an_end_point_is_learned_if_the_own_address_is_in_the_peers_prefix() {
    let Some(mut lan) = Lan::new() else { return };
    let one = lan.configure(ONE, ENFORCE, true);
    let wide = "10.8.0.0/16";
    let two = lan.configure(TWO, ENFORCE, false);
    let config = fs::read_to_string(&two).unwrap();
    let config = config.replace(&format!("{}/32", Lan::v4(ONE)), wide);
    assert!(config.contains(wide), "{config}");
    fs::write(&two, config).unwrap();
    lan.up(TWO, &two, &[]);
    lan.up(ONE, &one, &[]);
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
    let status = lan.status(TWO);
    assert_eq!(status["peers"][0]["is_learned"], true, "{status}");
}

/// Sends "too big" from the first host to the second one: it quotes a packet of that to somebody.
fn too_big(lan: &Lan, about: &str) {
    let program = format!(
        "import socket, struct\na, b, q = map(socket.inet_aton, ['{}', '{}', '{about}'])\n\
         quoted = bytes([0x45,0,2,88,0,1,0x40,0,64,17,0,0]) + b + q + struct.pack('>4H', 5353, 5353, 580, 0)\n\
         m = struct.pack('>BBHHH', 3, 4, 0, 0, 600) + quoted\n\
         s = sum(struct.unpack(f'>{{len(m) // 2}}H', m))\n\
         s = ~((s & 0xffff) + (s >> 16)) & 0xffff\n\
         r = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)\n\
         r.sendto(m[:2] + struct.pack('>H', s) + m[4:], ('{}', 0))",
        Lan::v4(ONE),
        Lan::v4(TWO),
        Lan::v4(TWO),
    );
    let done = lan.python(ONE, &program).wait_with_output().unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
}

/// A peer tells sizes of paths to itself and behind it, and of no other peer's.
#[test]
fn a_peer_shortens_packets_to_itself_alone() {
    let Some(mut lan) = Lan::new() else { return };
    let one = lan.configure(ONE, ENFORCE, true);
    let two = lan.configure(TWO, ENFORCE, false);
    let other = "\n[[peer]]\nprefixes = [\"10.99.7.0/24\"]\ngroup = \"group.clew\"\n";
    let config = fs::read_to_string(&two).unwrap() + other;
    fs::write(&two, config).unwrap();
    lan.up(TWO, &two, &[]);
    lan.up(ONE, &one, &[]);
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
    let dropped = || lan.status(TWO)["inbound"]["dropped"]["other-peer"].as_u64();
    assert_eq!(dropped().unwrap_or(0), 0);
    let before = lan.status(TWO)["inbound"]["packets"].as_u64();
    too_big(&lan, &Lan::v4(ONE));
    until("the answer", || {
        lan.status(TWO)["inbound"]["packets"].as_u64() > before
    });
    assert_eq!(dropped().unwrap_or(0), 0, "about its own");
    too_big(&lan, "10.99.7.9");
    until("the drop", || dropped() == Some(1));
}
