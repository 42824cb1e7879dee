//! Two hosts with daemons: everything works, and every packet is signed.

use super::lan::{Lan, ONE, OTHER, TWO, text, until};
use std::fs;
use std::io::Read;
use std::process::Child;

const ENFORCE: &str = "inbound = \"enforce\"\noutbound = \"require\"";

/// Both hosts up. The second one learns where the first is.
pub fn both(lan: &mut Lan, keys: &str) {
    let one = lan.configure(ONE, keys, true);
    let two = lan.configure(TWO, keys, false);
    lan.up(TWO, &two, &[]);
    lan.up(ONE, &one, &[]);
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
}

pub fn ready(child: &mut Child) {
    let mut line = [0; 6];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut line)
        .unwrap();
    assert_eq!(&line, b"ready\n");
}

/// A TCP server at the second host, and a client at the first one.
pub fn tcp(lan: &Lan, address: &str) {
    tcp_between(lan, [ONE, TWO], address);
}

/// A TCP server that takes a megabyte and answers with its hash, and a client.
pub fn tcp_between(lan: &Lan, [client_at, server_at]: [usize; 2], address: &str) {
    let family = if address.contains(':') {
        "AF_INET6"
    } else {
        "AF_INET"
    };
    let server = format!(
        "import socket, hashlib\ns = socket.socket(socket.{family})\n\
         s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\ns.bind(('{address}', 7000))\n\
         s.listen()\nprint('ready', flush=True)\nc, _ = s.accept()\nh = hashlib.sha256()\n\
         while b := c.recv(65536): h.update(b)\nc.sendall(h.digest())\nc.close()"
    );
    let client = format!(
        "import socket, hashlib, os\nd = os.urandom(1 << 20)\n\
         c = socket.create_connection(('{address}', 7000), 30)\nc.settimeout(60)\nc.sendall(d)\n\
         c.shutdown(socket.SHUT_WR)\nassert c.recv(32) == hashlib.sha256(d).digest()"
    );
    let mut server = lan.python(server_at, &server);
    ready(&mut server);
    let done = lan.python(client_at, &client).wait_with_output().unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(server.wait().unwrap().success());
}

/// Datagrams of these lengths there and back.
pub fn udp(lan: &Lan, address: &str, lengths: &str) {
    let family = if address.contains(':') {
        "AF_INET6"
    } else {
        "AF_INET"
    };
    let server = format!(
        "import socket\ns = socket.socket(socket.{family}, socket.SOCK_DGRAM)\n\
         s.bind(('{address}', 7001))\nprint('ready', flush=True)\n\
         while True:\n  d, a = s.recvfrom(65536)\n  s.sendto(d, a)\n  if d == b'end': break"
    );
    // The path may lose a datagram: each is asked for until its answer comes.
    let client = format!(
        "import socket\nc = socket.socket(socket.{family}, socket.SOCK_DGRAM)\n\
         c.connect(('{address}', 7001))\nc.settimeout(2)\n\
         def ask(d):\n  for _ in range(10):\n    c.send(d)\n    try:\n      \
         while c.recv(65536) != d: pass\n      return\n    except TimeoutError: pass\n  \
         raise SystemExit(f'{{len(d)}} bytes: no answer')\n\
         for n in {lengths}: ask(bytes([n % 251]) * n)\nask(b'end')"
    );
    let mut server = lan.python(TWO, &server);
    ready(&mut server);
    let done = lan.python(ONE, &client).wait_with_output().unwrap();
    let _ = server.kill();
    assert!(done.status.success(), "{}", text(&done.stderr));
}

#[test]
fn two_hosts_talk_as_before_and_everything_is_signed() {
    let Some(mut lan) = Lan::new() else { return };
    let before = [ONE, TWO].map(|host| lan.state(host));
    both(&mut lan, ENFORCE);
    assert!(lan.pings(ONE, &Lan::v6(TWO)), "IPv6 over IPv4");
    assert!(lan.pings(TWO, &Lan::v6(ONE)));
    tcp(&lan, &Lan::v4(TWO));
    tcp(&lan, &Lan::v6(TWO));
    // 1200 and 1280 are what QUIC and IPv6 need whole; 1472 fills the interface.
    udp(&lan, &Lan::v4(TWO), "[0, 1, 1200, 1472]");
    udp(&lan, &Lan::v6(TWO), "[1232, 1452]");
    for host in [ONE, TWO] {
        let status = lan.status(host);
        assert!(
            status["outbound"]["packets"].as_u64() > Some(30),
            "{status}"
        );
        assert!(status["inbound"]["packets"].as_u64() > Some(30), "{status}");
        assert_eq!(status["filtered"]["unsigned_in"], 0, "{status}");
        assert_eq!(status["filtered"]["unsigned_out"], 0, "{status}");
        let verdicts = status["inbound"]["verdicts"].as_object().unwrap();
        // Packets of the second in which the receiver started may be older than it.
        let is_fine = |reason: &String| reason == "ok" || reason == "stale";
        assert!(verdicts.keys().all(is_fine), "{status}");
    }
    assert_eq!(lan.status(TWO)["peers"][0]["is_learned"], true);
    assert!(
        lan.pings(ONE, &Lan::v4(OTHER)),
        "others are reached as before"
    );
    lan.down(ONE);
    lan.down(TWO);
    assert_eq!([ONE, TWO].map(|host| lan.state(host)), before);
    assert!(lan.pings(ONE, &Lan::v4(TWO)), "as before");
}

#[test]
fn the_data_plane_has_no_privilege() {
    let Some(mut lan) = Lan::new() else { return };
    let one = lan.configure(ONE, "", true);
    lan.up(ONE, &one, &[]);
    let [_, plane] = lan.processes(ONE);
    let status = fs::read_to_string(format!("/proc/{plane}/status")).unwrap();
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_once(':').unwrap().1.trim().to_owned()
    };
    assert_eq!(field("Uid"), "65534\t65534\t65534\t65534");
    assert_eq!(field("Gid"), "65534\t65534\t65534\t65534");
    assert_eq!(
        (field("Groups").as_str(), field("NoNewPrivs").as_str()),
        ("", "1")
    );
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert_eq!(field(set), "0000000000000000", "{set}");
    }
    let tasks = fs::read_dir(format!("/proc/{plane}/task")).unwrap();
    for task in tasks {
        let status = fs::read_to_string(task.unwrap().path().join("status")).unwrap();
        assert!(status.contains("CapEff:\t0000000000000000"), "{status}");
    }
}

/// Both carriers, and a path that takes less than others: packets are cut, and none is lost for good.
#[test]
fn a_short_path_is_found_and_both_carriers_work() {
    for carrier in ["udp-tunnel", "udp-transport"] {
        let Some(mut lan) = Lan::new() else { return };
        both(&mut lan, &format!("{ENFORCE}\ncarrier = \"{carrier}\""));
        lan.ip(ONE, "link set wire mtu 1320");
        lan.ip(TWO, "link set wire mtu 1320");
        udp(&lan, &Lan::v4(TWO), "[100, 1472, 1300]");
        tcp(&lan, &Lan::v4(TWO));
        let mtu = lan.status(ONE)["peers"][0]["path_mtu"].as_u64();
        assert_eq!(mtu, Some(1320), "{carrier}: {}", lan.status(ONE));
    }
}
