use super::*;
use clew_capture::{PacketInfo, Reader};
use std::io::{Seek, SeekFrom};

fn rules(folder: &Path, files: usize, bytes: u64) -> Rules {
    Rules {
        prefix: folder.join("tap"),
        files,
        bytes,
        time: Duration::from_secs(60),
        interface: "eth0".into(),
        writer: "test",
    }
}

fn packet(frame: u64, link: u16) -> Record {
    let info = PacketInfo {
        frame,
        interface: 0,
        link,
        wire_len: 1000,
        time_ns: Some(frame),
    };
    Record::live(info, &[frame as u8; 1000])
}

const NOTE: Note<'_> = Note {
    comment: "clew: valid reason=ok",
    json: r#"{"packet":1}"#,
};

fn write(ring: &mut Ring, frames: std::ops::Range<u64>, now: Instant) {
    for frame in frames {
        assert!(matches!(ring.write(packet(frame, 1), NOTE, now), Kept::Yes));
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// The first bytes of the packets of a file.
fn packets(path: &Path) -> Vec<u8> {
    let mut reader = Reader::new(File::open(path).unwrap()).unwrap();
    let records: Vec<Record> = reader.by_ref().map(Result::unwrap).collect();
    assert!(reader.damage().is_none());
    let packets = records.iter().filter(|record| record.packet().is_some());
    packets.map(|record| record.data()[0]).collect()
}

#[test]
fn the_oldest_go_and_a_restart_goes_on() {
    let (folder, now) = (tempfile::tempdir().unwrap(), Instant::now());
    let keep = [
        "tap-1.pcapng",
        "tap-0000000000.pcap",
        "other-0000000001.pcapng",
    ];
    for name in keep {
        fs::write(folder.path().join(name), "").unwrap();
    }
    let mut ring = Ring::open(rules(folder.path(), 2, 3000)).unwrap();
    write(&mut ring, 1..8, now);
    ring.end().unwrap();
    drop(ring);
    let file = |number| path(&folder.path().join("tap"), number);
    assert!(!file(1).exists());
    assert_eq!(packets(&file(2)), [4, 5, 6]);
    assert_eq!(packets(&file(3)), [7]);

    let mut ring = Ring::open(rules(folder.path(), 2, 3000)).unwrap();
    write(&mut ring, 8..9, now);
    ring.end().unwrap();
    assert!(!file(2).exists());
    assert_eq!((packets(&file(3)), packets(&file(4))), (vec![7], vec![8]));
    drop(ring);
    assert_eq!(names(folder.path()).len(), 2 + keep.len());
}

#[test]
fn a_file_appears_when_it_is_whole() {
    let (folder, now) = (tempfile::tempdir().unwrap(), Instant::now());
    let mut ring = Ring::open(rules(folder.path(), 9, 1 << 20)).unwrap();
    assert!(matches!(
        ring.tick(now + Duration::from_secs(100)),
        Kept::Yes
    ));
    assert_eq!(names(folder.path()), ["tap.lock"], "no packet, no file");
    write(&mut ring, 1..3, now);
    let first = path(&folder.path().join("tap"), 1);
    assert!(!first.exists());
    assert!(matches!(
        ring.tick(now + Duration::from_secs(59)),
        Kept::Yes
    ));
    assert!(!first.exists());
    assert!(matches!(
        ring.tick(now + Duration::from_secs(60)),
        Kept::Yes
    ));
    assert_eq!(packets(&first), [1, 2]);
    write(&mut ring, 3..4, now);
    assert!(matches!(ring.write(packet(4, 101), NOTE, now), Kept::Yes));
    let second = path(&folder.path().join("tap"), 2);
    assert_eq!(
        packets(&second),
        [3],
        "another kind of interface, another file"
    );
    drop(ring);
    let left = names(folder.path());
    assert_eq!(left.len(), 3, "{left:?}");
    assert!(
        left[2].ends_with(".partial"),
        "a packet is never removed with its file"
    );
    let ring = Ring::open(rules(folder.path(), 9, 1 << 20)).unwrap();
    assert_eq!(packets(&ring.path(3)), [4]);
}

#[test]
fn a_file_of_somebody_else_is_never_overwritten() {
    let (folder, now) = (tempfile::tempdir().unwrap(), Instant::now());
    let mut ring = Ring::open(rules(folder.path(), 2, 1 << 20)).unwrap();
    let first = path(&folder.path().join("tap"), 1);
    fs::write(&first, "mine").unwrap();
    let kept = ring.write(packet(1, 1), NOTE, now);
    let Kept::Failed(failure) = kept else {
        panic!("{kept:?}")
    };
    assert!(failure.message.contains("exists"), "{}", failure.message);
    assert!(matches!(ring.write(packet(2, 1), NOTE, now), Kept::No));
    assert_eq!(ring.unwritten(), 2);
    let later = now + PAUSE;
    assert!(matches!(ring.write(packet(3, 1), NOTE, later), Kept::Again));
    assert!(matches!(ring.write(packet(4, 1), NOTE, later), Kept::Yes));
    ring.end().unwrap();
    assert_eq!(fs::read_to_string(&first).unwrap(), "mine");
    let second = path(&folder.path().join("tap"), 2);
    assert_eq!((packets(&second), ring.unwritten()), (vec![3, 4], 2));
}

#[test]
fn a_folder_that_is_missing_is_said_at_once() {
    let folder = tempfile::tempdir().unwrap();
    assert!(Ring::open(rules(&folder.path().join("none"), 1, 1)).is_err());
}

/// A second observer with the same prefix would remove the first one's files as its own oldest.
#[test]
fn a_prefix_has_one_ring() {
    let (folder, now) = (tempfile::tempdir().unwrap(), Instant::now());
    let mut ring = Ring::open(rules(folder.path(), 2, 3000)).unwrap();
    write(&mut ring, 1..3, now);
    let other = Ring::open(rules(folder.path(), 2, 3000)).err().unwrap();
    let said = "tap: another observer writes files of this prefix";
    assert!(other.message.ends_with(said), "{}", other.message);
    write(&mut ring, 3..4, now);
    ring.end().unwrap();
    assert_eq!(packets(&ring.path(1)), [1, 2, 3]);
    drop(ring);
    Ring::open(rules(folder.path(), 2, 3000)).unwrap();
}

#[test]
fn a_number_that_was_taken_meanwhile_is_left_out() {
    let (folder, now) = (tempfile::tempdir().unwrap(), Instant::now());
    let mut ring = Ring::open(rules(folder.path(), 9, 1 << 20)).unwrap();
    write(&mut ring, 1..3, now);
    let taken = [1, 2].map(|number| ring.path(number));
    for path in &taken {
        fs::write(path, "mine").unwrap();
    }
    ring.end().unwrap();
    assert_eq!((packets(&ring.path(3)), ring.unwritten()), (vec![1, 2], 0));
    for path in &taken {
        assert_eq!(fs::read_to_string(path).unwrap(), "mine");
    }
}

/// What cannot be given its name waits, and is said once.
#[test]
fn a_file_that_cannot_be_finished_is_tried_again() {
    let (folder, now) = (tempfile::tempdir().unwrap(), Instant::now());
    let mut ring = Ring::open(rules(folder.path(), 9, 3000)).unwrap();
    write(&mut ring, 1..4, now);
    // No file can have such a name.
    let too_long = folder.path().join("x".repeat(250));
    let prefix = std::mem::replace(&mut ring.rules.prefix, too_long);
    let late = |seconds| now + Duration::from_secs(seconds);
    assert!(matches!(ring.tick(late(60)), Kept::Failed(_)));
    assert!(matches!(ring.tick(late(61)), Kept::No));
    assert!(matches!(ring.write(packet(4, 1), NOTE, late(62)), Kept::No));
    assert!(ring.finish().is_err());
    assert_eq!(names(folder.path()).len(), 2, "the lock, and the file");
    ring.rules.prefix = prefix;
    assert!(matches!(ring.tick(late(63)), Kept::Again));
    assert_eq!(
        (packets(&ring.path(1)), ring.unwritten()),
        (vec![1, 2, 3], 1)
    );
    // Somebody removed it: nothing can be tried again.
    write(&mut ring, 5..7, late(64));
    let entries = names(folder.path());
    let partial = entries.iter().find(|name| name.ends_with(".partial"));
    fs::remove_file(folder.path().join(partial.unwrap())).unwrap();
    assert!(matches!(ring.tick(late(124)), Kept::Failed(_)));
    assert_eq!(ring.unwritten(), 1 + 2);
    assert!(matches!(
        ring.write(packet(7, 1), NOTE, late(125)),
        Kept::Again
    ));
    ring.end().unwrap();
    assert_eq!(packets(&ring.path(2)), [7]);
}

#[test]
fn what_has_no_name_at_the_end_is_left_to_the_next() {
    let (folder, now) = (tempfile::tempdir().unwrap(), Instant::now());
    let mut ring = Ring::open(rules(folder.path(), 9, 3000)).unwrap();
    write(&mut ring, 1..4, now);
    ring.rules.prefix = folder.path().join("x".repeat(250));
    assert!(ring.end().is_err());
    assert_eq!(ring.unwritten(), 3);
    drop(ring);
    let ring = Ring::open(rules(folder.path(), 9, 3000)).unwrap();
    assert_eq!(packets(&ring.path(1)), [1, 2, 3]);
}

/// A full disk takes a part of a record before it refuses the rest. The file cannot be finished at once, as it
/// happens there, and there is room again.
#[test]
fn what_was_written_of_a_refused_record_leaves_no_hole() {
    let (folder, now) = (tempfile::tempdir().unwrap(), Instant::now());
    let mut ring = Ring::open(rules(folder.path(), 9, 1 << 20)).unwrap();
    write(&mut ring, 1..3, now);
    let open = ring.current.as_mut().unwrap();
    (&open.file).seek(SeekFrom::Start(open.whole)).unwrap();
    (&open.file).write_all(&[0xee; 500]).unwrap();
    open.file.set_len(open.whole).unwrap();
    write(&mut ring, 3..5, now);
    ring.end().unwrap();
    assert_eq!(
        (packets(&ring.path(1)), ring.unwritten()),
        (vec![1, 2, 3, 4], 0)
    );
}

/// After a refusal the kernel may have forgotten what it could not write, and says no more of it.
#[test]
fn nothing_is_written_behind_what_the_disk_refused() {
    let (folder, now) = (tempfile::tempdir().unwrap(), Instant::now());
    let mut ring = Ring::open(rules(folder.path(), 9, 1 << 20)).unwrap();
    write(&mut ring, 1..3, now);
    // Nobody can sync this one.
    let null = File::options().write(true).open("/dev/null").unwrap();
    let file = std::mem::replace(&mut ring.current.as_mut().unwrap().file, null);
    let late = |seconds| now + Duration::from_secs(seconds);
    assert!(matches!(ring.tick(late(60)), Kept::Failed(_)));
    assert_eq!(ring.unwritten(), 2);
    assert!(matches!(ring.tick(late(62)), Kept::No));
    assert_eq!(ring.unwritten(), 2, "counted once");
    ring.current.as_mut().unwrap().file = file;
    let kept = ring.write(packet(3, 1), NOTE, late(64));
    assert!(matches!(kept, Kept::Again), "{kept:?}");
    ring.end().unwrap();
    assert_eq!(packets(&ring.path(1)), [1, 2]);
    assert_eq!(packets(&ring.path(2)), [3]);
    assert_eq!(ring.unwritten(), 2);
}
