//! Small files that a server reads again while it runs.

use nix::fcntl::OFlag;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a regular file. A pipe in its place, which nobody writes, would hold up the server.
///
/// # Errors
/// The system's; it is not a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let options = options.read(true).custom_flags(OFlag::O_NONBLOCK.bits());
    let file = options.open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    match metadata.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("not a regular file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::Mode;

    #[test]
    fn only_regular_files_are_opened_and_nothing_waits() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name| folder.path().join(name);
        nix::unistd::mkfifo(&path("pipe"), Mode::S_IRWXU).unwrap();
        std::fs::write(path("file"), "text").unwrap();
        std::os::unix::fs::symlink(path("file"), path("link")).unwrap();
        assert!(open_regular(&path("file")).is_ok() && open_regular(&path("link")).is_ok());
        for other in [path("pipe"), path("none"), path("."), "/dev/null".into()] {
            assert!(open_regular(&other).is_err(), "{}", other.display());
        }
    }
}
