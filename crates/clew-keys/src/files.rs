//! Files that appear whole or not at all.
//!
//! What is being written has a temporary name and a lock (flock). A killed run leaves the name and
//! loses the lock: the next run that writes a file of the same name there removes what nobody holds.
//! It never removes a folder, a link, a file of another name, or a file that has a second name.

mod owner;

pub use owner::check_owner;

use std::ffi::OsStr;
use std::fs::{self, DirEntry, File, Metadata, OpenOptions, Permissions, TryLockError};
use std::io::{self, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use tempfile::{Builder, TempPath};

/// Permissions of secret files: their owner's only.
pub const MODE_SECRET: u32 = 0o600;

/// Permissions of public files, before the user's umask.
pub const MODE_PUBLIC: u32 = 0o666;

/// What follows a file's name in its temporary one, with [`RANDOM`] characters between.
const PARTIAL: [&str; 2] = [".clew-", ".partial"];
/// Random characters in a temporary name: nobody gives such a name by chance.
const RANDOM: usize = 16;

/// What happens to a file that has the name already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfExists {
    /// It stays, and the new one is refused.
    Refuse,
    /// The new one takes its place.
    Replace,
}

/// A file under its temporary name, in the directory of its final one. Dropped before
/// [`Pending::commit`], it is removed.
#[derive(Debug)]
pub struct Pending {
    temporary: TempPath,
    target: PathBuf,
    if_exists: IfExists,
}

impl Pending {
    /// Creates the temporary file with permissions `mode` from its first byte on, locked as long as
    /// the file is open. With [`IfExists::Refuse`] a file that exists is refused now, and again by
    /// [`Pending::commit`]; else what a link leads to is replaced, and the link stays.
    ///
    /// Removes what killed runs left of this file.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] with [`IfExists::Refuse`]; [`io::ErrorKind::InvalidInput`] if the path
    /// ends in no name; an error of the system, such as a link to nothing.
    pub fn create(target: &Path, mode: u32, if_exists: IfExists) -> io::Result<(File, Self)> {
        let exists = target.symlink_metadata().is_ok();
        if exists && if_exists == IfExists::Refuse {
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
                if_exists,
            },
        ))
    }

    /// Returns the files of a folder that killed runs of this user left under temporary names, open for
    /// reading and writing, and locked: those whose names `is_wanted` takes, in their order.
    /// [`Pending::commit`] gives one its name, unless a file has it. Dropped before, they stay.
    ///
    /// # Errors
    /// The directory cannot be read or written.
    pub fn abandoned(
        folder: &Path,
        is_wanted: impl Fn(&OsStr) -> bool,
    ) -> io::Result<Vec<(File, Self)>> {
        let user = tempfile::tempfile_in(folder)?.metadata()?.uid();
        let mut found = Vec::new();
        for entry in fs::read_dir(folder)?.flatten() {
            let temporary = entry.file_name();
            let Some(name) = final_name(&temporary).filter(|name| is_wanted(name)) else {
                continue;
            };
            let Ok(Some(file)) = unheld(&entry, user, OpenOptions::new().read(true).write(true))
            else {
                continue;
            };
            let mut pending = Self {
                temporary: TempPath::try_from_path(entry.path())?,
                target: folder.join(name),
                if_exists: IfExists::Refuse,
            };
            pending.keep_if_dropped(true);
            found.push((file, pending));
        }
        found.sort_by(|(_, one), (_, other)| one.target.cmp(&other.target));
        Ok(found)
    }

    /// Chooses whether the file stays under its temporary name if this is dropped before it has its own.
    pub fn keep_if_dropped(&mut self, keep: bool) {
        self.temporary.disable_cleanup(keep);
    }

    /// Chooses another name in the same directory.
    #[must_use]
    pub fn named(self, target: PathBuf) -> Self {
        Self { target, ..self }
    }

    /// Syncs the file, gives it its name, and syncs the directory, so that both survive a crash.
    ///
    /// A file that is replaced leaves its owner, group and permissions to the new one, as far as the
    /// system permits; a secret never becomes readable by all.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] with [`IfExists::Refuse`], if the file appeared since; an error of the
    /// system. What was there before is there still, unless only the directory was not synced: then
    /// the new file is there, and may be gone after a crash.
    pub fn commit(self, file: &File) -> io::Result<()> {
        self.try_commit(file).map_err(|(error, _)| error)
    }

    /// As [`Pending::commit`], for a file that is not given up when that fails.
    ///
    /// # Errors
    /// As [`Pending::commit`], with the file if it has not got its name.
    pub fn try_commit(self, file: &File) -> Result<(), (io::Error, Option<Self>)> {
        if let Err(error) = self.prepare(file) {
            return Err((error, Some(self)));
        }
        let Self {
            temporary,
            target,
            if_exists,
        } = self;
        // The file may have appeared since the first look: only the rename itself can tell.
        let renamed = match if_exists {
            IfExists::Replace => temporary.persist(&target),
            IfExists::Refuse => temporary.persist_noclobber(&target),
        };
        match renamed {
            Ok(()) => sync_directory(directory(&target)).map_err(|error| (error, None)),
            Err(refused) => {
                let pending = Self {
                    temporary: refused.path,
                    target,
                    if_exists,
                };
                Err((refused.error, Some(pending)))
            }
        }
    }

    fn prepare(&self, file: &File) -> io::Result<()> {
        if self.if_exists == IfExists::Replace
            && let Ok(old) = self.target.symlink_metadata()
        {
            keep_access(file, &old)?;
        }
        file.sync_all()
    }
}

/// Gives a new file the owner, group and permissions of the one that it replaces. If the owner cannot be
/// kept, the permissions stay those of a new file.
fn keep_access(file: &File, old: &Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    let owner = (new.uid() != old.uid()).then_some(old.uid());
    let group = (new.gid() != old.gid()).then_some(old.gid());
    let is_other = owner.is_some() || group.is_some();
    if is_other && fchown(file, owner, group).is_err() {
        return Ok(());
    }
    let is_secret = new.mode() & 0o077 == 0;
    // Of a file that everybody could read, nobody chose the group to know a secret.
    let most = match (is_secret, old.mode() & 0o007) {
        (true, 0) => 0o640,
        (true, _) => 0o600,
        (false, _) => 0o777,
    };
    let mode = old.mode() & most | new.mode() & 0o600;
    file.set_permissions(Permissions::from_mode(mode))
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
    pub fn prepare(path: &Path, bytes: &[u8], mode: u32, if_exists: IfExists) -> io::Result<Self> {
        let (mut file, pending) = Pending::create(path, mode, if_exists)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        Ok(Self { file, pending })
    }

    /// Writes `length` zeros under a temporary name: the room for [`Written::fill`].
    ///
    /// # Errors
    /// As [`Written::prepare`].
    pub fn reserve(path: &Path, length: usize, mode: u32, if_exists: IfExists) -> io::Result<Self> {
        Self::prepare(path, &vec![0; length], mode, if_exists)
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
pub fn write_atomically(
    path: &Path,
    bytes: &[u8],
    mode: u32,
    if_exists: IfExists,
) -> io::Result<()> {
    Written::prepare(path, bytes, mode, if_exists)?.commit()
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
            remove_leftovers(folder, name, file.metadata()?.uid());
            return Ok((file, path));
        }
    }
}

/// Locks what was just created. Returns `false` if another run came between, took it for a leftover,
/// and removes it. Where a file system has no locks, no run removes anything.
fn is_held(file: &File, path: &Path) -> bool {
    !matches!(file.try_lock(), Err(TryLockError::WouldBlock)) && path.exists()
}

/// Removes that user's files under temporary names of this one whose process is gone. What
/// cannot be removed stays.
fn remove_leftovers(folder: &Path, name: &OsStr, user: u32) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if final_name(&entry.file_name()) == Some(name) {
            let unheld = unheld(&entry, user, OpenOptions::new().read(true));
            if let Ok(Some(_lock)) = unheld {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// The name that a file with this temporary one is to get. `None` if the name is not a temporary one.
fn final_name(temporary: &OsStr) -> Option<&OsStr> {
    let rest = temporary.as_bytes().strip_suffix(PARTIAL[1].as_bytes())?;
    let (rest, random) = rest.split_at_checked(rest.len().checked_sub(RANDOM)?)?;
    let name = rest.strip_suffix(PARTIAL[0].as_bytes())?;
    let is_random = random.iter().all(u8::is_ascii_alphanumeric);
    is_random.then(|| OsStr::from_bytes(name))
}

/// Opens and locks a file of that user that no process holds, if it is one, and no link to one.
fn unheld(entry: &DirEntry, user: u32, open: &OpenOptions) -> io::Result<Option<File>> {
    let (path, found) = (entry.path(), entry.metadata()?); // of a link, not of what it leads to
    if found.uid() != user || !found.is_file() || found.nlink() != 1 {
        return Ok(None);
    }
    let file = open.open(&path)?;
    Ok(file.try_lock().is_ok().then_some(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the user made stays, whatever its name: a backup of a group was once taken for a leftover.
    #[test]
    fn leftovers_of_the_same_file_go_and_all_else_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let make = |name: &str| File::create_new(path(name)).unwrap();
        drop(make("a.key.clew-0123456789AbCdEf.partial"));
        let live = make("a.key.clew-0123456789AbLive.partial");
        live.lock().unwrap();
        let others = [
            "a.key.partial",
            "a.key.clew-backup.partial",
            "b.key.clew-0123456789AbCdEf.partial",
            ".clew-group-backup",
        ];
        for other in others {
            make(other);
        }
        fs::create_dir_all(path("a.key.clew-0123456789Folder.partial/kept")).unwrap();
        fs::create_dir_all(path(".clew-group-0123456789AbCdEf/issuer")).unwrap();
        make("two");
        fs::hard_link(path("two"), path("a.key.clew-0123456789Linked.partial")).unwrap();
        write_atomically(&path("a.key"), b"c", MODE_SECRET, IfExists::Refuse).unwrap();
        let mut left: Vec<_> = fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        let mut kept = vec![
            ".clew-group-0123456789AbCdEf",
            "a.key",
            "a.key.clew-0123456789AbLive.partial",
            "a.key.clew-0123456789Folder.partial",
            "a.key.clew-0123456789Linked.partial",
            "two",
        ];
        kept.extend(others);
        kept.sort_unstable();
        assert_eq!(left, kept);
        assert!(path("a.key.clew-0123456789Folder.partial/kept").is_dir());
    }

    /// A daemon that reads a file as another user than the one who replaces it reads the new one, too.
    #[test]
    fn a_replaced_file_keeps_owner_and_permissions() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.key");
        // Others can be given a file by root only.
        let own = dir.path().metadata().unwrap().uid();
        let (user, group) = if own == 0 {
            (65_534, 65_533)
        } else {
            (own, own)
        };
        for (mode, old, expected) in [
            (MODE_SECRET, 0o640, 0o640),
            (MODE_SECRET, 0o600, 0o600),
            (MODE_SECRET, 0o644, 0o600),
            (MODE_PUBLIC, 0o644, 0o644),
            (MODE_PUBLIC, 0o600, 0o600),
        ] {
            fs::write(&path, "old").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(old)).unwrap();
            if own == 0 {
                std::os::unix::fs::chown(&path, Some(user), Some(group)).unwrap();
            }
            write_atomically(&path, b"new", mode, IfExists::Replace).unwrap();
            let is = path.metadata().unwrap();
            assert_eq!(is.mode() & 0o7777, expected, "{mode:o} {old:o}");
            assert_eq!(is.uid(), user);
            assert!(own != 0 || is.gid() == group);
            assert_eq!(fs::read(&path).unwrap(), b"new");
        }
    }

    #[test]
    fn an_abandoned_file_gets_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let left = path("log.clew-0123456789AbCdEf.partial");
        fs::write(&left, "kept").unwrap();
        let live = File::create_new(path("log.clew-0123456789AbLive.partial")).unwrap();
        live.lock().unwrap();
        let other = path("other.clew-0123456789AbCdEf.partial");
        fs::write(&other, "another's").unwrap();
        let abandoned = || Pending::abandoned(dir.path(), |name| name == "log").unwrap();
        drop(abandoned());
        assert!(left.exists(), "nobody gave it up");
        let mut found = abandoned();
        let (file, pending) = found.pop().unwrap();
        assert!(found.is_empty(), "a live run keeps its own");
        assert!(abandoned().is_empty(), "held");
        fs::write(path("log"), "before").unwrap();
        let (error, pending) = pending.try_commit(&file).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        let pending = pending.unwrap().named(path("log.2"));
        pending.commit(&file).unwrap();
        assert_eq!(fs::read_to_string(path("log")).unwrap(), "before");
        assert_eq!(fs::read_to_string(path("log.2")).unwrap(), "kept");
        assert!(path("log.clew-0123456789AbLive.partial").exists() && other.exists());
    }
}
