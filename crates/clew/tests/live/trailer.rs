//! The carrier `trailer`: packets between two hosts are themselves, with a trailer at their ends.

use super::attacks::{beside, heard, listener, send, spoof};
use super::hosts::{tcp, udp};
use super::lan::{Lan, ONE, OTHER, TWO, text, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Output};

const ENFORCE: &str = "inbound = \"enforce\"\noutbound = \"require\"";

/// Room for the longest trailer behind the smallest packet that IPv6 needs whole.
pub const LARGE: u16 = 1_800;

/// Writes the configuration of a host: no end point, and IPv6 where the path takes it.
pub fn configure(lan: &Lan, host: usize, keys: &str, path_mtu: u16) -> PathBuf {
    let peer = 1 - host;
    let v6 = match path_mtu {
        LARGE => format!(", \"{}/128\"", Lan::v6(peer)),
        _ => String::new(),
    };
    let path = lan.path(&format!("{}.toml", lan.name(host)));
    let config = format!(
        "key = \"{host}.key\"\nuser = \"nobody\"\ncarrier = \"trailer\"\npath-mtu = {path_mtu}\n{keys}\n\
         [[peer]]\nprefixes = [\"{}/32\"{v6}]\ngroup = \"group.clew\"\n",
        Lan::v4(peer)
    );
    fs::write(&path, config).unwrap();
    path
}

pub fn both(lan: &mut Lan, keys: &str, path_mtu: u16) -> usize {
    for host in [ONE, TWO] {
        lan.ip(host, &format!("link set wire mtu {path_mtu}"));
        lan.ip(OTHER, &format!("link set port{host} mtu {path_mtu}"));
    }
    let [one, two] = [ONE, TWO].map(|host| configure(lan, host, keys, path_mtu));
    lan.up(TWO, &two, &[]);
    let daemon = lan.up(ONE, &one, &[]);
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
    daemon
}

/// tcpdump on the third host's port to the second one. Returns once it captures.
pub fn capture(lan: &Lan, file: &str) -> Child {
    // It changes its user, who writes the file.
    fs::set_permissions(
        file.rsplit_once('/').unwrap().0,
        fs::Permissions::from_mode(0o777),
    )
    .unwrap();
    let mut command = lan.within(OTHER, "tcpdump");
    let command = command.args([
        "-i",
        "port1",
        "--immediate-mode",
        "-U",
        // Room for a burst: each packet takes as much of the kernel's buffer as the longest one.
        "-s",
        "4096",
        "-B",
        "32768",
        "-w",
        file,
        "ip or ip6 and not icmp6",
    ]);
    let child = command.stderr(std::process::Stdio::null()).spawn().unwrap();
    until("tcpdump", || {
        fs::metadata(file).is_ok_and(|file| file.len() >= 24)
    });
    child
}

pub fn end(mut child: Child) {
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    child.wait().unwrap();
}

pub fn verify(lan: &Lan, file: &str) -> Output {
    let group = lan.path("group.clew");
    let group = group.to_str().unwrap();
    lan.in_host(
        OTHER,
        &["verify", "--group", group, "--format", "json", file],
    )
}

fn refused(lan: &Lan, host: usize, reason: &str) -> u64 {
    lan.status(host)["inbound"]["verdicts"][reason]
        .as_u64()
        .unwrap_or(0)
}

/// The processes that a host's daemon started, by what they are to do.
fn queue_process(lan: &Lan, host: usize) -> Option<i32> {
    let config = lan.path(&format!("{}.toml", lan.name(host)));
    let wanted = format!("--stage\0queue\0{}", config.display());
    let mut processes = fs::read_dir("/proc").unwrap().flatten();
    processes.find_map(|entry| {
        let command = fs::read_to_string(entry.path().join("cmdline")).ok()?;
        let number = entry.file_name().to_str()?.parse().ok()?;
        command.contains(&wanted).then_some(number)
    })
}

#[test]
fn two_hosts_talk_as_before_and_a_third_party_verifies_the_wire() {
    let Some(mut lan) = Lan::new() else { return };
    for host in [ONE, TWO] {
        lan.ip(host, &format!("link set wire mtu {LARGE}"));
    }
    let before = [ONE, TWO].map(|host| lan.state(host));
    both(&mut lan, ENFORCE, LARGE);
    let file = lan.path("wire.pcap");
    let file = file.to_str().unwrap();
    let tcpdump = capture(&lan, file);
    assert!(lan.pings(ONE, &Lan::v6(TWO)) && lan.pings(TWO, &Lan::v6(ONE)));
    tcp(&lan, &Lan::v4(TWO));
    tcp(&lan, &Lan::v6(TWO));
    // From nothing to all that the interface takes: 1800 less the longest trailer.
    udp(&lan, &Lan::v4(TWO), "[0, 1, 1200, 1329]");
    udp(&lan, &Lan::v6(TWO), "[0, 1232, 1309]");
    for host in [ONE, TWO] {
        let status = lan.status(host);
        assert_eq!(status["carrier"], "trailer");
        assert!(status["inbound"]["packets"].as_u64() > Some(30), "{status}");
        assert_eq!(status["filtered"]["unsigned_in"], 0, "{status}");
        assert_eq!(status["filtered"]["unsigned_out"], 0, "{status}");
        let verdicts = status["inbound"]["verdicts"].as_object().unwrap();
        let is_fine = |reason: &String| ["ok", "stale", "reordered"].contains(&reason.as_str());
        assert!(verdicts.keys().all(is_fine), "{status}");
    }
    assert!(
        lan.pings(ONE, &Lan::v4(OTHER)),
        "others are reached as before"
    );
    end(tcpdump);
    lan.down(ONE);
    lan.down(TWO);
    assert_eq!([ONE, TWO].map(|host| lan.state(host)), before);
    assert!(lan.pings(ONE, &Lan::v4(TWO)), "as before");
    let verified = verify(&lan, file);
    assert_eq!(
        verified.status.code(),
        Some(0),
        "{}",
        text(&verified.stdout)
    );
    let lines = text(&verified.stdout);
    let valid = lines
        .lines()
        .filter(|line| line.contains("\"verdict\":\"valid\""));
    let of_trailer = valid.filter(|line| line.contains("trailer")).count();
    assert!(
        of_trailer > 1_000,
        "{of_trailer} of {}",
        lines.lines().count()
    );
}

/// Takes a signed datagram off the wire, and sends it again: as it was, altered, and with a trailer that
/// is noise.
const REPEAT: &str = "import socket, os\n\
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))\n\
    s.bind(('port1', 0))\nprint('ready', flush=True)\n\
    while True:\n  f = s.recv(4096)\n  \
      if f[12:14] == b'\\x08\\x00' and f[23] == 17 and f[36:38] == b'\\x1b\\x5a' and f[-4:] == b'\\xc1LEW': break\n\
    for n in range(20):\n  s.send(f)\n  g = bytearray(f)\n  g[42] ^= 1 + n\n  s.send(g)\n  \
      g = bytearray(f)\n  g[50:-9] = os.urandom(len(g) - 59)\n  s.send(g)\n";

#[test]
fn forged_altered_repeated_and_unsigned_packets_are_not_delivered() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, "inbound = \"enforce\"", 1_500);
    let listener = listener(&lan, TWO);
    let before = beside(&lan);
    spoof(&lan);
    until("the unsigned packet", || beside(&lan) > before);
    let mut repeats = lan.python(OTHER, REPEAT);
    super::hosts::ready(&mut repeats);
    send(&lan, ONE, &Lan::v4(ONE), "honest");
    assert!(repeats.wait().unwrap().success());
    until("the copies", || refused(&lan, TWO, "duplicate") >= 20);
    until("the altered ones", || {
        refused(&lan, TWO, "bad-signature") >= 20
    });
    assert!(lan.pings(ONE, &Lan::v4(TWO)), "it still works");
    send(&lan, ONE, &Lan::v4(ONE), "again");
    send(&lan, OTHER, &Lan::v4(OTHER), "stranger");
    tcp(&lan, &Lan::v4(TWO));
    assert_eq!(heard(listener), ["honest", "again", "stranger"]);
}

#[test]
fn monitor_delivers_unsigned_packets_and_takes_trailers_off() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, "inbound = \"monitor\"", 1_500);
    let listener = listener(&lan, TWO);
    let before = beside(&lan);
    spoof(&lan);
    until("the packet", || beside(&lan) > before);
    send(&lan, ONE, &Lan::v4(ONE), "honest");
    tcp(&lan, &Lan::v4(TWO));
    assert_eq!(heard(listener), ["forged", "honest"]);
}

#[test]
fn the_data_plane_has_no_privilege_and_the_queue_one() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, ENFORCE, 1_500);
    let status = |process: i32| fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let plane = status(lan.processes(ONE)[1]);
    let queue = status(queue_process(&lan, ONE).unwrap());
    for (of, held) in [(plane, 0), (queue, 1 << 12)] {
        assert!(of.contains("Uid:\t65534\t65534\t65534\t65534"), "{of}");
        assert!(of.contains("NoNewPrivs:\t1"), "{of}");
        for (set, held) in [("Inh", 0), ("Prm", held), ("Eff", held), ("Amb", 0_u64)] {
            assert!(
                of.contains(&format!("Cap{set}:\t{held:016x}")),
                "{set}: {of}"
            );
        }
    }
}

/// Whichever process is killed: in enforce nothing passes, it starts again, and down undoes all.
#[test]
fn killed_processes_let_nothing_through_and_leave_nothing() {
    let Some(mut lan) = Lan::new() else { return };
    let before = lan.state(ONE);
    both(&mut lan, ENFORCE, 1_500);
    let hard = |process: i32| kill(Pid::from_raw(process), Signal::SIGKILL).unwrap();
    let first = queue_process(&lan, ONE).unwrap();
    hard(first);
    until("another queue", || {
        queue_process(&lan, ONE).is_some_and(|new| new != first)
    });
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
    let [supervisor, plane] = lan.processes(ONE);
    hard(supervisor);
    hard(plane);
    until("the end of the queue", || {
        queue_process(&lan, ONE).is_none()
    });
    assert!(!lan.pings(ONE, &Lan::v4(TWO)), "nothing passes");
    lan.down(ONE);
    assert_eq!(lan.state(ONE), before);
}

/// Another process has the queue's number.
#[test]
fn without_a_queue_the_daemon_says_so_and_undoes_all() {
    let Some(mut lan) = Lan::new() else { return };
    let second = "name = \"second\"\ninterface = \"second\"\ntable = 5000";
    let config = configure(&lan, ONE, "", 1_500);
    lan.up(ONE, &config, &[]);
    let before = lan.state(ONE);
    let text_of = fs::read_to_string(&config).unwrap();
    let other = lan.path("second.toml");
    let text_of = text_of.replace("user = ", &format!("{second}\nuser = "));
    let text_of = [
        (Lan::v4(TWO), Lan::v4(OTHER)),
        (Lan::v6(TWO), Lan::v6(OTHER)),
    ]
    .iter()
    .fold(text_of, |text, (own, other)| text.replace(own, other));
    fs::write(&other, text_of.replace("path-mtu", "port = 4909\npath-mtu")).unwrap();
    let output = lan.in_host(ONE, &["up", other.to_str().unwrap()]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("NFQUEUE 4909: "), "{said}");
    assert_eq!(lan.state(ONE), before);
}

/// Somebody stops the process of the kernel's queue, and lets it go on.
#[test]
fn a_queue_that_stands_still_is_told_of() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, ENFORCE, LARGE);
    let plane = lan.processes(ONE)[1];
    let children = fs::read_to_string(format!("/proc/{plane}/task/{plane}/children")).unwrap();
    let queue = Pid::from_raw(children.trim().parse().unwrap());
    let notices = || lan.status(ONE)["notices"].to_string();
    let said = "the process of the kernel's queue (clew up --stage queue) has stood still";
    assert!(!notices().contains(said));
    kill(queue, Signal::SIGSTOP).unwrap();
    until("the notice", || notices().contains(said));
    kill(queue, Signal::SIGCONT).unwrap();
    until("the end of it", || !notices().contains(said));
    assert_eq!(lan.log(ONE).matches(said).count(), 1, "said once");
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
}
