//! Captures in batches: read in order, worked on by all cores, handed on in order, in bounded memory.

use crate::capture::{Damage, Reader, Record};
use crate::failure::Failure;
use crate::output::open_input;
use crate::progress;
use clew_packet::{Frame, LinkType, Timestamp};
use indicatif::ProgressBar;
use std::io;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// A batch ends with the piece that reaches this many records. What is signed or verified together
/// is of one batch, and a flow's packets are far apart in a busy capture: the larger, the fewer
/// signatures.
const BATCH_RECORDS: usize = 32_768;

/// Or this many bytes.
const BATCH_BYTES: usize = 32 << 20;

/// Set by a signal: the program stops after the batch at hand, and leaves no partial file.
pub static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Pieces of the capture that are read ahead while a batch is worked on.
const AHEAD_PIECES: usize = 16;

/// A piece of a file ends with the record that reaches this size or number; one of a pipe with
/// every record.
const PIECE_BYTES: usize = BATCH_BYTES / AHEAD_PIECES;
const PIECE_RECORDS: usize = BATCH_RECORDS / AHEAD_PIECES;

/// How long a batch of a pipe waits for its next record: what comes slowly is worked on at once.
const PATIENCE: Duration = Duration::from_millis(200);

/// A capture being read by a thread of its own, with its progress shown on a terminal.
pub struct Capture {
    name: PathBuf,
    is_file: bool,
    pieces: Receiver<Piece>,
    damage: Option<Damage>,
    progress: ProgressBar,
}

/// What the reading thread found.
enum Piece {
    Records(Vec<Record>),
    Failed(io::Error),
    End(Option<Damage>),
}

impl Capture {
    /// Opens a capture file; `-` is standard input.
    pub fn open(path: &Path, doing: &'static str) -> Result<Self, Failure> {
        let input = open_input(path).map_err(|e| Failure::io(path, &e))?;
        Self::of(path, input, doing)
    }

    /// Reads the capture at a path, which is open already.
    pub fn of(
        path: &Path,
        input: Box<dyn io::Read + Send>,
        doing: &'static str,
    ) -> Result<Self, Failure> {
        let size = path
            .metadata()
            .ok()
            .filter(|m| m.is_file())
            .map(|m| m.len());
        let reader = Reader::new(input).map_err(|e| Failure::file(path, e))?;
        let progress = progress::bytes(size, doing);
        let piece = if size.is_some() { PIECE_RECORDS } else { 1 };
        let (sender, pieces) = sync_channel(AHEAD_PIECES);
        let shown = progress.clone();
        thread::spawn(move || read(reader, piece, &sender, &shown));
        Ok(Self {
            name: path.to_owned(),
            is_file: size.is_some(),
            pieces,
            damage: None,
            progress,
        })
    }

    /// The next records, at least one, in order; none at the end.
    pub fn next_batch(&mut self) -> Result<Option<Vec<Record>>, Failure> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while batch.len() < BATCH_RECORDS && bytes < BATCH_BYTES {
            if INTERRUPTED.load(Ordering::Relaxed) {
                return Err(Failure::new("interrupted: no output was written"));
            }
            match self.pieces.recv_timeout(PATIENCE) {
                Ok(Piece::Records(records)) => {
                    bytes += records.iter().map(|r| r.bytes().len()).sum::<usize>();
                    batch.extend(records);
                }
                Ok(Piece::Failed(error)) => return Err(Failure::file(&self.name, error)),
                Ok(Piece::End(damage)) => self.damage = damage,
                Err(RecvTimeoutError::Timeout) if self.is_file || batch.is_empty() => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        if batch.is_empty() {
            self.progress.finish_and_clear();
            return Ok(None);
        }
        Ok(Some(batch))
    }

    /// What is wrong with the file, once it is read.
    pub fn damage(&self) -> Option<&Damage> {
        self.damage.as_ref()
    }
}

/// Reads to the end, or until nobody wants more.
fn read(
    mut reader: Reader<impl io::Read>,
    piece_records: usize,
    to: &SyncSender<Piece>,
    progress: &ProgressBar,
) {
    let mut piece = Vec::new();
    let mut bytes = 0;
    while let Some(record) = reader.next() {
        match record {
            Ok(record) => {
                bytes += record.bytes().len();
                piece.push(record);
            }
            Err(error) => {
                // Nobody may want to know: so with every last word.
                let _ = to.send(Piece::Failed(error));
                return;
            }
        }
        if piece.len() >= piece_records || bytes >= PIECE_BYTES {
            progress.set_position(reader.bytes_read());
            bytes = 0;
            if to.send(Piece::Records(mem::take(&mut piece))).is_err() {
                return;
            }
        }
    }
    let _ = to.send(Piece::Records(piece));
    let _ = to.send(Piece::End(reader.damage().cloned()));
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
