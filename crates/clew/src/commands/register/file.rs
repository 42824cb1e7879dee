//! A register file, read anew for each question.

use super::lines::Lines;
use super::{Candidate, InUse, no_such_machine, not_a_member};
use crate::failure::Failure;
use crate::progress;
use clew_evidence::{
    CheckedGroup, FoundRow, GroupFile, LineValue, RegisterFileHeader, RegisterLine, Row, Search,
};
use clew_group::Scheme;
use clew_group::curve::G1;
use indicatif::ProgressBar;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub struct RegisterFile {
    path: PathBuf,
    scheme: Scheme,
    header: RegisterFileHeader,
}

impl RegisterFile {
    pub fn open(path: &Path, group: &GroupFile) -> Result<Self, Failure> {
        let (path, scheme) = (path.to_owned(), group.scheme());
        let header = Lines::open(&path, scheme, ProgressBar::hidden())?.header()?;
        if header.group != group.id() {
            return Err(Failure::file(&path, "register belongs to another group"));
        }
        Ok(Self {
            path,
            scheme,
            header,
        })
    }

    /// By the values of the epoch, if the file has them; else, and if none of them is the one, row by
    /// row. So a wrong value hides no row.
    ///
    /// # Errors
    /// There is no such row, and the file lacks one that the group has, or has a wrong one.
    pub fn find(
        &self,
        group: &CheckedGroup,
        epoch: u32,
        search: &Search,
    ) -> Result<Option<FoundRow>, Failure> {
        let place = self.header.place(epoch);
        if let Some(place) = place {
            let found = self.by_value(place, search)?;
            if found.is_some() {
                return Ok(found);
            }
            mention!("clew: no value of the register file matches; comparing row by row");
        }
        let found = self.row_by_row(search)?;
        if found.is_none() {
            self.check_all(group, search)?;
        }
        Ok(found)
    }

    fn by_value(&self, place: usize, search: &Search) -> Result<Option<FoundRow>, Failure> {
        let mut lines = self.lines("searching the register")?;
        while let Some(line) = lines.next()? {
            let hash = line.values.get(place).and_then(LineValue::hash);
            if hash == Some(*search.hash()) && search.fits(&line.row.entry, line.x.as_ref()) {
                return Ok(Some(found(line)));
            }
        }
        Ok(None)
    }

    fn row_by_row(&self, search: &Search) -> Result<Option<FoundRow>, Failure> {
        let mut lines = self.lines("comparing row by row")?;
        loop {
            let batch = lines.batch()?;
            if batch.is_empty() {
                return Ok(None);
            }
            let fits = |line: &RegisterLine| search.fits(&line.row.entry, line.x.as_ref());
            if let Some(line) = batch.into_par_iter().find_first(fits) {
                return Ok(Some(found(line)));
            }
        }
    }

    /// Who found no row checks what may hide it: a row that is missing, is not of this group file, or
    /// has a wrong x.
    fn check_all(&self, group: &CheckedGroup, search: &Search) -> Result<(), Failure> {
        let mut lines = self.lines("checking every row")?;
        // By what the file has, not by what the group file says: a number costs nothing.
        let mut seen = BTreeSet::new();
        loop {
            let batch = lines.batch()?;
            if batch.is_empty() {
                return self.check_count(seen.len(), group.register().machines);
            }
            let wrong = |line: &RegisterLine| wrong(line, group, search);
            if let Some(wrong) = batch.par_iter().find_map_first(wrong) {
                return Err(self.useless(wrong));
            }
            seen.extend(batch.iter().map(|line| line.row.entry.index));
        }
    }

    fn check_count(&self, rows: usize, of: u32) -> Result<(), Failure> {
        match rows == of as usize {
            true => Ok(()),
            false => Err(self.useless(format!("it has {rows} of the group's {of} rows"))),
        }
    }

    fn useless(&self, why: String) -> Failure {
        let failure = format!("none of its rows signed this, and {why}");
        Failure::file(&self.path, failure).hint(
            "use a register of all machines, as new as the group file: clew group register DIR -o \
             REGISTER",
        )
    }

    /// The row with that leaf hash, if the file has it and the group's register does.
    pub fn with_leaf(&self, group: &GroupFile, leaf: &[u8; 32]) -> Result<Option<Row>, Failure> {
        let mut lines = self.lines("searching the register")?;
        while let Some(line) = lines.next()? {
            let is_it = line.row.entry.leaf_hash() == *leaf;
            if is_it && line.row.is_in_register_of(group) {
                return Ok(Some(line.row));
            }
        }
        Ok(None)
    }

    pub fn candidate(&self, name: &str, epoch: u32) -> Result<Candidate, Failure> {
        let place = self.header.place(epoch).filter(|_| self.header.points);
        let place = place.ok_or_else(|| self.without_points(name, epoch))?;
        let mut named = InUse::new(epoch);
        let mut lines = self.lines("searching the register")?;
        while let Some(line) = lines.next()? {
            if line.row.entry.name.as_str() == name {
                named.add(line.row.entry.joined, line);
            }
        }
        let line = named.row().ok_or_else(|| no_such_machine(name))?;
        match line.values.get(place) {
            Some(LineValue::Point(point)) => Ok(Candidate {
                base: self.decode(point)?,
                found: found(line),
            }),
            _ => Err(not_a_member(name, epoch)),
        }
    }

    fn without_points(&self, name: &str, epoch: u32) -> Failure {
        Failure::file(&self.path, format!("does not have points of epoch {epoch}")).hint(format!(
            "ask the issuer to run clew group register DIR --machine {name} --epoch {epoch} \
             --points -o REGISTER"
        ))
    }

    fn decode(&self, point: &[u8; 48]) -> Result<G1, Failure> {
        G1::from_bytes(point).map_err(|e| Failure::file(&self.path, format!("invalid point: {e}")))
    }

    fn lines(&self, doing: &'static str) -> Result<Lines, Failure> {
        let size = self.path.metadata().map(|metadata| metadata.len()).ok();
        let mut lines = Lines::open(&self.path, self.scheme, progress::bytes(size, doing))?;
        lines.header()?;
        Ok(lines)
    }
}

fn found(line: RegisterLine) -> FoundRow {
    let RegisterLine { row, x, .. } = line;
    FoundRow { row, x }
}

/// What is wrong with a row.
fn wrong(line: &RegisterLine, group: &CheckedGroup, search: &Search) -> Option<String> {
    let (row, entry) = (&line.row, &line.row.entry);
    let why = if !row.is_in_register_of(group) {
        "is not in the register of this group file"
    } else if entry.check_device(group).is_err() {
        "does not have a valid device signature"
    } else if !search.certifies(entry, line.x.as_ref()) {
        "has a wrong x"
    } else {
        return None;
    };
    Some(format!("row {} ({}) {why}", entry.index, entry.name))
}
