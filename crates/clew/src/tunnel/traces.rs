//! Files for traces (`--qlog`).

use crate::failure::Failure;
use clew_keys::files::MODE_SECRET;
use clew_tunnel_udp::Trace;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use tracing::warn;

/// Runs of one name that have a trace each.
const RUNS_MAX: usize = 10_000;

/// The files of a trace of so many parts: the one that was named, or one for each with its number.
fn names(path: &Path, parts: usize) -> Vec<PathBuf> {
    if parts <= 1 {
        return vec![path.to_owned()];
    }
    let part = |number: usize| numbered(path, &format!("-{number}"));
    (1..=parts).map(part).collect()
}

/// Begins a trace for each part, as `client` or `server`, with the names of their files. An older trace stays as
/// it is, and the new one gets a number: a supervisor starts a server with the same arguments again.
///
/// # Errors
/// The files'.
pub fn begin(
    path: &Path,
    parts: usize,
    vantage: &str,
) -> Result<(Vec<Trace>, Vec<PathBuf>), Failure> {
    let (mut traces, mut files) = (Vec::with_capacity(parts), Vec::with_capacity(parts));
    for name in names(path, parts) {
        let (file, name) = create(&name)?;
        let kept = Kept {
            file: BufWriter::new(file),
            name: name.clone(),
            is_broken: false,
        };
        let trace = Trace::new(Box::new(kept), vantage);
        traces.push(trace.map_err(|error| Failure::file(&name, error))?);
        files.push(name);
    }
    Ok((traces, files))
}

/// Creates the file of this name, or the first of its numbered names that is free.
fn create(name: &Path) -> Result<(File, PathBuf), Failure> {
    let mut options = OpenOptions::new();
    // Who talks to whom is nobody else's business.
    options.write(true).create_new(true).mode(MODE_SECRET);
    for number in 1..=RUNS_MAX {
        let name = match number {
            1 => name.to_owned(),
            _ => numbered(name, &format!(".{number}")),
        };
        match options.open(&name) {
            Ok(file) => return Ok((file, name)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Failure::file(&name, error)),
        }
    }
    Err(Failure::file(name, "already exists, with all its numbers")
        .hint("remove old traces: none is ever overwritten"))
}

/// The name with this before its extension.
fn numbered(path: &Path, number: &str) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(number);
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// A file that says it when it cannot be written: the trace ends then, and nothing else does.
struct Kept {
    file: BufWriter<File>,
    name: PathBuf,
    is_broken: bool,
}

impl Kept {
    fn tell<T>(&mut self, written: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &written
            && !self.is_broken
        {
            self.is_broken = true;
            warn!(file = %self.name.display(), %error, "cannot write: the trace ends");
        }
        written
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        self.tell(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file.flush();
        self.tell(flushed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_numbers() {
        let path = |text: &str| PathBuf::from(text);
        assert_eq!(names(&path("a/b.sqlog"), 1), [path("a/b.sqlog")]);
        let two = [path("a/b-1.sqlog"), path("a/b-2.sqlog")];
        assert_eq!(names(&path("a/b.sqlog"), 2), two);
        assert_eq!(names(&path("b"), 2), [path("b-1"), path("b-2")]);
    }
}
