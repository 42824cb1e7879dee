//! Files that appear whole or not at all.
//!
//! What is being written has a temporary name and a lock (flock). A killed run leaves the name and
//! loses the lock: the next run that writes into the folder removes what nobody holds.

use std::ffi::OsStr;
use std::fs::{self, DirEntry, File, Permissions, TryLockError};
use std::io::{self, Seek, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::{Builder, TempDir, TempPath};

/// Permissions of secret files: their owner's only.
pub const MODE_SECRET: u32 = 0o600;

/// Permissions of public files, before the user's umask.
pub const MODE_PUBLIC: u32 = 0o666;

/// The ends of temporary names of files, with [`RANDOM`] characters between them.
const PARTIAL: [&str; 2] = [".clew-", ".partial"];
/// The beginning of temporary names of folders.
const FOLDER: &str = ".clew-group-";
/// Random characters in a temporary name.
const RANDOM: usize = 6;

/// A file under its temporary name, in the directory of its final one. Dropped before
/// [`Pending::commit`], it is removed.
#[derive(Debug)]
pub struct Pending {
    temporary: TempPath,
    target: PathBuf,
    replace: bool,
}

impl Pending {
    /// Creates the temporary file with permissions `mode` from its first byte on, locked as long as
    /// the file is open. Without `replace` a file that exists is refused now, and again by
    /// [`Pending::commit`]; with it, what a link leads to is replaced, and the link stays.
    ///
    /// Removes what killed runs left in the directory.
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
        let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let (file, temporary) = temporary_file(directory(&target), name, mode)?;
        Ok((
            file,
            Self {
                temporary,
                target,
                replace,
            },
        ))
    }

    /// Syncs the file, gives it its name, and syncs the directory, so that both survive a crash. A
    /// failure leaves what was there before.
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
    /// Writes the bytes under a temporary name.
    pub fn prepare(path: &Path, bytes: &[u8], mode: u32, replace: bool) -> io::Result<Self> {
        let (mut file, pending) = Pending::create(path, mode, replace)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        Ok(Self { file, pending })
    }

    /// Writes as many zeros under a temporary name: the room for [`Written::fill`].
    pub fn reserve(path: &Path, length: usize, mode: u32, replace: bool) -> io::Result<Self> {
        Self::prepare(path, &vec![0; length], mode, replace)
    }

    /// Replaces the zeros, and syncs.
    pub fn fill(mut self, bytes: &[u8]) -> io::Result<Self> {
        self.file.rewind()?;
        self.file.write_all(bytes)?;
        self.file.set_len(bytes.len() as u64)?;
        self.file.sync_all()?;
        Ok(self)
    }

    /// Gives the file its name.
    pub fn commit(self) -> io::Result<()> {
        self.pending.commit(&self.file)
    }
}

/// Writes a small file whole or not at all.
pub fn write_atomically(path: &Path, bytes: &[u8], mode: u32, replace: bool) -> io::Result<()> {
    Written::prepare(path, bytes, mode, replace)?.commit()
}

/// Syncs a directory, so that names made in it survive a crash.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// The directory that a path is in.
pub fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

fn temporary_file(folder: &Path, name: &OsStr, mode: u32) -> io::Result<(File, TempPath)> {
    let mut prefix = name.to_owned();
    prefix.push(PARTIAL[0]);
    loop {
        let (file, path) = Builder::new()
            .prefix(&prefix)
            .suffix(PARTIAL[1])
            .rand_bytes(RANDOM)
            .permissions(Permissions::from_mode(mode))
            .tempfile_in(folder)?
            .into_parts();
        if is_held(&file, &path) {
            remove_leftovers(folder, file.metadata()?.uid());
            return Ok((file, path));
        }
    }
}

/// A folder under a temporary name, of mode 0700, locked as long as the file that comes with it is
/// open. Removes what killed runs left beside it.
pub(crate) fn temporary_folder(parent: &Path) -> io::Result<(File, TempDir)> {
    loop {
        let folder = Builder::new()
            .prefix(FOLDER)
            .rand_bytes(RANDOM)
            .tempdir_in(parent)?;
        match File::open(folder.path()) {
            Ok(file) if is_held(&file, folder.path()) => {
                remove_leftovers(parent, file.metadata()?.uid());
                return Ok((file, folder));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
}

/// Locks what was just created. Returns `false` if another run came between, took it for a leftover,
/// and removes it. Where a file system has no locks, no run removes anything.
fn is_held(file: &File, path: &Path) -> bool {
    !matches!(file.try_lock(), Err(TryLockError::WouldBlock)) && path.exists()
}

/// Removes files and folders of that user under temporary names whose process is gone. What cannot
/// be removed stays.
fn remove_leftovers(folder: &Path, user: u32) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if is_temporary(&entry.file_name()) {
            let _ = remove_unheld(&entry, user);
        }
    }
}

fn is_temporary(name: &OsStr) -> bool {
    let random = |text: &str| text.len() == RANDOM && text.chars().all(|c| c.is_alphanumeric());
    let name = name.to_string_lossy();
    let of_file = name.strip_suffix(PARTIAL[1]);
    let of_file = of_file.and_then(|name| name.rsplit_once(PARTIAL[0]));
    of_file.is_some_and(|(_, text)| random(text)) || name.strip_prefix(FOLDER).is_some_and(random)
}

fn remove_unheld(entry: &DirEntry, user: u32) -> io::Result<()> {
    let (path, found) = (entry.path(), entry.metadata()?); // of a link, not of what it leads to
    if found.uid() != user || !(found.is_file() || found.is_dir()) {
        return Ok(());
    }
    let held = File::open(&path)?;
    match held.try_lock() {
        Err(_) => Ok(()),
        Ok(()) if found.is_dir() => fs::remove_dir_all(&path),
        Ok(()) => fs::remove_file(&path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_go_and_what_is_being_written_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let make = |name: &str| File::create_new(path(name)).unwrap();
        let dead = make("a.key.clew-AbC123.partial");
        drop(dead);
        let live = make("a.key.clew-live12.partial");
        live.lock().unwrap();
        for other in ["a.key.partial", "a.clew-12345.partial", ".clew-group-"] {
            make(other);
        }
        fs::create_dir_all(path(".clew-group-dead12/issuer")).unwrap();
        let (held, folder) = temporary_folder(dir.path()).unwrap();
        assert!(!path("a.key.clew-AbC123.partial").exists());
        assert!(!path(".clew-group-dead12").exists());
        make("b.clew-AbC123.partial");
        write_atomically(&path("c"), b"c", MODE_SECRET, false).unwrap();
        assert!(!path("b.clew-AbC123.partial").exists());
        assert!(folder.path().exists(), "of a process that lives");
        drop((held, folder));
        let mut left: Vec<_> = fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        let kept = [
            ".clew-group-",
            "a.clew-12345.partial",
            "a.key.clew-live12.partial",
            "a.key.partial",
            "c",
        ];
        assert_eq!(left, kept);
    }
}
