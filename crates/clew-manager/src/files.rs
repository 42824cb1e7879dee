//! Files that appear whole or not at all.

use std::fs::{self, File, Permissions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempPath;

/// Permissions of secret files: their owner's only.
pub const MODE_SECRET: u32 = 0o600;

/// Permissions of public files, before the user's umask.
pub const MODE_PUBLIC: u32 = 0o666;

/// A file under its temporary name, in the directory of its final one. Dropped before
/// [`Pending::commit`], it is removed.
#[derive(Debug)]
pub struct Pending {
    temporary: TempPath,
    target: PathBuf,
    replace: bool,
}

impl Pending {
    /// Creates the temporary file with permissions `mode` from its first byte on. Without `replace`
    /// a file that exists is refused now, and again by [`Pending::commit`]; with it, what a link
    /// leads to is replaced, and the link stays.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] without `replace`; [`io::ErrorKind::InvalidInput`] if the path
    /// ends in no name; an error of the system, such as a link to nothing.
    pub fn create(target: &Path, mode: u32, replace: bool) -> io::Result<(File, Self)> {
        let exists = target.symlink_metadata().is_ok();
        if exists && !replace {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let target = if exists {
            fs::canonicalize(target)?
        } else {
            target.to_owned()
        };
        let mut prefix = target
            .file_name()
            .ok_or(io::ErrorKind::InvalidInput)?
            .to_owned();
        prefix.push(".clew-");
        let (file, temporary) = tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(".partial")
            .permissions(Permissions::from_mode(mode))
            .tempfile_in(directory(&target))?
            .into_parts();
        Ok((
            file,
            Self {
                temporary,
                target,
                replace,
            },
        ))
    }

    /// Syncs the file, gives it its name, and syncs the directory, so that both survive a crash.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] without `replace`, if the file appeared since; an error of the
    /// system. What was there before is there still, unless only the directory was not synced: then
    /// the new file is there, and may be gone after a crash.
    pub fn commit(self, file: &File) -> io::Result<()> {
        let Self {
            temporary,
            target,
            replace,
        } = self;
        file.sync_all()?;
        // The file may have appeared since the first look: only the rename itself can tell.
        let renamed = match replace {
            true => temporary.persist(&target),
            false => temporary.persist_noclobber(&target),
        };
        renamed.map_err(|refused| refused.error)?;
        sync_directory(directory(&target))
    }
}

/// A small file that is written and synced, and waits for its name.
#[derive(Debug)]
pub struct Written {
    file: File,
    pending: Pending,
}

impl Written {
    /// Writes the bytes under a temporary name, synced.
    ///
    /// # Errors
    /// As [`Pending::create`]; an error of the system. No file is left.
    pub fn prepare(path: &Path, bytes: &[u8], mode: u32, replace: bool) -> io::Result<Self> {
        let (mut file, pending) = Pending::create(path, mode, replace)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        Ok(Self { file, pending })
    }

    /// Writes `length` zeros under a temporary name: the room for [`Written::fill`].
    ///
    /// # Errors
    /// As [`Written::prepare`].
    pub fn reserve(path: &Path, length: usize, mode: u32, replace: bool) -> io::Result<Self> {
        Self::prepare(path, &vec![0; length], mode, replace)
    }

    /// Replaces the zeros, and syncs.
    ///
    /// # Errors
    /// An error of the system. No file is left.
    pub fn fill(mut self, bytes: &[u8]) -> io::Result<Self> {
        self.file.rewind()?;
        self.file.write_all(bytes)?;
        self.file.set_len(bytes.len() as u64)?;
        self.file.sync_all()?;
        Ok(self)
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// As [`Pending::commit`].
    pub fn commit(self) -> io::Result<()> {
        self.pending.commit(&self.file)
    }
}

/// Writes a small file whole or not at all.
///
/// # Errors
/// As [`Pending::create`] and [`Pending::commit`].
pub fn write_atomically(path: &Path, bytes: &[u8], mode: u32, replace: bool) -> io::Result<()> {
    Written::prepare(path, bytes, mode, replace)?.commit()
}

/// Syncs a directory, so that names made in it survive a crash.
///
/// # Errors
/// An error of the system.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Returns the directory that a path is in.
pub fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}
