//! A register file, read anew for each question.

use super::{Candidate, in_use, no_such_machine, not_a_member};
use crate::batch::INTERRUPTED;
use crate::failure::Failure;
use crate::progress;
use clew_evidence::{
    Found, GroupFile, LineValue, RegisterFileHeader, RegisterLine, RegisterReader, Search,
};
use clew_group::Scheme;
use clew_group::curve::G1;
use indicatif::ProgressBar;
use rayon::prelude::*;
use std::cell::Cell;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// How much of a register file is read at once.
const PIECE_BYTES: usize = 1 << 16;

/// Lines that are compared at once by all cores.
const LINES_AT_ONCE: usize = 1024;

pub struct RegisterFile {
    path: PathBuf,
    scheme: Scheme,
    header: RegisterFileHeader,
    /// How many lines the last whole reading found.
    lines: Cell<Option<u64>>,
}

impl RegisterFile {
    pub fn open(path: &Path, group: &GroupFile) -> Result<Self, Failure> {
        let (path, scheme) = (path.to_owned(), group.scheme());
        let header = Lines::open(&path, scheme, ProgressBar::hidden())?.header()?;
        if header.group != group.id() {
            return Err(Failure::file(&path, "the register is of another group"));
        }
        let lines = Cell::new(None);
        Ok(Self {
            path,
            scheme,
            header,
            lines,
        })
    }

    /// By the values of the epoch, if the file has them; else, and if none of them is the one, row by
    /// row. So a wrong value hides no row.
    pub fn find(&self, epoch: u32, search: &Search) -> Result<Option<Found>, Failure> {
        let place = self.header.place(epoch);
        if let Some(place) = place {
            let found = self.by_value(place, search)?;
            if found.is_some() {
                return Ok(found);
            }
            eprintln!("clew: no value of the register file fits: comparing row by row");
        }
        self.row_by_row(search)
    }

    fn by_value(&self, place: usize, search: &Search) -> Result<Option<Found>, Failure> {
        let mut lines = self.lines("searching the register")?;
        while let Some(line) = lines.next()? {
            let hash = line.values.get(place).and_then(LineValue::hash);
            if hash == Some(*search.hash()) && search.fits(&line.row.entry, line.x.as_ref()) {
                return Ok(Some(found(line)));
            }
        }
        Ok(None)
    }

    fn row_by_row(&self, search: &Search) -> Result<Option<Found>, Failure> {
        let mut lines = self.lines("comparing row by row")?;
        let mut count = 0;
        loop {
            let batch = lines.batch()?;
            if batch.is_empty() {
                self.lines.set(Some(count));
                return Ok(None);
            }
            count += batch.len() as u64;
            let fits = |line: &RegisterLine| search.fits(&line.row.entry, line.x.as_ref());
            if let Some(line) = batch.into_par_iter().find_first(fits) {
                return Ok(Some(found(line)));
            }
        }
    }

    pub fn candidate(&self, name: &str, epoch: u32) -> Result<Candidate, Failure> {
        let place = self.header.place(epoch).filter(|_| self.header.points);
        let place = place.ok_or_else(|| self.without_points(name, epoch))?;
        let mut named = Vec::new();
        let mut lines = self.lines("searching the register")?;
        while let Some(line) = lines.next()? {
            if line.row.entry.name.as_str() == name {
                named.push((line.row.entry.joined, line));
            }
        }
        let line = in_use(named, epoch).ok_or_else(|| no_such_machine(name))?;
        match line.values.get(place) {
            Some(LineValue::Point(point)) => Ok(Candidate {
                base: self.decode(point)?,
                found: found(line),
            }),
            _ => Err(not_a_member(name, epoch)),
        }
    }

    fn without_points(&self, name: &str, epoch: u32) -> Failure {
        Failure::file(&self.path, format!("it has no points of epoch {epoch}")).hint(format!(
            "have the issuer run: clew group register DIR --machine {name} --epoch {epoch} \
             --points -o REGISTER"
        ))
    }

    fn decode(&self, point: &[u8; 48]) -> Result<G1, Failure> {
        G1::from_bytes(point).map_err(|e| Failure::file(&self.path, format!("a point: {e}")))
    }

    /// That the file has fewer rows than the group, if a whole reading found so.
    pub fn shortage(&self, machines: u32) -> Option<String> {
        let lines = self.lines.get().filter(|lines| *lines < machines.into())?;
        let path = self.path.display();
        Some(format!(
            "{path} has {lines} of the {machines} rows of the group: take a register of all"
        ))
    }

    fn lines(&self, doing: &'static str) -> Result<Lines, Failure> {
        let size = self.path.metadata().map(|metadata| metadata.len()).ok();
        let mut lines = Lines::open(&self.path, self.scheme, progress::bytes(size, doing))?;
        lines.header()?;
        Ok(lines)
    }
}

fn found(line: RegisterLine) -> Found {
    let RegisterLine { row, x, .. } = line;
    Found { row, x }
}

/// The lines of a register file, read piece by piece.
struct Lines {
    path: PathBuf,
    file: File,
    reader: RegisterReader,
    piece: Vec<u8>,
    progress: ProgressBar,
}

impl Lines {
    fn open(path: &Path, scheme: Scheme, progress: ProgressBar) -> Result<Self, Failure> {
        Ok(Self {
            path: path.to_owned(),
            file: File::open(path).map_err(|e| Failure::file(path, e))?,
            reader: RegisterReader::new(scheme),
            piece: vec![0; PIECE_BYTES],
            progress,
        })
    }

    fn header(&mut self) -> Result<RegisterFileHeader, Failure> {
        loop {
            let header = self.reader.header().map(Option::<&_>::cloned);
            match header.map_err(|e| self.fail(e))? {
                Some(header) => return Ok(header),
                None if self.more()? => {}
                None => return Err(self.fail("it ends within its header")),
            }
        }
    }

    fn next(&mut self) -> Result<Option<RegisterLine>, Failure> {
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

    /// The next lines; none at the end.
    fn batch(&mut self) -> Result<Vec<RegisterLine>, Failure> {
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
        if INTERRUPTED.load(Ordering::Relaxed) {
            return Err(Failure::new("interrupted: no output was written"));
        }
        let read = self.file.read(&mut self.piece).map_err(|e| self.fail(e))?;
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
