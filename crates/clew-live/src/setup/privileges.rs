//! Giving up all privileges, and checking that none is left.

use super::SetupError;
use crate::files;
use crate::sys;
use caps::{CapSet, Capability, CapsHashSet};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::{Gid, Uid, User, fchown, geteuid, setgroups, setresgid, setresuid};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Capability sets of a process that count. The bounding set is a limit, which only root can lower, and which
/// no_new_privs closes in any case.
const SETS: [&str; 4] = ["CapInh", "CapPrm", "CapEff", "CapAmb"];

/// Becomes another user for good, and checks that no privilege is left. Call it before any thread
/// starts.
///
/// # Errors
/// The system refuses, or a privilege is left.
pub fn become_user(user: &User) -> Result<(), SetupError> {
    let failed = |error: nix::Error| trouble(error.into());
    bound(&CapsHashSet::new())?;
    setgroups(&[]).map_err(failed)?;
    setresgid(user.gid, user.gid, user.gid).map_err(failed)?;
    setresuid(user.uid, user.uid, user.uid).map_err(failed)?;
    have_none()
}

/// Gives a file to another user, who could have put anything into its place: a link is not followed, and what
/// has a second name stays whose it is.
///
/// # Errors
/// The system's, or it is not a file with one name.
pub(super) fn give(path: &Path, user: Uid, group: Gid) -> io::Result<()> {
    let file = files::open(path)?;
    if file.metadata()?.nlink() != 1 {
        let text = "not a file with one name: remove it";
        return Err(io::Error::other(text));
    }
    Ok(fchown(&file, Some(user), Some(group))?)
}

/// Takes all capabilities but these out of the bounding set, so that no program could ever get one. A process
/// without CAP_SETPCAP may not, and keeps the set that its service manager gave it.
fn bound(kept: &CapsHashSet) -> Result<(), SetupError> {
    let refused = |error: caps::errors::CapsError| trouble(io::Error::other(error.to_string()));
    if !caps::has_cap(None, CapSet::Effective, Capability::CAP_SETPCAP).map_err(refused)? {
        return Ok(());
    }
    let held = caps::read(None, CapSet::Bounding).map_err(refused)?;
    for capability in held.difference(kept) {
        caps::drop(None, CapSet::Bounding, *capability).map_err(refused)?;
    }
    Ok(())
}

/// Becomes another user who may say what becomes of queued packets, and nothing else: the process keeps
/// CAP_NET_ADMIN alone. Call it before any thread starts.
///
/// # Errors
/// The system refuses, or something else is left.
pub fn become_user_of_queue(user: &User) -> Result<(), SetupError> {
    let failed = |error: nix::Error| trouble(error.into());
    let refused = |error: caps::errors::CapsError| trouble(io::Error::other(error.to_string()));
    setgroups(&[]).map_err(failed)?;
    let one = CapsHashSet::from([Capability::CAP_NET_ADMIN]);
    bound(&one)?;
    prctl::set_keepcaps(true).map_err(failed)?;
    setresgid(user.gid, user.gid, user.gid).map_err(failed)?;
    setresuid(user.uid, user.uid, user.uid).map_err(failed)?;
    // The effective set is empty since the user changed.
    caps::set(None, CapSet::Permitted, &one).map_err(refused)?;
    caps::set(None, CapSet::Effective, &one).map_err(refused)?;
    caps::clear(None, CapSet::Inheritable).map_err(refused)?;
    prctl::set_no_new_privs().map_err(failed)?;
    let held = caps::read(None, CapSet::Permitted).map_err(refused)?;
    match held == one && !geteuid().is_root() {
        true => Ok(()),
        false => Err(trouble(io::Error::other(
            "the queue's process holds more than CAP_NET_ADMIN",
        ))),
    }
}

/// Keeps a program that will be started away from the terminal of this process: whoever breaks into it could
/// type there, as the user of this process. Give it no terminal as standard input, output or error either.
pub fn without_terminal(command: &mut Command) {
    sys::begin_session(command);
}

/// Asks the kernel to end this process when its parent ends, however it does. Call it behind a change of
/// the user, which forgets it, and before the parent is told that this process is there.
///
/// # Errors
/// The system refuses.
pub fn end_with_parent() -> Result<(), SetupError> {
    prctl::set_pdeathsig(Signal::SIGTERM).map_err(|error| trouble(error.into()))
}

/// Gives up what new programs could gain, and checks that no privilege is left.
///
/// # Errors
/// A privilege is left.
pub fn have_none() -> Result<(), SetupError> {
    prctl::set_no_new_privs().map_err(|error| trouble(error.into()))?;
    let text = fs::read_to_string(path()).map_err(trouble)?;
    if geteuid().is_root() {
        return Err(trouble(io::Error::other("this process is still root")));
    }
    match left(&text) {
        Some(what) => Err(trouble(io::Error::other(what))),
        None => Ok(()),
    }
}

fn path() -> PathBuf {
    Path::new("/proc/self/status").into()
}

fn trouble(error: io::Error) -> SetupError {
    let path = path();
    SetupError::Io { path, error }
}

/// What is left of privileges, by the text of `/proc/self/status`.
fn left(text: &str) -> Option<String> {
    let field = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        let found = lines.find(|(key, _)| *key == name);
        found.map(|(_, value)| value.trim())
    };
    if field("NoNewPrivs") != Some("1") {
        return Some("NoNewPrivs is not set".into());
    }
    if field("Threads") != Some("1") {
        return Some("threads have started already".into());
    }
    let is_empty =
        |name: &str| field(name).is_some_and(|set| set.bytes().all(|digit| digit == b'0'));
    let set = SETS.into_iter().find(|name| !is_empty(name))?;
    Some(format!(
        "the process holds capabilities: {set} is not empty"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: &str = "Threads:\t1\nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\n\
        CapEff:\t0000000000000000\nCapBnd:\t000001ffffffffff\nCapAmb:\t0000000000000000\n\
        NoNewPrivs:\t1\n";

    #[test]
    fn every_privilege_that_is_left_is_noticed() {
        assert_eq!(left(NONE), None);
        for (from, to) in [
            ("NoNewPrivs:\t1", "NoNewPrivs:\t0"),
            ("Threads:\t1", "Threads:\t2"),
            ("CapInh:\t0", "CapInh:\t1"),
            ("CapPrm:\t0", "CapPrm:\t1"),
            ("CapEff:\t0", "CapEff:\t1"),
            ("CapAmb:\t0", "CapAmb:\t1"),
            ("CapEff", "Other"),
        ] {
            assert!(left(&NONE.replace(from, to)).is_some(), "{to}");
        }
    }

    /// Whatever terminal this process has.
    #[test]
    fn a_process_without_terminal_leads_a_session_of_its_own() {
        let mut command = Command::new("cat");
        without_terminal(command.arg("/proc/self/stat"));
        let output = command.output().unwrap();
        let stat = String::from_utf8(output.stdout).unwrap();
        let process = stat.split(' ').next().unwrap();
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        assert_eq!((fields[3], fields[4]), (process, "0"), "{stat}");
    }

    /// The data plane's user owns the folder: root must not give it what it put a link to.
    #[test]
    fn links_are_not_given_away() {
        let folder = tempfile::tempdir().unwrap();
        let [file, soft, hard] = ["file", "soft", "hard"].map(|name| folder.path().join(name));
        let own = (Uid::current(), Gid::current());
        fs::write(&file, "").unwrap();
        give(&file, own.0, own.1).unwrap();
        std::os::unix::fs::symlink(&file, &soft).unwrap();
        assert!(give(&soft, own.0, own.1).is_err());
        fs::hard_link(&file, &hard).unwrap();
        let refused = give(&hard, own.0, own.1).unwrap_err().to_string();
        assert_eq!(refused, "not a file with one name: remove it");
        let none = give(&folder.path().join("none"), own.0, own.1).unwrap_err();
        assert_eq!(none.kind(), io::ErrorKind::NotFound);
    }
}
