//! More packets than can be verified.

use crate::folder::{Folder, objects, summary, wait_for_lines};
use crate::wire::{SKIPPED, Wire};
use std::fs;

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
        return eprintln!("{SKIPPED}");
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
        return eprintln!("{SKIPPED}");
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
        return eprintln!("{SKIPPED}");
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
