//! Removes a folder in which another user may have nested folders by the thousand: removal folder by folder
//! would need a descriptor for each.

use std::fs::{self, DirEntry};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// How the names of folders begin that are only there to be removed.
const LEFT: &str = "left-";

/// How often two entries may have one name, before somebody else must be making them.
const NAMES_MAX: u32 = 1_000;

/// Removes a folder that its caller alone writes, with all that others made in folders below. Its files go first:
/// `first` before all.
///
/// Folders below move up until there is nothing in them, so that two descriptors suffice, however deep they were. What
/// another user could put something else in the place of is never followed.
///
/// # Errors
/// The system's, or it takes until after `until`: somebody goes on to fill it. Then folders alone are left, under other
/// names.
pub(super) fn remove_all(folder: &Path, first: &Path, until: Instant) -> io::Result<()> {
    gone(fs::remove_file(first))?;
    let mut removal = Removal {
        folder,
        number: 0,
        until,
    };
    removal.remove_files()?;
    while !removal.is_done()? {
        removal.pass()?;
    }
    Ok(())
}

struct Removal<'a> {
    folder: &'a Path,
    /// The number of the last folder that moved.
    number: u32,
    until: Instant,
}

impl Removal<'_> {
    /// Removes the files, and gives the folders other names: whoever makes this folder again finds it empty.
    fn remove_files(&mut self) -> io::Result<()> {
        for entry in entries(self.folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if !name.as_encoded_bytes().starts_with(LEFT.as_bytes()) {
                self.take(&entry)?;
            }
        }
        Ok(())
    }

    fn is_done(&self) -> io::Result<bool> {
        match gone(fs::remove_dir(self.folder)) {
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Ok(false),
            done => done.map(|()| true),
        }
    }

    /// Empties each folder that is there, and removes it.
    fn pass(&mut self) -> io::Result<()> {
        for entry in entries(self.folder)? {
            let entry = entry?;
            let path = entry.path();
            if !entry.file_type()?.is_dir() {
                gone(fs::remove_file(&path))?;
                continue;
            }
            for inner in entries(&path)? {
                self.take(&inner?)?;
            }
            match gone(fs::remove_dir(&path)) {
                // Somebody filled it meanwhile.
                Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => {}
                done => done?,
            }
        }
        Ok(())
    }

    /// Removes a file, or moves a folder up.
    fn take(&mut self, entry: &DirEntry) -> io::Result<()> {
        if Instant::now() > self.until {
            return Err(ErrorKind::TimedOut.into());
        }
        match entry.file_type()?.is_dir() {
            true => self.move_up(&entry.path()),
            false => match fs::remove_file(entry.path()) {
                // Somebody put a folder in its place: the next pass takes it.
                Err(error) if error.kind() == ErrorKind::IsADirectory => Ok(()),
                done => gone(done),
            },
        }
    }

    fn move_up(&mut self, path: &Path) -> io::Result<()> {
        let mut tries = 0..NAMES_MAX;
        loop {
            match gone(fs::rename(path, self.next_name())) {
                Err(error) if is_taken(&error) && tries.next().is_some() => {}
                done => return done,
            }
        }
    }

    fn next_name(&mut self) -> PathBuf {
        self.number = self.number.wrapping_add(1);
        let name = format!("{LEFT}{}-{}", std::process::id(), self.number);
        self.folder.join(name)
    }
}

/// A folder's entries. One that is gone has none.
fn entries(folder: &Path) -> io::Result<impl Iterator<Item = io::Result<DirEntry>>> {
    let found = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        found => Some(found?),
    };
    Ok(found.into_iter().flatten())
}

/// What somebody else removed needs no removal.
fn gone(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Whether another entry has the name.
fn is_taken(error: &io::Error) -> bool {
    let kind = error.kind();
    matches!(
        kind,
        ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists | ErrorKind::NotADirectory
    )
}
