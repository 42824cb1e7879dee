//! The program as a whole, on real captures: what is signed is valid, what is changed is found, what
//! is stripped is the original, and nothing is lost when something goes wrong.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use clew::capture::{PacketLengths, Reader, Writer};
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const CAPTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/captures");

/// Packets of each capture that are used: enough for every kind, and few enough for a test.
const PACKETS: usize = 150;

/// A folder with a group and the key of one machine.
struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        let desk = Self(tempfile::tempdir().unwrap());
        desk.yes(&["group", "create", "acme", "--name", "acme"]);
        desk.yes(&["enrol", "acme", "web-1", "-o", "web-1.key"]);
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn clew(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_clew"));
        command
            .args(arguments)
            .current_dir(self.0.path())
            .stdin(Stdio::null());
        command
    }

    fn status(&self, arguments: &[&str]) -> i32 {
        self.clew(arguments)
            .status
            .code()
            .expect("clew is not killed by a signal")
    }

    fn yes(&self, arguments: &[&str]) -> String {
        let output = self.clew(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Signs `in` as `signed`.
    fn sign(&self, more: &[&str]) -> i32 {
        let sign = [
            "sign",
            "--key",
            "web-1.key",
            "--force",
            "in",
            "-w",
            "signed",
        ];
        self.status(&[&sign, more].concat())
    }

    /// Verifies a capture: exit status, one object per packet, and the summary.
    fn verify(&self, name: &str) -> (i32, Vec<Value>, Value) {
        let verify = [
            "verify",
            "--group",
            "acme/public/group.clew",
            "--json",
            name,
        ];
        let output = self.clew(&verify);
        let lines = String::from_utf8(output.stdout).unwrap();
        let mut objects: Vec<Value> = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let summary = objects.pop().unwrap()["summary"].take();
        (output.status.code().unwrap(), objects, summary)
    }
}

/// The captures of the project, and those beside it where they are.
fn captures() -> Vec<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/captures");
    let beside = std::env::var("CLEW_CAPTURES").unwrap_or_else(|_| beside.to_owned());
    let folders = [Path::new(CAPTURES), Path::new(&beside)];
    let mut all = Vec::new();
    for folder in folders {
        match fs::read_dir(folder) {
            Ok(entries) => all.extend(entries.map(|entry| entry.unwrap().path())),
            Err(_) => println!("SKIPPED: no captures in {}", folder.display()),
        }
    }
    all.retain(|path| {
        path.extension()
            .is_some_and(|e| e == "pcap" || e == "pcapng")
    });
    all
}

/// The beginning of a capture as a file.
fn beginning(of: &Path, to: &Path) {
    let reader = Reader::new(File::open(of).unwrap()).unwrap();
    let mut writer = Writer::new(Vec::new(), PacketLengths::NeverGrow);
    let mut packets = 0;
    for record in reader {
        let record = record.unwrap();
        packets += usize::from(record.packet().is_some());
        if packets > PACKETS {
            break;
        }
        writer.write(&record).unwrap();
    }
    fs::write(to, writer.finish().unwrap()).unwrap();
}

/// pcap's snap length, the one field that may differ after strip.
fn without_snaplen(mut file: Vec<u8>) -> Vec<u8> {
    if file[..4] != [0x0a, 0x0d, 0x0d, 0x0a] {
        file[16..20].fill(0);
    }
    file
}

#[test]
fn every_capture_is_signed_verified_and_restored() {
    let desk = Desk::new();
    for capture in captures() {
        let name = capture.display();
        beginning(&capture, &desk.path("in"));
        assert_eq!(desk.sign(&[]), 0, "{name}");
        let (status, packets, summary) = desk.verify("signed");
        assert_eq!(summary["invalid"], 0, "{name}");
        assert_eq!(summary["packets"], packets.len(), "{name}");
        let expected = match (&summary["undecided"], &summary["valid"]) {
            (undecided, valid) if *undecided == 0 && *valid != 0 => 0,
            _ => 2,
        };
        assert_eq!(status, expected, "{name}: {summary}");
        desk.yes(&["strip", "signed", "-w", "restored", "--force"]);
        let read = |name| without_snaplen(fs::read(desk.path(name)).unwrap());
        assert!(read("in") == read("restored"), "{name} is not restored");
    }
}

#[test]
fn all_policies_verify_and_strip() {
    let desk = Desk::new();
    beginning(
        &Path::new(CAPTURES).join("arkime--v6.pcap"),
        &desk.path("in"),
    );
    for policy in [
        &["--nat"][..],
        &["--tolerant"],
        &["--incremental"],
        &["--nat", "--tolerant", "--incremental"],
        &["--mtu", "1280"],
    ] {
        assert_eq!(desk.sign(policy), 0, "{policy:?}");
        let (status, _, summary) = desk.verify("signed");
        assert_eq!(status, 0, "{policy:?}: {summary}");
        desk.yes(&["strip", "signed", "-w", "restored", "--force"]);
        let read = |name| without_snaplen(fs::read(desk.path(name)).unwrap());
        assert!(read("in") == read("restored"), "{policy:?}");
    }
    assert_eq!(desk.sign(&["--mtu", "500", "--oversize", "refuse"]), 2);
}

#[test]
fn changed_packets_and_only_those_are_invalid() {
    let desk = Desk::new();
    beginning(
        &Path::new(CAPTURES).join("zeek--ssh-ssh.pcap"),
        &desk.path("in"),
    );
    assert_eq!(desk.sign(&[]), 0);
    let signed = fs::read(desk.path("signed")).unwrap();
    let mut changed = Vec::new();
    let mut writer = Writer::new(Vec::new(), PacketLengths::NeverGrow);
    for (i, record) in Reader::new(signed.as_slice()).unwrap().enumerate() {
        let mut record = record.unwrap();
        if i % 7 == 3 {
            let mut bytes = record.data().to_vec();
            let at = 34 + (i * 31) % (bytes.len() - 40); // from the TCP header to the trailer
            let covered = !(50..52).contains(&at); // all but the TCP checksum
            bytes[at] ^= 1 << (i % 8);
            record.replace(&bytes).unwrap();
            changed.extend(covered.then(|| record.packet().unwrap().frame));
        }
        writer.write(&record).unwrap();
    }
    fs::write(desk.path("changed"), writer.finish().unwrap()).unwrap();
    let (status, packets, _) = desk.verify("changed");
    assert_eq!(status, 1);
    assert!(changed.len() > 10);
    let invalid: Vec<u64> = packets
        .iter()
        .filter(|p| p["verdict"] == "invalid")
        .map(|p| p["packet"].as_u64().unwrap())
        .collect();
    assert_eq!(invalid, changed);
}

#[test]
fn a_packet_seen_twice_is_said_to_be_a_duplicate() {
    let desk = Desk::new();
    beginning(
        &Path::new(CAPTURES).join("tcpdump--quic_handshake.pcap"),
        &desk.path("in"),
    );
    assert_eq!(desk.sign(&[]), 0);
    let mut file = fs::read(desk.path("signed")).unwrap();
    let records = file[24..].to_vec();
    file.extend(records);
    fs::write(desk.path("twice"), file).unwrap();
    let (status, packets, summary) = desk.verify("twice");
    assert_eq!((status, &summary["valid"]), (0, &Value::from(36)));
    assert!(packets[..18].iter().all(|p| p["reason"] == "ok"));
    assert!(
        packets[18..]
            .iter()
            .all(|p| p["reason"] == "duplicate" && p["verdict"] == "valid")
    );
}

#[test]
fn runs_after_each_other_are_undone_one_by_one() {
    let desk = Desk::new();
    desk.yes(&["enrol", "acme", "web-2", "-o", "web-2.key"]);
    beginning(
        &Path::new(CAPTURES).join("zeek--ssh-ssh.pcap"),
        &desk.path("in"),
    );
    assert_eq!(desk.sign(&["--from", "192.168.1.79"]), 0);
    desk.yes(&["sign", "--key", "web-2.key", "signed", "-w", "twice"]);
    desk.yes(&[
        "sign",
        "--key",
        "web-2.key",
        "--from",
        "10.0.0.99",
        "twice",
        "-w",
        "thrice",
    ]);
    let (status, _, summary) = desk.verify("thrice");
    assert_eq!((status, &summary["unsigned"]), (0, &Value::from(0)));
    for (from, to, same) in [
        ("thrice", "b", "twice"),
        ("b", "a", "signed"),
        ("a", "o", "in"),
    ] {
        desk.yes(&["strip", from, "-w", to]);
        let equal = fs::read(desk.path(to)).unwrap() == fs::read(desk.path(same)).unwrap();
        assert!(equal, "strip of {from} is not {same}");
    }
}

#[test]
fn a_damaged_capture_is_signed_as_far_as_it_goes() {
    let desk = Desk::new();
    beginning(
        &Path::new(CAPTURES).join("tcpdump--quic_handshake.pcap"),
        &desk.path("in"),
    );
    let whole = fs::read(desk.path("in")).unwrap();
    fs::write(desk.path("in"), &whole[..whole.len() - 10]).unwrap();
    assert_eq!(desk.sign(&[]), 2);
    let (status, packets, summary) = desk.verify("signed");
    assert_eq!((status, packets.len()), (2, 17));
    assert_eq!(summary["valid"], 17);
    assert!(summary["damage"].is_string());
    assert_eq!(desk.status(&["strip", "signed", "-w", "restored"]), 2);
    assert!(fs::read(desk.path("in")).unwrap() == fs::read(desk.path("restored")).unwrap());
}

#[test]
fn the_demo_plays_on_any_capture_and_overwrites_only_itself() {
    let desk = Desk::new();
    for (name, force) in [
        ("zeek--linux_dlt_sll2.pcap", false),
        ("zeek--ldap-gap-data-missing.pcapng", true),
    ] {
        let capture = Path::new(CAPTURES).join(name);
        let demo = ["demo", capture.to_str().unwrap(), "-o", "stage"];
        let told = desk.yes(&[&demo[..], if force { &["--force"] } else { &[] }].concat());
        assert!(told.ends_with(" passed, 0 failed\n"), "{told}");
        assert_eq!(desk.status(&demo), 2, "a second demo needs --force");
    }
    fs::create_dir(desk.path("mine")).unwrap();
    fs::write(desk.path("mine/file"), "precious").unwrap();
    assert_eq!(desk.status(&["demo", "-o", "mine", "--force"]), 2);
    assert_eq!(fs::read(desk.path("mine/file")).unwrap(), b"precious");
}

#[test]
fn pipes_work_on_both_ends() {
    let desk = Desk::new();
    beginning(
        &Path::new(CAPTURES).join("tcpdump--quic_handshake.pcap"),
        &desk.path("in"),
    );
    let sign = desk
        .command(&["sign", "--key", "web-1.key", "-", "-w", "-"])
        .stdin(File::open(desk.path("in")).unwrap())
        .stderr(Stdio::null())
        .output()
        .unwrap();
    assert!(sign.status.success());
    fs::write(desk.path("signed"), sign.stdout).unwrap();
    assert_eq!(desk.verify("signed").0, 0);
}

#[test]
fn a_full_disk_leaves_nothing_behind() {
    let desk = Desk::new();
    beginning(
        &Path::new(CAPTURES).join("tcpdump--quic_handshake.pcap"),
        &desk.path("in"),
    );
    let sign = desk.clew(&["sign", "--key", "web-1.key", "in", "-w", "/dev/full"]);
    assert_eq!(sign.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&sign.stderr).contains("No space left"));
    let before = fs::read_dir(desk.0.path()).unwrap().count();
    assert_eq!(before, 3, "the group, the key, the capture");
}

#[test]
fn what_is_no_capture_is_said_to_be_none() {
    let desk = Desk::new();
    let cases: [(&[u8], &str); 4] = [
        (b"", "empty"),
        (b"hello, world", "neither pcap nor pcapng"),
        (b"\x1f\x8b\x08\0\0\0\0\0", "gunzip -c"),
        (b"\x28\xb5\x2f\xfd\0\0\0\0", "zstd"),
    ];
    for (bytes, said) in cases {
        fs::write(desk.path("in"), bytes).unwrap();
        let output = desk.clew(&["verify", "--group", "acme/public/group.clew", "in"]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(said), "{message}");
    }
}

#[test]
fn a_revoked_machine_signs_in_vain() {
    let desk = Desk::new();
    desk.yes(&["enrol", "acme", "web-2", "-o", "web-2.key"]);
    beginning(
        &Path::new(CAPTURES).join("tcpdump--quic_handshake.pcap"),
        &desk.path("in"),
    );
    desk.yes(&["revoke", "acme", "web-1", "--at", "2001-01-01T00:00:00Z"]);
    assert_eq!(
        desk.sign(&[]),
        0,
        "the thief has the key and the old public key"
    );
    let (status, packets, _) = desk.verify("signed");
    assert_eq!(status, 1);
    assert!(packets.iter().all(|p| p["reason"] == "epoch-over"));

    let update = |key| ["update", "--key", key, "--group", "acme/public/group.clew"];
    assert_eq!(desk.status(&update("web-1.key")), 1);
    desk.yes(&update("web-2.key"));
    desk.yes(&["sign", "--key", "web-2.key", "in", "-w", "signed-2"]);
    let (status, packets, _) = desk.verify("signed-2");
    assert_eq!((status, &packets[0]["epoch"]), (0, &Value::from(1)));
    for trustee in ["1", "3"] {
        let (key, to) = (
            format!("acme/trustees/{trustee}.key"),
            format!("{trustee}.share"),
        );
        let of = [
            "share",
            "--trustee",
            &key,
            "--group",
            "acme/public/group.clew",
        ];
        desk.yes(&[&of[..], &["signed-2", "--packet", "1", "-o", &to]].concat());
    }
    let of = [
        "open",
        "--group",
        "acme/public/group.clew",
        "--register",
        "acme",
    ];
    let shares = ["--share", "1.share", "--share", "3.share", "-o", "opening"];
    let opened = desk.yes(&[&of[..], &shares, &["signed-2", "--packet", "1"]].concat());
    assert!(
        opened.starts_with("packet 1 was sent by web-2\n"),
        "{opened}"
    );
}

/// Comments and custom options as `pcap-file` reads them.
#[test]
fn annotated_captures_say_each_verdict() {
    use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
    use pcap_file::pcapng::{Block, PcapNgReader};
    let desk = Desk::new();
    for name in [
        "tcpdump--quic_handshake.pcap",
        "zeek--ldap-gap-data-missing.pcapng",
    ] {
        beginning(&Path::new(CAPTURES).join(name), &desk.path("in"));
        assert_eq!(desk.sign(&[]), 0);
        let group = "acme/public/group.clew";
        desk.yes(&[
            "verify",
            "--group",
            group,
            "signed",
            "-w",
            "annotated",
            "--force",
        ]);
        let mut reader = PcapNgReader::new(File::open(desk.path("annotated")).unwrap()).unwrap();
        let mut packets = 0;
        while let Some(block) = reader.next_block() {
            let Block::EnhancedPacket(packet) = block.unwrap() else {
                continue;
            };
            packets += 1;
            assert!(packet.options.iter().any(|option| matches!(
                option,
                EnhancedPacketOption::Comment(c) if c.starts_with("clew: valid reason=ok group=")
            )));
        }
        assert_eq!(packets, 18, "{name}");
    }
}

#[test]
fn community_ids_are_those_of_the_published_baseline() {
    use clew::community_id::community_id;
    use clew_packet::Flow;
    let cases: Vec<Value> = serde_json::from_str(include_str!("community-id.json")).unwrap();
    assert!(cases.len() > 20);
    for case in cases {
        let protocol = case["proto"].as_u64().unwrap() as u8;
        let port = |name: &str| case[name].as_u64().map(|port| port as u16);
        let (from, to) = (port("sport"), port("dport"));
        // For ICMP the baseline gives type and code, or the answering type, in place of ports.
        let is_icmp = matches!(protocol, 1 | 58);
        let upper_start = from.zip(to).map(|(from, to)| match is_icmp {
            true => [from as u8, icmp_code(protocol, from, to), 0, 0],
            false => {
                let [a, b] = from.to_be_bytes();
                let [c, d] = to.to_be_bytes();
                [a, b, c, d]
            }
        });
        let flow = Flow {
            source: case["saddr"].as_str().unwrap().parse().unwrap(),
            destination: case["daddr"].as_str().unwrap().parse().unwrap(),
            protocol,
            source_port: None,
            destination_port: None,
            upper_start,
        };
        assert_eq!(
            community_id(&flow, 0),
            case["communityid"].as_str().unwrap(),
            "{case}"
        );
    }
}

/// The code of an ICMP packet: the second number, unless it is the type that answers the first.
fn icmp_code(protocol: u8, kind: u16, other: u16) -> u8 {
    let v4 = [
        (8, 0),
        (0, 8),
        (13, 14),
        (14, 13),
        (15, 16),
        (16, 15),
        (10, 9),
        (9, 10),
        (17, 18),
        (18, 17),
    ];
    let v6 = [
        (128, 129),
        (129, 128),
        (133, 134),
        (134, 133),
        (135, 136),
        (136, 135),
        (130, 131),
        (131, 130),
        (139, 140),
        (140, 139),
        (144, 145),
        (145, 144),
    ];
    let pairs: &[(u16, u16)] = if protocol == 1 { &v4 } else { &v6 };
    if pairs.contains(&(kind, other)) {
        0
    } else {
        other as u8
    }
}
