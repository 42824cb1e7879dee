//! Captures in batches: read in order, worked on by all cores, handed on in order, in bounded memory.

use crate::capture::{Damage, Reader, Record};
use crate::failure::Failure;
use crate::output::open_input;
use clew_packet::{Frame, LinkType, Timestamp};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Most records of one batch. What is signed or verified together is of one batch, and a flow's
/// packets are far apart in a busy capture.
const BATCH_RECORDS: usize = 8192;

/// A batch ends when it holds this many bytes; one record more may be in it.
const BATCH_BYTES: usize = 8 << 20;

/// Set by a signal: the program stops after the batch at hand, and leaves no partial file.
pub static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// A capture being read, with its progress shown on a terminal.
pub struct Capture {
    name: PathBuf,
    reader: Reader<Box<dyn Read + Send>>,
    progress: ProgressBar,
}

impl Capture {
    /// Opens a capture file; `-` is standard input.
    pub fn open(path: &Path, doing: &'static str) -> Result<Self, Failure> {
        let input = open_input(path).map_err(|e| Failure::file(path, e))?;
        let size = path
            .metadata()
            .ok()
            .filter(|m| m.is_file())
            .map(|m| m.len());
        let reader = Reader::new(input).map_err(|e| Failure::file(path, e))?;
        Ok(Self {
            name: path.to_owned(),
            reader,
            progress: progress(size, doing),
        })
    }

    /// The next records, at least one, in order; none at the end.
    pub fn next_batch(&mut self) -> Result<Option<Vec<Record>>, Failure> {
        if INTERRUPTED.load(Ordering::Relaxed) {
            return Err(Failure::new("interrupted: no output was written"));
        }
        let mut batch = Vec::new();
        let mut bytes = 0;
        while batch.len() < BATCH_RECORDS && bytes < BATCH_BYTES {
            let Some(record) = self.reader.next() else {
                break;
            };
            let record = record.map_err(|e| Failure::file(&self.name, e))?;
            bytes += record.bytes().len();
            batch.push(record);
        }
        self.progress.set_position(self.reader.bytes_read());
        if batch.is_empty() {
            self.progress.finish_and_clear();
            return Ok(None);
        }
        Ok(Some(batch))
    }

    /// What is wrong with the file, once it is read.
    pub fn damage(&self) -> Option<&Damage> {
        self.reader.damage()
    }
}

/// The frame that a record holds, and its time.
pub fn frame(record: &Record) -> Option<(Frame<'_>, Option<Timestamp>)> {
    let packet = record.packet()?;
    let frame = Frame {
        link: LinkType(packet.link.into()),
        bytes: record.data(),
        wire_len: packet.wire_len as usize,
    };
    Some((frame, packet.time_ns.map(Timestamp)))
}

/// A progress line on standard error, on a terminal only.
fn progress(size: Option<u64>, doing: &'static str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let (bar, template) = match size {
        Some(size) => (
            ProgressBar::new(size),
            "{msg} [{bar:30}] {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
        ),
        None => (
            ProgressBar::new_spinner(),
            "{msg} {spinner} {bytes}, {bytes_per_sec}",
        ),
    };
    bar.set_draw_target(ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_message(doing);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
