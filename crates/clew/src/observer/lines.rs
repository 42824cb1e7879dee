//! Where the lines of an observer go: to standard output, or to the end of a file.

use crate::output::STANDARD_STREAM;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Permissions of a new file: it says who talks to whom.
const MODE: u32 = 0o600;

/// Whole lines on their way out. A line that cannot be written is counted, and the rest goes on.
pub struct Lines {
    file: Option<File>,
    /// None for standard output.
    path: Option<PathBuf>,
    lost: u64,
    is_failing: bool,
}

/// What came of writing.
#[derive(Debug)]
pub enum Wrote {
    /// All of it was written, as before.
    All,
    /// The first failure in a row.
    Failed(io::Error),
    /// It works again.
    Again,
    /// It fails on.
    Failing,
}

impl Lines {
    /// Opens the file, or standard output without one.
    ///
    /// # Errors
    /// The system refuses.
    pub fn open(path: Option<&Path>) -> io::Result<Self> {
        let path = path.filter(|path| *path != Path::new(STANDARD_STREAM));
        Ok(Self {
            file: Some(open(path)?),
            path: path.map(Path::to_owned),
            lost: 0,
            is_failing: false,
        })
    }

    /// Opens the file again: somebody may have given it another name. While that fails, lines are lost.
    ///
    /// # Errors
    /// The system refuses.
    pub fn reopen(&mut self) -> io::Result<()> {
        if self.path.is_some() {
            self.file = None;
            self.file = Some(open(self.path.as_deref())?);
        }
        Ok(())
    }

    /// Writes whole lines, and says what came of it.
    ///
    /// # Errors
    /// The reader of a pipe went away.
    pub fn write(&mut self, text: &[u8]) -> io::Result<Wrote> {
        if text.is_empty() {
            return Ok(Wrote::All);
        }
        if self.file.is_none() {
            self.file = open(self.path.as_deref()).ok();
        }
        let (written, failure) = match &mut self.file {
            Some(file) => write_lines(file, text),
            None => (0, Some(io::ErrorKind::NotFound.into())),
        };
        let rest = text[written..].iter().filter(|byte| **byte == b'\n');
        self.lost += rest.count() as u64;
        let was_failing = std::mem::replace(&mut self.is_failing, failure.is_some());
        match failure {
            Some(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(error),
            Some(_) if was_failing => Ok(Wrote::Failing),
            Some(error) => Ok(Wrote::Failed(error)),
            None if was_failing => Ok(Wrote::Again),
            None => Ok(Wrote::All),
        }
    }

    /// How many lines could not be written.
    pub const fn lost(&self) -> u64 {
        self.lost
    }
}

fn open(path: Option<&Path>) -> io::Result<File> {
    match path {
        None => Ok(io::stdout().as_fd().try_clone_to_owned()?.into()),
        Some(path) => OpenOptions::new()
            .append(true)
            .create(true)
            .mode(MODE)
            .open(path),
    }
}

/// Writes lines. Returns the length of those that were written whole, and why there were no more.
fn write_lines(file: &mut File, text: &[u8]) -> (usize, Option<io::Error>) {
    let mut written = 0;
    let failure = loop {
        match file.write(&text[written..]) {
            Ok(0) => break io::ErrorKind::WriteZero.into(),
            Ok(count) => written += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => break error,
        }
        if written == text.len() {
            return (written, None);
        }
    };
    let whole = text[..written].iter().rposition(|byte| *byte == b'\n');
    let whole = whole.map_or(0, |end| end + 1);
    cut_back(file, (written - whole) as u64);
    (whole, Some(failure))
}

/// Takes the beginning of a line out again, where that is possible.
fn cut_back(file: &mut File, torn: u64) {
    let is_file = |file: &File| file.metadata().ok().filter(|found| found.is_file());
    if torn == 0 {
        return;
    }
    let Some(metadata) = is_file(file) else {
        return;
    };
    if let Some(length) = metadata.len().checked_sub(torn)
        && file.set_len(length).is_ok()
    {
        // Without O_APPEND the next line would leave a gap.
        let _ = file.seek(SeekFrom::End(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_renamed_file_is_left_and_a_new_one_begun() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, "before\n").unwrap();
        let mut lines = Lines::open(Some(&path)).unwrap();
        lines.write(b"one\n").unwrap();
        fs::rename(&path, folder.path().join("old")).unwrap();
        lines.write(b"two\n").unwrap();
        lines.reopen().unwrap();
        lines.write(b"three\n").unwrap();
        let old = fs::read_to_string(folder.path().join("old")).unwrap();
        assert_eq!(old, "before\none\ntwo\n");
        assert_eq!(fs::read_to_string(&path).unwrap(), "three\n");
    }

    #[test]
    fn a_full_disk_is_said_once_and_its_lines_counted() {
        let mut lines = Lines::open(Some(Path::new("/dev/full"))).unwrap();
        let Wrote::Failed(error) = lines.write(b"one\ntwo\n").unwrap() else {
            panic!("the disk is full");
        };
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(matches!(lines.write(b"three\n").unwrap(), Wrote::Failing));
        assert_eq!(lines.lost(), 3);
        lines.file = Some(tempfile::tempfile().unwrap());
        assert!(matches!(lines.write(b"four\n").unwrap(), Wrote::Again));
        assert!(matches!(lines.write(b"five\n").unwrap(), Wrote::All));
        assert_eq!(lines.lost(), 3);
    }

    #[test]
    fn a_torn_line_is_taken_out() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"whole\nto").unwrap();
        cut_back(&mut file, 2);
        file.write_all(b"next\n").unwrap();
        let mut text = String::new();
        file.rewind().unwrap();
        io::Read::read_to_string(&mut file, &mut text).unwrap();
        assert_eq!(text, "whole\nnext\n");
    }

    #[test]
    fn a_closed_pipe_is_an_error() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut lines = Lines::open(None).unwrap();
        lines.file = Some(File::from(std::os::fd::OwnedFd::from(writer)));
        let error = lines.write(b"line\n").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
