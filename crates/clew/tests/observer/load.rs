//! More packets than can be verified.

use crate::folder::{Folder, PATIENCE, objects, summary, wait_for_lines};
use crate::skipped::{NAMESPACES, skipped};
use crate::wire::Wire;
use std::fs;
use std::time::{Duration, Instant};

/// Packets of the burst.
const BURST: usize = 100_000;

/// Most memory of the observer: its queues, what a verifier remembers, the program itself.
const MEMORY_KB: u64 = 800 << 10;

fn peak_kb(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.unwrap().trim().strip_suffix(" kB").unwrap();
    number.parse().unwrap()
}

/// Every packet of the burst has a signature of its own to verify.
#[test]
fn a_burst_is_survived_and_what_is_skipped_is_counted() {
    let Some(wire) = Wire::new() else {
        return skipped(NAMESPACES);
    };
    let folder = Folder::new();
    let frames = folder.signed("signed", 8, "--mode each");
    let burst: Vec<Vec<u8>> = frames.iter().cycle().take(BURST).cloned().collect();
    let mut observer = folder.observe(&wire, "--format eve --report events --buffer 64M");
    wire.send(&burst);
    observer.wait_for("some are skipped");
    wire.send(&frames);
    let memory = peak_kb(observer.id());
    let (status, _) = observer.interrupt();
    assert!(memory < MEMORY_KB, "{memory} kB");
    let events = fs::read_to_string(folder.path("events")).unwrap();
    let last: serde_json::Value = serde_json::from_str(events.lines().last().unwrap()).unwrap();
    let totals = &last["stats"]["clew"];
    let count = |name: &str| totals[name].as_u64().unwrap_or(0) as usize;
    assert!(count("skipped") > 0 && count("packets") >= 8, "{totals}");
    let all = count("packets") + count("skipped") + count("dropped");
    assert_eq!(all, BURST + 8, "{totals}");
    assert_eq!((count("valid"), status), (count("packets"), 2), "{totals}");
}

#[test]
fn only_what_was_asked_for_is_verified_and_the_rest_is_counted() {
    let Some(wire) = Wire::new() else {
        return skipped(NAMESPACES);
    };
    let folder = Folder::new();
    let frames = folder.signed("signed", 60, "");
    let mut observer = folder.observe(&wire, "--from 192.0.2.0/24 --duration 3s");
    wire.send(&frames);
    let (status, text) = observer.end();
    let seen = summary(&text);
    assert_eq!(
        (&seen["packets"], &seen["filtered"]),
        (&0.into(), &60.into()),
        "{text}"
    );
    assert_eq!(status, 2, "nothing was signed");

    let mut observer = folder.observe(&wire, "--sample 1/1000000 --duration 3s");
    wire.send(&frames);
    let seen = summary(&observer.end().1);
    assert_eq!(
        (&seen["packets"], &seen["unsampled"]),
        (&0.into(), &60.into())
    );
}

/// Lines of flows add up to the packets.
#[test]
fn flows_are_told_from_time_to_time() {
    let Some(wire) = Wire::new() else {
        return skipped(NAMESPACES);
    };
    let folder = Folder::new();
    let frames = folder.signed("signed", 60, "");
    let mut observer = folder.observe(&wire, "--flows 1s --report flows --count 120");
    wire.send(&frames);
    wait_for_lines(&folder.path("flows"), 1);
    wire.send(&frames);
    let (status, _) = observer.end();
    let text = fs::read_to_string(folder.path("flows")).unwrap();
    let mut lines = objects(&text);
    let seen = lines.pop().unwrap()["summary"].take();
    assert_eq!((status, &seen["valid"]), (0, &120.into()), "{text}");
    let count = |line: &serde_json::Value, name: &str| line["flow"][name].as_u64().unwrap();
    let all: u64 = lines.iter().map(|line| count(line, "packets")).sum();
    let valid: u64 = lines.iter().map(|line| count(line, "valid")).sum();
    assert_eq!((all, valid), (120, 120), "{text}");
    assert!(
        lines
            .iter()
            .all(|line| line["flow"]["community_id"].is_string())
    );
    assert!((3..60).contains(&lines.len()), "{text}");

    let mut observer = folder.start(&wire, "wire", "--flows 1s --format table");
    assert_eq!(observer.end().0, 2);
    let needed = "clew: --flows requires --json, --format tsv or --format eve";
    assert_eq!(observer.said[0], needed);
}

/// Garbage that costs little: no trailer, one that is malformed, one of an unknown group, random bytes.
fn garbage(frames: &[Vec<u8>], number: usize) -> Vec<u8> {
    let mut frame = frames[number % frames.len()].clone();
    let end = frame.len();
    match number % 4 {
        0 => frame.truncate(end - 90),
        1 => frame[end - 1] ^= 1 << (number % 8),
        2 => frame[14..].fill(number as u8),
        _ => frame[end - 10..].fill(0),
    }
    frame
}

/// A hundred times as much garbage, in between honest packets.
#[test]
fn honest_packets_in_a_flood_are_valid_and_everything_is_counted() {
    let Some(wire) = Wire::new() else {
        return skipped(NAMESPACES);
    };
    let folder = Folder::new();
    let honest = folder.signed("signed", 300, "");
    let mut flood = Vec::new();
    for (number, frame) in honest.iter().enumerate() {
        flood.push(frame.clone());
        flood.extend((0..100).map(|n| garbage(&honest, 100 * number + n)));
    }
    let mut observer = folder.observe(&wire, "--report lines --buffer 256M --count 30300");
    wire.send(&flood);
    observer.end();
    let text = fs::read_to_string(folder.path("lines")).unwrap();
    let seen = summary(&text);
    let count = |name: &str| seen[name].as_u64().unwrap_or(0) as usize;
    assert_eq!(
        count("packets") + count("skipped") + count("dropped"),
        flood.len()
    );
    assert_eq!((count("skipped"), count("dropped")), (0, 0), "it keeps up");
    assert_eq!(count("valid"), honest.len(), "{seen}");
    let lines = objects(&text);
    let of_honest = lines.iter().take(flood.len()).step_by(101);
    assert!(of_honest.clone().count() == honest.len());
    assert!(of_honest.clone().all(|line| line["reason"] == "ok"));
}

/// A process that the system does not run for a while.
#[test]
fn what_the_kernel_drops_is_counted() {
    const SENT: usize = 20_000;
    let Some(wire) = Wire::new() else {
        return skipped(NAMESPACES);
    };
    let folder = Folder::new();
    let frames = folder.signed("signed", 40, "");
    let burst: Vec<Vec<u8>> = frames.iter().cycle().take(SENT).cloned().collect();
    let mut observer = folder.observe(&wire, "--report lines --buffer 256K");
    observer.signal("STOP");
    wire.send(&burst);
    observer.signal("CONT");
    observer.wait_for("the kernel drops packets");
    wire.send(&frames);
    let ends = Instant::now() + PATIENCE;
    let last = || fs::read_to_string(folder.path("lines")).map_or(0, |text| text.lines().count());
    let mut before = 0;
    // What the kernel kept has come once the last frames have.
    while before == 0 || last() != before {
        assert!(Instant::now() < ends);
        before = last();
        observer.listen(Duration::from_secs(1));
    }
    let (status, _) = observer.interrupt();
    let text = fs::read_to_string(folder.path("lines")).unwrap();
    let seen = summary(&text);
    let count = |name: &str| seen[name].as_u64().unwrap_or(0) as usize;
    assert!(count("dropped") > 0 && count("packets") > 0, "{seen}");
    assert_eq!(
        count("packets") + count("dropped"),
        SENT + frames.len(),
        "{seen}"
    );
    assert_eq!((count("invalid"), status), (0, 2));
}

/// Lines of flows in the formats of Zeek and Suricata say what those of JSON say.
#[test]
fn flows_are_told_in_every_format() {
    let Some(wire) = Wire::new() else {
        return skipped(NAMESPACES);
    };
    let folder = Folder::new();
    let frames = folder.signed("signed", 60, "");
    let mut tellings = Vec::new();
    for format in ["json", "tsv", "eve"] {
        let options = format!("--flows 20s --format {format} --count 60");
        let mut observer = folder.observe(&wire, &options);
        wire.send(&frames);
        let (status, text) = observer.end();
        assert_eq!(status, 0, "{:?}", observer.said);
        let flows: Vec<[String; 4]> = match format {
            "tsv" => zeek_flows(&text),
            _ => json_flows(&text),
        };
        tellings.push(flows);
    }
    assert!(tellings[0].len() > 1, "{tellings:?}");
    assert!(
        tellings.iter().all(|flows| *flows == tellings[0]),
        "{tellings:?}"
    );
    // The id of a flow is that of its packets.
    let mut observer = folder.observe(&wire, "--count 60");
    wire.send(&frames);
    let lines = objects(&observer.end().1);
    for [id, ..] in &tellings[0] {
        assert!(
            lines.iter().any(|line| line["community_id"] == **id),
            "{id}"
        );
    }
}

/// Community ID, source, packets and valid ones of each flow.
fn json_flows(text: &str) -> Vec<[String; 4]> {
    let mut flows = Vec::new();
    for line in objects(text) {
        let (id, source, of) = match line["event_type"].as_str() {
            Some("clew_flow") => (&line["community_id"], &line["src_ip"], &line["clew_flow"]),
            Some(_) => continue,
            None => (
                &line["flow"]["community_id"],
                &line["flow"]["src"],
                &line["flow"],
            ),
        };
        if let (Some(id), Some(source)) = (id.as_str(), source.as_str()) {
            let [packets, valid] = ["packets", "valid"].map(|name| of[name].to_string());
            flows.push([id.to_owned(), source.to_owned(), packets, valid]);
            assert!(
                of["first"].is_string() && of["reasons"]["ok"].is_u64(),
                "{of}"
            );
        }
    }
    flows
}

/// As Zeek's tools read a log: columns by their names.
fn zeek_flows(text: &str) -> Vec<[String; 4]> {
    let names = text.lines().find_map(|line| line.strip_prefix("#fields\t"));
    let names: Vec<&str> = names.unwrap().split('\t').collect();
    let kinds = text.lines().find_map(|line| line.strip_prefix("#types\t"));
    assert_eq!(kinds.unwrap().split('\t').count(), names.len());
    assert!(
        text.contains("#path\tclew_flow\n") && text.lines().last().unwrap().starts_with("#close")
    );
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('\t').collect();
        assert_eq!(cells.len(), names.len(), "{row}");
        let cell = |name: &str| cells[names.iter().position(|n| *n == name).unwrap()].to_owned();
        assert!(cell("duration").parse::<f64>().is_ok(), "{row}");
        assert!(cell("reasons").starts_with("ok:"), "{row}");
        ["community_id", "id.orig_h", "packets", "valid"].map(cell)
    })
    .collect()
}
