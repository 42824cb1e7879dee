//! Why a daemon cannot keep what should outlast it, and what helps: one sentence for each cause, whatever file it is.

use crate::config::plain;
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::{User, geteuid};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What is in the way, what is wrong with it, and what helps.
struct Cause<'a> {
    place: &'a Path,
    what: String,
    advice: String,
}

/// Returns why a file in a daemon's folder of `/var/lib/clew-live` cannot be written, what that means, and what helps.
/// All files of the folder that one cause keeps away have one sentence.
pub fn unkept(path: &Path, error: &io::Error) -> String {
    let Cause {
        place,
        what,
        advice,
    } = cause(path, error);
    let place = place.display();
    format!(
        "{place}: {what}: after a restart an older group file would count, and after a crash replays may; {advice}: \
         it is tried again every second"
    )
}

/// Returns that the writes of a file there hang, what that means, and what helps. No packet waits for them.
pub fn slow(path: &Path) -> String {
    let folder = path.parent().unwrap_or(path).display();
    format!(
        "{folder}: the disk is slow: after a restart an older group file would count, and after a crash replays may; \
         see what keeps the disk busy"
    )
}

/// Returns the file that is where a folder should be, on the way to `path`.
pub fn in_the_way(path: &Path) -> Option<&Path> {
    let is_file = |at: &&Path| fs::metadata(at).is_ok_and(|is| !is.is_dir());
    path.ancestors().skip(1).find(is_file)
}

fn cause<'a>(path: &'a Path, error: &io::Error) -> Cause<'a> {
    let folder = path.parent().unwrap_or(path);
    let make = || {
        let user = User::from_uid(geteuid()).ok().flatten();
        let user = user.map_or_else(|| geteuid().to_string(), |user| user.name);
        format!("install -d -m 700 -o {user} {}", folder.display())
    };
    let cause = |place, what: &str, advice| Cause {
        place,
        what: what.to_owned(),
        advice,
    };
    if let Some(file) = in_the_way(path) {
        let advice = format!("rm {} && {}", file.display(), make());
        return cause(file, "need a folder, have a file", advice);
    }
    let mut existing = folder.ancestors().filter(|at| at.exists());
    let nearest = existing.next().unwrap_or(folder);
    // A folder that is missing could not be made.
    let is_missing = nearest != folder;
    let system = statvfs(nearest).ok().filter(|_| is_missing);
    let is_read_only = system.is_some_and(|is| is.flags().contains(FsFlags::ST_RDONLY));
    let is_full = system.is_some_and(|is| is.blocks_available() == 0 || is.files_available() == 0);
    match error.kind() {
        _ if is_read_only => read_only(folder, nearest),
        ErrorKind::ReadOnlyFilesystem => read_only(folder, nearest),
        _ if is_full => cause(folder, "no space left on device", "make room".to_owned()),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            cause(folder, &plain(error), "make room".to_owned())
        }
        ErrorKind::NotFound => cause(folder, "folder does not exist", make()),
        ErrorKind::PermissionDenied => cause(folder, "permission denied", make()),
        _ => {
            let advice = format!("look at it with ls -la {}", folder.display());
            cause(path, &plain(error), advice)
        }
    }
}

fn read_only<'a>(folder: &'a Path, nearest: &Path) -> Cause<'a> {
    let device = |at: &Path| fs::metadata(at).map(|is| is.dev()).ok();
    let within = nearest.ancestors();
    let within = within.take_while(|at| device(at) == device(nearest));
    let mount = within.last().unwrap_or(nearest);
    Cause {
        place: folder,
        what: "read-only file system".to_owned(),
        advice: format!("mount -o remount,rw {}", mount.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(path: &Path, kind: ErrorKind) -> String {
        unkept(path, &kind.into())
    }

    #[test]
    fn one_cause_has_one_sentence_whatever_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let [groups, accepted] = ["groups", "accepted"].map(|name| folder.path().join(name));
        let at = folder.path().display();
        for (kind, what, advice) in [
            (
                ErrorKind::StorageFull,
                "no space left on device",
                "; make room: ",
            ),
            (ErrorKind::QuotaExceeded, "quota exceeded", "; make room: "),
            (
                ErrorKind::ReadOnlyFilesystem,
                "read-only file system",
                "; mount -o remount,rw /",
            ),
            (
                ErrorKind::PermissionDenied,
                "permission denied",
                "; install -d -m 700 -o ",
            ),
        ] {
            let said = said(&groups, kind);
            assert!(
                said.to_lowercase()
                    .starts_with(&format!("{at}: ").to_lowercase()),
                "{said}"
            );
            assert!(said.contains(advice), "{said}");
            assert!(
                said.contains(what) || kind != ErrorKind::ReadOnlyFilesystem,
                "{said}"
            );
            assert_eq!(said, super::tests::said(&accepted, kind));
        }
        // The system's own words have a number, which helps nobody.
        let full = io::Error::from_raw_os_error(nix::libc::ENOSPC);
        let full = unkept(&groups, &full);
        assert!(full.contains(": no space left on device: after"), "{full}");
    }

    #[test]
    fn what_is_in_the_way_is_named_and_a_missing_folder_too() {
        let folder = tempfile::tempdir().unwrap();
        let lan = folder.path().join("lan");
        let groups = lan.join("groups");
        let missing = said(&groups, ErrorKind::NotFound);
        let wanted = format!("{}: folder does not exist: ", lan.display());
        assert!(missing.starts_with(&wanted), "{missing}");
        assert!(missing.contains("; install -d -m 700 -o "), "{missing}");
        fs::write(&lan, "").unwrap();
        let file = said(&groups, ErrorKind::NotADirectory);
        let wanted = format!("{}: need a folder, have a file: ", lan.display());
        assert!(file.starts_with(&wanted), "{file}");
        assert!(
            file.contains(&format!("; rm {} && install", lan.display())),
            "{file}"
        );
        assert_eq!(in_the_way(&groups), Some(lan.as_path()));
        assert_eq!(in_the_way(&lan), None);
    }

    /// `/proc/sys` takes no folders, and `/sys` is read-only in most containers: neither is sure to be there.
    #[test]
    fn a_folder_that_could_not_be_made_has_the_cause_of_that() {
        let system = statvfs("/sys").ok();
        if !system.is_some_and(|is| is.flags().contains(FsFlags::ST_RDONLY)) {
            return;
        }
        let said = said(Path::new("/sys/clew-live/lan/groups"), ErrorKind::NotFound);
        let wanted = "/sys/clew-live/lan: read-only file system: ";
        assert!(said.starts_with(wanted), "{said}");
        assert!(said.contains("; mount -o remount,rw /sys: "), "{said}");
    }
}
