//! A register file, read line by line.

use crate::failure::Failure;
use crate::go_on;
use clew_evidence::{RegisterFileHeader, RegisterLine, RegisterReader};
use clew_group::Scheme;
use indicatif::ProgressBar;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// How much of a register file is read at once.
const PIECE_BYTES: usize = 1 << 16;

/// Lines that are compared at once by all cores.
const LINES_AT_ONCE: usize = 1024;

/// The lines of a register file, read piece by piece.
pub struct Lines {
    path: PathBuf,
    file: File,
    reader: RegisterReader,
    piece: Vec<u8>,
    progress: ProgressBar,
}

impl Lines {
    /// Opens a register file of a group with that scheme; `progress` counts its bytes.
    pub fn open(path: &Path, scheme: Scheme, progress: ProgressBar) -> Result<Self, Failure> {
        Ok(Self {
            path: path.to_owned(),
            file: File::open(path).map_err(|e| Failure::io(path, &e))?,
            reader: RegisterReader::new(scheme),
            piece: vec![0; PIECE_BYTES],
            progress,
        })
    }

    /// The header, which has to be read first.
    pub fn header(&mut self) -> Result<RegisterFileHeader, Failure> {
        loop {
            let header = self.reader.header().map(Option::<&_>::cloned);
            match header.map_err(|e| Failure::binary(&self.path, &self.piece, e))? {
                Some(header) => return Ok(header),
                None if self.more()? => {}
                None => return Err(self.fail("truncated in its header")),
            }
        }
    }

    /// The next line. Returns `None` at the end.
    pub fn next(&mut self) -> Result<Option<RegisterLine>, Failure> {
        loop {
            let line = self.reader.line().map_err(|e| self.fail(e))?;
            if line.is_some() {
                return Ok(line);
            }
            if !self.more()? {
                self.reader.finish().map_err(|e| self.fail(e))?;
                return Ok(None);
            }
        }
    }

    /// The next lines, up to 1,024; none at the end.
    pub fn batch(&mut self) -> Result<Vec<RegisterLine>, Failure> {
        let mut batch = Vec::new();
        while batch.len() < LINES_AT_ONCE {
            match self.next()? {
                Some(line) => batch.push(line),
                None => break,
            }
        }
        Ok(batch)
    }

    fn more(&mut self) -> Result<bool, Failure> {
        go_on()?;
        let read = self.file.read(&mut self.piece);
        let read = read.map_err(|e| Failure::io(&self.path, &e))?;
        self.reader.push(&self.piece[..read]);
        self.progress.inc(read as u64);
        Ok(read > 0)
    }

    fn fail(&self, error: impl std::fmt::Display) -> Failure {
        Failure::file(&self.path, error)
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.progress.finish_and_clear();
    }
}
