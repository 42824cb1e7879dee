//! Packets that the kernel joins, or cuts late: on hosts that sign, and from guests that lie.

use crate::folder::{Folder, Observer, frames_of, metrics_at, objects, summary};
use crate::lan::{Lan, ONE, OTHER, TWO, until};
use crate::skipped::{NAMESPACES, skipped};
use crate::wire::Wire;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Bytes of the bulk flow.
const BULK: usize = 6_000_000;

/// The port of clew's carriers.
const PORT: u16 = 4909;

/// Longest frame of the wire.
const FRAME_MAX: usize = 1514;

const RECEIVE: &str = "
import socket
server = socket.create_server(('10.8.1.2', 7000))
print('ready', flush=True)
peer, _ = server.accept()
left = 6000000
while left > 0:
    got = len(peer.recv(1 << 16))
    assert got > 0
    left -= got
peer.sendall(b'all')
";

const SEND: &str = "
import socket
peer = socket.create_connection(('10.8.1.2', 7000))
peer.sendall(bytes(6000000))
assert peer.recv(3) == b'all'
";

/// An observer of a device of a host, whose lines go to a file.
fn observe(lan: &Lan, host: usize, device: &str) -> Observer {
    let mut command = lan.within(host, env!("CARGO_BIN_EXE_clew"));
    let group = lan.path("group.clew");
    command.args(["verify", "-i", device, "--json", "--buffer", "64M"]);
    command.arg("--group").arg(group);
    command.args(["--duration", "120s", "--metrics", "127.0.0.1:0"]);
    command.arg("--report").arg(lan.path(device));
    command
        .arg("--write")
        .arg(lan.path(&format!("tap-{device}")));
    let mut observer = Observer::new(command);
    observer.wait_for("observing");
    observer
}

fn metrics(lan: &Lan, host: usize, observer: &Observer) -> String {
    let mut get = lan.within(host, "python3");
    let ask =
        "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())";
    let url = format!("http://{}/metrics", metrics_at(&observer.said));
    let output = get.args(["-c", ask, &url]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn is_carried(line: &Value) -> bool {
    [&line["src_port"], &line["dst_port"]].contains(&&PORT.into())
}

/// The sum of all words of a UDP packet over IPv4 with its pseudo header: `ffff` if the checksum is
/// right.
pub fn udp_sum(ip: &[u8]) -> u32 {
    let udp = &ip[20..];
    let pseudo = [&ip[12..20], &[0, 17], &udp[4..6]].concat();
    let odd = if udp.len() % 2 == 1 { &[0][..] } else { &[] };
    let covered = [&pseudo, udp, odd].concat();
    let words = covered.chunks(2);
    let mut sum: u32 = words.map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}

/// On the sending host, and at a port of the bridge, the kernel has many datagrams in one frame.
#[test]
fn every_packet_of_a_bulk_flow_is_valid_and_none_is_joined() {
    let Some(mut lan) = Lan::new() else { return };
    for host in [ONE, TWO] {
        let config = lan.configure(host, "inbound = \"enforce\"", true);
        lan.up(host, &config, &[]);
    }
    // Until this second is over, a daemon refuses what was signed before it started.
    until("a first ping", || lan.pings(ONE, &Lan::v4(TWO)));
    lan.ip(OTHER, "link set lo up");
    let places = [(ONE, "wire"), (OTHER, "port1")];
    let mut observers = places.map(|(host, device)| observe(&lan, host, device));
    let mut receiver = lan.python(TWO, RECEIVE);
    let mut line = [0; 6];
    std::io::Read::read_exact(receiver.stdout.as_mut().unwrap(), &mut line).unwrap();
    let sent = lan.python(ONE, SEND).wait_with_output().unwrap();
    assert!(sent.status.success(), "{sent:?}");
    assert!(receiver.wait().unwrap().success());
    for ((host, device), observer) in places.into_iter().zip(&mut observers) {
        until("the last verdicts", || {
            let text = metrics(&lan, host, observer);
            text.contains("clew_observer_backlog 0\n") && text.contains("clew_observer_held 0\n")
        });
        let counted = metrics(&lan, host, observer);
        assert!(
            !counted.contains("clew_observer_split_total 0\n"),
            "{device}"
        );
        let (status, _) = observer.interrupt();
        let text = fs::read_to_string(lan.path(device)).unwrap();
        let seen = summary(&text);
        for missed in ["joined", "skipped", "dropped", "invalid"] {
            assert_eq!(seen[missed].as_u64().unwrap_or(0), 0, "{device}: {seen}");
        }
        let lines: Vec<Value> = objects(&text).into_iter().filter(is_carried).collect();
        assert!(lines.len() > BULK / FRAME_MAX, "{device}: {}", lines.len());
        // A daemon that has much to do asks for cookies.
        let is_usual = |line: &Value| line["reason"] == "ok" || line["reason"] == "cookie";
        let bad = lines.iter().find(|line| !is_usual(line));
        assert_eq!((bad, status), (None, 0), "{device}");
        evidence_is_as_on_the_wire(&lan.path(&format!("tap-{device}-0000000001.pcapng")));
    }
}

fn evidence_is_as_on_the_wire(path: &Path) {
    let frames = frames_of(path);
    assert!(frames.iter().all(|frame| frame.len() <= FRAME_MAX));
    let is_v4_udp = |frame: &&Vec<u8>| frame[12..15] == [8, 0, 0x45] && frame[23] == 17;
    let udp: Vec<_> = frames.iter().filter(is_v4_udp).collect();
    assert!(udp.len() > BULK / FRAME_MAX);
    assert!(udp.iter().all(|frame| udp_sum(&frame[14..]) == 0xffff));
    let file = fs::read(path).unwrap();
    let note = b"packets that the kernel joined (GRO, GSO, TSO) are split";
    assert!(file.windows(note.len()).any(|text| text == note));
}

/// Attaches to `tun0` and writes what stands on its standard input.
const TUN: &str = "
import fcntl, os, struct, sys
tun = os.open('/dev/net/tun', os.O_RDWR)
IFF_TUN, IFF_NO_PI, IFF_VNET_HDR, TUNSETIFF = 1, 0x1000, 0x4000, 0x400454ca
fcntl.ioctl(tun, TUNSETIFF, struct.pack('16sH22x', b'tun0', IFF_TUN | IFF_NO_PI | IFF_VNET_HDR))
for line in sys.stdin:
    os.write(tun, bytes.fromhex(line))
";

/// UDP over IPv4 with that much payload, as a guest hands it over for the host to cut.
fn offloaded(kind: u8, size: u16, payload: usize) -> Vec<u8> {
    let total = (28 + payload) as u16;
    let mut packet = vec![1, kind];
    packet.extend(
        [28_u16, size, 20, 6]
            .iter()
            .flat_map(|word| word.to_ne_bytes()),
    );
    packet.extend([0x45, 0]);
    packet.extend(total.to_be_bytes());
    packet.extend([
        0, 1, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, 0, 7, 0, 9,
    ]);
    packet.extend((total - 20).to_be_bytes());
    packet.extend([0, 0]);
    packet.resize(10 + usize::from(total), 7);
    packet
}

/// A tunnel interface has no Ethernet. What writes to it, such as a guest, chooses how packets are joined.
#[test]
fn a_tun_interface_and_the_super_packets_of_a_guest() {
    let Some(wire) = Wire::new() else {
        return skipped(NAMESPACES);
    };
    let folder = Folder::new();
    let frames = folder.signed("signed", 40, "");
    wire.ip("tuntap add dev tun0 mode tun vnet_hdr");
    wire.ip("link set tun0 up");
    let mut observer = folder.observe_at(&wire, "tun0", "--write tap --metrics 127.0.0.1:0");
    let (udp_fragments, udp) = (3, 5);
    let plain = |frame: &Vec<u8>| [&[0; 10][..], &frame[14..]].concat();
    let (before, after) = frames.split_at(20);
    let mut written: Vec<Vec<u8>> = before.iter().map(plain).collect();
    written.push(offloaded(udp_fragments, 400, 1200));
    written.push(offloaded(udp, 400, 1201));
    written.push(offloaded(udp_fragments, 400, 1200));
    written.extend(after.iter().map(plain));
    let mut command = Command::new("ip");
    command.args(["netns", "exec", wire.observed(), "python3", "-c", TUN]);
    let mut guest = command.stdin(Stdio::piped()).spawn().unwrap();
    for packet in &written {
        let line = hex::encode(packet) + "\n";
        guest
            .stdin
            .as_mut()
            .unwrap()
            .write_all(line.as_bytes())
            .unwrap();
    }
    drop(guest.stdin.take());
    assert!(guest.wait().unwrap().success());
    until("the last verdict", || {
        let text = wire.observed_side(|| crate::folder::metrics(&observer.said));
        text.contains("verdict=\"valid\",reason=\"ok\"} 40\n")
    });
    let (status, text) = observer.interrupt();
    let seen = summary(&text);
    let count = |name: &str| seen[name].as_u64().unwrap_or(0);
    assert_eq!(
        (count("valid"), count("unsigned"), count("joined"), status),
        (40, 4, 2, 2),
        "{text}"
    );
    let evidence = folder.frames("tap-0000000001.pcapng");
    assert_eq!(evidence.len(), 44);
    assert!(
        evidence[..20]
            .iter()
            .zip(before)
            .all(|(ip, frame)| ip[..] == frame[14..])
    );
    let split = &evidence[20..24];
    assert_eq!(
        split.iter().map(Vec::len).collect::<Vec<_>>(),
        [428, 428, 428, 29]
    );
    assert!(split.iter().all(|ip| udp_sum(ip) == 0xffff));
    assert_eq!(folder.verdicts("tap-0000000001.pcapng").len(), 44);
}
