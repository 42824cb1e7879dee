//! Directories of logs and witnesses appear whole or not at all.

use crate::database::StorageError;
use clew_keys::LogKeyFile;
use clew_keys::files::{
    IfExists, MODE_PUBLIC, MODE_SECRET, directory, sync_directory, write_atomically,
};
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Makes a directory that appears with everything that is in it: a process that is killed leaves none of that
/// name, and one that begins again takes away what it left. An empty directory is taken, too.
pub(crate) fn make_whole(
    dir: &Path,
    fill: impl FnOnce(&Path) -> Result<(), StorageError>,
) -> Result<(), StorageError> {
    let exists = || StorageError::Exists(dir.to_owned());
    let name = dir.file_name().ok_or_else(exists)?.to_string_lossy();
    let partial = dir.with_file_name(format!(".{name}.partial"));
    let failed = StorageError::io(&partial);
    match fs::remove_dir_all(&partial) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let made = fs::DirBuilder::new().mode(0o700).create(&partial);
    made.map_err(failed)?;
    let filled = fill(&partial).and_then(|()| match fs::rename(&partial, dir) {
        // Something is there under this name.
        Err(_) if dir.symlink_metadata().is_ok() => Err(exists()),
        renamed => renamed.map_err(StorageError::io(dir)),
    });
    if filled.is_err() {
        let _ = fs::remove_dir_all(&partial);
    }
    filled?;
    let above = directory(dir);
    sync_directory(above).map_err(StorageError::io(above))
}

/// Writes the two key files of a log or a witness.
pub(crate) fn put_keys(
    dir: &Path,
    [public_name, key_name]: [&str; 2],
    key: &LogKeyFile,
    text: &str,
) -> Result<(), StorageError> {
    let put = |name: &str, bytes: &[u8], mode| {
        let path = dir.join(name);
        let written = write_atomically(&path, bytes, mode, IfExists::Refuse);
        written.map_err(StorageError::io(&path))
    };
    let public = format!("{}\n", key.public());
    put(public_name, public.as_bytes(), MODE_PUBLIC)?;
    put(key_name, text.as_bytes(), MODE_SECRET)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_there_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("log");
        let file = |dir: &Path| fs::write(dir.join("key"), "1").map_err(StorageError::io(dir));
        // What a killed process left does not stand in the way, and one that fails leaves nothing.
        let partial = folder.path().join(".log.partial");
        fs::create_dir(&partial).unwrap();
        fs::write(partial.join("old"), "").unwrap();
        let full = |dir: &Path| Err(StorageError::damaged(dir, "full"));
        assert!(make_whole(&dir, full).is_err());
        assert!(!dir.exists() && !partial.exists());
        // An empty directory of that name is taken; one with anything in it is not, nor a file.
        fs::create_dir(&dir).unwrap();
        make_whole(&dir, file).unwrap();
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
        let again = make_whole(&dir, file);
        assert!(matches!(again, Err(StorageError::Exists(_))), "{again:?}");
        fs::write(folder.path().join("file"), "").unwrap();
        let taken = make_whole(&folder.path().join("file"), file);
        assert!(matches!(taken, Err(StorageError::Exists(_))));
        assert!(!partial.exists());
    }
}
