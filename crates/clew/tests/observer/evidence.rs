//! Reports and evidence of an observer, on disks that are full and in files that are moved.

use crate::folder::{Folder, Observer, PATIENCE, objects, summary, verdicts, wait_for_lines};
use crate::skipped::{NAMESPACES, skipped};
use crate::wire::{INTERFACE, Wire};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// A small disk; gone when dropped.
struct Disk(PathBuf);

impl Disk {
    fn new(path: PathBuf, size: &str) -> Self {
        fs::create_dir(&path).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", size, "tmpfs"]).arg(&path);
        assert!(mount.status().unwrap().success());
        Self(path)
    }

    /// Takes all that is left but so many bytes.
    fn fill(&self, left: usize) {
        let filler = self.0.join("filler");
        let mut size = 4 << 20;
        // A file of a tmpfs takes whole pages.
        while size > 0 && fs::write(&filler, vec![0; size]).is_err() {
            size -= 4096;
        }
        fs::write(&filler, vec![0; size - left]).unwrap();
    }

    fn make_room(&self) {
        fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Does it until the observer has said all of that.
fn until_said(observer: &mut Observer, what: &[&str], mut act: impl FnMut()) {
    let ends = Instant::now() + PATIENCE;
    while what.iter().any(|what| observer.times(what) == 0) {
        assert!(Instant::now() < ends, "{what:?}: {:?}", observer.said);
        act();
        observer.listen(Duration::from_millis(300));
    }
}

#[test]
fn a_full_disk_is_said_once_and_recovered_from() {
    let Some(wire) = Wire::new() else {
        return skipped(NAMESPACES);
    };
    let folder = Folder::new();
    let frames = folder.signed("signed", 300, "");
    let disk = Disk::new(folder.path("disk"), "size=2m");
    let files = "--report disk/report --write disk/tap --ring-size 40K --ring-files 100";
    let mut observer = folder.observe(&wire, files);
    wire.send(&frames[..40]);
    wait_for_lines(&folder.path("disk/report"), 40);
    disk.fill(8192);
    let mut sent = 0;
    let full = ["cannot write the report", "no evidence is kept"];
    until_said(&mut observer, &full, || {
        wire.send(&frames[..100]);
        sent += 100;
    });
    disk.make_room();
    let again = ["evidence is kept again", "the report goes on"];
    until_said(&mut observer, &again, || {
        wire.send(&frames[100..110]);
        sent += 10;
    });
    wire.send(&frames[200..]);
    observer.listen(Duration::from_millis(500));
    let (status, _) = observer.interrupt();
    assert_eq!(
        observer.times("cannot write the report"),
        1,
        "{:?}",
        observer.said
    );
    assert_eq!(
        observer.times("no evidence is kept"),
        1,
        "{:?}",
        observer.said
    );
    let report = fs::read_to_string(folder.path("disk/report")).unwrap();
    let summary = summary(&report);
    assert_eq!(status, 0);
    assert_eq!(summary["valid"], 40 + sent + 100, "all were verified");
    let count = |name: &str| summary[name].as_u64().unwrap() as usize;
    let (lost, unwritten) = (count("lost_lines"), count("unwritten"));
    assert!(lost > 0 && unwritten > 0);
    // Every line is whole.
    assert_eq!(objects(&report).len() - 1 + lost, 40 + sent + 100);
    let mut evidence = 0;
    for entry in fs::read_dir(folder.path("disk")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name == "report" || name.ends_with(".pcapng"), "{name}");
        if name != "report" {
            evidence += folder.frames(&format!("disk/{name}")).len();
        }
    }
    assert_eq!(evidence + unwritten, 40 + sent + 100);
}

#[test]
fn evidence_is_verified_again_and_a_restart_goes_on() {
    let Some(wire) = Wire::new() else {
        return skipped(NAMESPACES);
    };
    let folder = Folder::new();
    let mut frames = folder.signed("signed", 60, "");
    let at = frames[5].len() - 30;
    frames[5][at] ^= 1;
    let mut kept = Vec::new();
    for run in 0..2 {
        let mut observer = folder.observe(
            &wire,
            "--count 60 --write tap --ring-files 3 --ring-size 30K",
        );
        wire.send(&frames);
        let (status, text) = observer.end();
        assert_eq!(status, 1, "{:?}", observer.said);
        let names = (1..99).map(|number| format!("tap-{number:010}.pcapng"));
        let names: Vec<String> = names.filter(|name| folder.path(name).exists()).collect();
        assert_eq!(names.len(), 3, "run {run}");
        let again = names.iter().flat_map(|name| folder.verdicts(name));
        let again: Vec<_> = again.collect();
        let told = verdicts(&text);
        assert_eq!(again, told[told.len() - again.len()..]);
        let sent = names.iter().flat_map(|name| folder.frames(name));
        assert!(sent.eq(frames[60 - again.len()..].iter().cloned()));
        let notes = fs::read(folder.path(names.last().unwrap())).unwrap();
        assert!(
            notes
                .windows(26)
                .any(|text| text == b"clew: valid reason=ok grou")
        );
        assert!(notes.windows(13).any(|text| text == br#"{"packet":60,"#));
        kept.push(names);
    }
    assert!(
        kept[0].iter().all(|name| !kept[1].contains(name)),
        "{kept:?}"
    );
    assert!(kept[0][2] < kept[1][0], "{kept:?}");
}

#[test]
fn a_report_is_opened_again_on_request() {
    let Some(wire) = Wire::new() else {
        return skipped(NAMESPACES);
    };
    let folder = Folder::new();
    let frames = folder.signed("signed", 60, "");
    let mut observer = folder.observe(&wire, "--report clew.log --format tsv");
    wire.send(&frames[..20]);
    let (now, old) = (folder.path("clew.log"), folder.path("clew.log.1"));
    wait_for_lines(&now, 8 + 20);
    fs::rename(&now, &old).unwrap();
    observer.signal("HUP");
    wait_for_lines(&old, 8 + 20 + 1);
    wire.send(&frames[20..]);
    wait_for_lines(&now, 8 + 40);
    let (status, text) = observer.interrupt();
    assert_eq!((status, text.as_str()), (0, ""), "{:?}", observer.said);
    for (path, packets) in [(old, 20), (now, 40)] {
        let log = fs::read_to_string(path).unwrap();
        assert!(log.starts_with("#separator"));
        assert!(log.lines().last().unwrap().starts_with("#close"));
        assert_eq!(
            log.lines()
                .filter(|line| line.contains("\tvalid\tok\t"))
                .count(),
            packets
        );
    }
}

/// Killed while it writes: the file can be read at once, and the next run gives it its name.
#[test]
fn a_killed_observer_leaves_its_evidence() {
    let Some(wire) = Wire::new() else {
        return skipped(NAMESPACES);
    };
    let folder = Folder::new();
    let frames = folder.signed("signed", 80, "");
    let mut observer = folder.observe(&wire, "--write tap --report lines");
    wire.send(&frames[..60]);
    wait_for_lines(&folder.path("lines"), 60);
    observer.signal("KILL");
    observer.wait();
    let names = || {
        let entries = fs::read_dir(folder.0.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.starts_with("tap-")).collect();
        names.sort();
        names
    };
    let left = names();
    assert!(left.len() == 1 && left[0].ends_with(".partial"), "{left:?}");
    assert_eq!(folder.frames(&left[0]), frames[..60]);
    assert_eq!(folder.verdicts(&left[0]).len(), 60);
    let tshark = Command::new("tshark")
        .arg("-r")
        .arg(folder.path(&left[0]))
        .output();
    match tshark {
        Err(_) => skipped("tshark"),
        Ok(output) => {
            assert!(
                output.status.success() && output.stderr.is_empty() || !output.stdout.is_empty()
            );
            assert_eq!(output.stdout.split(|byte| *byte == b'\n').count(), 61);
        }
    }
    // A torn record, as a crash of the machine leaves it.
    let whole = fs::metadata(folder.path(&left[0])).unwrap().len();
    let torn = fs::OpenOptions::new()
        .write(true)
        .open(folder.path(&left[0]));
    torn.unwrap().set_len(whole - 7).unwrap();
    let mut observer = folder.observe(&wire, "--write tap --count 20");
    assert_eq!(
        observer.times("59 packets of evidence that a killed run left"),
        1
    );
    wire.send(&frames[60..]);
    assert_eq!(observer.end().0, 0);
    assert_eq!(names(), ["tap-0000000001.pcapng", "tap-0000000002.pcapng"]);
    assert_eq!(folder.frames("tap-0000000001.pcapng"), frames[..59]);
    assert_eq!(folder.frames("tap-0000000002.pcapng"), frames[60..]);
}

/// A copy of another interface's options: the second is refused, and the first loses nothing.
#[test]
fn a_second_observer_with_the_same_prefix_is_refused() {
    let Some(wire) = Wire::new() else {
        return skipped(NAMESPACES);
    };
    let folder = Folder::new();
    let frames = folder.signed("signed", 60, "");
    let mut observer = folder.observe(&wire, "--write tap --count 60");
    wire.send(&frames[..30]);
    let mut other = folder.start(&wire, INTERFACE, "--write tap --duration 1s");
    assert_eq!(other.end().0, 2);
    let said = "clew: tap: another observer writes files of this prefix";
    let hint = "hint: choose another prefix with --write";
    assert_eq!(other.said, [said, hint]);
    wire.send(&frames[30..]);
    assert_eq!(observer.end().0, 0, "{:?}", observer.said);
    assert_eq!(folder.frames("tap-0000000001.pcapng"), frames);
    assert!(!folder.path("tap.lock").exists());
}
