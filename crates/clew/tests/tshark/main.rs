//! What analysts see in Wireshark: `contrib/wireshark/clew.lua` against what clew itself reads, and
//! annotated files after they went through the tools of Wireshark.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use clew::capture::{PacketLengths, Reader, Record, Writer};
use clew_packet::{Block, Frame, LinkType, Reason, SignedPacket, Verdict, read};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

const CAPTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/captures");
const DISSECTOR: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../contrib/wireshark/clew.lua"
);

/// Packets of each capture that are used.
const PACKETS: usize = 24;

/// Ethernet with IPv4 and IPv6, NULL, SLL2, PPPoE within VLANs, several interfaces, VLAN.
const SOME: [&str; 7] = [
    "zeek--ssh-ssh.pcap",
    "arkime--v6.pcap",
    "tcpdump--quic_handshake.pcap",
    "zeek--linux_dlt_sll2.pcap",
    "zeek--pppoe-over-qinq.pcap",
    "zeek--ldap-gap-data-missing.pcapng",
    "suricata-verify--truncate-applayer-test-01.pcap",
];

/// All fields but `clew.malformed`, which is an expert's.
const FIELDS: [&str; 38] = [
    "clew.signature",
    "clew.block.id",
    "clew.block.index",
    "clew.block.count",
    "clew.block.digest",
    "clew.block.depth",
    "clew.block.path",
    "clew.window.k",
    "clew.window.h",
    "clew.saved.ipv4_checksum",
    "clew.saved.udp_length",
    "clew.saved.l4_checksum",
    "clew.group",
    "clew.epoch",
    "clew.timestamp",
    "clew.scheme",
    "clew.carriage",
    "clew.flags",
    "clew.flags.nat",
    "clew.flags.tolerant",
    "clew.flags.ipv4_checksum",
    "clew.flags.udp_length",
    "clew.flags.l4_checksum",
    "clew.flags.incremental",
    "clew.flags.reserved",
    "clew.mode",
    "clew.length",
    "clew.version",
    "clew.magic",
    "clew.mark.count",
    "clew.mark.length",
    "clew.mark.flags",
    "clew.mark.saved.ipv4_checksum",
    "clew.mark.saved.udp_length",
    "clew.mark.saved.l4_checksum",
    "clew.reason",
    "frame.number",
    "frame.comment",
];

/// Says, and shows, that a test cannot run here.
fn is_missing(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        println!("SKIPPED: {program} is missing: apt-get install tshark");
    }
    !found
}

/// A folder with a group and the key of one machine.
struct Desk(TempDir);

impl Desk {
    fn new(scheme: &str) -> Self {
        let desk = Self(tempfile::tempdir().unwrap());
        desk.clew(&[
            "group", "create", "acme", "--name", "acme", "--scheme", scheme,
        ]);
        desk.clew(&["enrol", "acme", "web-1", "-o", "web-1.key"]);
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, program: &str, arguments: &[&str]) -> (Option<i32>, String) {
        let output = Command::new(program)
            .args(arguments)
            .current_dir(self.0.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let code = output.status.code();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(code != Some(2), "{program} {arguments:?}: {said}");
        (code, String::from_utf8(output.stdout).unwrap())
    }

    fn clew(&self, arguments: &[&str]) -> String {
        self.run(env!("CARGO_BIN_EXE_clew"), arguments).1
    }

    /// Signs `from` as `to`.
    fn sign(&self, from: &str, to: &str, more: &[&str]) {
        let sign = ["sign", "--key", "web-1.key", "--force", from, "-w", to];
        self.clew(&[&sign, more].concat());
    }

    /// What `verify --json` says, one object per packet.
    fn verify(&self, name: &str) -> Vec<Value> {
        let lines = self.clew(&[
            "verify",
            "--group",
            "acme/public/group.clew",
            "--json",
            name,
        ]);
        let objects = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        objects
            .filter(|object: &Value| object.get("packet").is_some())
            .collect()
    }

    fn tshark(&self, name: &str, more: &[&str]) -> String {
        let script = format!("lua_script:{DISSECTOR}");
        let all = ["-n", "-X", &script, "-r", name];
        let (code, out) = self.run("tshark", &[&all, more].concat());
        assert_eq!(code, Some(0), "{name} {more:?}");
        out
    }

    /// The fields of each frame that are there.
    fn fields(&self, name: &str) -> Vec<BTreeMap<&'static str, String>> {
        let mut arguments = vec!["-T", "fields", "-E", "occurrence=a"];
        for field in FIELDS {
            arguments.extend(["-e", field]);
        }
        let out = self.tshark(name, &arguments);
        let line = |line: &str| {
            let values = FIELDS.into_iter().zip(line.split('\t'));
            let there = values.filter(|(_, value)| !value.is_empty());
            there
                .map(|(name, value)| (name, value.to_owned()))
                .collect()
        };
        out.lines().map(line).collect()
    }

    /// The numbers of the frames that a display filter selects.
    fn filtered(&self, name: &str, filter: &str) -> Vec<usize> {
        let out = self.tshark(name, &["-Y", filter, "-T", "fields", "-e", "frame.number"]);
        out.lines().map(|line| line.parse().unwrap()).collect()
    }
}

/// The first records of a capture, to a file of their own.
fn beginning(of: &Path, to: &Path) {
    let bytes = fs::read(of).unwrap();
    let records = Reader::new(bytes.as_slice()).unwrap();
    let records = records.map(Result::unwrap);
    let within = |record: &Record| record.packet().is_none_or(|p| p.frame <= PACKETS as u64);
    write(to, records.take_while(within));
}

fn write(to: &Path, records: impl IntoIterator<Item = Record>) {
    let mut writer = Writer::new(Vec::new(), PacketLengths::NeverGrow);
    for record in records {
        writer.write(&record).unwrap();
    }
    fs::write(to, writer.finish().unwrap()).unwrap();
}

fn records(name: &Path) -> Vec<Record> {
    let bytes = fs::read(name).unwrap();
    let reader = Reader::new(bytes.as_slice()).unwrap();
    reader.map(Result::unwrap).collect()
}

/// Link type, length on the wire and bytes of every packet.
fn packets(name: &Path) -> Vec<(u32, usize, Vec<u8>)> {
    let all = records(name).into_iter();
    all.filter_map(|record| {
        let info = record.packet()?;
        let wire = info.wire_len as usize;
        Some((u32::from(info.link), wire, record.data().to_vec()))
    })
    .collect()
}

/// The same packets as raw IP.
fn without_ethernet(of: &Path, to: &Path) {
    let mut file = fs::read(of).unwrap()[..24].to_vec();
    let little = file[0] != 0xa1;
    let number = |n: u32| {
        if little {
            n.to_le_bytes()
        } else {
            n.to_be_bytes()
        }
    };
    file[20..24].copy_from_slice(&number(101));
    for (second, (_, _, bytes)) in packets(of).into_iter().enumerate() {
        let (time, len) = (1_700_000_000 + second as u32, bytes.len() as u32 - 14);
        for field in [time, 0, len, len] {
            file.extend(number(field));
        }
        file.extend(&bytes[14..]);
    }
    fs::write(to, file).unwrap();
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// The fields that a packet has by clew's own reading, as tshark writes them.
fn expected(packet: &SignedPacket<'_>) -> BTreeMap<&'static str, String> {
    let trailer = packet.trailer();
    let mut all = BTreeMap::new();
    let mut add = |name, value: String| {
        if !value.is_empty() {
            all.insert(name, value);
        }
    };
    add("clew.signature", hex(trailer.body));
    match trailer.block {
        Block::Each => {}
        Block::Window { k, h } => {
            add("clew.window.k", k.to_string());
            add("clew.window.h", hex(h));
        }
        Block::Tree { block, index, path } => {
            let digest = block.digest().bytes();
            add("clew.block.id", hex(block.id()));
            add("clew.block.index", index.to_string());
            add("clew.block.count", block.count().to_string());
            add("clew.block.digest", digest.to_string());
            add("clew.block.depth", (path.len() / digest).to_string());
            add("clew.block.path", hex(path));
        }
    }
    let saved = trailer.saved;
    let checksum = |value: Option<u16>| value.map_or(String::new(), |v| format!("0x{v:04x}"));
    add("clew.saved.ipv4_checksum", checksum(saved.ipv4_checksum));
    add("clew.saved.l4_checksum", checksum(saved.l4_checksum));
    add(
        "clew.saved.udp_length",
        saved.udp_length.map_or(String::new(), |v| v.to_string()),
    );
    add("clew.group", trailer.group.to_string());
    add("clew.epoch", trailer.epoch.to_string());
    add("clew.scheme", trailer.scheme.code().to_string());
    add("clew.carriage", (trailer.carriage as u8).to_string());
    add("clew.flags", format!("0x{:02x}", trailer.flags()));
    for (name, set) in [
        ("clew.flags.nat", trailer.nat),
        ("clew.flags.tolerant", trailer.tolerant),
        ("clew.flags.incremental", trailer.incremental),
        ("clew.flags.ipv4_checksum", saved.ipv4_checksum.is_some()),
        ("clew.flags.udp_length", saved.udp_length.is_some()),
        ("clew.flags.l4_checksum", saved.l4_checksum.is_some()),
    ] {
        add(name, u8::from(set).to_string());
    }
    add("clew.mode", (trailer.block.mode() as u8).to_string());
    add("clew.length", trailer.length().to_string());
    add("clew.version", "1".into());
    add("clew.magic", "0xc14c4557".into());
    if packet.marks() > 0 {
        add("clew.mark.count", packet.marks().to_string());
    }
    all
}

/// What tshark shows, but for what [`expected`] does not say.
fn comparable(mut shown: BTreeMap<&'static str, String>) -> BTreeMap<&'static str, String> {
    shown.retain(|name, _| {
        let of_mark = name.starts_with("clew.mark.") && *name != "clew.mark.count";
        let other = ["clew.flags.reserved", "clew.timestamp"].contains(name);
        name.starts_with("clew.") && !of_mark && !other
    });
    for (name, value) in &mut shown {
        if name.starts_with("clew.flags.") {
            // Wireshark 4.4 and later write words.
            *value = value.replace("True", "1").replace("False", "0");
        }
    }
    shown
}

/// Compares every field of every packet of a signed file; returns how many carried a trailer.
fn compare(desk: &Desk, name: &str, what: &str) -> usize {
    let shown = desk.fields(name);
    let verified = desk.verify(name);
    let packets = packets(&desk.path(name));
    assert_eq!(shown.len(), packets.len(), "{what}");
    let mut signed = 0;
    for (i, ((link, wire_len, bytes), shown)) in packets.iter().zip(shown).enumerate() {
        let frame = Frame {
            link: LinkType(*link),
            bytes,
            wire_len: *wire_len,
        };
        let what = format!("{what}, packet {}", i + 1);
        match read(&frame) {
            Ok(packet) => {
                signed += 1;
                agrees_with_verify(&shown, &verified[i], &what);
                assert_eq!(comparable(shown), expected(&packet), "{what}");
            }
            Err(reason) => assert_eq!(malformed(&shown), told(reason), "{what}"),
        }
    }
    signed
}

fn agrees_with_verify(shown: &BTreeMap<&str, String>, verified: &Value, what: &str) {
    let group = verified["group"].as_str().unwrap();
    assert!(group.starts_with(&shown["clew.group"]), "{what}");
    assert_eq!(verified["epoch"].to_string(), shown["clew.epoch"], "{what}");
    let modes = ["mark", "each", "window", "tree"];
    let mode: usize = shown["clew.mode"].parse().unwrap();
    assert_eq!(verified["mode"], modes[mode], "{what}");
    let scheme: usize = shown["clew.scheme"].parse().unwrap();
    let name = verified["scheme"].as_str().unwrap();
    assert!(name.starts_with(["", "bbs04", "xr"][scheme]), "{what}");
    // "Dec 16, 2011 21:35:33.000000000 UTC" and "2011-12-16T21:35:33.000000000Z"
    let at = verified["signed_at"].as_str().unwrap();
    let clock = &at[11..at.len() - 1];
    let time = &shown["clew.timestamp"];
    assert!(
        time.contains(clock) && time.contains(&at[..4]),
        "{what}: {time} {at}"
    );
}

fn malformed(shown: &BTreeMap<&'static str, String>) -> Option<String> {
    let reason = shown.get("clew.reason").cloned();
    let silent = shown.keys().all(|name| !name.starts_with("clew."));
    assert!(reason.is_some() || silent, "{shown:?}");
    reason
}

/// The reason, where a packet ends in the magic and is not well-formed.
fn told(reason: Reason) -> Option<String> {
    let of_layout = reason.verdict(clew_packet::Replay::Flag) == Some(Verdict::Invalid);
    (of_layout || reason == Reason::TooBig).then(|| reason.to_string())
}

#[test]
fn the_dissector_shows_what_clew_reads_in_all_modes() {
    if is_missing("tshark") {
        return;
    }
    for (scheme, policies) in [
        (
            "xr",
            &[&[][..], &["--nat"], &["--tolerant", "--incremental"]][..],
        ),
        ("bbs04", &[&["--incremental"], &["--nat", "--tolerant"]]),
    ] {
        let desk = Desk::new(scheme);
        for (i, mode) in ["each", "window", "tree"].into_iter().enumerate() {
            let capture = Path::new(CAPTURES).join(SOME[i % 2]);
            beginning(&capture, &desk.path("in"));
            for policy in policies {
                desk.sign("in", "signed", &[&["--mode", mode], *policy].concat());
                let what = format!("{scheme} {mode} {policy:?}");
                let signed = compare(&desk, "signed", &what);
                assert!(signed >= PACKETS / 2, "{what}: {signed}");
            }
        }
    }
}

#[test]
fn the_dissector_descends_all_link_types_and_looks_through_marks() {
    if is_missing("tshark") {
        return;
    }
    let desk = Desk::new("xr");
    for capture in SOME {
        beginning(&Path::new(CAPTURES).join(capture), &desk.path("in"));
        desk.sign("in", "signed", &["--time", "now"]);
        assert!(compare(&desk, "signed", capture) > 0, "{capture}");
        desk.sign("signed", "marked", &[]);
        desk.sign("marked", "twice", &[]);
        assert!(compare(&desk, "twice", capture) > 0, "{capture}");
        assert!(!desk.filtered("twice", "clew.mark.count == 2").is_empty());
    }
    beginning(&Path::new(CAPTURES).join(SOME[0]), &desk.path("in"));
    without_ethernet(&desk.path("in"), &desk.path("raw"));
    desk.sign("raw", "signed", &[]);
    assert_eq!(compare(&desk, "signed", "raw IP"), PACKETS);
}

#[test]
fn damaged_trailers_are_malformed_for_the_reason_that_clew_names() {
    if is_missing("tshark") {
        return;
    }
    let desk = Desk::new("xr");
    beginning(&Path::new(CAPTURES).join(SOME[0]), &desk.path("in"));
    for mode in ["each", "window", "tree"] {
        desk.sign("in", "once", &["--mode", mode]);
        desk.sign("once", "marked", &[]);
        let mut seen = 0;
        for (name, depth) in [("once", 60), ("marked", 80)] {
            for value in [0x00, 0x01, 0x40, 0xff] {
                damage(&desk, name, depth, value);
                compare(&desk, "damaged", &format!("{mode} {name} {value:x}"));
                seen += desk.filtered("damaged", "clew.malformed").len();
            }
        }
        assert!(seen > 20, "{mode}: {seen}");
    }
}

/// Sets one byte near the end of each packet, another one in each.
fn damage(desk: &Desk, name: &str, depth: usize, value: u8) {
    let damaged = records(&desk.path(name)).into_iter().map(|mut record| {
        if let Some(packet) = record.packet() {
            let mut bytes = record.data().to_vec();
            let at = bytes.len() - 1 - (packet.frame as usize * 5 + usize::from(value)) % depth;
            bytes[at] = value;
            record.replace(&bytes).unwrap();
        }
        record
    });
    write(&desk.path("damaged"), damaged);
}

#[test]
fn fields_can_be_filtered_on() {
    if is_missing("tshark") {
        return;
    }
    let desk = Desk::new("xr");
    beginning(&Path::new(CAPTURES).join(SOME[0]), &desk.path("in"));
    desk.sign("in", "signed", &["--mode", "tree", "--nat"]);
    let verified = desk.verify("signed");
    let number = |packet: &Value| packet["packet"].as_u64().unwrap() as usize;
    let of = |mode: &str| -> Vec<usize> {
        verified
            .iter()
            .filter(|p| p["mode"] == mode)
            .map(number)
            .collect()
    };
    let all: Vec<usize> = verified.iter().map(number).collect();
    let group = &verified[0]["group"].as_str().unwrap()[..16];
    assert!(!of("tree").is_empty());
    assert_eq!(desk.filtered("signed", "clew.mode == 3"), of("tree"));
    assert_eq!(desk.filtered("signed", "clew.block.id"), of("tree"));
    assert_eq!(desk.filtered("signed", "clew.mode == 1"), of("each"));
    for filter in [
        "clew",
        "clew.flags.nat == 1 && clew.flags.tolerant == 0",
        "clew.epoch == 0 && clew.version == 1 && clew.length > 300",
        "clew.timestamp >= \"2011-12-16 00:00:00\"",
        &format!("clew.group == {group}"),
    ] {
        assert_eq!(desk.filtered("signed", filter), all, "{filter}");
    }
    assert!(
        desk.filtered("signed", "clew.malformed || clew.reason")
            .is_empty()
    );
    assert!(desk.filtered("in", "clew").is_empty());
}

#[test]
fn annotated_files_survive_editcap_and_mergecap() {
    if is_missing("tshark") || is_missing("editcap") || is_missing("mergecap") {
        return;
    }
    let desk = Desk::new("xr");
    beginning(&Path::new(CAPTURES).join(SOME[0]), &desk.path("in"));
    desk.sign("in", "signed", &[]);
    let group = "acme/public/group.clew";
    desk.clew(&["verify", "--group", group, "signed", "-w", "noted.pcapng"]);
    desk.run("editcap", &["noted.pcapng", "edited.pcapng"]);
    desk.run("editcap", &["-r", "noted.pcapng", "some.pcapng", "3-9"]);
    desk.run(
        "mergecap",
        &["-w", "merged.pcapng", "noted.pcapng", "some.pcapng"],
    );
    desk.run("tshark", &["-r", "noted.pcapng", "-w", "again.pcapng"]);
    let objects: Vec<String> = desk.verify("signed").iter().map(Value::to_string).collect();
    for (name, packets) in [
        ("noted.pcapng", PACKETS),
        ("edited.pcapng", PACKETS),
        ("again.pcapng", PACKETS),
        ("some.pcapng", 7),
        ("merged.pcapng", PACKETS + 7),
    ] {
        let shown = desk.fields(name);
        assert_eq!(shown.len(), packets, "{name}");
        for fields in &shown {
            let comment = &fields["frame.comment"];
            assert!(
                comment.starts_with("clew: valid reason=ok group="),
                "{name}: {comment}"
            );
        }
        let filter = "frame.comment contains \"clew: valid\" && clew";
        assert_eq!(desk.filtered(name, filter).len(), packets, "{name}");
        // The option for programs, which tshark does not show.
        let file = String::from_utf8_lossy(&fs::read(desk.path(name)).unwrap()).into_owned();
        let found: usize = objects
            .iter()
            .map(|object| file.matches(object.as_str()).count())
            .sum();
        assert_eq!(found, packets, "{name}");
        let verified = desk.verify(name);
        assert!(
            verified.iter().all(|packet| packet["verdict"] == "valid"),
            "{name}"
        );
    }
}
