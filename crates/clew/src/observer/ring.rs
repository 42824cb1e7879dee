//! A ring of evidence files: the newest N captures, each one whole.

use super::recover;
use crate::failure::Failure;
use clew_capture::{Annotated, Note, Record, Sink, begin_live};
use clew_keys::files::{IfExists, MODE_SECRET, Pending, directory};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Digits of a file's number.
const DIGITS: usize = 10;

/// What follows the number.
const END: &str = ".pcapng";

/// What the interface of each file is described as.
const DESCRIPTION: &str = "packets as on the wire: VLAN tags and checksums that the card handles are filled \
    in, and packets that the kernel joined (GRO, GSO, TSO) are split again";

/// How long nothing is tried after a failure.
const PAUSE: Duration = Duration::from_secs(1);

/// How a ring is made.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Folder, and how the names begin.
    pub prefix: PathBuf,
    /// Most files.
    pub files: usize,
    /// Bytes after which a file ends, a packet more or less.
    pub bytes: u64,
    /// Time after which a file ends.
    pub time: Duration,
    /// The interface that packets come from.
    pub interface: String,
    /// What wrote the file, for its section header.
    pub writer: &'static str,
}

/// The files, and the one that is being written.
pub struct Ring {
    rules: Rules,
    next: u64,
    current: Option<Open>,
    /// Until when nothing is tried.
    failed: Option<Instant>,
    unwritten: u64,
}

/// A file that is being written, under a temporary name.
struct Open {
    capture: Annotated<Pieces>,
    file: File,
    pending: Pending,
    path: PathBuf,
    link: u16,
    begun: Instant,
    /// Bytes of whole records, and how many of these are packets.
    whole: u64,
    packets: u64,
}

/// What came of a packet.
#[derive(Debug)]
pub enum Kept {
    /// It is written, as those before.
    Yes,
    /// It is not, and the first in a row.
    Failed(Failure),
    /// It is not, as those before.
    No,
    /// It is written, and those before were not.
    Again,
}

impl Ring {
    /// Goes on with the ring of that prefix. A file that a killed run was writing is kept, as far as
    /// it is whole. The first file is created and removed again, so that a
    /// folder that cannot be written to is said at once.
    ///
    /// # Errors
    /// The folder cannot be read or written.
    pub fn open(rules: Rules) -> Result<Self, Failure> {
        let numbers = numbers(&rules.prefix);
        let numbers = numbers.map_err(|error| Failure::io(&rules.prefix, &error))?;
        let mut ring = Self {
            next: numbers.last().map_or(1, |last| last + 1),
            rules,
            current: None,
            failed: None,
            unwritten: 0,
        };
        let first = ring.path(ring.next);
        let adopted = recover::adopt(&first).map_err(|error| Failure::io(&first, &error))?;
        ring.next += u64::from(adopted);
        let path = ring.path(ring.next);
        let tried = Pending::create(&path, MODE_SECRET, IfExists::Refuse);
        tried.map_err(|error| Failure::io(&path, &error))?;
        Ok(ring)
    }

    /// Writes a packet with its note.
    pub fn write(&mut self, record: Record, note: Note<'_>, now: Instant) -> Kept {
        if self.failed.is_some_and(|at| now < at + PAUSE) {
            self.unwritten += 1;
            return Kept::No;
        }
        let written = self.try_write(record, note, now);
        let had_failed = self.failed.is_some();
        match written {
            Ok(()) => {
                self.failed = None;
                if had_failed { Kept::Again } else { Kept::Yes }
            }
            Err(failure) => {
                self.failed = Some(now);
                self.unwritten += 1;
                // Somebody else may have taken the number.
                let numbers = numbers(&self.rules.prefix).unwrap_or_default();
                self.next = self.next.max(numbers.last().map_or(1, |last| last + 1));
                if had_failed {
                    Kept::No
                } else {
                    Kept::Failed(failure)
                }
            }
        }
    }

    /// Ends the file whose time is over. Packets of a file that cannot be finished are lost.
    pub fn tick(&mut self, now: Instant) -> Result<(), Failure> {
        let is_over = |open: &Open| now.saturating_duration_since(open.begun) >= self.rules.time;
        match self.current.as_ref().is_some_and(is_over) {
            true => self.finish(),
            false => Ok(()),
        }
    }

    /// Ends the file that is being written, and removes the oldest beyond the maximum.
    ///
    /// # Errors
    /// The system refuses. What was written since the last file is lost, and counted.
    pub fn finish(&mut self) -> Result<(), Failure> {
        let Some(open) = self.current.take() else {
            return Ok(());
        };
        if open.packets == 0 {
            return Ok(());
        }
        let failed = |path: &Path, error| Failure::io(path, &error);
        if let Err(error) = open.pending.commit(&open.file) {
            self.unwritten += open.packets;
            return Err(failed(&open.path, error));
        }
        self.next += 1;
        let numbers = numbers(&self.rules.prefix).map_err(|e| failed(&self.rules.prefix, e))?;
        let beyond = numbers.len().saturating_sub(self.rules.files);
        for number in &numbers[..beyond] {
            let path = self.path(*number);
            fs::remove_file(&path).map_err(|error| failed(&path, error))?;
        }
        Ok(())
    }

    /// How many packets are in no file.
    pub const fn unwritten(&self) -> u64 {
        self.unwritten
    }

    fn try_write(&mut self, record: Record, note: Note<'_>, now: Instant) -> Result<(), Failure> {
        let link = record.packet().map_or(0, |info| info.link);
        let is_other = |open: &Open| open.link != link || open.whole >= self.rules.bytes;
        if self.current.as_ref().is_some_and(is_other) {
            self.finish()?;
        }
        let open = match &mut self.current {
            Some(open) => open,
            none => none.insert(Open::begin(&self.rules, self.next, link, now)?),
        };
        let path = open.path.clone();
        open.write(record, note).map_err(|error| {
            // What is whole is kept: there is room for that.
            let kept = self.finish();
            kept.err().unwrap_or_else(|| Failure::io(&path, &error))
        })
    }

    fn path(&self, number: u64) -> PathBuf {
        path(&self.rules.prefix, number)
    }
}

impl Open {
    fn begin(rules: &Rules, number: u64, link: u16, now: Instant) -> Result<Self, Failure> {
        let path = path(&rules.prefix, number);
        let begun = Pending::create(&path, MODE_SECRET, IfExists::Refuse);
        let (file, pending) = begun.map_err(|error| Failure::io(&path, &error))?;
        let mut open = Self {
            capture: Annotated::new(Pieces::default(), rules.writer),
            file,
            pending,
            path,
            link,
            begun: now,
            whole: 0,
            packets: 0,
        };
        for record in begin_live(link, &rules.interface, DESCRIPTION) {
            let written = open.put(record, None);
            written.map_err(|error| Failure::io(&open.path, &error))?;
        }
        Ok(open)
    }

    fn write(&mut self, record: Record, note: Note<'_>) -> io::Result<()> {
        self.put(record, Some(note))?;
        self.packets += 1;
        Ok(())
    }

    /// Writes a whole record or, as far as the file shows, nothing.
    fn put(&mut self, record: Record, note: Option<Note<'_>>) -> io::Result<()> {
        self.capture.write(record, note)?;
        let bytes = self.capture.sink().take();
        if let Err(error) = self.file.write_all(&bytes) {
            self.file.set_len(self.whole)?;
            return Err(error);
        }
        self.whole += bytes.len() as u64;
        Ok(())
    }
}

/// The bytes of the record at hand.
#[derive(Default)]
struct Pieces(Vec<u8>);

impl Pieces {
    fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0)
    }
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for Pieces {
    fn can_patch(&self) -> bool {
        false
    }

    fn patch(&mut self, _offset: u64, _bytes: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

fn path(prefix: &Path, number: u64) -> PathBuf {
    let mut name = prefix.as_os_str().to_owned();
    name.push(format!("-{number:0DIGITS$}{END}"));
    name.into()
}

/// The numbers of the files of a ring, in order.
fn numbers(prefix: &Path) -> io::Result<Vec<u64>> {
    let folder = match directory(prefix) {
        here if here == Path::new("") => Path::new("."),
        folder => folder,
    };
    let start = prefix.file_name().unwrap_or_default().to_string_lossy();
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let number = number(&start, &name.to_string_lossy());
        if let Some(number) = number.filter(|_| entry.file_type().is_ok_and(|kind| kind.is_file()))
        {
            numbers.push(number);
        }
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// The number in the name of a file, if the file is one of the ring.
fn number(start: &str, name: &str) -> Option<u64> {
    let digits = name.strip_prefix(start)?.strip_prefix('-')?;
    let digits = digits.strip_suffix(END)?;
    let is_number = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clew_capture::{PacketInfo, Reader};

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
        ring.finish().unwrap();
        let file = |number| path(&folder.path().join("tap"), number);
        assert!(!file(1).exists());
        assert_eq!(packets(&file(2)), [4, 5, 6]);
        assert_eq!(packets(&file(3)), [7]);

        let mut ring = Ring::open(rules(folder.path(), 2, 3000)).unwrap();
        write(&mut ring, 8..9, now);
        ring.finish().unwrap();
        assert!(!file(2).exists());
        assert_eq!((packets(&file(3)), packets(&file(4))), (vec![7], vec![8]));
        assert_eq!(names(folder.path()).len(), 2 + keep.len());
    }

    #[test]
    fn a_file_appears_when_it_is_whole() {
        let (folder, now) = (tempfile::tempdir().unwrap(), Instant::now());
        let mut ring = Ring::open(rules(folder.path(), 9, 1 << 20)).unwrap();
        ring.tick(now + Duration::from_secs(100)).unwrap();
        assert!(names(folder.path()).is_empty(), "no packet, no file");
        write(&mut ring, 1..3, now);
        let first = path(&folder.path().join("tap"), 1);
        assert!(!first.exists());
        ring.tick(now + Duration::from_secs(59)).unwrap();
        assert!(!first.exists());
        ring.tick(now + Duration::from_secs(60)).unwrap();
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
        assert_eq!(names(folder.path()).len(), 2);
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
        ring.finish().unwrap();
        assert_eq!(fs::read_to_string(&first).unwrap(), "mine");
        let second = path(&folder.path().join("tap"), 2);
        assert_eq!((packets(&second), ring.unwritten()), (vec![3, 4], 2));
    }

    #[test]
    fn a_folder_that_is_missing_is_said_at_once() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Ring::open(rules(&folder.path().join("none"), 1, 1)).is_err());
    }
}
