//! Files that another process could put something else in the place of: a pipe that never ends, a link.

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Opens a regular file for reading. A link is not followed, and nothing is waited for.
///
/// # Errors
/// The system's, or it is not a regular file.
pub fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    let options = options.read(true).custom_flags(O_NOFOLLOW | O_NONBLOCK);
    let file = options.open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("not a regular file: remove it")),
    }
}

/// Reads a regular file of at most so many bytes, as [`open`] does.
///
/// # Errors
/// The system's, or it is not a regular file, longer, or not text.
pub fn read(path: &Path, most: u64) -> io::Result<String> {
    let mut text = String::new();
    let mut file = open(path)?.take(most.saturating_add(1));
    file.read_to_string(&mut text)?;
    match text.len() as u64 > most {
        true => Err(ErrorKind::FileTooLarge.into()),
        false => Ok(text),
    }
}

/// Puts a file with this content, which its owner alone reads, into the place of another one. Nobody sees a part
/// of it.
///
/// # Errors
/// The system's. The file before stays.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_with(path, content, 0o600, false)
}

/// Does as [`replace`], with a mode that holds whatever the caller's umask. With `sync` the content is on the
/// disk before the file before is gone.
///
/// # Errors
/// The system's. The file before stays.
pub fn replace_with(path: &Path, content: &[u8], mode: u32, sync: bool) -> io::Result<()> {
    let new = path.with_extension("new");
    match fs::remove_file(&new) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = File::options();
    let file = options.write(true).create_new(true).mode(0o600).open(&new);
    let written = file.and_then(|mut file| {
        file.write_all(content)?;
        file.set_permissions(Permissions::from_mode(mode))?;
        if sync {
            file.sync_all()?;
        }
        fs::rename(&new, path)
    });
    written.inspect_err(|_| {
        let _ = fs::remove_file(&new);
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;
    use std::os::unix::fs::symlink;

    /// A pipe without a writer would be waited for: the test would not end.
    #[test]
    fn only_regular_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let [file, pipe, link] = ["file", "pipe", "link"].map(|name| folder.path().join(name));
        fs::write(&file, "text").unwrap();
        mkfifo(&pipe, Mode::S_IRWXU).unwrap();
        symlink(&file, &link).unwrap();
        assert_eq!(read(&file, 4).unwrap(), "text");
        assert_eq!(read(&file, 3).unwrap_err().kind(), ErrorKind::FileTooLarge);
        let refused = |path: &Path| read(path, 9).unwrap_err();
        assert_eq!(refused(&pipe).to_string(), "not a regular file: remove it");
        let device = refused(Path::new("/dev/zero")).to_string();
        assert_eq!(device, "not a regular file: remove it");
        assert_eq!(refused(&link).raw_os_error(), Some(nix::libc::ELOOP));
        assert_eq!(
            refused(&folder.path().join("none")).kind(),
            ErrorKind::NotFound
        );
    }

    #[test]
    fn a_file_is_written_whatever_is_in_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let [file, new, other] = ["file", "file.new", "other"].map(|name| folder.path().join(name));
        mkfifo(&file, Mode::S_IRWXU).unwrap();
        mkfifo(&new, Mode::S_IRWXU).unwrap();
        replace(&file, b"one").unwrap();
        assert_eq!(read(&file, 9).unwrap(), "one");
        fs::write(&other, "kept").unwrap();
        symlink(&other, &new).unwrap();
        replace(&file, b"two").unwrap();
        assert_eq!(read(&file, 9).unwrap(), "two");
        assert_eq!(read(&other, 9).unwrap(), "kept");
        assert!(!new.exists());
    }

    /// Others read such a file: they are not to meet it before it has its mode, nor another file in its place.
    #[test]
    fn a_file_has_its_mode_from_the_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        for mode in [0o600, 0o644, 0o666] {
            replace_with(&file, b"text", mode, true).unwrap();
            let found = fs::metadata(&file).unwrap().permissions().mode();
            assert_eq!(found & 0o777, mode, "whatever the umask");
        }
        let mut before = File::open(&file).unwrap();
        replace(&file, b"other").unwrap();
        let mut text = String::new();
        before.read_to_string(&mut text).unwrap();
        assert_eq!(text, "text", "another file took its place");
        let found = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(found & 0o777, 0o600);
    }
}
