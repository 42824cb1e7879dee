//! Settings of the kernel that more than one daemon needs: the last one that goes down puts them back.

use super::journal::whole_lines;
use super::{FILE_MAX, Place};
use crate::files;
use crate::setup::{Action, kept};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::libc::O_NOFOLLOW;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

/// The file that a process locks while it undoes, beside the folders of daemons. No daemon has such a name.
const UNDO_LOCK: &str = ".undo-lock";

/// How often to look whether another process still undoes.
const LOOK: Duration = Duration::from_millis(20);

impl Place {
    /// Returns settings of the kernel that other daemons of this network namespace put back when they go
    /// down, with what they write then.
    pub(in crate::setup) fn written_by_others(&self) -> Vec<(PathBuf, String)> {
        let Some(folder) = self.folder.parent() else {
            return Vec::new();
        };
        let namespace = |place: &Self| place.kept().and_then(|kept| kept.namespace);
        let own = kept::namespace();
        let places = Self::names_in(folder).into_iter();
        let others = places.filter(|name| *name != self.name);
        let others = others.map(|name| Self::within(folder, &name));
        let others = others.filter(|place| namespace(place) == own);
        others.flat_map(|place| place.writes()).collect()
    }

    /// What the undo of this place writes.
    fn writes(&self) -> Vec<(PathBuf, String)> {
        let text = files::read(&self.undo_file(), FILE_MAX).unwrap_or_default();
        let actions = whole_lines(&text).filter_map(|(_, line)| serde_json::from_str(line).ok());
        let written = actions.filter_map(|action| match action {
            Action::Write { path, text } => Some((path, text)),
            Action::Run { .. } | Action::Queue { .. } => None,
        });
        written.collect()
    }

    /// Waits until no other process undoes, for so long at most: of two that undo at once each would leave shared
    /// settings to the other one. `None` if another one takes too long, or the system has no such locks: an undo
    /// that waits for ever is worse.
    pub(super) fn undo_lock(&self, most: Duration) -> Option<Flock<File>> {
        let until = Instant::now() + most;
        let mut options = File::options();
        let options = options.write(true).create(true).truncate(false);
        // Whoever can open a file can lock it, so nobody but root may.
        let options = options.mode(0o600).custom_flags(O_NOFOLLOW);
        let mut file = options.open(self.folder.parent()?.join(UNDO_LOCK)).ok()?;
        loop {
            file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(lock) => return Some(lock),
                Err((_, error)) if error != Errno::EWOULDBLOCK => return None,
                Err(_) if Instant::now() > until => return None,
                Err((file, _)) => file,
            };
            thread::sleep(LOOK);
        }
    }
}
