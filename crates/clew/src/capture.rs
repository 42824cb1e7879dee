//! Captures that commands read: opened by name, with progress on a terminal, stopped by a signal.

use crate::INTERRUPTED;
use crate::failure::Failure;
use crate::output::{Output, open_input};
use crate::progress;
use clew_capture::{Damage, Input, ReadAhead, ReadError, Reader, Record, Sink};
use clew_engine::captures::Batches;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Tells an output that cannot be corrected afterwards how long the packets of an input file can
/// become, so that snap lengths that suffice are kept. `growth` is in bytes.
pub fn foresee(output: &mut Output, input: &Path, growth: usize) -> Result<(), Failure> {
    if output.can_patch() || !input.is_file() {
        return Ok(());
    }
    let (mut capture, mut longest) = (Capture::open(input, "measuring")?, 0);
    while let Some(batch) = capture.next_batch()? {
        let packets = batch.iter().filter(|record| record.packet().is_some());
        longest = packets
            .map(|packet| packet.data().len())
            .fold(longest, usize::max);
    }
    output.foresee(u32::try_from(longest + growth).unwrap_or(u32::MAX));
    Ok(())
}

/// A capture being read by a thread of its own.
pub struct Capture {
    name: PathBuf,
    records: ReadAhead,
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
        input: Box<dyn Read + Send>,
        doing: &'static str,
    ) -> Result<Self, Failure> {
        let metadata = path.metadata().ok().filter(|m| m.is_file());
        let size = metadata.map(|m| m.len());
        let reader = Reader::new(input).map_err(|error| {
            let failure = Failure::file(path, &error);
            match error.hint() {
                Some(hint) => failure.hint(hint),
                None => failure,
            }
        })?;
        let kind = size.map_or(Input::Stream, |_| Input::File);
        // It is cleared when the thread that reads drops it.
        let bar = progress::bytes(size, doing);
        let shown = move |bytes| bar.set_position(bytes);
        Ok(Self {
            name: path.to_owned(),
            records: ReadAhead::new(reader, kind, Arc::clone(&INTERRUPTED), shown),
        })
    }

    /// The next records, at least one, in order; none at the end.
    pub fn next_batch(&mut self) -> Result<Option<Vec<Record>>, Failure> {
        self.records.next_batch().map_err(|error| match error {
            ReadError::Stopped => Failure::new("interrupted: no output was written"),
            ReadError::Io(error) => Failure::file(&self.name, error),
        })
    }

    /// What is wrong with the file, once it is read.
    pub fn damage(&self) -> Option<&Damage> {
        self.records.damage()
    }
}

impl Batches for Capture {
    type Error = Failure;

    fn next_batch(&mut self) -> Result<Option<Vec<Record>>, Failure> {
        self.next_batch()
    }

    fn damage(&self) -> Option<&Damage> {
        self.damage()
    }
}
