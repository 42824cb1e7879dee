//! Every field of every mode, scheme and form, and filters on them.

use crate::files::{IPV4, IPV6, PACKETS, Packet, begin, begin_flow, packets, plain, write};
use crate::folder::Folder;
use crate::reading::compare;
use crate::shark::{FIELDS, Shown, missing};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

const README: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../contrib/wireshark/README.md"
);

const MODES: [&str; 3] = ["each", "window", "tree"];

#[test]
fn fields_are_those_that_clew_reads_in_all_modes() {
    if missing("tshark") {
        return;
    }
    let of_xr: [&[&str]; 3] = [&[], &["--nat"], &["--tolerant", "--incremental"]];
    let of_bbs04: [&[&str]; 2] = [&["--incremental"], &["--nat", "--tolerant"]];
    for (scheme, policies) in [("xr", &of_xr[..]), ("bbs04", &of_bbs04)] {
        let folder = Folder::with(scheme);
        for (mode, capture) in MODES.into_iter().zip([IPV4, IPV6, IPV4]) {
            begin(&folder, capture);
            for policy in policies {
                assert_eq!(folder.sign(&[&["--mode", mode], *policy].concat()), 0);
                let what = format!("{scheme} {mode} {policy:?}");
                let well_formed = compare(&folder, "signed", &what);
                assert!(well_formed >= PACKETS / 2, "{what}: {well_formed}");
            }
            agrees_with_verify(&folder, "signed");
        }
    }
}

/// Blocks in coded carriage, of sizes with longer and with shorter tags.
#[test]
fn shares_are_those_that_clew_reads() {
    if missing("tshark") {
        return;
    }
    for scheme in ["xr", "bbs04"] {
        let folder = Folder::with(scheme);
        for (count, more) in [(12, &[][..]), (9, &["--incremental"]), (17, &["--nat"])] {
            begin_flow(&folder, count);
            let coded = ["--carriage", "coded"];
            assert_eq!(folder.sign(&[&coded[..], more].concat()), 0);
            let what = format!("{scheme} {count} {more:?}");
            assert_eq!(compare(&folder, "signed", &what), count);
            assert_eq!(folder.filtered("signed", "clew.code.k > 2").len(), count);
            agrees_with_verify(&folder, "signed");
        }
    }
    let folder = Folder::new();
    begin_flow(&folder, 12);
    assert_eq!(folder.sign(&["--carriage", "coded"]), 0);
    for filter in [
        "clew.carriage == 2 && clew.code.k == 6 && clew.code.share && clew.code.tag",
        "clew.carriage == \"coded\" && !clew.signature && clew.block.path",
    ] {
        assert_eq!(folder.filtered("signed", filter).len(), 12, "{filter}");
    }
}

/// What `verify --json` says of the trailers is what is shown.
fn agrees_with_verify(folder: &Folder, name: &str) {
    let (_, verified, _) = folder.verify(name);
    for (said, shown) in verified.iter().zip(folder.fields(name)) {
        let Some(group) = said["group"].as_str() else {
            assert!(!shown.contains_key("clew.magic"), "{shown:?}");
            continue;
        };
        assert!(group.starts_with(&shown["clew.group"]));
        assert_eq!(said["epoch"].to_string(), shown["clew.epoch"]);
        let code = |field: &str| shown[field].parse::<usize>().unwrap();
        assert_eq!(
            said["mode"],
            ["mark", "each", "window", "tree"][code("clew.mode")]
        );
        let mut scheme = ["", "bbs04", "xr"][code("clew.scheme")].to_owned();
        scheme += if set(&shown, "incremental") {
            " incremental"
        } else {
            ""
        };
        assert_eq!(said["scheme"], scheme);
        for flag in ["nat", "tolerant"] {
            assert_eq!(said[flag] == true, set(&shown, flag), "{flag}");
        }
        block_agrees(said, &shown);
        // "2011-12-16T21:35:33Z", which is shown as "Dec 16, 2011 21:35:33.000000000 UTC".
        let clock = &said["signed_at"].as_str().unwrap()[11..19];
        assert!(shown["clew.timestamp"].contains(clock), "{shown:?}");
    }
}

/// What the mode needs, whichever it is.
fn block_agrees(said: &Value, shown: &Shown) {
    for (member, field) in [
        ("window", "clew.window.k"),
        ("block", "clew.block.id"),
        ("block_index", "clew.block.index"),
        ("block_count", "clew.block.count"),
    ] {
        let value = said.get(member);
        let value = value.map(|value| value.to_string().trim_matches('"').to_owned());
        assert_eq!(value.as_ref(), shown.get(field), "{field}");
    }
}

fn set(shown: &Shown, flag: &str) -> bool {
    let value = &shown[format!("clew.flags.{flag}").as_str()];
    value == "1" || value == "True"
}

#[test]
fn no_field_goes_untested() {
    if missing("tshark") {
        return;
    }
    let of_dissector: BTreeSet<String> = Folder::new().registered().into_iter().collect();
    let ours = FIELDS.iter().filter(|name| name.starts_with("clew."));
    let of_tests: BTreeSet<String> = ours.map(|name| name.to_string()).collect();
    assert_eq!(of_dissector, of_tests);
}

/// Wrong checksums and lengths are kept in the trailer, and those of the way in the mark.
#[test]
fn saved_values_and_marks_are_shown() {
    if missing("tshark") {
        return;
    }
    let folder = Folder::new();
    let mut originals = Vec::new();
    for capture in [IPV4, IPV6] {
        begin(&folder, capture);
        originals.extend(packets(&folder.path("in")));
    }
    originals.push(udp_of(&originals[0]));
    originals.iter_mut().for_each(corrupt);
    write(&folder.path("in"), originals.iter().map(plain));
    assert_eq!(folder.sign(&[]), 0);
    let mut signed = packets(&folder.path("signed"));
    signed.iter_mut().for_each(corrupt);
    write(&folder.path("corrupt"), signed.iter().map(plain));
    assert_eq!(folder.sign_as("corrupt", "marked", &[]), 0);
    assert_eq!(folder.sign_as("marked", "twice", &[]), 0);
    assert!(compare(&folder, "twice", "marks") > PACKETS);
    assert!(folder.filtered("marked", "clew.mark.count == 1").len() > PACKETS);
    assert!(folder.filtered("twice", "clew.mark.count == 2").len() > PACKETS);
    for of in ["", "mark."] {
        for value in ["ipv4_checksum", "udp_length", "l4_checksum"] {
            let field = format!("clew.{of}saved.{value}");
            assert!(!folder.filtered("twice", &field).is_empty(), "{field}");
        }
    }
}

/// An IPv4 packet with 30 bytes of UDP instead of what it had.
fn udp_of(packet: &Packet) -> Packet {
    let mut bytes = packet.bytes[..34].to_vec();
    (bytes[14], bytes[23]) = (0x45, 17);
    bytes[16..18].copy_from_slice(&50_u16.to_be_bytes());
    bytes.extend([0, 53, 0, 53, 0, 30, 0, 0]);
    bytes.extend([7; 22]);
    packet.with(bytes)
}

/// Makes the IPv4 checksum, the UDP length and the L4 checksum of an Ethernet frame wrong.
fn corrupt(packet: &mut Packet) {
    let bytes = &mut packet.bytes;
    let (protocol, upper) = match u16::from_be_bytes([bytes[12], bytes[13]]) {
        0x0800 => {
            bytes[24] ^= 0x55;
            (bytes[23], 34)
        }
        0x86dd => (bytes[20], 54),
        _ => return,
    };
    match protocol {
        6 => bytes[upper + 16] ^= 0x55,
        17 => {
            bytes[upper + 5] ^= 0x55;
            bytes[upper + 6] ^= 0x55;
        }
        _ => {}
    }
}

#[test]
fn fields_can_be_filtered_on() {
    if missing("tshark") {
        return;
    }
    let folder = Folder::new();
    begin(&folder, IPV4);
    assert_eq!(folder.sign(&["--nat", "--from", "192.168.1.79"]), 0);
    let (_, verified, _) = folder.verify("signed");
    let signed = || verified.iter().filter(|said| said["verdict"] == "valid");
    let all: Vec<usize> = signed().map(number).collect();
    assert!((6..PACKETS).contains(&all.len()), "some and not all");
    let group = &signed().next().unwrap()["group"].as_str().unwrap()[..16];
    for filter in [
        "clew",
        "clew.mode == 3 && clew.scheme == 2 && clew.carriage == 1",
        "clew.mode == \"tree\" && clew.scheme == \"xr\"",
        "clew.flags.nat == 1 && clew.flags.tolerant == 0 && clew.flags == 1",
        "clew.epoch == 0 && clew.version == 1 && clew.length > 300",
        "clew.block.id && clew.block.count > 2 && clew.block.index < 64 && clew.block.depth",
        "clew.timestamp >= \"2011-12-16 00:00:00\" && clew.timestamp < \"2011-12-18 00:00:00\"",
        "clew.signature && !clew.verdict && !clew.malformed && !clew.window.k",
        &format!("clew.group == {group}"),
    ] {
        assert_eq!(folder.filtered("signed", filter), all, "{filter}");
    }
    let firsts = folder.filtered("signed", "clew.block.index == 0");
    assert!(firsts.len() < all.len() && firsts[0] == all[0]);
    assert!(folder.filtered("in", "clew").is_empty());
}

fn number(said: &Value) -> usize {
    said["packet"].as_u64().unwrap() as usize
}

/// As one filter, because what cannot be understood fails all of it.
#[test]
fn filters_of_the_readme_are_understood() {
    if missing("tshark") {
        return;
    }
    let folder = Folder::new();
    begin(&folder, IPV4);
    let readme = fs::read_to_string(README).unwrap();
    let rows = readme
        .lines()
        .filter_map(|line| line.strip_prefix("| `clew."));
    let filters: Vec<String> = rows
        .map(|row| format!("(clew.{})", row.split('`').next().unwrap()))
        .collect();
    assert!(filters.len() > 10, "{filters:?}");
    assert!(folder.filtered("in", &filters.join(" || ")).is_empty());
}
