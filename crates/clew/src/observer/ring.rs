//! A ring of evidence files: the newest N captures, each one whole.

use super::prefix::Lock;
use super::recover;
use crate::failure::Failure;
use clew_capture::{Annotated, Note, Record, Sink, begin_live};
use clew_keys::files::{IfExists, MODE_SECRET, Pending, directory};
use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::FileExt;
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
    _lock: Lock,
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
    /// Whether the packets count as unwritten. Nothing is written behind them.
    is_lost: bool,
}

/// What came of a packet.
#[derive(Debug)]
pub enum Kept {
    /// It is written, as those before; or there was nothing to do.
    Yes,
    /// It is not, and the first in a row.
    Failed(Failure),
    /// It is not, as those before.
    No,
    /// It is written, and those before were not.
    Again,
}

impl Ring {
    /// Goes on with the ring of that prefix. What a killed run was writing is kept, as far as
    /// it is whole. The first file is created and removed again, so that a
    /// folder that cannot be written to is said at once.
    ///
    /// # Errors
    /// The folder cannot be read or written, or another observer writes files of that prefix.
    pub fn open(rules: Rules) -> Result<Self, Failure> {
        let lock = Lock::take(&rules.prefix)?;
        let failed = |error| Failure::io(&rules.prefix, &error);
        let next = after(&numbers(&rules.prefix).map_err(failed)?);
        let (start, path_of) = (start(&rules.prefix), |number| path(&rules.prefix, number));
        let is_ours = |name: &str| number(&start, name).is_some();
        let next = recover::adopt(directory(&rules.prefix), is_ours, path_of, next);
        let next = next.map_err(failed)?;
        let path = path_of(next);
        let tried = Pending::create(&path, MODE_SECRET, IfExists::Refuse);
        tried.map_err(|error| Failure::io(&path, &error))?;
        Ok(Self {
            next,
            rules,
            current: None,
            failed: None,
            unwritten: 0,
            _lock: lock,
        })
    }

    /// Writes a packet with its note.
    pub fn write(&mut self, record: Record, note: Note<'_>, now: Instant) -> Kept {
        if self.pauses(now) {
            self.unwritten += 1;
            return Kept::No;
        }
        let written = self.try_write(record, note, now);
        self.unwritten += u64::from(written.is_err());
        self.came(written, now)
    }

    /// Ends the file whose time is over, if there is one.
    pub fn tick(&mut self, now: Instant) -> Kept {
        let is_over = |open: &Open| now.saturating_duration_since(open.begun) >= self.rules.time;
        if self.pauses(now) || !self.current.as_ref().is_some_and(is_over) {
            return Kept::Yes;
        }
        let finished = self.finish();
        self.came(finished, now)
    }

    fn pauses(&self, now: Instant) -> bool {
        self.failed.is_some_and(|at| now < at + PAUSE)
    }

    fn came(&mut self, of: Result<(), Failure>, now: Instant) -> Kept {
        let had_failed = self.failed.is_some();
        self.failed = of.is_err().then_some(now);
        match of {
            Ok(()) if had_failed => Kept::Again,
            Ok(()) => Kept::Yes,
            Err(failure) => {
                // Somebody else may have taken the number.
                let taken = numbers(&self.rules.prefix).unwrap_or_default();
                self.next = self.next.max(after(&taken));
                match had_failed {
                    true => Kept::No,
                    false => Kept::Failed(failure),
                }
            }
        }
    }

    /// Ends the file that is being written, and removes the oldest beyond the maximum. The file gets
    /// the next number that is free.
    ///
    /// # Errors
    /// The system refuses. The file stays under its temporary name, and the next call tries again. If the
    /// file is gone, or the disk did not take all of it, its packets are counted as unwritten.
    fn finish(&mut self) -> Result<(), Failure> {
        let Some(mut open) = self.current.take().filter(|open| open.packets > 0) else {
            return Ok(());
        };
        let packets = open.not_lost();
        if let Err(error) = open.file.sync_all() {
            // What the disk did not take may be gone, though the next attempt succeeds.
            let path = open.path.clone();
            self.unwritten += packets;
            open.is_lost = true;
            self.current = Some(open);
            return Err(Failure::io(&path, &error));
        }
        loop {
            let path = self.path(self.next);
            let (error, pending) = match open.pending.named(path.clone()).try_commit(&open.file) {
                Ok(()) => break,
                Err(refused) => refused,
            };
            match (pending, error.kind()) {
                (Some(pending), ErrorKind::AlreadyExists) => open.pending = pending,
                (Some(pending), kind) if kind != ErrorKind::NotFound => {
                    self.current = Some(Open { pending, ..open });
                    return Err(Failure::io(&path, &error));
                }
                (pending, _) => {
                    // Without `pending` it has its name, and may lose it in a crash.
                    let lost = pending.map_or(0, |_| packets);
                    self.unwritten += lost;
                    return Err(Failure::io(&path, &error));
                }
            }
            self.next += 1;
        }
        self.next += 1;
        self.remove_oldest()
    }

    fn remove_oldest(&self) -> Result<(), Failure> {
        let failed = |path: &Path, error| Failure::io(path, &error);
        let numbers = numbers(&self.rules.prefix).map_err(|e| failed(&self.rules.prefix, e))?;
        let beyond = numbers.len().saturating_sub(self.rules.files);
        for number in &numbers[..beyond] {
            let path = self.path(*number);
            fs::remove_file(&path).map_err(|error| failed(&path, error))?;
        }
        Ok(())
    }

    /// Ends the last file.
    ///
    /// # Errors
    /// The system refuses. The file stays under its temporary name, and its packets are counted as unwritten.
    pub fn end(&mut self) -> Result<(), Failure> {
        let finished = self.finish();
        let left = self.current.take();
        self.unwritten += left.map_or(0, |open| open.not_lost());
        finished
    }

    /// How many packets are in no file.
    pub const fn unwritten(&self) -> u64 {
        self.unwritten
    }

    fn try_write(&mut self, record: Record, note: Note<'_>, now: Instant) -> Result<(), Failure> {
        let link = record.packet().map_or(0, |info| info.link);
        let bytes = self.rules.bytes;
        let is_other = |open: &Open| open.link != link || open.whole >= bytes || open.is_lost;
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
            is_lost: false,
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
        // Whatever ends this process, the next observer finds the packet.
        self.pending.keep_if_dropped(true);
        Ok(())
    }

    /// Writes a whole record or, as far as the file shows, nothing.
    fn put(&mut self, record: Record, note: Option<Note<'_>>) -> io::Result<()> {
        self.capture.write(record, note)?;
        let bytes = self.capture.sink().take();
        // Wherever the last attempt ended: a full disk takes a part.
        if let Err(error) = self.file.write_all_at(&bytes, self.whole) {
            self.file.set_len(self.whole)?;
            return Err(error);
        }
        self.whole += bytes.len() as u64;
        Ok(())
    }

    /// How many of its packets do not count as unwritten yet.
    fn not_lost(&self) -> u64 {
        if self.is_lost { 0 } else { self.packets }
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
    let start = start(prefix);
    let mut numbers = Vec::new();
    for entry in fs::read_dir(directory(prefix))? {
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

/// The number behind the last one.
fn after(numbers: &[u64]) -> u64 {
    numbers.last().map_or(1, |last| last + 1)
}

/// How the names of a ring's files begin.
fn start(prefix: &Path) -> Cow<'_, str> {
    prefix.file_name().unwrap_or_default().to_string_lossy()
}

/// The number in the name of a file, if the file is one of the ring.
fn number(start: &str, name: &str) -> Option<u64> {
    let digits = name.strip_prefix(start)?.strip_prefix('-')?;
    let digits = digits.strip_suffix(END)?;
    let is_number = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests;
