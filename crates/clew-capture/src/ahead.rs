//! A capture that a thread of its own reads ahead, in batches and in bounded memory.

use std::io::{self, Read};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use crate::{Damage, ReadError, Reader, Record};

/// A batch ends with the piece that reaches this many records. What is signed or verified together
/// is of one batch, and a flow's packets are far apart in a busy capture: the larger, the fewer
/// signatures.
pub const BATCH_RECORDS: usize = 32_768;

/// Or this many bytes.
const BATCH_BYTES: usize = 32 << 20;

/// Pieces of the capture that are read ahead while a batch is worked on.
const AHEAD_PIECES: usize = 16;

/// A piece of a file ends with the record that reaches this size or number; one of a stream with
/// every record.
const PIECE_BYTES: usize = BATCH_BYTES / AHEAD_PIECES;
const PIECE_RECORDS: usize = BATCH_RECORDS / AHEAD_PIECES;

/// How long a batch of a stream waits for its next record: what comes slowly is worked on at once.
const PATIENCE: Duration = Duration::from_millis(200);

/// How the bytes of an input come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// All are there: batches are filled.
    File,
    /// Some may be long in coming: a batch has the records that came in a row.
    Stream,
}

/// Reads a capture ahead in a thread, which ends with the input or when this is dropped.
pub struct ReadAhead {
    input: Input,
    pieces: Receiver<Piece>,
    state: State,
    stop: Arc<AtomicBool>,
}

enum State {
    Reading,
    Ended(Option<Damage>),
}

/// What the thread found.
enum Piece {
    Records(Vec<Record>),
    Failed(io::Error),
    End(Option<Damage>),
}

impl ReadAhead {
    /// Starts to read. Once `stop` is set the next batch is an error. `progress` is called by the
    /// thread, with the number of bytes read so far.
    pub fn new(
        reader: Reader<impl Read + Send + 'static>,
        input: Input,
        stop: Arc<AtomicBool>,
        progress: impl FnMut(u64) + Send + 'static,
    ) -> Self {
        let piece_records = match input {
            Input::File => PIECE_RECORDS,
            Input::Stream => 1,
        };
        let (sender, pieces) = sync_channel(AHEAD_PIECES);
        thread::spawn(move || read(reader, piece_records, &sender, progress));
        Self {
            input,
            pieces,
            state: State::Reading,
            stop,
        }
    }

    /// Returns the next records, at least one, in order; `None` at the end.
    ///
    /// # Errors
    /// The input failed, or `stop` was set.
    pub fn next_batch(&mut self) -> Result<Option<Vec<Record>>, ReadError> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(ReadError::Stopped);
            }
            let full = batch.len() >= BATCH_RECORDS || bytes >= BATCH_BYTES;
            if full || !matches!(self.state, State::Reading) {
                break;
            }
            match self.pieces.recv_timeout(PATIENCE) {
                Ok(Piece::Records(records)) => {
                    bytes += records.iter().map(|r| r.bytes().len()).sum::<usize>();
                    batch.extend(records);
                }
                Ok(Piece::Failed(error)) => return Err(ReadError::Io(error)),
                Ok(Piece::End(damage)) => self.state = State::Ended(damage),
                Err(RecvTimeoutError::Timeout) if self.input == Input::File || batch.is_empty() => {
                }
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return Err(ReadError::ended_early()),
            }
        }
        Ok((!batch.is_empty()).then_some(batch))
    }

    /// Returns what is wrong with the capture, once all of it is read.
    pub fn damage(&self) -> Option<&Damage> {
        match &self.state {
            State::Reading => None,
            State::Ended(damage) => damage.as_ref(),
        }
    }
}

/// Reads to the end, or until nobody wants more.
fn read(
    mut reader: Reader<impl Read>,
    piece_records: usize,
    to: &SyncSender<Piece>,
    mut progress: impl FnMut(u64),
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
            progress(reader.bytes_read());
            bytes = 0;
            if to.send(Piece::Records(mem::take(&mut piece))).is_err() {
                return;
            }
        }
    }
    let _ = to.send(Piece::Records(piece));
    let _ = to.send(Piece::End(reader.damage().cloned()));
}
