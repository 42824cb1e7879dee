//! The formats of `verify`, compared with each other packet by packet, on captures that are partly
//! changed and cut.

use crate::captures::{CAPTURES, beginning};
use crate::folder::Folder;
use crate::log::Log;
use crate::modes::{MODES, mixed, packets};
use clew_engine::AsFrame;
use clew_packet::{Block, Trailer};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Output, Stdio};

const GROUP: &str = "acme/public/group.clew";

/// Names in JSON Lines, in EVE and in the log, of what has a name of its own in each.
const NAMES: [(&str, &str, &str); 6] = [
    ("packet", "pcap_cnt", "packet"),
    ("src", "src_ip", "id.orig_h"),
    ("src_port", "src_port", "id.orig_p"),
    ("dst", "dest_ip", "id.resp_h"),
    ("dst_port", "dest_port", "id.resp_p"),
    ("community_id", "community_id", "community_id"),
];

/// What has the same name everywhere.
const JUDGED: [&str; 14] = [
    "verdict",
    "reason",
    "group",
    "epoch",
    "carrier",
    "mode",
    "window",
    "block",
    "block_index",
    "block_count",
    "scheme",
    "signed_at",
    "nat",
    "tolerant",
];

pub fn told(folder: &Folder, format: &str) -> Output {
    folder.clew(&["verify", "--group", GROUP, "signed", "--format", format])
}

pub fn text(output: Output) -> String {
    String::from_utf8(output.stdout).unwrap()
}

/// Changes a bit in every third trailer, each time at another place, and cuts the file's end.
fn damage(mut file: Vec<u8>) -> Vec<u8> {
    let is_magic = |at: &usize| file[*at..].starts_with(&[0xc1, b'L', b'E', b'W']);
    let trailers: Vec<usize> = (0..file.len()).filter(is_magic).collect();
    for (n, magic) in trailers.iter().step_by(3).enumerate() {
        file[magic + 3 - n % 60] ^= 1 << (n % 8);
    }
    file.truncate(file.len() - 7);
    file
}

#[test]
fn all_formats_say_the_same() {
    let folder = Folder::new();
    let mut reasons = BTreeSet::new();
    fs::write(folder.path("mixed"), mixed()).unwrap();
    for mode in MODES {
        reasons.extend(compare(&folder, &folder.path("mixed"), mode));
    }
    let captures = fs::read_dir(CAPTURES).unwrap();
    let captures = captures.map(|entry| entry.unwrap().path());
    let captures = captures.filter(|path| path.to_string_lossy().contains(".pcap"));
    for (n, capture) in captures.enumerate() {
        reasons.extend(compare(&folder, &capture, MODES[n % MODES.len()]));
    }
    for reason in ["ok", "bad-signature", "unknown-group", "no-trailer"] {
        assert!(reasons.contains(reason), "{reason} is not in {reasons:?}");
    }
    assert!(reasons.len() > 10, "{reasons:?}");
}

/// Compares all formats on a capture; the reasons that occurred.
fn compare(folder: &Folder, capture: &Path, mode: &[&str]) -> BTreeSet<String> {
    beginning(capture, &folder.path("in"));
    assert_eq!(folder.sign(mode), 0, "{}", capture.display());
    let signed = fs::read(folder.path("signed")).unwrap();
    fs::write(folder.path("signed"), damage(signed)).unwrap();
    let (status, packets, summary) = folder.verify("signed");
    let short = ["verify", "--group", GROUP, "signed", "--json"];
    assert_eq!(folder.clew(&short).stdout, told(folder, "json").stdout);
    for format in ["table", "tsv", "eve"] {
        assert_eq!(told(folder, format).status.code(), Some(status), "{format}");
    }
    let log = Log::parse(&text(told(folder, "tsv")));
    let mut events = events(&text(told(folder, "eve")));
    assert_eq!(events.pop().unwrap()["stats"]["clew"], summary);
    assert_eq!(
        (log.rows.len(), events.len()),
        (packets.len(), packets.len())
    );
    for ((said, row), event) in packets.iter().zip(&log.rows).zip(&events) {
        compare_event(said, event);
        compare_row(said, row);
    }
    compare_table(&text(told(folder, "table")), &packets, &summary);
    let reasons = packets.iter().map(|p| p["reason"].as_str().unwrap().into());
    reasons.collect()
}

pub fn events(lines: &str) -> Vec<Value> {
    let lines = lines.lines().map(serde_json::from_str);
    lines.map(Result::unwrap).collect()
}

fn compare_event(said: &Value, event: &Value) {
    assert_eq!(event["event_type"], "clew");
    for (json, eve, _) in NAMES {
        assert_eq!(said.get(json), event.get(eve), "{said} {event}");
    }
    let judged = |of: &Value| -> Map<String, Value> {
        let of = of.as_object().unwrap().clone().into_iter();
        of.filter(|(name, _)| JUDGED.contains(&name.as_str()))
            .collect()
    };
    assert_eq!(judged(said), *event["clew"].as_object().unwrap());
    assert_eq!(
        said.get("community_id").is_some(),
        event["flow_id"].is_u64()
    );
    if let Some(time) = said["time"].as_str() {
        let microseconds = time.strip_suffix("000Z").unwrap();
        assert_eq!(event["timestamp"], format!("{microseconds}+0000"));
    }
}

/// A log is plainer than JSON: there every value has its own type.
fn compare_row(said: &Value, row: &BTreeMap<String, Option<Value>>) {
    let same = |json: &str, zeek: &str| {
        let told = row[zeek].clone().filter(|value| *value != json!(false));
        let expected = match said[json].as_str().filter(|_| json == "signed_at") {
            Some(time) => Some(json!(nanoseconds(time))),
            None => said.get(json).cloned(),
        };
        assert_eq!(told, expected, "{zeek}: {said} {row:?}");
    };
    NAMES.iter().for_each(|(json, _, zeek)| same(json, zeek));
    JUDGED.iter().for_each(|name| same(name, name));
    let time = said["time"].as_str().map(|time| json!(nanoseconds(time)));
    assert_eq!(row["ts"], time);
    let is_signed = said.get("group").is_some();
    assert_eq!(row["nat"].is_some(), is_signed);
    let protocol = said["proto"].as_u64().map(|number| match number {
        1 | 58 => json!("icmp"),
        6 => json!("tcp"),
        17 => json!("udp"),
        other => json!(other.to_string()),
    });
    assert_eq!(row["proto"], protocol);
}

fn nanoseconds(time: &str) -> u64 {
    clew::clock::parse_time(time).unwrap()
}

/// Totals are those of JSON Lines, and so is the sum of all flows.
fn compare_table(table: &str, packets: &[Value], summary: &Value) {
    let all = packets.len() as u64;
    let has = |line: String| {
        assert!(
            table.lines().any(|l| l.starts_with(&line)),
            "{line}: {table}"
        )
    };
    has(format!("signed: {all} packets"));
    for verdict in ["valid", "unsigned", "invalid", "undecided"] {
        has(format!(
            "{:>9}  {verdict}",
            summary[verdict].as_u64().unwrap()
        ));
    }
    for (reason, count) in summary["reasons"].as_object().unwrap() {
        if reason != "ok" {
            has(format!("{:>20}  {reason}: ", count.as_u64().unwrap()));
        }
    }
    let flows: Vec<&str> = table
        .lines()
        .skip_while(|l| !l.starts_with("source "))
        .collect();
    assert_eq!(flows.is_empty(), all == 0, "{table}");
    let rows = flows.split_last().map_or(&[][..], |(_answer, rows)| rows);
    let sums = rows.iter().skip(1).map(|line| counts(line));
    let sums = sums.fold([0; 5], |sums, counts| {
        std::array::from_fn(|i| sums[i] + counts[i])
    });
    let expected = ["packets", "valid", "unsigned", "invalid", "undecided"];
    assert_eq!(
        sums.map(Value::from),
        expected.map(|name| summary[name].clone())
    );
    assert!(flows.len() < 25);
}

/// The five columns of counts: the first words in a row that are numbers after those of the flow.
fn counts(line: &str) -> [u64; 5] {
    let words: Vec<Option<u64>> = line.split_whitespace().map(|w| w.parse().ok()).collect();
    let mut fives = words
        .windows(5)
        .filter(|five| five.iter().all(Option::is_some));
    let five = fives.next().unwrap();
    std::array::from_fn(|i| five[i].unwrap())
}

/// All formats take their fields from one list; here each is compared with the packet itself.
#[test]
fn fields_are_those_of_the_trailer() {
    let folder = Folder::new();
    fs::write(folder.path("in"), mixed()).unwrap();
    let policies: [&[&str]; 2] = [
        &["--tolerant"],
        &["--mode", "each", "--nat", "--incremental"],
    ];
    for policy in MODES.into_iter().chain(policies) {
        assert_eq!(folder.sign(policy), 0);
        let (_, said, _) = folder.verify("signed");
        let signed = fs::read(folder.path("signed")).unwrap();
        let records = packets(&signed);
        assert_eq!(said.len(), records.len());
        for (said, record) in said.iter().zip(&records) {
            let (frame, time) = record.as_frame().unwrap();
            assert_eq!(nanoseconds(said["time"].as_str().unwrap()), time.unwrap().0);
            match clew_packet::read(&frame) {
                Ok(packet) => compare_trailer(said, packet.trailer()),
                Err(reason) => {
                    assert!(said["reason"] == reason.as_str() && said["group"].is_null())
                }
            }
        }
    }
}

fn compare_trailer(said: &Value, trailer: &Trailer<'_>) {
    let (mode, place) = match trailer.block {
        Block::Each => ("each", [None, None, None]),
        Block::Window { k, .. } => ("window", [Some(k), None, None]),
        Block::Tree { block, index, .. } => ("tree", [None, Some(index), Some(block.count())]),
    };
    assert_eq!(said["mode"], mode);
    let told = ["window", "block_index", "block_count"].map(|name| said[name].clone());
    assert_eq!(told, place.map(Value::from));
    if let Block::Tree { block, .. } = trailer.block {
        assert_eq!(said["block"], hex::encode(block.id()));
    }
    let scheme = if trailer.incremental {
        "xr incremental"
    } else {
        "xr"
    };
    assert_eq!(
        (&said["scheme"], &said["epoch"]),
        (&json!(scheme), &json!(trailer.epoch))
    );
    assert!(
        said["group"]
            .as_str()
            .unwrap()
            .starts_with(&trailer.group.to_string())
    );
    assert_eq!(
        nanoseconds(said["signed_at"].as_str().unwrap()),
        trailer.timestamp.0
    );
    assert_eq!(said.get("nat").is_some(), trailer.nat);
    assert_eq!(said.get("tolerant").is_some(), trailer.tolerant);
}

#[test]
fn a_flow_has_one_number_and_one_community_id() {
    let folder = Folder::new();
    fs::write(folder.path("signed"), mixed()).unwrap();
    let mut numbers = BTreeMap::new();
    for event in events(&text(told(&folder, "eve"))) {
        if let Some(id) = event["community_id"].as_str() {
            let number = event["flow_id"].as_u64().unwrap();
            assert!(number < 1 << 51);
            assert_eq!(*numbers.entry(id.to_owned()).or_insert(number), number);
        }
    }
    let different: BTreeSet<_> = numbers.values().collect();
    assert!(different.len() > 10 && different.len() == numbers.len());
}

/// The same log whenever it is made, and none of the formats stumbles over a capture of nothing.
#[test]
fn a_capture_has_one_log() {
    let folder = Folder::new();
    let capture = mixed();
    fs::write(folder.path("signed"), &capture).unwrap();
    assert_eq!(told(&folder, "tsv").stdout, told(&folder, "tsv").stdout);
    fs::write(folder.path("signed"), &capture[..24]).unwrap();
    assert!(Log::parse(&text(told(&folder, "tsv"))).rows.is_empty());
    assert_eq!(events(&text(told(&folder, "eve"))).len(), 1);
    assert!(!text(told(&folder, "table")).contains("source"));
}

#[test]
fn a_reader_that_leaves_ends_the_program_quietly() {
    let folder = Folder::new();
    fs::write(folder.path("signed"), mixed()).unwrap();
    for format in ["json", "tsv", "eve"] {
        let mut command = folder.command(&["verify", "--group", GROUP, "signed"]);
        let command = command.args(["--format", format]);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        let mut out = BufReader::with_capacity(16, child.stdout.take().unwrap());
        out.read_line(&mut first).unwrap();
        drop(out);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{format}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{format}");
    }
}

#[test]
fn an_annotated_capture_and_the_result_do_not_mix() {
    let folder = Folder::new();
    fs::write(folder.path("signed"), mixed()).unwrap();
    let alone = told(&folder, "json").stdout;
    let verify = ["verify", "--group", GROUP, "signed", "--json", "-w"];
    let to_file = folder.clew(&[&verify[..], &["annotated"]].concat());
    let to_pipe = folder.clew(&[&verify[..], &["-"]].concat());
    assert!(to_file.stdout == alone && to_pipe.stderr == alone);
    assert!(fs::read(folder.path("annotated")).unwrap() == to_pipe.stdout);
}
