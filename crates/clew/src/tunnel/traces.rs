//! Files for traces (`--qlog`).

use crate::failure::Failure;
use clew_keys::files::MODE_SECRET;
use clew_tunnel_udp::Trace;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use tracing::warn;

/// The files of a trace of so many parts: the one that was named, or one for each with its number.
pub fn names(path: &Path, parts: usize) -> Vec<PathBuf> {
    if parts <= 1 {
        return vec![path.to_owned()];
    }
    let numbered = |number: usize| {
        let mut name = path.file_stem().unwrap_or_default().to_owned();
        name.push(format!("-{number}"));
        if let Some(extension) = path.extension() {
            name.push(".");
            name.push(extension);
        }
        path.with_file_name(name)
    };
    (1..=parts).map(numbered).collect()
}

/// Begins a trace for each part, as `client` or `server`. None of the files may be there: an older trace is
/// worth keeping.
///
/// # Errors
/// The files'.
pub fn begin(path: &Path, parts: usize, vantage: &str) -> Result<Vec<Trace>, Failure> {
    let mut traces = Vec::with_capacity(parts);
    for name in names(path, parts) {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => Failure::file(&name, "already exists")
                .hint("use another name: a trace is never overwritten"),
            _ => Failure::file(&name, error),
        };
        let mut options = OpenOptions::new();
        // Who talks to whom is nobody else's business.
        let options = options.write(true).create_new(true).mode(MODE_SECRET);
        let file = BufWriter::new(options.open(&name).map_err(failed)?);
        let kept = Kept {
            file,
            name: name.clone(),
            is_broken: false,
        };
        traces.push(Trace::new(Box::new(kept), vantage).map_err(failed)?);
    }
    Ok(traces)
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
