//! Datagrams of the carriers, from the vectors of `spec/carriers.md`: layout, fields, fragments and inner packets.

use crate::files::{Packet, plain, write};
use crate::folder::Folder;
use crate::reading::{judgement, reading};
use crate::shark::{Shown, missing};
use clew_packet::{Reason, Replay};
use serde_json::Value;
use std::fs;

const VECTORS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../spec/vectors/carriers.jsonl"
);

/// Time between two cases: no part waits so long for another.
const APART_NS: u64 = 10_000_000_000;

/// What is found without a key.
const LAYOUT: [&str; 12] = [
    "unknown-version",
    "unknown-carrier",
    "bad-carrier",
    "bad-carrier-length",
    "bad-fragment",
    "unknown-mode",
    "reserved-bits",
    "unknown-carriage",
    "unknown-scheme",
    "bad-block",
    "bad-code",
    "cookie",
];

/// A case of the vectors, and its frames.
struct Case {
    name: String,
    told: Value,
    frames: Vec<Packet>,
}

impl Case {
    /// Verdict and reason that its last frame shows without any key.
    fn layout(&self) -> Option<(String, String)> {
        let text = |member: &str| self.told[member].as_str().unwrap().to_owned();
        let reason = text("expect");
        // A scheme that is known, and not that of the group: only a verifier sees that.
        let by_layout = LAYOUT.contains(&&*reason) && self.name != "unknown-scheme-other";
        by_layout.then(|| (text("verdict"), reason))
    }
}

fn bytes(value: &Value) -> Vec<u8> {
    let text = value.as_str().unwrap();
    hex::decode(text.strip_prefix("0x").unwrap()).unwrap()
}

fn number(value: &Value) -> u64 {
    let bytes = bytes(value).into_iter();
    bytes.fold(0, |number, byte| number << 8 | u64::from(byte))
}

/// One value, a list of them, or none.
fn list(value: &Value) -> Vec<Value> {
    match value {
        Value::Null => Vec::new(),
        Value::Array(values) => values.clone(),
        one => vec![one.clone()],
    }
}

fn case(place: usize, line: &str) -> Case {
    let told: Value = serde_json::from_str(line).unwrap();
    let time = number(&told["time"]);
    let mut times: Vec<u64> = list(&told["earlier-time"]).iter().map(number).collect();
    let mut frames: Vec<Vec<u8>> = list(&told["earlier-frame"]).iter().map(bytes).collect();
    times.resize(frames.len(), time);
    times.push(time);
    frames.push(bytes(&told["frame"]));
    let begin = times[0];
    let frame = |(bytes, time): (Vec<u8>, u64)| Packet {
        link: number(&told["link-type"]) as u16,
        time_ns: 1_700_000_000_000_000_000 + place as u64 * APART_NS + (time - begin),
        wire_len: bytes.len(),
        bytes,
    };
    let mut frames: Vec<Packet> = frames.into_iter().zip(times).map(frame).collect();
    frames.last_mut().unwrap().wire_len = number(&told["wire-length"]) as usize;
    let name = told["case"].as_str().unwrap().to_owned();
    Case { name, told, frames }
}

/// All cases. Captures here have microseconds: what differs by less is left out.
fn cases() -> Vec<Case> {
    let text = fs::read_to_string(VECTORS).unwrap();
    let cases = text.lines().enumerate();
    let cases = cases.map(|(place, line)| case(place, line));
    let mut cases: Vec<Case> = cases.collect();
    cases.retain(|case| case.name != "missing-fragment-late");
    assert!(cases.len() > 100);
    cases
}

/// The cases as a file `carriers`, and what is shown of each one's frames.
fn shown(folder: &Folder, cases: &[Case], two_passes: bool) -> Vec<Vec<Shown>> {
    let frames = cases.iter().flat_map(|case| &case.frames);
    write(&folder.path("carriers"), frames.map(plain));
    let all = match two_passes {
        true => folder.fields_in_two_passes("carriers"),
        false => folder.fields("carriers"),
    };
    let mut all = all.into_iter();
    let of_case = |case: &Case| all.by_ref().take(case.frames.len()).collect();
    cases.iter().map(of_case).collect()
}

/// The last of a field's values in a frame.
fn last<'a>(shown: &'a Shown, field: &str) -> &'a str {
    let values = shown.get(field).map(String::as_str).unwrap_or_default();
    values.rsplit(',').next().unwrap()
}

#[test]
fn every_vector_shows_what_its_layout_says() {
    if missing("tshark") {
        return;
    }
    let folder = Folder::new();
    let cases = cases();
    for (case, shown) in cases.iter().zip(shown(&folder, &cases, false)) {
        let found = shown.last().unwrap();
        assert_eq!(judgement(found), case.layout(), "{}: {found:?}", case.name);
        // As with trailers, nothing is judged of what the capture cut.
        let info = &found["_ws.col.Info"];
        let is_whole = case.name != "truncated";
        assert_eq!(info.contains("[clew "), is_whole, "{}: {info}", case.name);
        let mut magic = found["clew.carrier.magic"].split(',');
        assert!(magic.all(|magic| magic == "0xc16c6577"));
    }
}

#[test]
fn valid_vectors_show_head_and_inner_packet() {
    if missing("tshark") {
        return;
    }
    let folder = Folder::new();
    let mut cases = cases();
    cases.retain(|case| case.told["packet"].is_string() && case.told["expect"] == "valid");
    assert!(cases.len() > 20);
    for (case, shown) in cases.iter().zip(shown(&folder, &cases, false)) {
        // In a later copy of a fragment there is nothing more to see.
        let whole = shown
            .iter()
            .rev()
            .find(|shown| shown.contains_key("clew.group"));
        let whole = whole.unwrap_or_else(|| panic!("{}: {shown:?}", case.name));
        let message = bytes(&case.told["message"]);
        assert_eq!(last(whole, "clew.group"), hex::encode(&message[21..29]));
        let epoch = u32::from_be_bytes(message[29..33].try_into().unwrap());
        assert_eq!(last(whole, "clew.epoch"), epoch.to_string());
        assert_eq!(last(whole, "clew.mode"), message[18].to_string());
        // A carrier's code is one more than its type.
        assert_eq!(
            last(whole, "clew.carrier.type"),
            (message[17] - 1).to_string()
        );
        inner(case, whole);
    }
}

fn inner(case: &Case, whole: &Shown) {
    let packet = bytes(&case.told["packet"]);
    let word = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]).to_string();
    let name = &case.name;
    match packet[0] >> 4 {
        4 => {
            let to: Vec<_> = packet[16..20].iter().map(u8::to_string).collect();
            assert_eq!(last(whole, "ip.len"), word(2), "{name}: {whole:?}");
            assert_eq!(last(whole, "ip.dst"), to.join("."), "{name}: {whole:?}");
        }
        _ => {
            let to: [u8; 16] = packet[24..40].try_into().unwrap();
            let to = std::net::Ipv6Addr::from(to).to_string();
            assert_eq!(last(whole, "ipv6.plen"), word(4), "{name}: {whole:?}");
            assert_eq!(last(whole, "ipv6.dst"), to, "{name}: {whole:?}");
        }
    }
}

/// After a first pass all fragments of a packet name the frame in which it is whole.
#[test]
fn fragments_lead_to_their_packet() {
    if missing("tshark") {
        return;
    }
    let folder = Folder::new();
    let mut cases = cases();
    cases.retain(|case| case.name == "fragments-mixed");
    let frames = &shown(&folder, &cases, true)[0];
    assert_eq!(frames.len(), 3);
    for frame in frames {
        assert_eq!(frame["clew.fragment.packet_in"], "3", "{frame:?}");
        assert_eq!(frame["clew.fragment.count"], "3");
    }
    let indices = frames.iter().map(|frame| &*frame["clew.fragment.index"]);
    assert_eq!(indices.collect::<Vec<_>>(), ["2", "0", "1"]);
    assert!(frames[2].contains_key("clew.signature") && !frames[1].contains_key("clew.signature"));
    let parts = |frame: &Shown| hex::decode(&frame["clew.fragment.part"]).unwrap();
    let datagram = [1, 2, 0].map(|at: usize| parts(&frames[at])).concat();
    assert_eq!(datagram[..4], [0xc1, 0x6c, 0x65, 0x77]);
}

/// Damaged at any place, a datagram shows what clew says of it, and no error of the dissector.
#[test]
fn damaged_datagrams_show_what_clew_says() {
    if missing("tshark") {
        return;
    }
    let folder = Folder::new();
    let mut damaged = Vec::new();
    for case in cases() {
        let types = [
            "udp-tunnel-ipv4-tree",
            "udp-transport-ipv6-window",
            "udp-tunnel-ipv4-coded",
            "cookie",
        ];
        if !types.contains(&&*case.name) {
            continue;
        }
        let good = case.frames.last().unwrap();
        let head = if good.bytes[0] >> 4 == 4 { 28 } else { 48 };
        for at in head + 4..good.bytes.len().min(head + 160) {
            for mask in [1, 0x80] {
                let mut bytes = good.bytes.clone();
                bytes[at] ^= mask;
                damaged.push(good.with(bytes));
            }
        }
    }
    write(&folder.path("damaged"), damaged.iter().map(plain));
    let mut wrong = 0;
    for (packet, shown) in damaged.iter().zip(folder.fields("damaged")) {
        let reason = reading(packet).err();
        let expected = reason.filter(|reason| *reason != Reason::MissingFragment);
        let expected = expected.map(|reason| {
            let verdict = reason.verdict(Replay::Flag);
            (verdict.to_string(), reason.to_string())
        });
        wrong += usize::from(expected.is_some());
        assert_eq!(
            judgement(&shown),
            expected,
            "{}: {shown:?}",
            hex::encode(&packet.bytes)
        );
    }
    assert!(
        wrong > 50 && wrong < damaged.len() - 50,
        "{wrong} of {}",
        damaged.len()
    );
}

/// Parts wait in bounded memory: who came first makes room for who comes now.
#[test]
fn what_waits_is_bounded() {
    if missing("tshark") {
        return;
    }
    const IDS_MAX: u16 = 4096;
    // Behind the headers of IPv4, UDP and the shim.
    const ID: usize = 34;
    let cases = cases();
    let case = cases.iter().find(|case| case.name == "fragments-mixed");
    let [last, first, middle] = &case.unwrap().frames[..] else {
        panic!("three fragments")
    };
    let other = |number: u16| {
        let mut bytes = last.bytes.clone();
        bytes[ID..ID + 2].copy_from_slice(&number.to_be_bytes());
        // So that none is the packet's own.
        bytes[ID + 2] ^= 1;
        last.with(bytes)
    };
    for (others, is_whole) in [(IDS_MAX - 1, true), (IDS_MAX, false)] {
        let folder = Folder::new();
        let others: Vec<Packet> = (0..others).map(other).collect();
        let all = [first, middle].into_iter().chain(&others).chain([last]);
        write(&folder.path("many"), all.map(plain));
        let found = folder.filtered("many", "clew.signature");
        assert_eq!(
            found,
            is_whole
                .then(|| others.len() + 3)
                .into_iter()
                .collect::<Vec<_>>()
        );
    }
}
