//! What strangers say about the sizes of packets.

use super::hosts::{both, ready, udp};
use super::lan::{Lan, ONE, OTHER, TWO, text, until};
use super::trailer;

const ENFORCE: &str = "inbound = \"enforce\"\noutbound = \"require\"";

/// Port of an application, which a stranger knows.
const KNOWN: u16 = 7003;

/// Functions that send "too big" about a packet from the first host to the second one, from an address that
/// nobody has asked: `old` for IPv4, with options in the quoted header, and `new` for IPv6. With `cut` the
/// answer comes in two fragments, of which the first has 16 bytes.
const SAY: &str = r"
import socket, struct
v4 = lambda a: socket.inet_pton(socket.AF_INET, a)
v6 = lambda a: socket.inet_pton(socket.AF_INET6, a)
def csum(b):
  s = sum(struct.unpack('!%dH' % (len(b) // 2), b))
  while s >> 16: s = (s >> 16) + (s & 65535)
  return struct.pack('!H', ~s & 65535)
def header(source, to, protocol, length, offset=0x4000, options=b''):
  b = struct.pack('!BBHHHBBH4s4s', 0x45 + len(options) // 4, 0, length, 7, offset, 60, protocol, 0, source, to)
  b += options
  return b[:10] + csum(b) + b[12:]
def old(protocol, data, options=b'', cut=False, mtu=600):
  b = header(v4(ONE4), v4(TWO4), protocol, 1400, options=options) + data
  m = struct.pack('!BBHHH', 3, 4, 0, 0, mtu) + b
  m = m[:2] + csum(m) + m[4:]
  s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
  for offset, part in [(0x2000, m[:16]), (2, m[16:])] if cut else [(0, m)]:
    s.sendto(header(v4(STRANGER4), v4(ONE4), 1, 20 + len(part), offset) + part, (ONE4, 0))
def new(protocol, data, cut=False, mtu=1280):
  b = struct.pack('!IHBB16s16s', 6 << 28, 1400, protocol, 60, v6(ONE6), v6(TWO6)) + data
  m = struct.pack('!BBHI', 2, 0, 0, mtu) + b
  m = m[:2] + csum(v6(STRANGER6) + v6(ONE6) + struct.pack('!II', len(m), 58) + m) + m[4:]
  s = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_RAW)
  for at, more, part in [(0, 1, m[:16]), (16, 0, m[16:])] if cut else [(0, None, m)]:
    inner = part if more is None else struct.pack('!BBHI', 58, 0, at | more, 99) + part
    outer = struct.pack('!IHBB', 6 << 28, len(inner), 58 if more is None else 44, 60)
    s.sendto(outer + v6(STRANGER6) + v6(ONE6) + inner, (ONE6, 0))
def say4(kind, code, quoted):
  m = struct.pack('!BBHI', kind, code, 0, 0) + quoted
  m = m[:2] + csum(m) + m[4:]
  return header(v4(STRANGER4), v4(ONE4), 1, 20 + len(m)) + m
def say6(kind, code, quoted):
  m = struct.pack('!BBHI', kind, code, 0, 0) + quoted
  m = m[:2] + csum(v6(STRANGER6) + v6(ONE6) + struct.pack('!II', len(m), 58) + m) + m[4:]
  return struct.pack('!IHBB', 6 << 28, len(m), 58, 60) + v6(STRANGER6) + v6(ONE6) + m
def errors(protocol4, protocol6, data4, data6, to4=TWO4, to6=TWO6):
  q4 = header(v4(ONE4), v4(to4), protocol4, 1400) + data4
  q6 = struct.pack('!IHBB16s16s', 6 << 28, 1400, protocol6, 60, v6(ONE6), v6(to6)) + data6
  kinds = [(3, 16), (4, 1), (5, 4), (11, 2), (12, 3)]
  one = [(ONE4, say4(kind, code, q4)) for kind, codes in kinds for code in range(codes)]
  # All that are errors: none of those above 4 is known, but Linux acts on them.
  kinds = [(1, 8), (3, 2), (4, 3)] + [(kind, 1) for kind in [0, 5, 77, 100, 127]]
  return one + [(ONE6, say6(kind, code, q6)) for kind, codes in kinds for code in range(codes)]
def send(all):
  s4 = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
  s6 = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_RAW)
  for to, packet in all: (s6 if ':' in to else s4).sendto(packet, (to, 0))
def ports(source): return struct.pack('!HHHH', source, 4909, 1380, 0) + bytes(40)
echo = struct.pack('!BBHHH', 8, 0, 0, 1, 1)
echo6 = struct.pack('!BBHHH', 128, 0, 0, 1, 1)
";

/// What a stranger runs.
fn program(what: &str) -> String {
    let addresses = [
        ("ONE4", Lan::v4(ONE)),
        ("ONE6", Lan::v6(ONE)),
        ("TWO4", Lan::v4(TWO)),
        ("TWO6", Lan::v6(TWO)),
        ("OTHER4", Lan::v4(OTHER)),
        ("OTHER6", Lan::v6(OTHER)),
        ("STRANGER4", "10.8.1.66".to_owned()),
        ("STRANGER6", "fd08::66".to_owned()),
    ];
    let addresses = addresses.map(|(name, address)| format!("{name} = '{address}'\n"));
    format!("{}{SAY}{what}", addresses.concat())
}

/// The third host says it.
fn say(lan: &Lan, what: &str) {
    let program = program(what);
    let done = lan.python(OTHER, &program).wait_with_output().unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
}

/// How the first host reaches the second one, in both families.
fn routes(lan: &Lan, mark: &str) -> String {
    let v4 = lan.ip(ONE, &format!("-4 route get {}{mark}", Lan::v4(TWO)));
    v4 + &lan.ip(ONE, &format!("-6 route get {}{mark}", Lan::v6(TWO)))
}

fn dropped(lan: &Lan) -> u64 {
    lan.status(ONE)["filtered"]["unsigned_in"].as_u64().unwrap()
}

#[test]
fn blind_answers_about_sizes_reach_no_application() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, ENFORCE);
    let before = dropped(&lan);
    say(&lan, "old(1, echo)\nnew(58, echo6)");
    until("both are counted", || dropped(&lan) >= before + 2);
    say(&lan, "old(17, ports(4909))\nnew(17, ports(4909))");
    // The carrier hears them, in both families: they arrived.
    until("the path of the carrier", || {
        let routes = routes(&lan, " mark 4909");
        routes.contains("mtu 600") && routes.contains("mtu 1280")
    });
    let captured = routes(&lan, "");
    assert!(!captured.contains("mtu"), "{captured}");
    udp(&lan, &Lan::v4(TWO), "[900, 1350]");
    udp(&lan, &Lan::v6(TWO), "[900, 1350]");
}

/// Errors of every kind, about datagrams that the carrier sent and about such that it never sent.
const ALL: &str = "own = errors(17, 17, ports(4909), ports(4909))\n\
    own += errors(17, 17, ports(4909), ports(4909), '198.51.100.7', '2001:db8::7')\n";

/// Whoever ends a program by a made-up answer needs no key. One error comes at a time, then as many as the
/// stranger can send, while packets of both sides go on.
#[test]
fn blind_errors_end_nothing() {
    for mode in ["", ENFORCE] {
        let Some(mut lan) = Lan::new() else { return };
        both(&mut lan, mode);
        let processes = [lan.processes(ONE), lan.processes(TWO)];
        let slowly = "for one in own:\n  send([one])\n  time.sleep(0.02)";
        say(&lan, &format!("import time\n{ALL}{slowly}"));
        assert!(lan.pings(ONE, &Lan::v4(TWO)) && lan.pings(ONE, &Lan::v6(TWO)));
        let endless = format!("{ALL}print('ready', flush=True)\nwhile True: send(own)");
        let mut flood = lan.python(OTHER, &program(&endless));
        ready(&mut flood);
        let sent = || lan.status(ONE)["outbound"]["packets"].as_u64().unwrap();
        let before = sent();
        for to in [Lan::v4(TWO), Lan::v6(TWO)] {
            udp(&lan, &to, "[100] * 100");
        }
        // What is lost is asked for again.
        let asked = sent() - before;
        assert!((202..=212).contains(&asked), "{asked}");
        assert!(flood.try_wait().unwrap().is_none(), "the flood went on");
        flood.kill().unwrap();
        flood.wait().unwrap();
        let failed = &lan.status(ONE)["outbound"]["dropped"]["send-failed"];
        assert!(failed.as_u64().unwrap_or(0) < 10, "{failed}");
        assert_eq!([lan.processes(ONE), lan.processes(TWO)], processes);
    }
}

#[test]
fn blind_errors_about_packets_to_peers_reach_no_application() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, ENFORCE);
    let before = dropped(&lan);
    let about = format!("all = errors(17, 17, ports({KNOWN}), ports({KNOWN}))");
    say(&lan, &format!("{about}\nassert len(all) == 44\nsend(all)"));
    until("all are counted", || dropped(&lan) >= before + 44);
    assert!(lan.pings(ONE, &Lan::v4(TWO)) && lan.pings(ONE, &Lan::v6(TWO)));
}

/// Errors whose quoted packet goes to no peer by its fixed header, and to the second host by a routing header:
/// `routed`. And `honest`: one about a fragment to the third host.
const ROUTED: &str = r"
def quote(to, first, source):
  header = struct.pack('!IHBB', 6 << 28, 1400, first[0], 60) + v6(ONE6) + v6(to)
  return header + first[1] + struct.pack('!HHHH', source, 7777, 12, 0) + b'abcd'
def options(kind, behind): return kind, struct.pack('!BBBB4x', behind[0], 0, 1, 4) + behind[1]
def fragment(behind): return 44, struct.pack('!BBHI', behind[0], 0, 1, 7) + behind[1]
route = (43, struct.pack('!BBBBBBH', 17, 2, 4, 0, 0, 0, 0) + v6(TWO6))
chains = [route, options(0, route), options(60, route), fragment(route), options(0, fragment(route))]
routed = [(ONE6, say6(1, 4, quote('2001:db8::7', chain, 7003))) for chain in chains]
honest = [(ONE6, say6(1, 4, quote(OTHER6, fragment((17, b'')), 7004)))]
";

/// Waits at two sockets, one connected to the second host and one to the third, until an error comes. Says which
/// got one.
fn waits(lan: &Lan) -> std::process::Child {
    let program = format!(
        "import socket, select\ndef made(port, to):\n  \
         s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)\n  s.bind(('{}', port))\n  \
         s.connect((to, 7777))\n  return s\n\
         both = {{made({KNOWN}, '{}'): 'peer', made(7004, '{}'): 'other'}}\nprint('ready', flush=True)\n\
         for s in select.select(list(both), [], [], 60)[0]:\n  try: s.recv(9)\n  \
         except ConnectionRefusedError: print(both[s], flush=True)",
        Lan::v6(ONE),
        Lan::v6(TWO),
        Lan::v6(OTHER),
    );
    let mut child = lan.python(ONE, &program);
    ready(&mut child);
    child
}

/// Linux takes the destination of a quoted packet from its routing header.
#[test]
fn blind_errors_about_packets_with_a_routing_header_reach_no_application() {
    let Some(mut lan) = Lan::new() else { return };
    let heard = |waiting: std::process::Child| text(&waiting.wait_with_output().unwrap().stdout);
    let waiting = waits(&lan);
    say(&lan, &format!("{ROUTED}send(routed[:1])"));
    assert_eq!(heard(waiting), "peer\n", "without a daemon");
    both(&mut lan, ENFORCE);
    let waiting = waits(&lan);
    let before = dropped(&lan);
    say(&lan, &format!("{ROUTED}send(routed)"));
    until("all are counted", || dropped(&lan) >= before + 5);
    say(&lan, &format!("{ROUTED}send(honest)"));
    assert_eq!(heard(waiting), "other\n");
    assert_eq!(dropped(&lan), before + 5);
}

/// Sockets of an application that take whatever comes, in both families.
fn application(lan: &Lan, port: u16) -> std::process::Child {
    let program = format!(
        "import socket, time\n\
         a = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\na.bind(('0.0.0.0', {port}))\n\
         b = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)\n\
         b.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)\nb.bind(('::', {port}))\n\
         print('ready', flush=True)\ntime.sleep(600)"
    );
    let mut child = lan.python(ONE, &program);
    ready(&mut child);
    child
}

/// With trailers packets leave as themselves: only how long they may be is heard of routers, and no size that no
/// path has.
#[test]
fn with_trailers_blind_errors_tell_sizes_alone() {
    let Some(mut lan) = Lan::new() else { return };
    let mut application = application(&lan, KNOWN);
    trailer::both(&mut lan, ENFORCE, trailer::LARGE);
    let before = dropped(&lan);
    let about = format!("all = errors(17, 17, ports({KNOWN}), ports({KNOWN}))");
    say(&lan, &format!("{about}\nsend(all)"));
    until("all are counted", || dropped(&lan) >= before + 44);
    let tiny = format!("old(17, ports({KNOWN}), mtu=575)\nnew(17, ports({KNOWN}), mtu=1279)");
    say(&lan, &tiny);
    until("both are counted", || dropped(&lan) >= before + 46);
    say(&lan, &format!("{ROUTED}send(routed)"));
    until("these, too", || dropped(&lan) >= before + 51);
    let told = routes(&lan, "");
    assert!(!told.contains("mtu"), "{told}");
    say(
        &lan,
        &format!("old(17, ports({KNOWN}))\nnew(17, ports({KNOWN}))"),
    );
    until("the path of applications", || {
        let routes = routes(&lan, "");
        routes.contains("mtu 600") && routes.contains("mtu 1280")
    });
    assert_eq!(dropped(&lan), before + 51);
    assert!(lan.pings(ONE, &Lan::v4(TWO)) && lan.pings(ONE, &Lan::v6(TWO)));
    application.kill().unwrap();
    application.wait().unwrap();
}

/// Port of an application that is not excluded.
const OWN: u16 = 7004;

/// How the first host reaches another one, in both families.
fn routes_to(lan: &Lan, host: usize) -> String {
    let v4 = lan.ip(ONE, &format!("-4 route get {}", Lan::v4(host)));
    v4 + &lan.ip(ONE, &format!("-6 route get {}", Lan::v6(host)))
}

/// A host that refuses strangers hears routers all the same: how long packets may be that leave unsigned, and with
/// trailers those to peers.
#[test]
fn a_host_that_refuses_strangers_hears_how_long_packets_may_be() {
    let refuse = format!("{ENFORCE}\nothers = \"refuse\"\nexclude = [\"udp/{KNOWN}\"]");
    for has_trailers in [false, true] {
        let Some(mut lan) = Lan::new() else { return };
        let mut applications = [application(&lan, KNOWN), application(&lan, OWN)];
        match has_trailers {
            true => drop(trailer::both(&mut lan, &refuse, trailer::LARGE)),
            false => both(&mut lan, &refuse),
        }
        let refused = || lan.status(ONE)["filtered"]["others_in"].as_u64().unwrap();
        let about = |port: u16| format!("old(17, ports({port}))\nnew(17, ports({port}))\n");
        let strange = "TWO4, TWO6 = OTHER4, OTHER6\n";
        let before = refused();
        say(&lan, &format!("{strange}{}", about(OWN)));
        // An echo that says the same where an error has what it is about.
        let echo = format!(
            "q4 = header(v4(ONE4), v4(OTHER4), 17, 1400) + ports({KNOWN})\n\
             send([(ONE4, say4(8, 0, q4))])\n"
        );
        say(&lan, &echo);
        until("what is not excluded", || refused() >= before + 3);
        let told = routes_to(&lan, OTHER);
        assert!(!told.contains("mtu"), "{told}");
        say(&lan, &format!("{strange}{}", about(KNOWN)));
        let is_told = |routes: String| routes.contains("mtu 600") && routes.contains("mtu 1280");
        until("the path of what is excluded", || {
            is_told(routes_to(&lan, OTHER))
        });
        say(&lan, &about(OWN));
        if has_trailers {
            until("the path to the peer", || is_told(routes(&lan, "")));
        }
        for application in &mut applications {
            application.kill().unwrap();
            application.wait().unwrap();
        }
    }
}

/// The kernel reads ports behind options, and puts fragments together, which no rule sees.
#[test]
fn blind_answers_with_options_or_in_fragments_reach_no_application() {
    for others in ["", "\nothers = \"refuse\"\nexclude = [\"icmp\"]"] {
        let Some(mut lan) = Lan::new() else { return };
        let mut application = application(&lan, KNOWN);
        // Without a daemon the stranger's answers work, each of them.
        let ways = [
            (
                format!("old(17, ports({KNOWN}), struct.pack('!HH', 4909, 0))"),
                "mtu 600",
            ),
            (format!("old(17, ports({KNOWN}), cut=True)"), "mtu 600"),
            (format!("new(17, ports({KNOWN}), cut=True)"), "mtu 1280"),
        ];
        for (way, mtu) in &ways {
            say(&lan, way);
            until(way, || routes(&lan, "").contains(mtu));
            for family in ["-4", "-6"] {
                lan.ip(ONE, &format!("{family} route flush cache"));
            }
            until("the end of it", || !routes(&lan, "").contains("mtu"));
        }
        both(&mut lan, &format!("{ENFORCE}{others}"));
        for (way, _) in &ways {
            let before = dropped(&lan);
            say(&lan, way);
            until(way, || dropped(&lan) > before);
            // Honest long packets of a host that is no peer, in fragments, come behind it.
            for to in [Lan::v4(ONE), Lan::v6(ONE)] {
                let mut ping = lan.within(OTHER, "ping");
                let output = ping
                    .args(["-c", "1", "-W", "5", "-s", "5000", &to])
                    .output();
                let output = output.unwrap();
                assert!(output.status.success(), "{way}: {}", text(&output.stdout));
            }
            let routes = routes(&lan, "");
            assert!(!routes.contains("mtu"), "{way}: {routes}");
        }
        udp(&lan, &Lan::v4(TWO), "[900, 1350, 5000]");
        udp(&lan, &Lan::v6(TWO), "[900, 1350, 5000]");
        application.kill().unwrap();
        application.wait().unwrap();
    }
}
